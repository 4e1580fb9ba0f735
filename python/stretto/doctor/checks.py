# SPDX-License-Identifier: Apache-2.0
"""The checks of `stretto doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import metadata, util
from pathlib import Path

from stretto.lab.cluster import check_machine
from stretto.launch import mpi
from stretto.launch.mpi import Flavor, Install
from stretto.launch.run import mpi4py_settings
from stretto.spec.native import FAMILIES
from stretto.support import paths
from stretto.support.errors import StrettoError
from stretto.support.extras import missing_tools

# Variables of the tools, which are no settings of jobs.
TOOL_VARIABLES = frozenset({"STRETTO_CACHE", "STRETTO_LIB_DIR", "STRETTO_MPI_PREFIXES"})

_ASK_MPI4PY = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
"""


class Verdict(Enum):
    """The result of a check."""

    GOOD = "ok"
    ABSENT = "-"  # missing, but not everybody needs it
    BAD = "wrong"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    verdict: Verdict
    what: str
    detail: str

    @property
    def is_bad(self) -> bool:
        """Whether something must be done."""
        return self.verdict is Verdict.BAD


def check_core() -> Finding:
    """Check the compiled module that holds the schedules."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is one of the findings
    except ImportError as error:
        detail = f"{error}; install Stretto again: pip install . (needs a C++20 compiler, only then)"
        return Finding(Verdict.BAD, "stretto._core", detail)
    return Finding(Verdict.GOOD, "stretto._core", f"version {_core.version()}")


def check_installs(installs: Sequence[Install]) -> Iterator[Finding]:
    """Check which MPI libraries are installed."""
    found = {install.flavor: install.launcher for install in installs}
    for flavor in Flavor:
        if flavor in found:
            launcher = found[flavor]
            yield Finding(Verdict.GOOD, flavor.label, f"{launcher.version}, {launcher.path}")
        else:
            yield Finding(Verdict.ABSENT, flavor.label, f"not found; get it with: {mpi.HOW_TO_GET[flavor]}")


# What a process with the library preloaded prints: the interfaces that it serves, and what is mapped.
_SHOW = """
import ctypes
interfaces = getattr(ctypes.CDLL(None), "stretto_interfaces", lambda: 0)
interfaces.restype = ctypes.c_char_p
print((interfaces() or b"").decode())
print(open("/proc/self/maps").read())
"""


def check_library(library: Path | None) -> Finding:
    """Check that the library exists, can be preloaded, and loads no MPI library itself."""
    what = "libstretto.so"
    if library is None:
        detail = f"not in {paths.library_folders()[0]}; install the mpicc of an MPI, then Stretto again"
        return Finding(Verdict.BAD, what, detail)
    if not library.is_file():
        return Finding(Verdict.BAD, what, f"{library} does not exist")
    # The dynamic loader ignores a preload that it cannot load, so look at what the process has mapped.
    show = subprocess.run(
        [sys.executable, "-S", "-c", _SHOW],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
    )
    interfaces, _, maps = show.stdout.partition("\n")
    loaded = {Path(line.split()[-1]).name for line in maps.splitlines() if "/" in line}
    if show.returncode != 0 or library.resolve().name not in loaded:
        output = " ".join(show.stderr.split()) or f"exit status {show.returncode}"
        return Finding(Verdict.BAD, what, f"{library} cannot be preloaded: {output}")
    brought = sorted(name for name in loaded if name.startswith(("libmpi.", "libmpich.", "libmpi_abi.")))
    if brought:
        return Finding(
            Verdict.BAD, what, f"{library} loads {', '.join(brought)}; it must not load an MPI library"
        )
    # Ranks work together only if theirs are built of the same sources (cmake/write_build_mark.cmake).
    core = library.with_name("libstretto-core.so")
    mark = re.search(rb"stretto build ([0-9a-f]{16})", core.read_bytes()) if core.is_file() else None
    build = f"; build {mark[1].decode()}" if mark else ""
    return Finding(Verdict.GOOD, what, f"{library}; serves {interfaces.strip()}{build}")


def check_command() -> Finding:
    """Check the program `stretto`, which stands behind launchers: `stretto exec`."""
    what = "stretto exec"
    command = paths.find_command()
    if command is None:
        return Finding(Verdict.ABSENT, what, "the program stretto is not there; install Stretto again")
    ran = subprocess.run(
        [command, "exec", "sh", "-c", "echo $LD_PRELOAD"],
        env={**os.environ, "LD_PRELOAD": ""},
        capture_output=True,
        text=True,
    )
    if ran.returncode != 0 or "libstretto" not in ran.stdout:
        output = " ".join(ran.stderr.split()) or f"exit status {ran.returncode}"
        return Finding(Verdict.BAD, what, f"{command} does not work: {output}")
    return Finding(Verdict.GOOD, what, f"{command}; behind a launcher: srun -n 8 {command} exec ./program")


def check_mpi4py(installs: Sequence[Install]) -> Iterator[Finding]:
    """Check that mpi4py loads the MPI of each launcher, by what `stretto run` sets for its ranks alone."""
    if util.find_spec("mpi4py") is None:
        yield Finding(
            Verdict.ABSENT, "mpi4py", "not installed for this Python; get it with: pip install mpi4py"
        )
        return
    if paths.find_command() is None:
        return  # another finding
    version = metadata.version("mpi4py")
    for install in installs:
        environment = os.environ | mpi4py_settings(install.launcher, os.environ)
        answer = subprocess.run(
            [sys.executable, "-c", _ASK_MPI4PY], env=environment, capture_output=True, text=True
        )
        what = f"mpi4py on {install.flavor.label}"
        output = " ".join((answer.stdout if answer.returncode == 0 else answer.stderr).split())
        if answer.returncode == 0 and _is_library(install.flavor, output):
            yield Finding(Verdict.GOOD, what, f"mpi4py {version}")
        else:
            detail = f"mpi4py {version} takes another MPI or none ({_shortened(output)})"
            how = f"build it: MPICC={_compiler(install)} pip install --no-binary mpi4py mpi4py"
            yield Finding(Verdict.ABSENT, what, f"{detail}; {how}")


def _is_library(flavor: Flavor, text: str) -> bool:
    starts = {Flavor.OPENMPI4: "Open MPI v4", Flavor.OPENMPI5: "Open MPI v5", Flavor.INTELMPI: "Intel(R) MPI"}
    if flavor in starts:
        return text.startswith(starts[flavor])
    major = "5." if flavor is Flavor.MPICH5 else "4."
    return text.startswith("MPICH Version:") and text.split()[2].startswith(major)


def _compiler(install: Install) -> str:
    path = install.launcher.path
    if install.launcher.prefix == Path("/usr"):
        return f"mpicc.{install.flavor.abi}"
    return str(path.with_name("mpicc"))


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"...{text[-97:]}"


def check_frameworks() -> Iterator[Finding]:
    """Check which frameworks this Python has."""
    yield _check_torch()
    missing = [name for name in ("tensorflow", "horovod") if util.find_spec(name) is None]
    if missing:
        detail = (
            f"no {' and no '.join(missing)} for this Python; name another one by `stretto train "
            "--python`, and `make frameworks` in a clone of Stretto makes one in .frameworks/tensorflow"
        )
        yield Finding(Verdict.ABSENT, "Horovod", detail)
    else:
        versions = f"{_version('horovod')}, TensorFlow {_version('tensorflow') or _version('tensorflow-cpu')}"
        yield Finding(Verdict.GOOD, "Horovod", versions)


def _check_torch() -> Finding:
    torch = _version("torch")
    if torch is None:
        how = "pip install torch, for stretto.torch and `stretto train --framework pytorch`"
        return Finding(Verdict.ABSENT, "PyTorch", f"not installed for this Python; get it with: {how}")
    if torch.partition("+")[0] in map(paths.prebuilt_release, paths.prebuilt_extensions()):
        return Finding(Verdict.GOOD, "PyTorch", f"{torch}; the wheel has stretto.torch for it")
    # Only PyTorch itself tells for certain which extension it takes.
    ask = [sys.executable, "-W", "ignore", "-m", "stretto.torch", "--find"]
    answer = subprocess.run(ask, capture_output=True, text=True)
    if answer.returncode != 0:
        why = (answer.stderr.strip().splitlines() or [f"exit status {answer.returncode}"])[-1]
        return Finding(Verdict.BAD, "PyTorch", f"{torch} cannot be loaded: {why}")
    if built := answer.stdout.strip():
        return Finding(Verdict.GOOD, "PyTorch", f"{torch}; stretto.torch is built: {built}")
    compiler = (os.environ.get("CXX") or "g++").split()[0]
    if shutil.which(compiler) is None:
        detail = f"{torch}, but no {compiler}, which builds stretto.torch; install it, or name another by CXX"
    else:
        detail = (
            f"{torch}; stretto.torch is not built yet: `python -m stretto.torch` builds it by {compiler} in "
            "half a minute, else the first job does"
        )
    return Finding(Verdict.ABSENT, "PyTorch", detail)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_tools() -> Finding:
    """Check for the extra `tools`, which draws, reports and calibrates."""
    missing = missing_tools()
    if missing:
        detail = f"no {', no '.join(missing)}; get them with: pip install 'stretto[tools]'"
        return Finding(Verdict.ABSENT, "extra tools", detail)
    return Finding(Verdict.GOOD, "extra tools", "for pictures, reports and calibrations")


def check_lab() -> Finding:
    """Check what the emulated cluster needs."""
    try:
        check_machine()
    except StrettoError as error:
        return Finding(Verdict.ABSENT, "lab", str(error))
    return Finding(Verdict.GOOD, "lab", "root, ip and tc are there")


def check_caches() -> Iterator[Finding]:
    """Look which cores share a last-level cache: lines pass fast between them."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return
    groups = _core.cache_groups()
    cores = sum(map(len, groups))
    sizes = sorted({len(group) for group in groups})
    each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    where = "one last-level cache" if len(groups) == 1 else f"{len(groups)} last-level caches, {each} at each"
    yield Finding(Verdict.GOOD, "processors", f"{cores} for this process, with {where}")


def check_shared_memory(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check that processes of this machine pass messages through memory, by doing it."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return
    what = "shared memory"
    setting = environment.get("STRETTO_SHM", "")
    cores = len(os.sched_getaffinity(0))
    size = _core.shared_memory_bytes(setting, cores)
    if size == 0:
        detail = f"off (STRETTO_SHM={setting}): the MPI library carries messages inside a node"
        yield Finding(Verdict.ABSENT, what, detail)
        return
    failed = _core.try_shared_memory(setting, cores)
    if failed:
        detail = f"{failed}; the MPI library carries messages inside a node; {_remedy(failed)}"
        yield Finding(Verdict.ABSENT, what, detail)
        return
    takes = f"each rank takes {_mebibytes(size)}"
    if cores > 1:
        takes += f", {_mebibytes(size * cores)} with a rank on each of the {cores} cores"
    yield Finding(Verdict.GOOD, what, f"two processes have passed messages; {takes}")


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def _remedy(failed: str) -> str:
    """What to do where shared memory does not work."""
    less = "ask for less: STRETTO_SHM=512KiB"
    remedies = {
        "ulimit -f": f"raise this limit (ulimit -f unlimited), or {less}",
        "no room": f"allow the job or the container more memory, or {less}",
        "memfd_create": "it needs Linux 3.17, and a container that does not forbid it",
        "/proc/": "run all ranks of a node as one user, in one container, with /proc",
    }
    remedy = next((one for sign, one in remedies.items() if sign in failed), "")
    return f"{remedy}; STRETTO_SHM=0 does without it" if remedy else "STRETTO_SHM=0 does without it"


def check_simgrid() -> Finding:
    """Check what simulations need."""
    what = "simulation"
    launcher, program = shutil.which("smpirun"), paths.find_simulate_program()
    package = "install SimGrid (Debian, Ubuntu: libsimgrid-dev)"
    if launcher is None:
        return Finding(Verdict.ABSENT, what, f"no smpirun; {package}, and Stretto again")
    if program is None:
        detail = (
            f"{launcher}, but no stretto-simulate.so: Stretto was built without it; install Stretto again"
        )
        return Finding(Verdict.ABSENT, what, detail)
    return Finding(Verdict.GOOD, what, f"{launcher}, {program}")


def check_variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check the variables in the environment, by the rules of the library."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return
    for name, value in sorted(environment.items()):
        if not name.startswith("STRETTO_") or name in TOOL_VARIABLES:
            continue
        if name in _FOLDER_OF and value:
            wrong = _wrong_folder(_FOLDER_OF[name](Path(value).absolute()))
        elif name == "STRETTO_TABLE" and value not in ("", "none"):
            wrong = _read_table(Path(value))[1]
        else:
            wrong = "; ".join(_core.complaints(name, value))
        yield Finding(Verdict.BAD if wrong else Verdict.GOOD, f"{name}={value}", wrong)


# The folder that a variable makes the library write to.
_FOLDER_OF: dict[str, Callable[[Path], Path]] = {
    "STRETTO_STATS": lambda file: file.parent,
    "STRETTO_TRACE": lambda folder: folder,
}


def _wrong_folder(folder: Path) -> str:
    good = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return "" if good else f"{folder} is not a folder that can be written to"


def _read_table(file: Path) -> tuple[str, str]:
    """What a tuning table is for, and what is wrong with it. One of the two is empty."""
    from stretto import _core  # noqa: PLC0415  whoever calls has it

    if not file.is_file():  # a pipe might never end
        return "", "there is no such file"
    try:
        table = _core.read_table(file.read_text(encoding="utf-8"))
    except OSError as error:
        return "", f"cannot be read: {error.strerror}"
    except ValueError as error:
        return "", str(error)
    shapes = ", ".join(f"{shape.nodes} x {shape.ppn}" for shape in table.shapes)
    return f"of {table.mpi}, for nodes x ppn of {shapes or 'nothing'}", ""


def check_tables() -> Iterator[Finding]:
    """Check the tuning tables at their default places."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return
    for family in FAMILIES:
        path = _core.default_table_path(family)
        if path and Path(path).exists():
            found, wrong = _read_table(Path(path))
            yield Finding(Verdict.BAD if wrong else Verdict.GOOD, path, wrong or found)
