# SPDX-License-Identifier: Apache-2.0
"""What is free of MPI in Stretto's C++ core: the registry, specs, topologies, schedules and their proof.

A text that cannot be read, and a rank or root that is not there, is a ValueError of one line.
"""

from collections.abc import Mapping

def version() -> str: ...
def collectives() -> list[str]: ...
def has_root(collective: str) -> bool: ...
def is_reduction(collective: str) -> bool: ...
def is_never_cut(collective: str) -> bool:
    """Whether calls have no size that all ranks know, so there are no segments, and no choice by size."""

def complaints(name: str, value: str) -> list[str]:
    """What is wrong with this environment variable, if it is a setting of the library."""

class Algorithm:
    @property
    def collective(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def usual_radix(self) -> int:
        """The radix unless a spec gives one; 0 if it takes none."""
    @property
    def moves_runs(self) -> bool:
        """Where blocks are the caller's, it is not cut into segments, whatever a spec says."""
    @property
    def parts(self) -> list[tuple[str, str]]:
        """The collective of each algorithm that it is made of, and which that usually is."""
    @property
    def usual(self) -> str:
        """The recipe with the usual radix and parts: `knomial:radix=4`, `smp(ring)`."""
    @property
    def short_messages(self) -> bool:
        """Whether it is good for short messages."""
    @property
    def long_messages(self) -> bool:
        """Whether it is good for long messages."""
    @property
    def as_part(self) -> bool:
        """Whether it is useful inside a composed algorithm."""
    @property
    def segment_bytes(self) -> list[int]:
        """Segment sizes that make its rounds overlap well; empty if it gains little by segments."""
    @property
    def needs_shared_nodes(self) -> bool:
        """Whether it needs nodes of several ranks."""
    @property
    def recipes(self) -> list[str]:
        """The recipes that a search should try, the usual one first: a composed algorithm with all parts."""

def algorithms() -> list[Algorithm]: ...
def sample_recipes(collective: str) -> list[str]:
    """Of each algorithm the recipes that the proof tries: the usual one and telling others."""

class ShortListed:
    """A recipe that is known to be among the fastest for some messages."""

    @property
    def recipe(self) -> str: ...
    @property
    def short_messages(self) -> bool: ...
    @property
    def long_messages(self) -> bool: ...
    @property
    def specs(self) -> list[str]:
        """The recipe whole and in segments, as far as that is worth trying."""

def short_list(collective: str) -> list[ShortListed]:
    """The few recipes of a collective that are worth a measurement."""

def needs_segments(collective: str, recipe: str) -> bool:
    """Whether the algorithm, or one of its parts, is slow unless the message is cut into segments."""

class Spec:
    @property
    def algorithm(self) -> str: ...
    @property
    def recipe(self) -> str:
        """The algorithm with its parameters and parts, without segments."""
    @property
    def segments(self) -> int:
        """0 if not set, as are segment_bytes and window."""
    @property
    def segment_bytes(self) -> int: ...
    @property
    def window(self) -> int: ...

def parse_spec(text: str, collective: str = "allreduce") -> Spec:
    """The spec that `text` spells; str() of it is the canonical spelling."""

class Topology:
    """Where ranks live: nodes and, over all of them, sockets and NUMA domains, each numbered from 0."""

    def __init__(self, text: str) -> None:
        """`nodes=8,ppn=4`, `ppn=4+4+1`, `map=0,0,1`, or a line a rank, as STRETTO_TOPOLOGY has it."""
    @property
    def ranks(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def sockets(self) -> int: ...
    @property
    def numas(self) -> int: ...
    @property
    def l3s(self) -> int:
        """Groups of ranks that share a last-level cache."""
    @property
    def node_of(self) -> list[int]: ...
    @property
    def socket_of(self) -> list[int]: ...
    @property
    def numa_of(self) -> list[int]: ...
    @property
    def l3_of(self) -> list[int]: ...
    @property
    def by_node(self) -> list[int]:
        """All ranks, node by node, ascending on each."""
    @property
    def max_ppn(self) -> int: ...
    @property
    def min_ppn(self) -> int: ...
    @property
    def contiguous(self) -> bool:
        """Each node holds a run of consecutive ranks."""

class Slice:
    @property
    def buffer(self) -> str:
        """input, output or scratch."""
    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def run(self) -> int:
        """Consecutive blocks before the next step; 0 if all are consecutive."""
    @property
    def step(self) -> int:
        """From one run to the next; may be negative."""

class Action:
    """One thing that a rank does. str() of it is `send b1→3`, `recv b0-1←5`, `reduce b1=in1+s0`."""

    @property
    def kind(self) -> str:
        """One of:

        send (left to peer), recv (into from peer), copy (into = left), reduce (into = left op right),
        recv_reduce (into = left op right, of which None is what arrives).
        """
    @property
    def peer(self) -> int:
        """-1 if none."""
    @property
    def into(self) -> Slice | None: ...
    @property
    def left(self) -> Slice | None: ...
    @property
    def right(self) -> Slice | None: ...

class Schedule:
    @property
    def ranks(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def scratch(self) -> list[int]:
        """The block that each scratch block is as large as."""
    @property
    def rounds(self) -> list[list[Action]]: ...

def build(collective: str, recipe: str, topology: Topology, root: int, rank: int) -> Schedule:
    """The schedule of one rank."""

class Traffic:
    @property
    def messages(self) -> int: ...
    @property
    def blocks(self) -> int: ...

class Report:
    """What a proof found. Figures are 0 where it does not hold."""

    @property
    def ok(self) -> bool: ...
    @property
    def error(self) -> str:
        """One line, empty if the proof holds."""
    @property
    def keeps_order(self) -> bool: ...
    @property
    def has_fixed_tree(self) -> bool: ...
    @property
    def blocks(self) -> int:
        """How many the message is cut into."""
    @property
    def rounds(self) -> int:
        """Rounds with a message, of the busiest rank."""
    @property
    def depth(self) -> int:
        """Messages on the longest chain in which each one waits for the one before."""
    @property
    def messages(self) -> int:
        """Messages that the busiest rank sends."""
    @property
    def between_nodes(self) -> Traffic:
        """What the busiest rank sends to other nodes, each figure for itself."""
    @property
    def within_node(self) -> Traffic:
        """What the busiest rank sends within its node."""
    @property
    def link(self) -> Traffic:
        """What crosses the link of the busiest node, in the busier direction."""

def verify(collective: str, recipe: str, topology: Topology, root: int = 0) -> Report:
    """Proves the schedules of all ranks, out of place and in place, and what the registry says of them."""

def keeps_order(collective: str, recipe: str, topology: Topology, root: int = 0) -> bool:
    """Whether the registry says that every result is a0 op a1 op … in rank order."""

def has_fixed_tree(collective: str, recipe: str, topology: Topology, root: int = 0) -> bool:
    """Whether the registry says that every result is the expression of the fixed tree."""

def misfit(collective: str, recipe: str, topology: Topology, root: int = 0) -> str:
    """Why it is of no use there, in a few words; empty if it is."""

class Protocol:
    """How messages of `begin` bytes and more go: latency (seconds) plus bytes / bandwidth."""

    @property
    def begin(self) -> int: ...
    @property
    def latency(self) -> float: ...
    @property
    def bandwidth(self) -> float: ...
    @property
    def synchronous(self) -> bool:
        """The transfer begins when the receive is posted."""
    @property
    def duplex(self) -> float:
        """1: a rank sends to one and receives from another at once; 0: one after the other."""
    @property
    def exchange(self) -> float:
        """The same for two ranks that send to each other."""
    @property
    def core(self) -> float | None:
        """Bytes per second that a core passes when it sends or receives; it does nothing else meanwhile.

        None: it takes no time.
        """

class Machine:
    """What the models know of a cluster."""

    def __init__(self, text: str) -> None:
        """From the text of a machine file (docs/formats.md)."""
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def engine_message(self) -> float: ...
    @property
    def engine_round(self) -> float: ...
    @property
    def node_bandwidth(self) -> float:
        """What one node sends, or receives, in a second; 0: without limit, as fabric_bandwidth."""
    @property
    def fabric_bandwidth(self) -> float: ...
    @property
    def reduction_rates(self) -> list[tuple[int, float]]:
        """From so many bytes of a vector on, bytes of an operand that are reduced in a second; ascending."""
    @property
    def shares_memory(self) -> bool:
        """It says what messages of the engine through the shared memory of a node take."""
    def without_shared_memory(self) -> Machine:
        """The same machine, on which the MPI library carries all messages."""
    @property
    def has_device(self) -> bool:
        """It says how fast copies between device and host memory are."""
    def with_device(self, to_host: float, to_device: float, latency: float) -> Machine:
        """The same machine with copies of so many bytes per second, after so many seconds each."""
    def reduction_seconds(self, vector_bytes: int) -> float:
        """Seconds that it takes to reduce a byte of a vector of so many."""
    def protocols(self, level: str) -> list[Protocol]:
        """Those of a level: socket, node or network."""

class ClosedForm:
    """A formula of the papers for the cost of an allreduce."""

    @property
    def algorithm(self) -> str: ...
    @property
    def label(self) -> str:
        """As the papers call it: RNG."""
    @property
    def source(self) -> str: ...
    def seconds(
        self, message_bytes: float, nodes: int, ppn: int, segments: int, machine: Machine
    ) -> float: ...

def closed_forms() -> list[ClosedForm]: ...

class Prediction:
    @property
    def seconds(self) -> float:
        """When the last rank has its result."""
    @property
    def parts(self) -> dict[str, float]:
        """Seconds of the critical path: latency, wire, reduction, overhead, waiting, copy."""
    @property
    def extrapolated(self) -> bool:
        """Walked with fewer nodes or segments, and drawn out in a straight line."""

class Predictor:
    """Walks the schedules of one recipe on one topology."""

    def __init__(self, collective: str, recipe: str, topology: Topology, root: int = 0) -> None: ...
    def predict(
        self,
        spec: str,
        message_bytes: int,
        machine: Machine,
        model: str = "max_rate",
        overlap: str = "measured",
        arithmetic: bool = True,
        engine: bool = True,
        staging: str = "none",
    ) -> Prediction:
        """What a call by `spec`, of this recipe, takes. model: postal, node_aware or max_rate; overlap of
        sends and receives: measured, full or none; staging: none, or, with the buffers of all ranks in device
        memory, segments or whole."""
    def copy_seconds(self, spec: str, message_bytes: int, machine: Machine) -> float:
        """What the copies of a call in device memory take by themselves, in the direction that takes longer,
        on the root or on another rank."""

def find_fastest(
    collective: str, begin: int, topology: Topology, machine: Machine, most: int = 3
) -> list[tuple[str, float]]:
    """The specs that a job expects to be fastest for calls of `begin` bytes, a power of two, and up to twice
    as many, with the seconds of a call of `begin` bytes: the fastest first, then the same algorithm in other
    cuts, then other algorithms."""

class Decision:
    """What jobs have decided for calls of `begin` bytes, a power of two, and up to twice as many."""

    @property
    def nodes(self) -> int: ...
    @property
    def ppn(self) -> int:
        """Ranks on the fullest node."""
    @property
    def min_ppn(self) -> int:
        """Ranks on the emptiest node."""
    @property
    def call(self) -> str: ...
    @property
    def in_place(self) -> bool: ...
    @property
    def begin(self) -> int: ...
    @property
    def spec(self) -> str: ...
    @property
    def gain(self) -> float | None:
        """Times faster than the MPI default, where that was measured."""
    @property
    def seconds(self) -> float | None:
        """What a call of `bytes` took, if that is known."""
    @property
    def bytes(self) -> int: ...
    @property
    def when(self) -> str:
        """The date, such as 2026-11-24; empty: not known."""
    @property
    def is_busy(self) -> bool:
        """Whether the job that decided it had to share its cores."""

class MeasuredNetwork:
    """What a job has measured of its network."""

    @property
    def machine(self) -> Machine: ...
    @property
    def nodes(self) -> int:
        """Nodes of the communicator that measured it, with `ppn` ranks each."""
    @property
    def ppn(self) -> int: ...
    @property
    def when(self) -> str:
        """The date, such as 2026-11-24; empty: not known."""
    @property
    def busy(self) -> float:
        """The part of the time in which a rank waited for its core."""
    @property
    def is_busy(self) -> bool:
        """Whether that is so much that the network may be faster."""
    @property
    def rates(self) -> list[float]:
        """Bytes per second of each node's link; empty if links are alike."""

class Fabric:
    """What jobs have found out about the network between hosts (docs/formats.md)."""

    def __init__(self, text: str) -> None:
        """From the text of a file."""
    @property
    def mpi(self) -> str: ...
    @property
    def network(self) -> str:
        """The settings by which the library chooses its network."""
    @property
    def processor(self) -> str: ...
    @property
    def hosts(self) -> str:
        """Their names without numbers: `node#`."""
    @property
    def decisions(self) -> list[Decision]:
        """The latest last."""
    @property
    def measured(self) -> MeasuredNetwork | None: ...
    def find(
        self, collective: str, nbytes: int, topology: Topology, in_place: bool = False
    ) -> Decision | None:
        """What was decided for blocking calls of so many bytes on communicators of this shape."""

class TableRow:
    """What a tuning table says from a size on."""

    @property
    def begin(self) -> int:
        """Bytes of the whole message, from which it holds."""
    @property
    def last(self) -> int | None:
        """The most bytes for which it holds; None: it has no end."""
    @property
    def spec(self) -> str: ...
    @property
    def library(self) -> str:
        """The library's own algorithm that `native` means; empty: what the library chooses."""
    @property
    def gain(self) -> float | None:
        """Times faster than the library by itself, where that was measured."""

class TableShape:
    """What a tuning table says for so many nodes with so many ranks."""

    @property
    def nodes(self) -> int: ...
    @property
    def ppn(self) -> int:
        """Ranks on the fullest node."""
    @property
    def min_ppn(self) -> int:
        """Ranks on the emptiest node."""
    @property
    def modelled(self) -> bool:
        """By the model, not by measurement."""
    @property
    def calls(self) -> list[str]:
        """The calls that it has a list for: `allreduce`, `iallreduce`, `allreduce_init`, ..."""
    def rows(self, call: str) -> list[TableRow]:
        """The list of a call, ascending; where no row holds, the built-in rule speaks."""
    def find(self, call: str, nbytes: int) -> TableRow | None:
        """The row of a message; None: the built-in rule speaks."""

class Table:
    """A tuning table (docs/formats.md)."""

    @property
    def mpi(self) -> str:
        """The library that was measured, e.g. `Open MPI 4.1.4`."""
    @property
    def network(self) -> str: ...
    @property
    def shapes(self) -> list[TableShape]: ...
    def find_shape(self, nodes: int, ppn: int, min_ppn: int | None = None) -> TableShape | None:
        """The shape that speaks for these nodes, exactly or as the nearest; without min_ppn all are full."""
    def fit(self, library: str) -> tuple[bool, str]:
        """Whether it is used on the library that calls itself so (MPI_Get_library_version), and a remark."""
    def native_floor(self, call: str) -> int:
        """For fewer bytes every shape says `native`."""

def native_floor(call: str, sharing_ranks: int) -> int:
    """For fewer bytes the built-in rule says `native` for any shape with so many ranks on a node, at most."""

def learning_floor(call: str, sharing_ranks: int) -> int:
    """Shorter blocking calls inside a node are not compared one by one: they have races."""

def read_table(text: str) -> Table:
    """The table that a file holds."""

def choose(
    call: str,
    nbytes: int,
    topology: Topology,
    rule: Mapping[str, int] = ...,
    shares_memory: bool = True,
) -> str:
    """What the built-in rule says; with other figures (rule_constants) than its own where `rule` has some.

    Not `shares_memory`: as with STRETTO_SHM=0.
    """

def choose_reproducible(call: str, nbytes: int, topology: Topology) -> str:
    """What the built-in rule says under STRETTO_REPRODUCIBLE. For reductions."""

def rule_constants() -> dict[str, int]:
    """The sizes at which the built-in rule turns, in bytes."""

def lookup(text: str, call: str, nodes: int, ppn: int, nbytes: int) -> str | None:
    """The spec that the table in `text` gives for a call; None: the built-in rule speaks."""

class TableFile:
    """The file of a table, as the library finds it."""

    @property
    def path(self) -> str:
        """Empty: there is none."""
    @property
    def text(self) -> str: ...
    @property
    def error(self) -> str:
        """Why it cannot be read; empty: it can."""

def read_table_file(setting: str, family: str) -> TableFile:
    """By what STRETTO_TABLE says: a file; `none`; or, if empty, the default place of the family."""

def default_table_path(family: str) -> str:
    """Where the library looks for the table of an MPI family (openmpi, mpich, intelmpi); empty: nowhere."""

def parse_library_name(text: str) -> tuple[str, str] | None:
    """Family and name of an MPI library, of what MPI_Get_library_version says: openmpi, Open MPI 4.1.4."""

def cache_groups() -> list[list[int]]:
    """The processors that this process may use, by the last-level cache that they share."""

def shared_memory_bytes(setting: str, ranks: int) -> int:
    """What each of so many ranks of a node takes if STRETTO_SHM is `setting`; 0: none, it is switched off."""

def shared_memory_pieces(message_bytes: int) -> int:
    """The pieces in which a message goes through shared memory."""

def try_shared_memory(setting: str, ranks: int) -> str:
    """Makes the memory of two ranks of a node of so many in two processes, which pass messages through it.

    What has failed, in one line; empty: nothing.
    """
