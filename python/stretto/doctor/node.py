# SPDX-License-Identifier: Apache-2.0
"""The checks of one node: `stretto doctor` makes them here, and on each node of a cluster."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from stretto.doctor.checks import (
    Finding,
    Verdict,
    check_caches,
    check_core,
    check_library,
    check_shared_memory,
)
from stretto.doctor.program import check_program
from stretto.launch import mpi
from stretto.support import paths

MARK = "stretto-node "
"""What precedes the report of a node, a line of JSON, in the output of a launcher."""
_SHARED = Path("/dev/shm")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LITTLE_SHARED = 1 << 30
"""Less than this in /dev/shm may be too little for the ranks of an MPI library: Docker's usual 64 MiB."""

_ASK_LIBRARY = """
import ctypes, sys
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode(errors="replace"))
"""


@dataclass(frozen=True)
class Expected:
    """What a job needs on each of its nodes."""

    library: str
    """The shared object that is preloaded."""
    prefix: str = ""
    """The folder in which the MPI library of the launcher is installed; empty: not known."""
    soname: str = ""
    """The name of that library."""
    programs: Sequence[str] = ()


@dataclass(frozen=True)
class NodeReport:
    """What was found on a node."""

    node: str
    boot: str
    """What differs between machines that have the same name."""
    findings: list[Finding]
    failed: str = ""
    """Why the node could not make the checks."""


def check_node(expected: Expected | None, environment: Mapping[str, str]) -> list[Finding]:
    """All findings of this node. `expected`: what a job needs; None for this installation by itself."""
    library = Path(expected.library) if expected else paths.find_library()
    return [
        check_core(),
        check_library(library),
        *(_check_mpi(expected) if expected and expected.prefix else ()),
        check_processor(),
        *check_caches(),
        *check_shared_memory(environment),
        check_shared_folder(),
        check_locked_memory(),
        *check_fabric_folder(environment),
        *(finding for program in (expected.programs if expected else ()) for finding in _check(program)),
    ]


def _check(program: str) -> Iterator[Finding]:
    if shutil.which(program) is None:
        yield Finding(Verdict.BAD, program, "is not there, or is not executable")
        return
    for finding in check_program(program, os.environ):
        # Programs of one line may be linked with different libraries.
        what = finding.what if finding.what == program else f"{finding.what} of {Path(program).name}"
        yield Finding(finding.verdict, what, finding.detail)


def _check_mpi(expected: Expected) -> Iterator[Finding]:
    """Check the MPI library that the launcher brings along, by its name in the same folder."""
    what = "MPI library"
    library = mpi.find_library_below(Path(expected.prefix), expected.soname)
    if library is None:
        yield Finding(Verdict.BAD, what, f"there is no {expected.soname} below {expected.prefix}")
        return
    asked = subprocess.run(
        [sys.executable, "-S", "-c", _ASK_LIBRARY, str(library)], capture_output=True, text=True
    )
    if asked.returncode != 0:
        reason = (asked.stderr.strip().splitlines() or [f"exit status {asked.returncode}"])[-1]
        yield Finding(Verdict.BAD, what, f"{library} cannot be loaded: {reason}")
    else:
        yield Finding(Verdict.GOOD, what, f"{mpi.library_name(asked.stdout.strip())}, {library}")


def check_processor() -> Finding:
    """Look which processor this is."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return Finding(
        Verdict.GOOD,
        "processor model",
        f"{found[1] if found else os.uname().machine}, {os.cpu_count()} cores",
    )


def check_shared_folder() -> Finding:
    """Check the size of /dev/shm. MPI libraries pass messages inside a node through it; Stretto does not."""
    what = str(_SHARED)
    try:
        found = os.statvfs(_SHARED)
    except OSError as error:
        detail = f"{error.strerror}; the MPI library may need it for messages inside a node"
        return Finding(Verdict.ABSENT, what, detail)
    size = found.f_frsize * found.f_blocks
    if size < _LITTLE_SHARED:
        return Finding(Verdict.ABSENT, what, f"{_size(size)}, which may be too little for the MPI library")
    return Finding(Verdict.GOOD, what, _size(size))


def check_locked_memory() -> Finding:
    """Check how much memory a process may lock, as networks with RDMA do."""
    what = "locked memory"
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit == resource.RLIM_INFINITY:
        return Finding(Verdict.GOOD, what, "unlimited")
    return Finding(Verdict.ABSENT, what, f"{_size(limit)}; networks with RDMA want it unlimited (ulimit -l)")


def check_fabric_folder(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check that what jobs find out about the network can be kept."""
    try:
        from stretto.model.fabric_file import (  # noqa: PLC0415  _core, whose absence is another finding
            NOTHING_KEPT,
            fabric_folder,
        )
    except ImportError:
        return
    what = "fabric files"
    setting = environment.get("STRETTO_FABRIC", "")
    folder = Path(setting).absolute().parent if setting else fabric_folder(environment)
    if setting == "none":
        yield Finding(Verdict.ABSENT, what, NOTHING_KEPT)
    elif folder is None:
        yield Finding(Verdict.ABSENT, what, "no place for them: set HOME, XDG_CACHE_HOME or STRETTO_CACHE")
    elif _can_be_written_to(next(one for one in (folder, *folder.parents) if one.exists())):
        yield Finding(Verdict.GOOD, what, f"kept in {folder}")
    else:
        lost = "what jobs find out about the network is lost"
        yield Finding(Verdict.ABSENT, what, f"{folder} cannot be written to; {lost}")


def _can_be_written_to(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _size(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def report_line(report: NodeReport) -> str:
    """The report as the node prints it."""
    findings = [[one.verdict.name, one.what, one.detail] for one in report.findings]
    return MARK + json.dumps({"node": report.node, "boot": report.boot, "findings": findings})


def read_report(line: str) -> NodeReport | None:
    """The report in a line of output, behind whatever a launcher puts before it; None if there is none."""
    _, mark, text = line.partition(MARK)
    if not mark:
        return None
    try:
        read = json.loads(text)
        findings = [Finding(Verdict[name], what, detail) for name, what, detail in read["findings"]]
        return NodeReport(read["node"], read["boot"], findings)
    except (ValueError, TypeError, KeyError):  # lines of several nodes are mixed
        return None


def main() -> None:
    """Print the report of this node. The argument says what a job needs."""
    # The launcher binds a rank to some cores, which says nothing of the node.
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    expected = Expected(**json.loads(sys.argv[1]))
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
    findings = check_node(expected, os.environ)
    print(report_line(NodeReport(os.uname().nodename, boot, findings)), flush=True)


def command(expected: Expected) -> list[str]:
    """The command line by which a node prints its report."""
    return [sys.executable, "-m", __spec__.name, json.dumps(asdict(expected))]


if __name__ == "__main__":
    main()
