# SPDX-License-Identifier: Apache-2.0
"""Lines to copy: how Slurm's plugin and containers bring this installation of Stretto to programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from stretto.support import paths
from stretto.support.console import print_lines
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text

_PLUGIN = "/usr/local/lib/spank_stretto.so"


class LinesFor(Enum):
    """What the lines are for."""

    SLURM = "slurm"
    CONTAINERS = "containers"


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that stand together."""

    use: str
    """What they do, and where they go."""
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Installation:
    """Where this Stretto is."""

    library: Path
    command: Path | None
    plugin: Path
    """The source of the plugin for Slurm."""

    @property
    def exec(self) -> str:
        """The words that stand before the program."""
        return f"{self.command or 'stretto'} exec"

    def binds(self, separator: str) -> list[str]:
        """The folders and files that a container must mount read-only, under the same names as outside."""
        return [
            f"{one}{separator}{one}{separator}ro"
            for one in (self.library.parent, self.command)
            if one is not None
        ]


def find_installation() -> Installation:
    """This installation. Raises StrettoError if its paths cannot stand in LD_PRELOAD or in a shell's line."""
    found = Installation(paths.library(), paths.find_command(), paths.slurm_plugin())
    for path in (found.library.parent, found.command, found.plugin):
        wrong = re.search(r"[^\w@%+=./-]", str(path or ""), re.ASCII)
        if wrong:
            raise StrettoError(
                f"{path}: {wrong[0]!r} is not allowed in LD_PRELOAD or in these lines; install Stretto in a "
                "folder whose name has letters, digits and - . _ only"
            )
    return found


def slurm_groups(here: Installation) -> list[Group]:
    """The lines for Slurm."""
    line = f"optional {_PLUGIN} lib={here.library.parent}"
    return [
        Group("Behind srun. No set-up is needed.", [f"srun -n 8 {here.exec} ./solver"]),
        Group(
            "A plugin, for `srun --stretto`. It needs Slurm's headers (Debian: libslurm-dev), and is "
            "compiled anew for each release of Slurm.",
            [f"cc -O2 -fPIC -shared -o {_PLUGIN} {here.plugin}"],
        ),
        Group("In plugstack.conf, on all nodes and where jobs are submitted.", [line]),
        Group("Or, as the default of all jobs.", [f"{line} default=on"]),
        Group("A job with Stretto.", ["srun --stretto -n 8 ./solver", "sbatch --stretto job.sh"]),
        Group("A job without Stretto.", ["srun --stretto=off -n 8 ./solver"]),
    ]


def container_groups(here: Installation) -> list[Group]:
    """The lines for containers."""
    volumes = " ".join(f"-v {one}" for one in here.binds(":"))
    binds = ",".join(here.binds(":"))
    return [
        Group(
            "Apptainer, the launcher outside. The image needs no Stretto.",
            [f"mpirun -np 8 apptainer exec --bind {binds} image.sif {here.exec} ./solver"],
        ),
        Group(
            "The same for unchanged job scripts.",
            [
                f'export APPTAINER_BIND="{binds}${{APPTAINER_BIND:+,$APPTAINER_BIND}}"',
                f"export APPTAINERENV_LD_PRELOAD={here.library}",
            ],
        ),
        Group(
            "The same for Singularity.",
            [
                f'export SINGULARITY_BIND="{binds}${{SINGULARITY_BIND:+,$SINGULARITY_BIND}}"',
                f"export SINGULARITYENV_LD_PRELOAD={here.library}",
            ],
        ),
        Group(
            "Docker or Podman, the launcher inside. --ipc=host: the machine's /dev/shm, for the MPI library.",
            [f"docker run --ipc=host {volumes} image mpirun -np 8 {here.exec} ./solver"],
        ),
        Group(
            "Or a larger /dev/shm than the usual 64 MiB. Stretto's shared memory is not there (memfd).",
            [f"docker run --shm-size=1g {volumes} image mpirun -np 8 {here.exec} ./solver"],
        ),
        Group(
            "Programs in the image, without stretto exec.",
            [f"docker run --ipc=host {volumes} -e LD_PRELOAD={here.library} image mpirun -np 8 ./solver"],
        ),
    ]


_GROUPS: dict[LinesFor, Callable[[Installation], list[Group]]] = {
    LinesFor.SLURM: slurm_groups,
    LinesFor.CONTAINERS: container_groups,
}


def lines_for(place: LinesFor) -> list[Group]:
    """The lines for a place, with the paths of this installation."""
    return _GROUPS[place](find_installation())


def print_groups(groups: Sequence[Group]) -> None:
    """Print the lines, with what they do above them as comments."""
    for number, group in enumerate(groups):
        print_lines(["", f"# {group.use}"] if number else [f"# {group.use}"])
        print_lines(group.lines, style="")


def groups_json(place: LinesFor, groups: Sequence[Group]) -> str:
    """The document of the same (docs/formats.md)."""
    content = {"place": place.value, "groups": [asdict(group) for group in groups]}
    return document_text("stretto-lines", sys.argv, None, content)
