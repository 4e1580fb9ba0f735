# SPDX-License-Identifier: Apache-2.0
"""What is free of MPI in Stretto's C++ core: the registry, specs, schedules and their proof."""

def version() -> str: ...

class Algorithm:
    @property
    def collective(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    def keeps_order(self, ranks: int) -> bool:
        """Whether every result is a0 op a1 op … in rank order on that many ranks, one a node."""

def algorithms() -> list[Algorithm]: ...

class Spec:
    @property
    def algorithm(self) -> str: ...
    @property
    def segments(self) -> int:
        """0 if not set, as are segment_bytes and window."""
    @property
    def segment_bytes(self) -> int: ...
    @property
    def window(self) -> int: ...

def parse_spec(text: str) -> Spec:
    """The spec that `text` spells; str() of it is the canonical spelling. ValueError if it is none."""

class Slice:
    @property
    def buffer(self) -> str:
        """input, output or scratch."""
    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...

class Action:
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

def build(collective: str, algorithm: str, ranks: int, rank: int) -> Schedule:
    """The schedule of one rank. ValueError if there is no such algorithm or rank."""

class Report:
    @property
    def ok(self) -> bool: ...
    @property
    def error(self) -> str:
        """One line, empty if the proof holds."""
    @property
    def rounds(self) -> int:
        """Rounds with a message, of the busiest rank."""
    @property
    def messages(self) -> int:
        """Messages that the busiest rank sends."""
    @property
    def keeps_order(self) -> bool: ...

def verify(collective: str, algorithm: str, ranks: int) -> Report:
    """Proves the schedules of all ranks, out of place and in place. ValueError if none has that name."""
