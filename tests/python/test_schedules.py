# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from stretto import _core, schedules
from stretto.drawing import draw_text
from stretto.errors import StrettoError
from stretto.timeline import Timeline, make_timeline

PNG_START = b"\x89PNG\r\n\x1a\n"


@dataclass
class Slice:
    first: int
    count: int = 1
    buffer: str = "output"


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


def core_timeline(name: str, ranks: int) -> Timeline:
    return make_timeline([_core.build("allreduce", name, ranks, rank) for rank in range(ranks)])


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


def test_messages_without_a_partner_are_an_error() -> None:
    with pytest.raises(StrettoError, match="ranks 0 and 1 do not agree"):
        timeline_of([[send(1)]], [])


def test_ranks_that_wait_for_each_other_are_an_error() -> None:
    with pytest.raises(StrettoError, match="does not end"):
        timeline_of([[send(1)], [recv(1)]], [[send(0)], [recv(0)]])


@pytest.mark.parametrize("algorithm", [one.name for one in _core.algorithms()])
@pytest.mark.parametrize("ranks", [1, 2, 3, 6, 8, 13])
def test_no_rank_is_in_two_rounds_at_once(algorithm: str, ranks: int) -> None:
    built = [_core.build("allreduce", algorithm, ranks, rank) for rank in range(ranks)]
    timeline = make_timeline(built)
    actions = sum(len(actions) for one in built for actions in one.rounds)
    assert 2 * len(timeline.messages) + len(timeline.locals) == actions
    # Within a step, a rank has the actions of a single round: never more than that round holds.
    widest = max(len(actions) for one in built for actions in one.rounds)
    busy: dict[tuple[int, int], int] = defaultdict(int)
    for message in timeline.messages:
        assert message.sent.count == message.into.count
        busy[message.step, message.sender] += 1
        busy[message.step, message.receiver] += 1
    assert max(busy.values(), default=0) <= widest


def test_the_ring_as_text() -> None:
    lines = cells(core_timeline("ring", 3))
    assert lines[0] == "step rank 0 rank 1 rank 2"
    assert lines[2] == "0 →1 b0 →2 b1 →0 b2"
    assert lines[3] == "←2 +b2 ←0 +b0 ←1 +b1"
    assert lines[-1] == "←2 b2 ←0 b0 ←1 b1"


def test_rank_order_shows_the_operands() -> None:
    text = "\n".join(cells(core_timeline("binomial", 3), rank_order=True))
    assert "←1 b0=own+recv" in text
    assert "recv+own" not in text
    assert "+b0" not in text


def test_local_actions_name_their_buffers() -> None:
    reduce = Action("reduce", into=Slice(0), left=Slice(0, buffer="input"), right=Slice(1, 2, "scratch"))
    assert "b0=in0+s1-2" in cells(timeline_of([[reduce]]))[2]


app = typer.Typer(pretty_exceptions_enable=False)
app.command()(schedules.algorithms)
app.command()(schedules.verify)
app.command()(schedules.show)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_algorithms_lists_the_registry() -> None:
    output = run("algorithms")
    for algorithm in _core.algorithms():
        assert algorithm.name in output


def test_verify_has_a_line_for_each_algorithm() -> None:
    lines = run("verify", "--ranks", "1..9").splitlines()
    names = [one.name for one in _core.algorithms()]
    assert lines[-len(names) :] == [f"allreduce {name}: proven for 1..9 ranks" for name in names]


def test_verify_shows_the_error_of_the_fewest_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Report:
        def __init__(self, ranks: int) -> None:
            self.ok = ranks < 3
            self.error = "" if self.ok else f"rank 1 of {ranks} reads what nobody wrote"

    # The workers are forked, so they have this too.
    monkeypatch.setattr(_core, "verify", lambda _collective, _name, ranks: Report(ranks))
    result = CliRunner().invoke(app, ["verify", "ring", "--ranks", "1..5"])
    assert result.exit_code == 1
    assert "allreduce ring: WRONG for 3 of 5 numbers of ranks" in result.output
    assert "3 ranks: rank 1 of 3 reads what nobody wrote" in result.output


def test_show_prints_the_diagram() -> None:
    output = run("show", "ring", "--ranks", "4")
    assert "allreduce ring, 4 ranks, 4 blocks, 6 steps" in output
    assert "←3 +b3" in output


@pytest.mark.parametrize(
    ("algorithm", "ranks"), [("ring", 4), ("rabenseifner", 8), ("binomial", 7), ("ring", 1)]
)
def test_show_draws_into_files(tmp_path: Path, algorithm: str, ranks: int) -> None:
    picture, drawing = tmp_path / "a.png", tmp_path / "a.svg"
    run("show", algorithm, "--ranks", str(ranks), "-o", str(picture), "--rank-order")
    assert picture.read_bytes().startswith(PNG_START)
    run("show", algorithm, "--ranks", str(ranks), "-o", str(drawing))
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "rong"], "no algorithm 'rong'; there are ring, "),
        (["verify", "rong"], "no algorithm 'rong'"),
        (["verify", "--ranks", "5..1"], "--ranks 5..1: expected"),
        (["show", "ring", "-o", "a.gif"], r"a.gif: expected a name that ends in \.svg"),
        (["show", "ring", "-o", "/nowhere/a.svg"], "/nowhere/a.svg could not be written"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: list[str], message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        run(*arguments)
