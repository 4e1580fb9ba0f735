# SPDX-License-Identifier: Apache-2.0
"""`stretto export`: the part of a table's gain that the MPI library can have by itself.

What each library takes, as it was tried:

- Open MPI 4.1, 5.0: a file of rules for coll/tuned, by collective, communicator size and message size;
  algorithm 0 is the library's own choice. With several ranks a node Open MPI 5 gives calls to coll/han first,
  which has a file of its own that sends some of them on to coll/tuned.
- MPICH 4.0, 5.0: a tree of conditions in JSON. It stands in place of the library's own, and a call that it
  does not speak of ends the program; so the rules are put into the library's own tree, which its shared
  object holds.
- Intel MPI 2021.19: I_MPI_ADJUST_X, a list of algorithms with sizes. Between and beyond the sizes the next of
  the list is taken, never the library's own choice; with numbers of processes as well, sizes do not count.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from stretto.launch import mpi
from stretto.support.errors import StrettoError
from stretto.support.files import write_atomically
from stretto.support.units import parse_bytes

Json = dict[str, Any]

# Communicators have other sizes than those of a table, too: to them no rule applies.
_OPEN_MPI_IDS = {"allgather": 0, "allreduce": 2, "bcast": 7, "reduce": 11, "reduce_scatter": 12}
# In the order of their numbers, from 1 on.
_OPEN_MPI_ALGORITHMS = {
    "allgather": (
        "linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit",
        "direct-messaging",
    ),
    "allreduce": (
        "basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner",
        "allgather_reduce",
    ),
    "bcast": (
        "basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial", "knomial",
        "scatter_allgather", "scatter_allgather_ring",
    ),
    "reduce": (
        "linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner", "knomial",
    ),
    "reduce_scatter": ("non-overlapping", "recursive_halving", "ring", "butterfly"),
}  # fmt: skip
_HAN_GLOBAL_COMMUNICATOR = 2
_HAN_TO_TUNED, _HAN_TO_ITSELF = "tuned", "han"
_HAN_COLLECTIVES = ("allgather", "allreduce", "bcast", "reduce")

# What a call's bytes are called in MPICH's conditions, of the whole message.
_MPICH_SIZES = {"allgather": "total_msg_size", "reduce_scatter": "total_msg_size"}
# Its algorithms for reductions are not all made for operations of the user's, or less elements than ranks.
_MPICH_GUARDS = {
    "allreduce": ("is_op_built_in=yes", "is_op_built_in=no", "count<pow2"),
    "reduce": ("is_op_built_in=yes", "is_op_built_in=no", "count<pow2"),
    "reduce_scatter": ("is_commutative=yes", "is_commutative=no", None),
}

# The best of Intel MPI's numbered algorithms may be so much slower than its own choice at some size.
_INTEL_LEAST = 0.97
_INTEL_MOST_BYTES = (1 << 31) - 1

# Variables by which users choose among the library's algorithms themselves.
_TELLS_THE_LIBRARY = re.compile(
    r"OMPI_MCA_coll_(tuned|han)_|MPIR_CVAR_\w*_(ALGORITHM|JSON_FILE)$|MPIR_CVAR_DEVICE_COLLECTIVES$|I_MPI_ADJUST_"
)

_MOST_BYTES = 1 << 60

_PATH = "{path}"  # in the value of a variable, of the library's file


@dataclass(frozen=True, slots=True)
class Rule:
    """From so many bytes of the whole message on."""

    begin: int
    algorithm: str | None
    """None: the library's own choice."""
    gain: float | None = None
    is_known: bool = True
    """False: nobody measured these sizes, so the library's own choice stays."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a call for communicators of so many ranks."""

    call: str
    nodes: int
    ppn: int
    ranks: int
    rules: tuple[Rule, ...]

    @property
    def says_something(self) -> bool:
        """Whether any of it is not the library's own choice."""
        return any(rule.algorithm is not None for rule in self.rules)


@dataclass
class LibrarySettings:
    """What a library is to be given: variables of the environment, and files that they name."""

    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    """Texts by what stands behind the path in the file's name."""
    remarks: list[str] = field(default_factory=list)

    def written(self, path: Path) -> dict[str, str]:
        """The variables, with the files written: `path`, and others whose names begin like it."""
        for end, text in self.files.items():
            write_atomically(path.with_name(path.name + end), text)
        return {name: value.replace(_PATH, str(path)) for name, value in self.variables.items()}


def export(
    table: Annotated[Path, typer.Argument(help="A table that stretto tune wrote.")],
    to: Annotated[
        str, typer.Option(metavar="openmpi|mpich|intelmpi", help="Whose settings: the table's own library.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where the library's file goes; beside the table unless given.",
            show_default=False,
        ),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Only for so many nodes.")] = None,
    ppn: Annotated[int | None, typer.Option(min=1, help="Only for so many ranks a node.")] = None,
) -> None:
    """Write down, for the MPI library itself, which of its own algorithms is best at which size."""
    parsed = read_table(table)
    family, name = family_of(parsed)
    if to not in ("openmpi", "mpich", "intelmpi"):
        raise StrettoError(f"--to {to}: expected openmpi, mpich or intelmpi")
    if to != family:
        raise StrettoError(f"--to {to}: {table} is of {name}, whose algorithms are its own")
    rule_sets = [
        one
        for one in (measured_rules(parsed) or chosen_rules(parsed))
        if nodes in (None, one.nodes) and ppn in (None, one.ppn) and one.says_something
    ]
    if not rule_sets:
        raise StrettoError(f"{table}: none of {name}'s own algorithms was faster than its own choice")
    library = _find_library(name) if family == "mpich" else None
    settings = library_settings(family, name, rule_sets, library)
    for remark in settings.remarks:
        typer.echo(f"stretto: {remark}", err=True)
    if not settings.variables:
        raise StrettoError(f"{table}: there is nothing that {name} could be told")
    path = (
        output or table.with_name(f"{table.stem}-{family}{'.json' if family == 'mpich' else '.rules'}")
    ).absolute()
    for variable, value in settings.written(path).items():
        typer.echo(f"export {variable}={shlex.quote(value)}")


# What stretto run tells the library


def settings_for_launch(launcher: mpi.Launcher, environment: Mapping[str, str]) -> dict[str, str]:
    """What the library must be told so that the rows of the table in force hold; files go below the cache.

    Empty if there is no such table, or the user tells the library himself. A table that cannot be used is the
    library's to complain of.
    """
    family = "intelmpi" if launcher.flavor is mpi.Flavor.INTELMPI else launcher.flavor.abi
    path = table_in_force(family, environment)
    if path is None or not path.is_file() or any(map(_TELLS_THE_LIBRARY.match, environment)):
        return {}
    try:
        table = read_table(path)
        its_family, name = family_of(table)
        rule_sets = chosen_rules(table)
        if its_family != family or not rule_sets:
            return {}
        # MPICH's own tree is of this version, and what is told to another may end the program.
        if family == "mpich" and name != f"MPICH {launcher.version}":
            return {}
        library = mpich_library(launcher) if family == "mpich" else None
        settings = library_settings(family, name, rule_sets, library)
        digest = hashlib.sha256(repr(sorted(settings.files.items())).encode()).hexdigest()[:16]
        folder = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stretto"
        if settings.files:
            folder.mkdir(parents=True, exist_ok=True)
        return settings.written(folder / f"{family}-{digest}")
    except (StrettoError, OSError, RuntimeError):
        return {}


def table_in_force(family: str, environment: Mapping[str, str]) -> Path | None:
    """The tuning table that a job of that MPI library looks for; it may not be there."""
    named = environment.get("STRETTO_TABLE", "")
    if named == "none":
        return None
    if named:
        return Path(named)
    try:
        from stretto import _core  # noqa: PLC0415  as above
    except ImportError:
        return None
    default = _core.default_table_path(family)
    return Path(default) if default else None


# What a table says


def read_table(path: Path) -> Json:
    """A table as JSON. Raises StrettoError if it is none."""
    from stretto import _core  # noqa: PLC0415  `stretto run` without a table must do without

    try:
        text = path.read_text(encoding="utf-8")
        _core.read_table(text)
    except (OSError, UnicodeDecodeError) as error:
        raise StrettoError(f"{path} cannot be read: {error}") from None
    except ValueError as error:
        raise StrettoError(f"{path}: {error}") from None
    table: Json = json.loads(text)
    return table


def family_of(table: Json) -> tuple[str, str]:
    """`openmpi` and `Open MPI 4.1.4`."""
    from stretto import _core  # noqa: PLC0415  as above

    known = _core.parse_library_name(table["mpi"])
    if known is None:  # the reader lets none pass
        raise StrettoError(f"{table['mpi']} is no MPI library that Stretto knows")
    return known


def measured_rules(table: Json) -> list[RuleSet]:
    """What the tuning noted: the best of the library's own, also where a spec of Stretto was chosen."""
    found = []
    for entry in table.get("notes", {}).get("library", []):
        try:
            rules = _rules([row | {"library": row["algorithm"]} for row in entry["rows"]])
            ranks = _ranks(table, entry["nodes"], entry["ppn"], entry.get("min_ppn"))
            found.append(RuleSet(entry["collective"], entry["nodes"], entry["ppn"], ranks, rules))
        except (KeyError, TypeError, AttributeError):
            raise StrettoError("the table's notes.library was edited so that it cannot be read") from None
    return found


def chosen_rules(table: Json) -> list[RuleSet]:
    """What the table's rows say: `native` with the name of an algorithm."""
    found = []
    for shape in table["shapes"]:
        ranks = _ranks(table, shape["nodes"], shape["ppn"], shape.get("min_ppn"))
        for call, rows in shape.items():
            if isinstance(rows, list):
                rules = _rules([{key: row[key] for key in row if key != "gain"} for row in rows])
                found.append(RuleSet(call, shape["nodes"], shape["ppn"], ranks, rules))
    return [one for one in found if one.says_something]


def _rules(rows: Sequence[Json]) -> tuple[Rule, ...]:
    """From 0 bytes on; the library's own choice where no row holds."""
    rules: list[Rule] = []

    def leave_open(begin: int) -> None:
        if not rules or rules[-1].algorithm is not None:
            rules.append(Rule(begin, None, is_known=False))

    end = 0
    for row in rows:
        begin = _size(row["from"])
        if begin > end:
            leave_open(end)
        rules.append(Rule(begin, row.get("library"), row.get("gain")))
        end = _size(row["to"]) + 1 if "to" in row else _MOST_BYTES
    if end < _MOST_BYTES:
        leave_open(end)
    return tuple(rules)


def _size(value: int | str) -> int:
    return value if isinstance(value, int) else parse_bytes(value)


def _ranks(_table: Json, nodes: int, ppn: int, min_ppn: int | None) -> int:
    """Of ragged nodes, as many as they can be: communicators of other sizes are left alone."""
    return nodes * ppn if min_ppn in (None, ppn) else 0


# What libraries take


def library_settings(
    family: str, name: str, rule_sets: Sequence[RuleSet], mpich_library: Path | None
) -> LibrarySettings:
    """`name`: with the version, `Open MPI 5.0.11`. `mpich_library`: the shared object, of MPICH."""
    settings = LibrarySettings()
    known = list(_without_doubt(rule_sets, settings, by_ranks=family != "intelmpi"))
    if not known:
        return settings
    if family == "openmpi":
        _tell_open_mpi(settings, known, version=int(re.sub(r"\D*(\d+).*", r"\1", name)))
    elif family == "mpich":
        _tell_mpich(settings, known, mpich_library)
    else:
        _tell_intel_mpi(settings, known)
    return settings


def _without_doubt(
    rule_sets: Sequence[RuleSet], settings: LibrarySettings, *, by_ranks: bool
) -> Iterator[RuleSet]:
    """Those that a library can tell apart: it knows a communicator by its ranks at most."""
    for one in rule_sets:
        if one.ranks == 0:
            settings.remarks.append(
                f"{one.call}: left out for {one.nodes} nodes that do not have equally many ranks"
            )
            continue
        others = [
            other
            for other in rule_sets
            if other.call == one.call and (not by_ranks or other.ranks == one.ranks) and other is not one
        ]
        if others:
            settings.remarks.append(
                f"{one.call}: left out for {one.nodes} nodes of {one.ppn} ranks, as the library cannot tell "
                f"them from the table's other shapes; choose one by --nodes and --ppn"
            )
            continue
        yield one


def _is_blocking(one: RuleSet, settings: LibrarySettings) -> bool:
    if one.call in _OPEN_MPI_IDS:
        return True
    settings.remarks.append(f"{one.call}: left out, the library has no rules by size for it")
    return False


# Open MPI


def _tell_open_mpi(settings: LibrarySettings, rule_sets: Sequence[RuleSet], version: int) -> None:
    by_call: dict[str, list[RuleSet]] = {}
    for one in rule_sets:
        if _is_blocking(one, settings):
            by_call.setdefault(one.call, []).append(one)
    if not by_call:
        return
    settings.files[""] = _numbers(_tuned_rules(by_call, settings))
    settings.variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
    settings.variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"] = _PATH
    by_han = {
        call: several
        for call, ones in by_call.items()
        if call in _HAN_COLLECTIVES and (several := [one for one in ones if one.ppn > 1 and one.nodes > 1])
    }
    if version >= 5 and by_han:
        settings.files[".han"] = _numbers(_han_rules(by_han))
        settings.variables["OMPI_MCA_coll_han_use_dynamic_file_rules"] = "1"
        settings.variables["OMPI_MCA_coll_han_dynamic_rules_filename"] = f"{_PATH}.han"


Line = tuple[int | str, ...]


def _numbers(lines: list[Line]) -> str:
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def _tuned_rules(by_call: Mapping[str, Sequence[RuleSet]], settings: LibrarySettings) -> list[Line]:
    lines: list[Line] = [(len(by_call), "# collectives")]
    for call, ones in sorted(by_call.items(), key=lambda item: _OPEN_MPI_IDS[item[0]]):
        lines.append((_OPEN_MPI_IDS[call], f"# {call}"))
        lines += _by_ranks(ones, lambda one: _tuned_messages(one, settings), (0, 0, 0, 0))
    return lines


def _by_ranks(ones: Sequence[RuleSet], messages: Callable[[RuleSet], list[Line]], none: Line) -> list[Line]:
    """A rule for so many ranks is for all larger communicators too, up to the next: so another follows."""
    rules = {1: [none]}  # coll/han wants it to begin so
    for one in sorted(ones, key=lambda one: one.ranks):
        rules[one.ranks] = messages(one)
        rules[one.ranks + 1] = [none]
    lines: list[Line] = [(len(rules), "# communicator sizes")]
    for ranks, rows in sorted(rules.items()):
        lines += [(ranks, "# ranks and more"), (len(rows), "# message sizes"), *rows]
    return lines


def _tuned_messages(one: RuleSet, settings: LibrarySettings) -> list[Line]:
    rows: list[Line] = []
    for rule in one.rules:
        name, segment = _split_segment(rule.algorithm or "")
        known = _OPEN_MPI_ALGORITHMS[one.call]
        if rule.algorithm is not None and name not in known:
            settings.remarks.append(
                f"{one.call}: Open MPI's number of {name} is not known; its own choice stays"
            )
        number = known.index(name) + 1 if name in known else 0
        rows.append((rule.begin, number, 0, segment))
    return rows


def _split_segment(algorithm: str) -> tuple[str, int]:
    name, _, segment = algorithm.partition(":segment_bytes=")
    return name, parse_bytes(segment) if segment else 0


def _han_rules(by_call: Mapping[str, Sequence[RuleSet]]) -> list[Line]:
    def messages(one: RuleSet) -> list[Line]:
        return [
            (rule.begin, _HAN_TO_ITSELF if rule.algorithm is None else _HAN_TO_TUNED) for rule in one.rules
        ]

    lines: list[Line] = [(len(by_call), "# collectives")]
    for call, ones in sorted(by_call.items(), key=lambda item: _OPEN_MPI_IDS[item[0]]):
        lines.append((_OPEN_MPI_IDS[call], f"# {call}"))
        lines += [(1, "# topologic level"), (_HAN_GLOBAL_COMMUNICATOR, "# the whole communicator")]
        lines += _by_ranks(ones, messages, (0, _HAN_TO_ITSELF))
    return lines


# MPICH


def _find_library(name: str) -> Path:
    """The shared object of that MPICH."""
    for install in mpi.installs():
        if install.launcher.version and f"MPICH {install.launcher.version}" == name:
            return mpich_library(install.launcher)
    raise StrettoError(
        f"{name} was not found in STRETTO_MPI_PREFIXES, .mpi/ or PATH; its shared object is needed, since "
        f"rules for it are put among its own"
    )


def mpich_library(launcher: mpi.Launcher) -> Path:
    """The shared object beside a launcher; Debian's has another name than all others."""
    folders = [launcher.prefix / "lib", *sorted(launcher.prefix.glob("lib/*-linux-gnu*"))]
    candidates = [folder / name for folder in folders for name in ("libmpi.so.12", "libmpich.so.12")]
    for file in candidates:
        if file.is_file() and b"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE" in file.read_bytes():
            return file
    raise StrettoError(f"{launcher.path}: its MPI library was not found beside it")


def own_tree(library: Path) -> Json:
    """The tree of conditions by which an MPICH chooses its algorithms, out of its shared object."""
    for text in re.findall(rb'\{"collective=[^\0]*', library.read_bytes()):
        if b"algorithm=MPIR_Allreduce_intra" in text:
            tree: Json = json.loads(text)
            return tree
    raise StrettoError(f"{library}: it does not hold the tree by which MPICH 4 and 5 choose algorithms")


def _tell_mpich(settings: LibrarySettings, rule_sets: Sequence[RuleSet], library: Path | None) -> None:
    if library is None:
        raise RuntimeError("MPICH's shared object is needed")
    tree = own_tree(library)
    has_rules = False
    for one in sorted(rule_sets, key=lambda one: -one.ranks):
        branch = tree.get(f"collective={one.call}", {})
        if "comm_type=intra" not in branch:
            settings.remarks.append(f"{one.call}: left out, this MPICH has no rules for it")
            continue
        branch["comm_type=intra"] = _for_ranks(one, branch["comm_type=intra"])
        has_rules = True
    if has_rules:
        settings.files[""] = json.dumps(tree, indent=1) + "\n"
        settings.variables["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"] = _PATH


def _for_ranks(one: RuleSet, own: Json) -> Json:
    collective = one.call.removeprefix("i")
    sized = _by_size(one, collective, own)
    guarded: Json = sized
    if collective in _MPICH_GUARDS:
        yes, no, few = _MPICH_GUARDS[collective]
        guarded = {yes: {few: own, "count=any": sized} if few else sized, no: own}
    return {f"comm_size<={one.ranks - 1}": own, f"comm_size<={one.ranks}": guarded, "comm_size=any": own}


def _by_size(one: RuleSet, collective: str, own: Json) -> Json:
    prefix = ("I" + collective if one.call.startswith("i") else collective.capitalize()) + "_intra_"
    conditions: Json = {}
    for rule, after in zip(one.rules, [*one.rules[1:], None], strict=True):
        what = _MPICH_SIZES.get(collective, "avg_msg_size")
        condition = f"{what}=any" if after is None else f"{what}<{after.begin}"
        conditions[condition] = (
            own if rule.algorithm is None else {f"algorithm=MPIR_{prefix}{rule.algorithm}": {}}
        )
    return conditions


# Intel MPI


def _tell_intel_mpi(settings: LibrarySettings, rule_sets: Sequence[RuleSet]) -> None:
    for one in rule_sets:
        # What lies between or beyond the sizes of its list takes the list's next.
        known = [rule for rule in one.rules if rule.is_known]
        worse = [rule for rule in known if rule.algorithm is None or (rule.gain or 1.0) < _INTEL_LEAST]
        if worse:
            settings.remarks.append(
                f"{one.call}: left out, since from {worse[0].begin} bytes on Intel MPI's own choice is "
                f"better than any that it can be told, and it cannot be left to it at some sizes only"
            )
            continue
        begins = [0, *(rule.begin for rule in known[1:])]
        ends = [begin - 1 for begin in begins[1:]] + [_INTEL_MOST_BYTES]
        text = ";".join(
            f"{rule.algorithm}:{begin}-{end}" for rule, begin, end in zip(known, begins, ends, strict=True)
        )
        settings.variables[f"I_MPI_ADJUST_{one.call.upper()}"] = text
        sizes = ", and for messages that were not measured" if len(known) < len(one.rules) else ""
        settings.remarks.append(f"{one.call}: Intel MPI does so on communicators of any size{sizes}")
