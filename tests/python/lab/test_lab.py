# SPDX-License-Identifier: Apache-2.0
"""Tests with real emulated clusters. They need root, iproute2 and the MPI libraries."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stretto.lab import cluster as lab_cluster
from stretto.lab import jobs as lab_jobs
from stretto.lab.cluster import NAMESPACES, STATE, Lab, namespace_processes
from stretto.lab.jobs import Job
from stretto.lab.links import UNLIMITED, Links
from stretto.launch import mpi
from stretto.launch.mpi import Flavor, Install, Launcher
from stretto.support.errors import StrettoError

# Names of our own, so that a lab in use is not touched.
NAME = f"stretto-test{os.getpid()}"
HOSTS = ["n0", "n1"]


def namespaces() -> list[str]:
    return sorted(file.name for file in NAMESPACES.glob(f"{NAME}*"))


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab(NAME)
    yield lab
    lab.down()
    assert namespaces() == []
    assert not lab.folder.exists()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Lab]:
    """Two slow nodes for the MPI programs."""
    with Lab.temporary(Links.even(2, "50mbit"), name=f"{NAME}-mpi") as lab:
        yield lab


def stretto(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "stretto", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120)


def test_a_rank_that_waits_for_others() -> None:
    """In MPICH's barriers a rank reads from the socket that PMI_FD names."""
    ours, its = socket.socketpair()
    script = f"import os; print(flush=True); os.read({its.fileno()}, 1); print(flush=True); os.read(0, 1)"
    with (
        ours,
        its,
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, "PMI_FD": str(its.fileno())},
            pass_fds=(its.fileno(),),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as rank,
    ):
        assert rank.stdout is not None
        assert rank.stdin is not None
        rank.stdout.readline()
        while not lab_jobs.waits_for_others(rank.pid):
            assert rank.poll() is None
        ours.send(b".")
        rank.stdout.readline()
        assert not lab_jobs.waits_for_others(rank.pid)
        rank.stdin.close()
    assert not lab_jobs.waits_for_others(rank.pid)


@pytest.mark.parametrize(("hangs", "lines"), [(True, 1), (False, 0)])
def test_a_job_that_may_hang_is_told_once(
    hangs: bool, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab_jobs, "_TELL_SECONDS", 0.0)
    monkeypatch.setattr(lab_jobs, "_LOOK_SECONDS", 0.01)
    looks = 0

    def may_hang() -> bool:
        nonlocal looks
        looks += 1
        if looks == 5 or hangs:
            process.stdin.close()  # type: ignore[union-attr]
        return hangs

    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, text=True) as process:
        assert lab_jobs.wait_and_tell(process, may_hang) == 0
    said = capsys.readouterr().err
    assert said.count("this is a fault of MPICH 4.0.2") == said.count("\n") == lines


def begin(*arguments: str) -> subprocess.Popen[bytes]:
    """Start stretto in its own process group, so that it can get signals as from a terminal."""
    argv = [sys.executable, "-m", "stretto", *arguments]
    return subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def test_from_up_to_down(lab: Lab) -> None:
    interfaces = subprocess.run(["ip", "-o", "link"], capture_output=True, check=True).stdout
    hosts = Path("/etc/hosts").read_bytes()
    before = sorted(NAMESPACES.iterdir()) if NAMESPACES.is_dir() else []

    up = stretto("lab", "up", "--nodes", "3", "--rate", "100mbit", "--name", NAME)
    assert (up.returncode, up.stderr) == (0, "")
    assert namespaces() == [f"{NAME}-bridge", f"{NAME}-n0", f"{NAME}-n1", f"{NAME}-n2"]
    assert f"{NAME}: 3 nodes at 100mbit, 0 processes in it" in stretto("lab", "status").stdout

    script = f"hostname; getent hosts {NAME}-n2; cat /etc/hosts"
    inside = subprocess.run(lab.enter(f"{NAME}-n1", ["sh", "-c", script]), capture_output=True, text=True)
    assert inside.stdout.splitlines()[:2] == [f"{NAME}-n1", f"10.77.0.3       {NAME}-n2"]
    remote = [str(lab.remote_shell), "-x", f"{NAME}-n2", "hostname;", "echo '$HOME  is'", "$0"]
    assert subprocess.run(remote, capture_output=True, text=True).stdout == f"{NAME}-n2\n$HOME  is sh\n"

    assert subprocess.run(["ip", "-o", "link"], capture_output=True, check=True).stdout == interfaces
    assert Path("/etc/hosts").read_bytes() == hosts
    down = stretto("lab", "down", "--name", NAME)
    assert (down.returncode, down.stdout) == (0, "the lab is down\n")
    assert sorted(NAMESPACES.iterdir()) == before
    # If other labs are up, the message names them.
    assert stretto("lab", "down", "--name", NAME).stdout.startswith("no lab ")


def limits() -> dict[str, str]:
    """The rate at which each interface of the lab sends, as tc shows it, if it is limited."""
    rates = {}
    for name in namespaces():
        rules = subprocess.run(["tc", "-n", name, "qdisc"], capture_output=True, text=True, check=True).stdout
        for line in rules.splitlines():
            words = line.split()
            if words[1] == "tbf":
                # tc counts a burst in ticks of the rate.
                assert words[words.index("burst") + 1].startswith(("256Kb", "262"))
                interface = words[words.index("dev") + 1]
                rates[f"{name.removeprefix(NAME)}:{interface}"] = words[words.index("rate") + 1]
    return rates


def test_both_ends_of_every_link_are_shaped(lab: Lab) -> None:
    lab.up(Links.even(2, "100mbit"))
    ends = ["-bridge:port0", "-bridge:port1", "-n0:eth0", "-n1:eth0"]
    assert limits() == dict.fromkeys(ends, "100Mbit")


@pytest.mark.usefixtures("lab")
def test_links_of_several_rates() -> None:
    made = stretto("lab", "up", "--rates", "200mbit,unlimited,50mbit", "--name", NAME)
    assert made.stdout == "a lab of 3 nodes at 1 x 200mbit, 1 x unlimited and 1 x 50mbit is up\n"
    fast, slow = ["-bridge:port0", "-n0:eth0"], ["-bridge:port2", "-n2:eth0"]
    assert limits() == dict.fromkeys(fast, "200Mbit") | dict.fromkeys(slow, "50Mbit")


def test_rates_change_while_a_lab_is_up(lab: Lab) -> None:
    lab.up(Links.even(3, "100mbit"))
    changed = stretto("lab", "set", "--rate", "50mbit", "--node", "1", "--name", NAME)
    assert changed.stdout == "the lab has 3 nodes at 2 x 100mbit and 1 x 50mbit now\n"
    assert limits()["-n1:eth0"] == limits()["-bridge:port1"] == "50Mbit"
    assert limits()["-n0:eth0"] == limits()["-bridge:port2"] == "100Mbit"
    assert lab.require().links == Links(("100mbit", "50mbit", "100mbit"))
    lab.change(UNLIMITED)
    assert limits() == {}
    lab.change("1gbit", nodes=[2])
    assert sorted(limits()) == ["-bridge:port2", "-n2:eth0"]
    with pytest.raises(StrettoError, match="the nodes are 0 to 2"):
        lab.change("1gbit", nodes=[3])


def classes() -> dict[str, str]:
    """What each class of the first node's interface may send, as tc shows it."""
    shown = subprocess.run(
        ["tc", "-n", f"{NAME}-n0", "class", "show", "dev", "eth0"], capture_output=True, text=True, check=True
    ).stdout
    words_of_lines = map(str.split, shown.splitlines())
    return {words[2]: words[words.index("ceil") + 1] for words in words_of_lines}


@pytest.mark.usefixtures("lab")
def test_a_connection_may_have_a_limit() -> None:
    made = stretto("lab", "up", "--nodes", "2", "--rate", "2gbit", "--connection", "1gbit", "--name", NAME)
    assert made.stdout == "a lab of 2 nodes at 2gbit, a connection at 1gbit is up\n"
    found = classes()
    assert found.pop("1:1") == "2Gbit"
    assert list(found.values()) == ["1Gbit"] * 256
    assert limits() == dict.fromkeys(["-bridge:port0", "-bridge:port1"], "2Gbit")
    stretto("lab", "set", "--rate", "3gbit", "--name", NAME)
    assert classes()["1:1"] == "3Gbit"
    assert limits() == dict.fromkeys(["-bridge:port0", "-bridge:port1"], "3Gbit")


def test_racks_share_their_uplinks(lab: Lab) -> None:
    lab.up(Links.even(5, "200mbit", racks=2, uplink="400mbit"))
    uplinks = {f"-bridge:{end}{rack}": "400Mbit" for end in ("up", "down") for rack in (0, 1)}
    assert uplinks.items() <= limits().items()
    bridges = subprocess.run(
        ["bridge", "-n", f"{NAME}-bridge", "link"], capture_output=True, text=True, check=True
    ).stdout
    words_of_lines = map(str.split, bridges.splitlines())
    found = [(words[1].split("@")[0], words[words.index("master") + 1]) for words in words_of_lines]
    assert sorted(found) == [
        *(("down0", "br0"), ("down1", "br0")),
        *(("port0", "rack0"), ("port1", "rack0"), ("port2", "rack0"), ("port3", "rack1"), ("port4", "rack1")),
        *(("up0", "rack0"), ("up1", "rack1")),
    ]
    # A node reaches one in the other rack, which has no such port.
    script = "import errno, socket\nassert socket.socket().connect_ex(('10.77.0.5', 9)) == errno.ECONNREFUSED"
    subprocess.run(lab.enter(f"{NAME}-n0", [sys.executable, "-c", script]), check=True, timeout=60)
    lab.change(None, uplink="100mbit")
    assert limits()["-bridge:up1"] == limits()["-bridge:down0"] == "100Mbit"
    assert limits()["-n0:eth0"] == "200Mbit"


def test_racks_of_two_rails(lab: Lab) -> None:
    lab.up(Links.even(2, "100mbit", racks=2, uplink="50mbit", rails=2))
    ends = [f"{name}{number}{rail}" for name in ("up", "down") for number in range(2) for rail in ("", "r1")]
    assert {f"-bridge:{end}": limits().get(f"-bridge:{end}") for end in ends} == {
        f"-bridge:{end}": "50Mbit" for end in ends
    }
    assert [end for end, rate in sorted(limits().items()) if rate == "100Mbit"] == [
        *("-bridge:port0", "-bridge:port0r1", "-bridge:port1", "-bridge:port1r1"),
        *("-n0:eth0", "-n0:eth1", "-n1:eth0", "-n1:eth1"),
    ]


# Serves connections in node 1, or has one on each rail from node 0 and sends on the rails that are asked for.
# Each line is the rails, the bytes, and the seconds in which an answer must come.
TALK = """
import socket, sys, threading, time
def serve(connection):
    while head := connection.recv(8, socket.MSG_WAITALL):
        left = int(head)
        while left:
            left -= len(connection.recv(min(left, 1 << 16)))
        connection.sendall(b".")
def send(rail, size, patience):
    rails[rail].settimeout(patience)
    begin = time.monotonic()
    try:
        rails[rail].sendall(b"%8d" % size + bytes(size))
        due[rail] += 1
        while due[rail]:
            due[rail] -= len(rails[rail].recv(due[rail]))
        seconds[rail] = time.monotonic() - begin
    except TimeoutError:
        pass
if sys.argv[1] == "serve":
    with socket.create_server(("", 7777)) as server:
        print("ready", flush=True)
        while True:
            threading.Thread(target=serve, args=server.accept()[:1], daemon=True).start()
rails = [socket.create_connection((f"10.77.{rail}.2", 7777), 10) for rail in range(2)]
due = [0, 0]
for line in sys.stdin:
    which, size, patience = line.split()
    seconds = {}
    threads = [threading.Thread(target=send, args=(int(rail), int(size), float(patience))) for rail in which]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(*(seconds.get(int(rail), -1) for rail in which), flush=True)
"""


@pytest.fixture
def talk(lab: Lab) -> Iterator[Callable[..., list[float]]]:
    """The seconds in which node 1 has answered to messages on some rails; negative if it has not."""
    lab.up(Links.even(2, "20mbit", rails=2))

    def start(node: int, *arguments: str) -> subprocess.Popen[str]:
        argv = lab.enter(f"{NAME}-n{node}", [sys.executable, "-c", TALK, *arguments])
        return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start(1, "serve") as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        with start(0, "send") as client:

            def ask(rails: str, size: int = 1, patience: float = 60) -> list[float]:
                assert client.stdin is not None
                assert client.stdout is not None
                print(rails, size, patience, file=client.stdin, flush=True)
                return [float(word) for word in client.stdout.readline().split()]

            yield ask
            client.kill()
        server.kill()


@pytest.mark.measures
def test_a_rail_that_becomes_slower(lab: Lab, talk: Callable[..., list[float]]) -> None:
    size = 3 << 19
    # The token buckets of two hops let half a mebibyte through.
    least = (size - 2 * 256 * 1024) * 8 / 20e6
    both = talk("01", size)
    assert min(both) > least
    assert max(both) < 2 * size * 8 / 20e6
    changed = stretto("lab", "set", "--node", "1", "--rail", "1", "--rate", "4mbit", "--name", NAME)
    assert changed.stdout == "the lab has 2 nodes at 3 x 20mbit and 1 x 4mbit, 2 rails now\n"
    assert limits() == {
        **dict.fromkeys(["-bridge:port0", "-bridge:port1", "-bridge:port0r1"], "20Mbit"),
        **dict.fromkeys(["-n0:eth0", "-n1:eth0", "-n0:eth1"], "20Mbit"),
        **dict.fromkeys(["-bridge:port1r1", "-n1:eth1"], "4Mbit"),
    }
    fast, slow = talk("01", size)
    assert slow > least * 5
    assert least < fast < slow / 1.5
    lab.change("20mbit")
    assert set(limits().values()) == {"20Mbit"}


@pytest.mark.parametrize("rail", [0, 1])
def test_a_rail_that_is_cut_and_comes_back(lab: Lab, rail: int, talk: Callable[..., list[float]]) -> None:
    cut, other = str(rail), str(1 - rail)
    assert min(talk("01")) >= 0
    for state in ("down", "up", "drop", "down", "drop", "up"):
        done = stretto("lab", "set", "--node", "1", "--rail", cut, "--link", state, "--name", NAME)
        told = "" if state == "up" else f", rail {rail} of node 1: {state}"
        assert done.stdout == f"the lab has 2 nodes at 20mbit, 2 rails{told} now\n"
        assert lab.require().links.states[2 * rail + 1] == state
        assert (talk(cut, patience=60 if state == "up" else 0.3)[0] >= 0) == (state == "up")
        assert talk(other)[0] >= 0


def test_nobody_is_told_of_what_is_dropped(lab: Lab) -> None:
    """Where no one answers, not even to ARP, the kernel gives the sender an error after three seconds."""
    lab.up(Links.even(2, "20mbit", rails=2).changed(None, [1], None, [1], "drop"))
    script = """if True:
        import socket, sys
        with socket.socket() as one:
            one.settimeout(5)
            one.connect((f"10.77.{sys.argv[1]}.2", 9))
    """

    def error(rail: int) -> str:
        subprocess.run(["ip", "-n", f"{NAME}-n0", "neighbour", "flush", "dev", f"eth{rail}"], check=True)
        argv = lab.enter(f"{NAME}-n0", [sys.executable, "-c", script, str(rail)])
        return subprocess.run(argv, capture_output=True, text=True).stderr.splitlines()[-1]

    assert error(1) == "TimeoutError: timed out"
    assert error(0).startswith("ConnectionRefusedError")
    lab.change(nodes=[1], rails=[1], state="down")
    assert error(1).endswith("No route to host")
    lab.change(nodes=[0], rails=[1], state="down")
    assert error(1).endswith("Network is unreachable")
    lab.change(state="up")
    assert error(1).startswith("ConnectionRefusedError")


def test_a_job_may_use_both_rails(lab: Lab) -> None:
    lab.up(Links.even(2, "1gbit", rails=2))
    job = ["-x", "STRETTO_INTERFACE=eth0,eth1", "--", "sh", "-c", "echo $STRETTO_INTERFACE; ip -o -4 address"]
    done = stretto("lab", "run", "--mpi", "openmpi", "--ranks", "1", "--name", NAME, *job)
    assert done.stdout.startswith("eth0,eth1\n")
    assert "eth0    inet 10.77.0.1/24" in done.stdout
    assert "eth1    inet 10.77.1.1/24" in done.stdout


def test_up_when_one_is_up(lab: Lab) -> None:
    assert lab.up(Links.even(2, "100mbit"))
    assert not lab.up(Links.even(2, "100mbit"))
    with pytest.raises(StrettoError, match=r"a lab of 2 nodes at 100mbit is up; take it down first"):
        lab.up(Links.even(3, "100mbit"))


@pytest.mark.parametrize(
    ("nodes", "rate"), [(0, "1gbit"), (251, "1gbit"), (2, "fast"), (2, "100"), (2, "1mbit;")]
)
def test_wrong_sizes(nodes: int, rate: str, lab: Lab) -> None:
    with pytest.raises(StrettoError, match=r"--nodes|--rate"):
        lab.up(Links.even(nodes, rate))


@pytest.mark.parametrize("name", ["", "n0", "stretto/..", "stretto-", "stretto-A", "stretto" + "-a" * 20])
def test_wrong_names(name: str) -> None:
    with pytest.raises(StrettoError, match="cannot be called"):
        Lab(name)


def test_not_root(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(StrettoError, match="only root may"):
            lab.up(Links.even(2, "100mbit"))


def test_no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lab: Lab) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(StrettoError, match=r"needs ip and tc and .*apt-get install iproute2 "):
            lab.up(Links.even(2, "100mbit"))


def test_what_others_made_stays(lab: Lab) -> None:
    foreign = f"{NAME}-n1"
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        with pytest.raises(StrettoError, match=f"there is a network namespace {foreign} already"):
            lab.up(Links.even(3, "100mbit"))
        assert namespaces() == [foreign]
        assert lab.state() is None
        assert not lab.down()
        assert namespaces() == [foreign]
    finally:
        subprocess.run(["ip", "netns", "delete", foreign], check=True)


def test_a_step_that_fails_is_rolled_back(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            lab_cluster, "_address", lambda node, _=0: f"10.77.0.{node + 1}" if node < 2 else "nonsense"
        )
        with pytest.raises(StrettoError, match="nonsense"):
            lab.up(Links.even(4, "100mbit"))
    assert namespaces() == []
    assert lab.state() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seen", [0, 1, 20])
def test_a_signal_during_up(number: signal.Signals, seen: int, lab: Lab) -> None:
    process = begin("lab", "up", "--nodes", "40", "--name", NAME)
    wait_until((lab.folder / "state.json").exists)
    wait_until(lambda: len(namespaces()) >= seen)
    os.killpg(process.pid, number)
    assert process.wait(timeout=60) != 0
    assert namespaces() == []
    assert lab.state() is None


@pytest.mark.parametrize("after", ["up", "down"])
@pytest.mark.parametrize("seen", [0, 1, 20, 41])
def test_a_kill_during_up(seen: int, after: str, lab: Lab) -> None:
    process = begin("lab", "up", "--nodes", "40", "--name", NAME)
    wait_until((lab.folder / "state.json").exists)
    wait_until(lambda: len(namespaces()) >= seen)
    process.kill()
    process.wait()
    if after == "down":
        assert lab.down()
        assert namespaces() == []
    else:
        lab.up(Links.even(1, "10mbit"))
        assert namespaces() == [f"{NAME}-bridge", f"{NAME}-n0"]


def test_down_ends_what_runs_in_it(lab: Lab) -> None:
    lab.up(Links.even(2, "100mbit"))
    stubborn = "trap '' TERM; echo ready; while :; do sleep 1; done"
    with subprocess.Popen(lab.enter(f"{NAME}-n1", ["sh", "-c", stubborn]), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert lab.down()
        assert process.wait(timeout=10) == -signal.SIGKILL


def test_a_temporary_lab_ends_with_its_block() -> None:
    def work() -> None:
        with Lab.temporary(Links.even(2, "100mbit"), name=NAME):
            assert len(namespaces()) == 3
            raise RuntimeError("the work failed")

    with pytest.raises(RuntimeError, match="the work failed"):
        work()
    assert namespaces() == []


def test_a_temporary_lab_of_a_killed_process(lab: Lab) -> None:
    script = f"""
from stretto.lab.cluster import Lab
from stretto.lab.links import Links
with Lab.temporary(Links.even(3, "1mbit"), "{NAME}"):
    print(flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StrettoError, match="is up"):
            lab.up(Links.even(2, "1mbit"))
        process.kill()
    assert len(namespaces()) == 4
    assert "left behind" in stretto("lab", "down", "--name", f"{NAME}-other").stdout
    assert namespaces() == []


def test_a_state_that_cannot_be_read(lab: Lab) -> None:
    lab.folder.mkdir(parents=True)
    (lab.folder / "state.json").write_text("{")
    with pytest.raises(StrettoError, match="remove it by hand"):
        lab.up(Links.even(2, "1mbit"))
    assert f"{NAME}: {lab.folder}/state.json cannot be read" in stretto("lab", "status").stdout
    other = f"{NAME}-other"
    assert stretto("lab", "up", "--nodes", "1", "--name", other).returncode == 0
    assert stretto("lab", "down", "--name", other).stdout == "the lab is down\n"
    shutil.rmtree(lab.folder)


def test_the_state_is_roots_alone(lab: Lab) -> None:
    lab.up(Links.even(1, "1mbit"))
    assert lab.folder.stat().st_mode & 0o777 == 0o700
    assert STATE.stat().st_mode & 0o077 == 0
    assert json.loads((lab.folder / "state.json").read_text())["complete"] is True


def test_run_without_a_lab() -> None:
    done = stretto("lab", "run", "--name", NAME, "--mpi", "openmpi", "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("stretto: no lab ")


def test_another_lab_is_up(lab: Lab) -> None:
    lab.up(Links.even(1, "1mbit"))
    other = f"{NAME}-other"
    for line in (
        ["lab", "run", "--name", other, "--mpi", "openmpi", "--", "true"],
        ["bench", "allreduce", "--lab", "--lab-name", other],
    ):
        done = stretto(*line)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"no lab {other} is up, but " in done.stderr
        assert lab.name in done.stderr
        assert "name it by --lab-name stretto-" in done.stderr
    down = stretto("lab", "down", "--lab-name", other).stdout
    assert f"no lab {other} was up, but " in down
    assert lab.name in down


# The command line of each launcher.


def made_up(flavor: Flavor) -> Install:
    path = Path("/usr/bin/mpirun.openmpi" if flavor.abi == "openmpi" else "/usr/bin/mpiexec.hydra")
    return Install(Launcher(path, flavor, "0"))


def words(flavor: Flavor, job: Job) -> str:
    line = lab_jobs.command(made_up(flavor), job, HOSTS, Path("/rsh"))
    return " ".join([*(f"{name}={value}" for name, value in sorted(line.environment.items())), *line.argv])


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that adds nothing to the command lines."""
    monkeypatch.setenv("MPI4PY_LIBMPI", "/libmpi.so")
    for name in ("STRETTO_ALLREDUCE", "STRETTO_STATS", "STRETTO_STRICT", "STRETTO_DISABLE", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", "")
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "prefix", "/")


COMMAND_LINES = [
    (
        Flavor.OPENMPI4,
        Job(["./a", "-x"]),
        """/usr/bin/mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent /rsh --mca oob_tcp_if_include eth0
        --mca mpi_yield_when_idle 1 --mca btl tcp,self --mca btl_tcp_if_include eth0 --bind-to none
        -H n0:1,n1:1 -np 2 ./a -x""",
    ),
    (
        Flavor.OPENMPI5,
        Job(["./a"], ppn=3, np=5, variables={"A": "b"}),
        """/usr/bin/mpirun.openmpi --allow-run-as-root --prtemca plm_ssh_agent /rsh
        --prtemca prte_if_include eth0 --mca pml ob1 --mca mpi_yield_when_idle 1 --mca btl sm,tcp,self
        --mca btl_tcp_if_include eth0 --bind-to none -H n0:3,n1:3 -np 5 -x A=b ./a""",
    ),
    (
        Flavor.MPICH4,
        Job(["./a"], variables={"A": "b"}),
        """HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=/rsh UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self
        /usr/bin/mpiexec.hydra -iface eth0 -hosts n0,n1 -ppn 1 -np 2 -genv A b ./a""",
    ),
    (
        Flavor.MPICH5,
        Job(["./a"], ppn=2),
        """HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=/rsh MPIR_CVAR_CH4_NETMOD=ucx UCX_NET_DEVICES=eth0
        UCX_TLS=tcp,self,sysv,posix /usr/bin/mpiexec.hydra -iface eth0 -hosts n0,n1 -ppn 2 -np 4 ./a""",
    ),
    (
        Flavor.MPICH5,
        Job(["./a"], provider="ofi"),
        """FI_PROVIDER=tcp FI_TCP_IFACE=eth0 HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=/rsh
        MPIR_CVAR_CH4_NETMOD=ofi /usr/bin/mpiexec.hydra -iface eth0 -hosts n0,n1 -ppn 1 -np 2 ./a""",
    ),
    (
        Flavor.MPICH5,
        Job(["./a"], on_each=[1, 3]),
        """HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=/rsh MPIR_CVAR_CH4_NETMOD=ucx UCX_NET_DEVICES=eth0
        UCX_TLS=tcp,self,sysv,posix /usr/bin/mpiexec.hydra -iface eth0 -hosts n0:1,n1:3 -np 4 ./a""",
    ),
    (
        Flavor.INTELMPI,
        Job(["./a"], ppn=2),
        """FI_PROVIDER=tcp FI_TCP_IFACE=eth0 I_MPI_FABRICS=shm:ofi I_MPI_HYDRA_BOOTSTRAP=ssh
        I_MPI_HYDRA_BOOTSTRAP_EXEC=/rsh I_MPI_HYDRA_IFACE=eth0 I_MPI_THREAD_YIELD=3
        /usr/bin/mpiexec.hydra -iface eth0 -hosts n0,n1 -ppn 2 -np 4 ./a""",
    ),
]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(("flavor", "job", "expected"), COMMAND_LINES)
def test_command_lines(flavor: Flavor, job: Job, expected: str) -> None:
    assert words(flavor, job) == " ".join(expected.split())


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("flavor", "form"), [(Flavor.OPENMPI4, " -x {}={} "), (Flavor.MPICH4, " -genv {} {} ")]
)
def test_a_spec_puts_stretto_under_it(
    flavor: Flavor, form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libstretto.so"
    library.touch()
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    line = words(flavor, Job(["./a"], specs=["ring"]))
    order = "verify_asan_link_order=0"
    expected = {"STRETTO_ALLREDUCE": "ring", "LD_PRELOAD": str(library), "ASAN_OPTIONS": order}
    assert [name for name, value in expected.items() if form.format(name, value) not in line] == []
    assert line.endswith(" ./a")
    assert "LD_PRELOAD" in words(flavor, Job(["./a"], stretto=True))
    assert "LD_PRELOAD" not in words(flavor, Job(["./a"]))


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (Job([]), "no program given"),
        (Job(["a"], ppn=0), "--ppn 0"),
        (Job(["a"], on_each=[1, 2, 3]), "--ppn 1,2,3: the lab has 2 nodes"),
        (Job(["a"], on_each=[1, -2]), "--ppn -2"),
        (Job(["a"], on_each=[1, 2], np=4), r"--np 4: 2 nodes of 1\+2 ranks hold from 1 to 3"),
        (Job(["a"], np=0), "--np 0"),
        (Job(["a"], ppn=2, np=5), "--np 5: 2 nodes of 2 ranks hold from 1 to 4"),
        (Job(["a"], provider="tcp"), "--provider tcp"),
        (Job(["a"], provider="ofi"), "--provider ofi: only --mpi mpich5"),
    ],
)
def test_jobs_that_cannot_be(job: Job, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        words(Flavor.OPENMPI4, job)


# Programs on the cluster.

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, on_node;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  const int count = 1 << 20;
  float* sum = malloc(sizeof(float) * count);
  for (int i = 0; i < count; ++i) sum[i] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  seconds = MPI_Wtime() - seconds;
  if (rank == 0) printf("%d %d %.0f %.3f\n", size, on_node, sum[count - 1], seconds);
  MPI_Comm_free(&node);
  free(sum);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same program for each kind of MPI library."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "sum.c").write_text(PROGRAM)
    mpich5 = mpi.find_install("mpich5").launcher.path.with_name("mpicc")
    compilers = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich", "mpich5": str(mpich5)}
    for name, compiler in compilers.items():
        subprocess.run([compiler, folder / "sum.c", "-o", folder / name], check=True)
    names = {
        "openmpi": "openmpi",
        "openmpi5": "openmpi",
        "mpich": "mpich",
        "mpich5": "mpich5",
        "intelmpi": "mpich5",
    }
    return {flavor: folder / name for flavor, name in names.items()}


def run_there(cluster: Lab, name: str, job: Job) -> tuple[str, int]:
    with lab_jobs.start(cluster, mpi.find_install(name), job, stdout=subprocess.PIPE) as process:
        output, _ = process.communicate(timeout=120)
        return output, process.returncode


@pytest.mark.parametrize("ppn", [1, 2])
@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("openmpi", "ucx"),
        ("openmpi5", "ucx"),
        ("mpich", "ucx"),
        ("mpich5", "ucx"),
        ("mpich5", "ofi"),
        ("intelmpi", "ucx"),
    ],
)
def test_every_mpi_sees_a_cluster(
    name: str, provider: str, ppn: int, cluster: Lab, programs: dict[str, Path]
) -> None:
    job = Job([str(programs[name])], ppn=ppn, provider=provider)
    with lab_jobs.start(cluster, mpi.find_install(name), job, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        size, on_node, total, seconds = map(float, process.stdout.readline().split())
        # MPICH 4.0.2 over UCX's TCP sometimes hangs in MPI_Finalize.
        if name != "mpich":
            assert process.wait(timeout=60) == 0
    assert (size, on_node, total) == (2 * ppn, ppn, 2 * ppn)
    # 4 MiB each way at 6.25 MB/s, except what the token buckets of two hops let through.
    assert seconds > (4 * 2**20 - 2 * 256 * 1024) / 6.25e6


def test_status_output_and_variables_come_through(cluster: Lab) -> None:
    script = 'echo "out $COLOUR $(hostname)"; echo wrong >&2; exit 7'
    options = ["--name", cluster.name, "--mpi", "mpich", "--np", "1", "-x", "COLOUR=blue"]
    done = stretto("lab", "run", *options, "--", "sh", "-c", script)
    assert done.returncode == 7
    assert f"out blue {cluster.name}-n0\n" in done.stdout
    assert "wrong\n" in done.stderr


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_run(name: str, number: signal.Signals, cluster: Lab, tmp_path: Path) -> None:
    script = f"trap '' INT TERM; touch {tmp_path}/$(hostname); while :; do sleep 1; done"
    process = begin("lab", "run", "--name", cluster.name, "--mpi", name, "--", "sh", "-c", script)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    # A terminal signals the whole group, `kill` one process.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    assert process.wait(timeout=60) == 128 + number
    assert list(namespace_processes(cluster.require().namespaces)) == []


def test_one_job_of_two_ends(cluster: Lab, tmp_path: Path) -> None:
    install = mpi.find_install("mpich")
    # The shell itself makes the file, so that no child of it is ending when the file is there.
    script = f"name=$(hostname); : >{tmp_path}/$name; exec sleep 100"
    with contextlib.ExitStack() as stack:
        stack.enter_context(lab_jobs.start(cluster, install, Job(["sh", "-c", script])))
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        alive = set(namespace_processes(cluster.require().namespaces))
        assert run_there(cluster, "mpich", Job(["true"]))[1] == 0
        assert set(namespace_processes(cluster.require().namespaces)) == alive
    assert list(namespace_processes(cluster.require().namespaces)) == []
