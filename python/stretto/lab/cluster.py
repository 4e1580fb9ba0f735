# SPDX-License-Identifier: Apache-2.0
"""An emulated cluster on one machine: network namespaces as nodes, with links of limited rate between them.

Every node is a namespace with one link to a bridge. With several racks, each rack has a bridge, and another
bridge joins them all. With several rails, a node has a link to each, and each rail has all these bridges. The
bridges have their own namespace, so the machine's own interfaces do not change, and deleting the namespaces
deletes everything. The names of all namespaces are recorded before the first one is made, so if `up` is
interrupted, the next `up` or `down` can clean up.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from stretto.lab.links import DOWN, DROP, UNLIMITED, UP, Links
from stretto.support.errors import StrettoError
from stretto.support.files import locked
from stretto.support.interruption import signals_as_exceptions, signals_held

STATE = Path("/run/stretto/lab")
NAMESPACES = Path("/run/netns")
DEFAULT_NAME = "stretto"
INTERFACE = "eth0"
"""A node's interface to the first rail."""
CORE = "br0"
"""The bridge that joins the nodes or, with several racks, their uplinks."""

_NAME = re.compile(r"stretto(-[a-z0-9]+)*")

# Replaces ssh for the launchers: [-OPTION...] HOST COMMAND...
_REMOTE_SHELL = """\
#!/bin/sh
while :; do
  case "$1" in
    -*) shift ;;
    *) break ;;
  esac
done
node=$1
shift
exec {enter} "$node" sh -c "$*"
"""

# Starts a program in a node: NODE PROGRAM... The mounts are only visible there, since `ip netns exec` gives
# its program a mount namespace. Each node needs its own shared memory, or UCX takes two nodes for one.
_ENTER = """\
#!/bin/sh
node=$1
shift
exec ip netns exec "$node" unshare --uts --ipc sh -c '
  hostname "$1" && mount --bind {hosts} /etc/hosts && mount -t tmpfs shm /dev/shm && shift && exec "$@"
' enter "$node" "$@"
"""


@dataclass(frozen=True)
class State:
    """The recorded state of a lab."""

    name: str
    links: Links
    complete: bool  # False while it is being made; a lab left like this must be removed
    owner: int | None = None  # a temporary lab ends with this process

    @classmethod
    def from_json(cls, text: str) -> State:
        """The state in a text of to_json(). Raises ValueError, TypeError, KeyError or StrettoError."""
        content = json.loads(text)
        links = Links(
            tuple(content["rates"]),
            content["racks"],
            content["uplink"],
            content["connection"],
            content.get("rails", 1),  # older releases do not write these two
            tuple(content.get("states", ())),
        )
        return cls(content["name"], links, content["complete"], content["owner"])

    def to_json(self) -> str:
        """The content of the state file."""
        links = asdict(self.links)
        return json.dumps({"name": self.name, **links, "complete": self.complete, "owner": self.owner})

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.links.nodes

    @property
    def hosts(self) -> list[str]:
        """The names of the nodes and of their namespaces."""
        return [f"{self.name}-n{node}" for node in range(self.nodes)]

    @property
    def ends(self) -> list[tuple[str, str, str]]:
        """The ends of each link: a node, its interface, and the port of the bridge."""
        return [
            (host, interface_to(rail), _on(rail, f"port{node}"))
            for rail in range(self.links.rails)
            for node, host in enumerate(self.hosts)
        ]

    @property
    def bridge(self) -> str:
        """The namespace that holds the bridge."""
        return f"{self.name}-bridge"

    @property
    def namespaces(self) -> list[str]:
        """All namespaces of the lab."""
        return [self.bridge, *self.hosts]

    @property
    def abandoned(self) -> bool:
        """Whether no process is left that would remove it."""
        return not self.complete or (self.owner is not None and not Path(f"/proc/{self.owner}").exists())


def interface_to(rail: int) -> str:
    """A node's interface to a rail."""
    return f"eth{rail}"


def check_machine() -> None:
    """Raise StrettoError unless we are root and the tools are installed."""
    if os.geteuid() != 0:
        raise StrettoError("the lab makes network namespaces, which only root may; run it as root (sudo)")
    packages = {
        "ip": "iproute2",
        "tc": "iproute2",
        "unshare": "util-linux",
        "mount": "mount",
        "hostname": "hostname",
    }
    missing = [tool for tool in packages if shutil.which(tool) is None]
    if missing:
        wanted = " ".join(dict.fromkeys(packages[tool] for tool in missing))
        raise StrettoError(f"the lab needs {' and '.join(missing)}; get them with: apt-get install {wanted}")


def _run(argv: Sequence[str], lock: int, lines: Sequence[str] | None = None) -> None:
    """Run a tool to its end, even if Ctrl-C is pressed.

    It inherits the lock: if we are killed, the next `down` waits for this tool.
    """
    done = subprocess.run(
        argv,
        input="".join(f"{line}\n" for line in lines) if lines is not None else None,
        stdin=subprocess.DEVNULL if lines is None else None,
        capture_output=True,
        text=True,
        start_new_session=True,
        pass_fds=(lock,),
    )
    if done.returncode != 0:
        output = " ".join((done.stderr + done.stdout).split()) or f"exit status {done.returncode}"
        raise StrettoError(f"{' '.join(argv)}: {output}")


@contextlib.contextmanager
def _locked() -> Iterator[int]:
    """Hold the lock by which only one process at a time makes or removes labs."""
    STATE.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(STATE / "lock") as lock:
        yield lock


def namespace_processes(names: Sequence[str]) -> Iterator[int]:
    """The processes in these network namespaces, except this one."""
    inodes = set()
    for name in names:
        with contextlib.suppress(OSError):
            there = (NAMESPACES / name).stat()
            inodes.add((there.st_dev, there.st_ino))
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                here = (process / "ns/net").stat()
                if (here.st_dev, here.st_ino) in inodes:
                    yield int(process.name)


def kill_all(processes: Callable[[], Iterator[int]], grace_seconds: float) -> None:
    """End the processes until none is left: first by SIGTERM, after the grace by SIGKILL."""
    asked_until = time.monotonic() + grace_seconds
    give_up = asked_until + 10
    number = signal.SIGTERM
    while pids := list(processes()):
        now = time.monotonic()
        if now > give_up:
            raise StrettoError(f"processes {pids} of the lab do not end, not even by SIGKILL")
        if now >= asked_until:
            number = signal.SIGKILL
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(0.02)


class Lab:
    """An emulated cluster. Several with different names may be up at once."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        if not _NAME.fullmatch(name) or len(name) > 40:
            raise StrettoError(
                f"a lab cannot be called {name!r}; expected stretto, or stretto-WORD in small letters"
            )
        self.name = name
        self.folder = STATE / name

    @property
    def remote_shell(self) -> Path:
        """The program that launchers use in place of ssh."""
        return self.folder / "rsh"

    def state(self) -> State | None:
        """The state of a lab that is up or incomplete; None if there is none."""
        try:
            return State.from_json((self.folder / "state.json").read_text())
        except (FileNotFoundError, PermissionError):
            return None
        except (ValueError, TypeError, KeyError, StrettoError) as error:
            raise StrettoError(
                f"{self.folder / 'state.json'} cannot be read ({error}); remove it by hand"
            ) from None

    def _write(self, state: State) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.folder / "state.json.new"
        new.write_text(state.to_json())
        new.replace(self.folder / "state.json")

    def require(self) -> State:
        """The state of a lab that is up. Raises StrettoError if it is not."""
        check_machine()
        state = self.state()
        if state is None or not state.complete:
            named = self.name != DEFAULT_NAME
            missing = f"no lab {self.name} is up" if named else "no lab is up"
            make = "stretto lab up --nodes 8 --rate 200mbit" + (f" --name {self.name}" if named else "")
            others = self.others_text(f"no lab {self.name} is up", self.name)
            raise StrettoError(others or f"{missing}; begin with: {make}")
        return state

    @classmethod
    def others_text(cls, beginning: str, name: str) -> str:
        """A line that names the other labs that are up; empty if there is none."""
        up: list[str] = []
        for other in cls.all():
            # A state that cannot be read is an error only if that lab is named.
            with contextlib.suppress(StrettoError):
                state = other.state()
                if other.name != name and state is not None and not state.abandoned:
                    up.append(other.name)
        if not up:
            return ""
        verb = "is" if len(up) == 1 else "are"
        return f"{beginning}, but {' and '.join(up)} {verb}: name it by --lab-name {up[0]}"

    def enter(self, node: str, argv: Sequence[str]) -> list[str]:
        """The command line that runs a program in a node."""
        return [str(self.folder / "enter"), node, *argv]

    def up(self, links: Links, owner: int | None = None) -> bool:
        """Make the lab. False if the same lab is up already. Raises StrettoError if a different one is up."""
        check_machine()
        with signals_as_exceptions(), _locked() as lock:
            old = self.state()
            if old is not None and not old.abandoned:
                if old.links == links and owner is None:
                    return False
                raise StrettoError(
                    f"a lab of {old.links} is up; take it down first: stretto lab down"
                    + (f" --name {self.name}" if self.name != DEFAULT_NAME else "")
                )
            if old is not None:
                self._take_down(old, lock)
            state = State(self.name, links, complete=False, owner=owner)
            self._check_free(state)
            try:
                self._write(state)
                self._make(state, lock)
                self._write(replace(state, complete=True))
            except BaseException:
                with signals_held():
                    self._take_down(state, lock)
                raise
        return True

    def change(
        self,
        rate: str | None = None,
        nodes: Sequence[int] = (),
        uplink: str | None = None,
        rails: Sequence[int] = (),
        state: str | None = None,
    ) -> Links:
        """Give links other rates or states while jobs run (Links.changed). Returns all links."""
        with signals_as_exceptions(), _locked() as lock, signals_held():
            lab = self.require()
            new = lab.links.changed(rate, nodes, uplink, rails, state)
            # The record changes last, so `lab set` can be repeated if a command fails.
            self._shape(lab, lock, before=lab.links, after=new)
            self._switch(lab, lock, before=lab.links, after=new)
            self._write(replace(lab, links=new))
        return new

    def down(self) -> bool:
        """Remove the lab, and end all processes in it. Returns False if there was none."""
        check_machine()
        with _locked() as lock, signals_held():
            state = self.state()
            if state is None:
                return False
            self._take_down(state, lock)
        return True

    @classmethod
    @contextlib.contextmanager
    def temporary(cls, links: Links, name: str = "stretto-temporary") -> Iterator[Lab]:
        """A lab for the length of a block. If the process is killed, the next `up` or `down` removes it."""
        lab = cls(name)
        with signals_as_exceptions():
            lab.up(links, owner=os.getpid())
            try:
                yield lab
            finally:
                lab.down()

    @staticmethod
    def all() -> list[Lab]:
        """All recorded labs."""
        if os.geteuid() != 0 or not STATE.is_dir():
            return []
        return [Lab(file.parent.name) for file in sorted(STATE.glob("*/state.json"))]

    def _check_free(self, state: State) -> None:
        for name in state.namespaces:
            if (NAMESPACES / name).exists():
                raise StrettoError(
                    f"there is a network namespace {name} already that no lab made; if nobody needs it, "
                    f"remove it: ip netns delete {name}"
                )

    def _make(self, state: State, lock: int) -> None:
        self._write_files(state)
        _run(["ip", "-batch", "-"], lock, [f"netns add {name}" for name in state.namespaces])
        links = state.links
        wires = ["link set lo up"]
        for rail in range(links.rails):
            core = _on(rail, CORE)
            wires += _bridge(core)
            for rack in range(links.racks if links.racks > 1 else 0):
                bridge, up, down = (_on(rail, f"{name}{rack}") for name in ("rack", "up", "down"))
                wires += [
                    *_bridge(bridge),
                    f"link add {up} type veth peer name {down}",
                    *_port(up, bridge),
                    *_port(down, core),
                ]
        for link, (host, end, port) in enumerate(state.ends):
            rail, node = divmod(link, links.nodes)
            bridge = f"rack{links.rack_of(node)}" if links.racks > 1 else CORE
            wires += [
                f"link add {port} type veth peer name {end} netns {host}",
                *_port(port, _on(rail, bridge)),
            ]
        _run(["ip", "-n", state.bridge, "-batch", "-"], lock, wires)
        for node, host in enumerate(state.hosts):
            inside = ["link set lo up"]
            for rail, end in enumerate(map(interface_to, range(links.rails))):
                # Without IPv6 addresses, the libraries have one path to each node, not two.
                inside += [
                    f"link set {end} addrgenmode none",
                    f"address add {_address(node, rail)}/24 dev {end}",
                    f"link set {end} up",
                ]
            _run(["ip", "-n", host, "-batch", "-"], lock, inside)
        self._shape(state, lock, before=None, after=links)
        self._switch(state, lock, before=None, after=links)

    def _shape(self, state: State, lock: int, before: Links | None, after: Links) -> None:
        """Limit both ends of each link whose rate changes."""
        ports: list[str] = []
        for link, ((host, end, port), rate) in enumerate(zip(state.ends, after.rates, strict=True)):
            old = before.rates[link] if before else UNLIMITED
            ports += _limit(port, old, rate)
            inside = (
                _limit(end, old, rate)
                if after.connection == UNLIMITED
                else _limit_connections(end, before is None, rate, after.connection)
            )
            if inside:
                _run(["tc", "-n", host, "-batch", "-"], lock, inside)
        for rail, rack in itertools.product(range(after.rails), range(after.racks if after.racks > 1 else 0)):
            for name in (f"up{rack}", f"down{rack}"):
                ports += _limit(_on(rail, name), before.uplink if before else UNLIMITED, after.uplink)
        if ports:
            _run(["tc", "-n", state.bridge, "-batch", "-"], lock, ports)

    def _switch(self, state: State, lock: int, before: Links | None, after: Links) -> None:
        """Bring each link whose state changes to its new one."""
        for link, ((host, end, port), new) in enumerate(zip(state.ends, after.states, strict=True)):
            old = before.states[link] if before else UP
            if DOWN in (old, new) and old != new:
                _run(["ip", "-n", host, "link", "set", end, DOWN if new == DOWN else UP], lock)
            if DROP in (old, new) and old != new:
                _run(["tc", "-n", state.bridge, "-batch", "-"], lock, _drop(port, new == DROP))

    def _write_files(self, state: State) -> None:
        hosts = self.folder / "hosts"
        lines = [
            "127.0.0.1 localhost",
            *(f"{_address(node)} {host}" for node, host in enumerate(state.hosts)),
        ]
        hosts.write_text("".join(f"{line}\n" for line in lines))
        enter = self.folder / "enter"
        enter.write_text(_ENTER.format(hosts=hosts))
        self.remote_shell.write_text(_REMOTE_SHELL.format(enter=enter))
        enter.chmod(0o700)
        self.remote_shell.chmod(0o700)

    def _take_down(self, state: State, lock: int) -> None:
        kill_all(lambda: namespace_processes(state.namespaces), grace_seconds=0.5)
        present = [name for name in state.namespaces if (NAMESPACES / name).exists()]
        if present:
            _run(["ip", "-force", "-batch", "-"], lock, [f"netns delete {name}" for name in present])
        shutil.rmtree(self.folder)


def _bridge(name: str) -> list[str]:
    return [
        f"link add {name} type bridge stp_state 0 forward_delay 0",
        f"link set {name} addrgenmode none up",
    ]


def _port(name: str, bridge: str) -> list[str]:
    return [f"link set {name} addrgenmode none", f"link set {name} master {bridge} up"]


def _limit(interface: str, before: str, after: str) -> list[str]:
    """The tc commands that change the rate at which an interface sends."""
    if before == after:
        return []
    if after == UNLIMITED:
        return [f"qdisc delete dev {interface} root"]
    return [f"qdisc replace dev {interface} root tbf rate {after} burst 256kb latency 50ms"]


def _drop(port: str, begins: bool) -> list[str]:
    """The tc commands for a port that silently drops what passes it, or no longer does so.

    ARP passes, as by firewalls: without an answer to it, the kernel would tell the sender.
    """
    if not begins:
        return [f"qdisc delete dev {port} clsact"]
    # Small kernels lack tc's action `drop`, but `lo` discards what is addressed to another interface.
    action = "protocol ip u32 match u32 0 0 action mirred egress redirect dev lo"
    return [
        f"qdisc replace dev {port} clsact",
        *(f"filter add dev {port} {direction} {action}" for direction in ("ingress", "egress")),
    ]


def _limit_connections(interface: str, is_new: bool, link: str, connection: str) -> list[str]:
    """The tc commands for the interface of a node whose connections each have their own limit.

    Source ports tell connections apart, by the bits that differ among those of one process (they are even).
    """
    rate = "200gbit" if link == UNLIMITED else link
    device = f"dev {interface}"
    of_link = f"{device} parent 1: classid 1:1 htb rate {rate} burst 256kb quantum 200000"
    if not is_new:
        return [f"class change {of_link}"]
    lines = [f"qdisc add {device} root handle 1: htb default 100", f"class add {of_link}"]
    for bits in range(256):
        one = f"1:{0x100 + bits:x}"
        # A connection has little rate of its own, and borrows the rest from the link.
        limit = f"rate 8kbit ceil {connection} cburst 256kb quantum 60000"
        of_port = f"u32 match ip sport {2 * bits} 0x01fe flowid {one}"
        lines += [
            f"class add {device} parent 1:1 classid {one} htb {limit}",
            f"filter add {device} parent 1: protocol ip prio 1 {of_port}",
        ]
    return lines


def _address(node: int, rail: int = 0) -> str:
    return f"10.77.{rail}.{node + 1}"


def _on(rail: int, name: str) -> str:
    """The name that a bridge or port of the first rail has on this one."""
    return f"{name}r{rail}" if rail else name
