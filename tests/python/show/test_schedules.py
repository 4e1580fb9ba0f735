# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.algorithms import algorithms
from stretto.cli.show import show
from stretto.cli.verify import verify
from stretto.show import picture
from stretto.show.algorithms import multiple, prove
from stretto.show.diagram import make_diagram
from stretto.show.picture import draw_picture
from stretto.show.proof import roots_of
from stretto.show.terminal import draw_text, text_legend
from stretto.show.timeline import Blocks, Timeline, make_timeline
from stretto.show.view import make_view
from stretto.spec.recipes import Recipe, all_recipes
from stretto.spec.topologies import parse_topology
from stretto.support.errors import StrettoError

PNG_START = b"\x89PNG\r\n\x1a\n"


@dataclass
class Slice:
    first: int
    count: int = 1
    buffer: str = "output"
    run: int = 0
    step: int = 0


@dataclass
class Action:
    kind: str
    peer: int = -1
    into: Slice | None = None
    left: Slice | None = None
    right: Slice | None = None


@dataclass
class Schedule:
    ranks: int
    rounds: list[list[Action]] = field(default_factory=list)
    blocks: int = 4


def send(peer: int, block: int = 0) -> Action:
    return Action("send", peer, left=Slice(block))


def recv(peer: int, block: int = 0) -> Action:
    return Action("recv", peer, into=Slice(block))


def timeline_of(*rounds: list[list[Action]]) -> Timeline:
    return make_timeline([Schedule(len(rounds), own) for own in rounds])


def built(recipe: Recipe, topology: _core.Topology, root: int = 0) -> list[_core.Schedule]:
    return [
        _core.build(recipe.collective, recipe.text, topology, root, rank) for rank in range(topology.ranks)
    ]


def core_timeline(text: str, topology_text: str) -> Timeline:
    topology = _core.Topology(topology_text)
    return make_timeline(built(Recipe("allreduce", text), topology), topology.node_of)


def cells(timeline: Timeline, rank_order: bool = False) -> list[str]:
    console = Console(width=300, color_system=None)
    with console.capture() as capture:
        console.print(draw_text(timeline, rank_order))
    return [" ".join(line.split()) for line in capture.get().splitlines() if line.strip()]


def test_a_chain_takes_a_step_each_though_every_rank_has_it_in_round_0() -> None:
    timeline = timeline_of([[send(1)]], [[recv(0)], [send(2)]], [[recv(1)]])
    assert [(m.step, m.sender, m.receiver) for m in timeline.messages] == [(0, 0, 1), (1, 1, 2)]
    assert timeline.steps == 2


def test_a_sender_waits_for_its_receiver() -> None:
    busy = [[Action("copy", into=Slice(0), left=Slice(0, buffer="input"))], [recv(0)]]
    timeline = timeline_of([[send(1)]], busy)
    assert timeline.messages[0].step == 1
    assert timeline.locals[0].step == 0


def test_messages_of_a_pair_match_in_order() -> None:
    timeline = timeline_of([[send(1, 2)], [send(1, 3)]], [[recv(0, 2)], [recv(0, 3)]])
    assert [(m.step, m.sent.first, m.into.first) for m in timeline.messages] == [(0, 2, 2), (1, 3, 3)]


def stuck_ends(timeline: Timeline) -> list[tuple[int, int, int, bool]]:
    return [(one.step, one.rank, one.peer, one.sends) for one in timeline.stuck]


def test_messages_without_a_partner_are_drawn_and_hold_nobody_up() -> None:
    timeline = timeline_of([[send(2)], [send(1)]], [[recv(0)]], [[recv(1, 3)]])
    assert stuck_ends(timeline) == [(0, 0, 2, True), (0, 2, 1, False)]
    assert [(m.step, m.sender, m.receiver) for m in timeline.messages] == [(1, 0, 1)]
    text = "\n".join(cells(timeline))
    assert "✗→2 b0" in text
    assert "✗←1 b3" in text
    assert "never end" in text_legend(timeline, rank_order=False)


def test_ranks_that_wait_for_each_other_are_drawn_until_then() -> None:
    timeline = timeline_of([[send(1)], [recv(1)]], [[send(0)], [recv(0)]], [[send(3)]], [[recv(2)]])
    assert stuck_ends(timeline) == [(0, 0, 1, True), (0, 1, 0, True)]
    assert [(m.sender, m.receiver) for m in timeline.messages] == [(2, 3)]
    assert timeline.steps == 1


def test_wrong_schedules_are_drawn_into_files(tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    # Messages to a rank that does not exist, and to the rank itself.
    timeline = timeline_of([[send(7)], [send(0), recv(0)]], [[recv(0)]])
    draw_picture(make_view(timeline, 0), "title", "caption", picture)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


@pytest.mark.parametrize("recipe", all_recipes(), ids=str)
@pytest.mark.parametrize(
    "topology_text", ["ppn=1", "nodes=6,ppn=1", "ppn=4+4+1", "nodes=3,ppn=2,mapping=by_node"]
)
def test_no_rank_is_in_two_rounds_at_once(recipe: Recipe, topology_text: str) -> None:
    schedules = built(recipe, _core.Topology(topology_text))
    timeline = make_timeline(schedules)
    actions = sum(len(actions) for one in schedules for actions in one.rounds)
    assert 2 * len(timeline.messages) + len(timeline.locals) == actions
    # In one step, a rank has only the actions of a single round.
    widest = max((len(actions) for one in schedules for actions in one.rounds), default=0)
    busy: dict[tuple[int, int], int] = defaultdict(int)
    for message in timeline.messages:
        assert message.sent.count == message.into.count
        busy[message.step, message.sender] += 1
        busy[message.step, message.receiver] += 1
    assert max(busy.values(), default=0) <= widest


def test_the_ring_as_text() -> None:
    lines = cells(core_timeline("ring", "nodes=3,ppn=1"))
    assert lines[0] == "step rank 0 rank 1 rank 2"
    assert lines[2] == "0 →1 b0 →2 b1 →0 b2"
    assert lines[3] == "←2 +b2 ←0 +b0 ←1 +b1"
    assert lines[-1] == "←2 b2 ←0 b0 ←1 b1"


def test_text_tells_nodes_and_what_crosses_them() -> None:
    lines = cells(core_timeline("ring", "map=0,1,0"))
    assert lines[0] == "│ node 0 │ node 1"
    assert lines[1] == "step │ rank 0 rank 2 │ rank 1"
    # The ring goes from node to node: 0, 2, 1.
    assert lines[3].startswith("0 │ →2 ")
    assert "⇒1 " in lines[3]
    assert "⇒0 " in lines[3]


def test_rank_order_shows_the_operands() -> None:
    text = "\n".join(cells(core_timeline("ring", "nodes=2,ppn=1"), rank_order=True))
    assert "←1 b1=own+recv" in text
    assert "←0 b0=recv+own" in text


@given(
    first=st.integers(0, 99), count=st.integers(1, 12), run=st.integers(0, 4), step=st.integers(5, 9),
)  # fmt: skip
def test_the_text_of_blocks_names_each_of_them(first: int, count: int, run: int, step: int) -> None:
    blocks = Blocks("scratch", first, count, run, step if run else 0)
    assert len(set(blocks.all)) == count
    text = blocks.numbers
    if "…" in text:
        assert run
        assert text.startswith(str(first))
        assert text.endswith(str(blocks.all[-1]))
        return
    named: list[int] = []
    for part in text.split(","):
        begin, _, end = part.partition("-")
        named += range(int(begin), int(end or begin) + 1)
    assert named == blocks.all


def test_the_core_counts_strided_blocks_in_the_same_way() -> None:
    topology = _core.Topology("nodes=3,ppn=2")
    for recipe in ("bruck", "multilane", "smp"):
        for schedule in built(Recipe("alltoall", recipe), topology):
            for action in (action for actions in schedule.rounds for action in actions):
                for piece in filter(None, (action.into, action.left)):
                    assert len(Blocks.of(piece).all) == piece.count
                    assert len(set(Blocks.of(piece).all)) == piece.count


def test_an_alltoall_tells_blocks_of_the_input() -> None:
    diagram = make_diagram(
        Recipe("alltoall", "pairwise"), _core.Topology("nodes=3,ppn=1"), 0, rank_order=False
    )
    text = " ".join(cells(diagram.timeline))
    assert "→1 in1" in text
    assert "←2 b2" in text
    assert "→2 in5 sends block 5" in text_legend(diagram.timeline, rank_order=False)


def test_local_actions_name_their_buffers() -> None:
    reduce = Action("reduce", into=Slice(0), left=Slice(0, buffer="input"), right=Slice(1, 2, "scratch"))
    assert "b0=in0+s1-2" in cells(timeline_of([[reduce]]))[2]


app = typer.Typer(pretty_exceptions_enable=False)
for command in (algorithms, verify, show):
    app.command()(command)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_algorithms_lists_the_registry() -> None:
    output = run("algorithms")
    for algorithm in _core.algorithms():
        assert algorithm.name in output
    assert "smp(ALLREDUCE)" in output
    assert "knomial:radix=R" in output
    assert "chain" not in run("algorithms", "--collective", "allgather")


def test_the_table_has_the_costs_of_the_papers() -> None:
    lines = run(
        "algorithms", "--table", "--collective", "allreduce", "--topology", "nodes=8,ppn=1"
    ).splitlines()
    rows = {line.split("`")[1]: [cell.strip() for cell in line.split("|")[2:-1]] for line in lines[4:]}
    assert rows["ring"] == ["14", "14", "14", "0", "1.75n", "1.75n", "0", "no", "no"]
    assert rows["rabenseifner"] == ["6", "6", "6", "0", "1.75n", "1.75n", "0", "yes", "yes"]
    assert rows["recursive_doubling"] == ["3", "3", "3", "0", "3n", "3n", "0", "yes", "yes"]


def test_the_table_of_several_topologies_has_all_collectives() -> None:
    output = run("algorithms", "--table", "--topology", "ppn=2+1", "--topology", "nodes=1,ppn=3")
    for collective in _core.collectives():
        assert f"`{collective}` on `ppn=2+1` (3 ranks):" in output
        assert f"`{collective}` on `nodes=1,ppn=3` (3 ranks):" in output


@pytest.mark.parametrize(
    ("blocks", "whole", "text"),
    [(0, 4, "0"), (4, 4, "n"), (7, 4, "1.75n"), (62, 32, "1.94n"), (28, 1, "28n"), (1, 1000, "0.001n")],
)
def test_multiples_have_three_digits(blocks: int, whole: int, text: str) -> None:
    assert multiple(blocks / whole) == text


def test_verify_has_a_line_for_each_recipe() -> None:
    lines = run("verify", "--ranks", "1..5", "--topologies", "8").splitlines()
    proven = [f"{recipe}: proven for 1..5 ranks and 8 topologies" for recipe in all_recipes()]
    assert lines == proven


def test_verify_takes_algorithms_recipes_and_a_topology() -> None:
    options = ["--topology", "ppn=2+1+1"]
    assert run("verify", "smp(ring)", *options) == "allreduce smp(ring): proven on ppn=2+1+1\n"
    knomial = run("verify", "bcast/knomial", *options)
    assert [line.split(":radix=")[1][0] for line in knomial.splitlines()] == ["4", "2", "3", "5"]
    everywhere = run("verify", "ring", "linear", *options)
    assert "reduce_scatter ring: proven" in everywhere
    assert "bcast linear: proven" in everywhere
    only = run("verify", "ring", "--collective", "allgather", *options)
    assert only.splitlines() == ["allgather ring: proven on ppn=2+1+1"]


def test_verify_refuses_what_takes_too_much_memory() -> None:
    result = CliRunner().invoke(app, ["verify", "rabenseifner", "--topology", "nodes=65536,ppn=4"])
    assert isinstance(result.exception, StrettoError)
    assert "allreduce rabenseifner cannot be proven on 262144 ranks" in str(result.exception)


def test_verify_shows_the_error_of_the_fewest_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        def __init__(self, topology: _core.Topology) -> None:
            self.ok = topology.ranks < 3
            self.carried_out = topology.ranks
            self.error = "" if self.ok else f"rank 1 of {topology.ranks} reads what nobody wrote"

    # The workers are forked, so they have this too.
    monkeypatch.setattr(_core, "verify", lambda _collective, _name, topology, _root: Report(topology))
    result = CliRunner().invoke(
        app, ["verify", "ring", "--collective", "allreduce", "--ranks", "1..5", "--topologies", "0"]
    )
    assert result.exit_code == 1
    assert "allreduce ring: WRONG on 3 of 5 topologies" in result.output
    assert "--topology nodes=3,ppn=1: rank 1 of 3 reads what nobody wrote" in result.output


def test_verify_says_that_a_rank_stood_for_all() -> None:
    where = ("--topology", "nodes=8192,ppn=16")
    proven = "proven on nodes=8192,ppn=16, by 1 rank that stands for all; all 131071 others were compared"
    output = run("verify", "dissemination:radix=2", "--collective", "barrier", *where)
    assert output == f"barrier dissemination:radix=2: {proven}\n"


def test_a_sample_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        def __init__(self, topology: _core.Topology) -> None:
            self.ok, self.error = True, ""
            self.carried_out = 1 if topology.ranks > 2 else topology.ranks
            self.compared = 1 if topology.ranks > 2 else 0
            self.is_sample = topology.ranks > 2

    monkeypatch.setattr(_core, "verify", lambda _collective, _name, topology, *_: Report(topology))
    command = ["verify", "ring", "--collective", "allreduce", "--ranks", "1..4", "--topologies", "0"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    scope = "for 1..4 ranks and 0 topologies"
    counts = "by 1 rank that stands for all; only 1 of 3 others were compared"
    assert result.output == f"allreduce ring: sampled, NOT PROVEN, {scope}, {counts}\n"
    content = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    (verdict,) = content["verdicts"]
    assert (verdict["proven"], verdict["sampled"], verdict["wrong_topologies"]) == (False, True, 0)
    assert (verdict["stand_ins"], verdict["compared"]) == (1, 1)
    with pytest.raises(StrettoError, match="too many for a proof"):
        prove(Recipe("allreduce", "ring"), parse_topology("nodes=4,ppn=1"))


def test_roots_are_all_of_few_ranks_and_four_of_many() -> None:
    assert roots_of("bcast", 8) == list(range(8))
    assert roots_of("reduce", 9) == [0, 1, 4, 8]
    assert roots_of("allreduce", 5) == [0]


def test_show_prints_the_diagram() -> None:
    output = run("show", "ring", "--ranks", "4")
    assert "allreduce ring, 4 ranks, 4 blocks, 6 steps" in output
    assert "←3 +b3" in output
    assert "busiest rank: 6 rounds, sends 6 messages, 1.5n bytes" in output
    assert "node" not in output


def test_show_counts_what_crosses_the_network() -> None:
    output = run("show", "nap", "--nodes", "4", "--ppn", "4")
    assert "allreduce nap, 16 ranks, 4 nodes, 1 block" in output
    assert "sends 1 message, n bytes to other nodes" in output
    assert "busiest link of a node: 3 messages, 3n bytes" in output
    assert "not useful here" in run("show", "nap", "--ranks", "4")


def test_show_takes_a_root_a_collective_and_a_file(tmp_path: Path) -> None:
    assert "bcast linear, 3 ranks, root 2" in run("show", "bcast/linear", "--ranks", "3", "--root", "2")
    assert "reduce linear" in run("show", "linear", "--collective", "reduce")
    assert "allreduce ring" in run("show", "ring")
    hosts = tmp_path / "hosts"
    hosts.write_text("a\nb\na\n", encoding="utf-8")
    assert "3 ranks, 2 nodes" in run("show", "ring", "--topology", str(hosts))


def test_a_wrong_schedule_is_drawn_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        ok = False
        error = "rank 1 reads what nobody wrote"

    monkeypatch.setattr(_core, "verify", lambda *_: Report())
    assert "WRONG: rank 1 reads what nobody wrote" in run("show", "ring")


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("ring", ["--ranks", "4"]),
        ("rabenseifner", ["--ranks", "8"]),
        ("ring", ["--ranks", "1"]),
        ("smp(ring)", ["--topology", "ppn=3+1+2,mapping=by_node"]),
        ("bcast/linear", ["--nodes", "2", "--ppn", "2", "--root", "3"]),
        ("allgather/bruck", ["--ranks", "5"]),
    ],
)
def test_show_draws_into_files(tmp_path: Path, recipe: str, options: list[str]) -> None:
    picture, drawing = tmp_path / "a.png", tmp_path / "a.svg"
    run("show", recipe, *options, "-o", str(picture), "--rank-order")
    assert picture.read_bytes().startswith(PNG_START)
    run("show", recipe, *options, "-o", str(drawing))
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "rong"], "no algorithm 'rong' .did you mean ring"),
        (["verify", "rong"], "no algorithm 'rong'"),
        (["show", "smp(rong)"], 'no allreduce algorithm "rong"'),
        (["show", "chain", "--collective", "allgather"], 'no allgather algorithm "chain"'),
        (
            ["show", "chain"],
            "chain is an algorithm of bcast and of reduce and of scan and of exscan: say which",
        ),
        (["show", "bcast/chain", "--collective", "reduce"], "bcast/chain is not of --collective reduce"),
        (
            ["show", "ring", "--collective", "neighbors"],
            "no collective 'neighbors'; there are allreduce, bcast",
        ),
        (["show", "allreduce/native"], "native is the MPI default"),
        (["show", "ring:segments=2"], "all segments have the same schedule; give ring"),
        (["show", "ring", "--ranks", "2", "--ppn", "2"], "one of them"),
        (["show", "ring", "--topology", "nodes=2"], "it does not set ppn"),
        (["show", "ring", "--root", "1"], "allreduce has no root"),
        (["show", "bcast/linear", "--root", "4"], "root must be from 0 to 3, not 4"),
        (["verify", "--ranks", "5..1"], "--ranks 5..1: expected"),
        (["verify", "--collective", "allscan"], "no collective 'allscan'"),
        (["show", "ring", "-o", "a.gif"], r"a.gif: expected a name that ends in \.svg"),
        (["show", "ring", "-o", "/nowhere/a.svg"], "/nowhere/a.svg: there is no folder /nowhere"),
    ],
)
def test_wrong_options_are_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)


def test_what_several_ranks_of_a_node_read_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, str]] = []
    monkeypatch.setattr(
        picture,
        "_draw_store",
        lambda _axes, _picture, message, _y: written.append((message.sender, message.sent.numbers)),
    )

    def draw(collective: str, recipe: str, where: str) -> None:
        written.clear()
        topology = _core.Topology(where)
        schedules = [_core.build(collective, recipe, topology, 0, rank) for rank in range(topology.ranks)]
        timeline = make_timeline(schedules, topology.node_of)
        draw_picture(make_view(timeline, 0), "", "", tmp_path / "a.svg")

    draw("bcast", "linear", "ppn=4")
    assert written == [(0, "0")]
    draw("bcast", "linear", "nodes=4,ppn=1")
    assert written == []
    draw("bcast", "smp(binomial)", "nodes=2,ppn=2")
    assert sorted(written) == [(0, "0"), (2, "0")]
