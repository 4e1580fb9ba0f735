# SPDX-License-Identifier: Apache-2.0
"""A job of the measuring program that serves requests."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stretto.bench.targets import OPEN_MPI_CHOICE, Target, check_library, measuring_environment
from stretto.launch.jobs import Process
from stretto.launch.output import ProgramOutput
from stretto.results.runs import EndedError, RefusedError, Run, parse_event, read_events
from stretto.spec.checks import split_specs
from stretto.spec.labels import STRETTO
from stretto.spec.native import NATIVE
from stretto.support import paths

# Launchers are slow on large machines.
_START_SECONDS = 300.0
# A job that takes longer to end after its last request is stopped, since MPICH 4.0.2 sometimes hangs.
_END_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Ready:
    """The first event of a job, which describes it."""

    library: str
    """The first line of MPI_Get_library_version."""
    ranks: int
    nodes: int
    ppn: list[int]
    """Ranks of each node."""
    algorithms: dict[str, dict[str, list[str]]]
    """The MPI library's own algorithms, by collective and form."""
    by_launch: bool
    """Whether an algorithm can only be chosen when a job is started."""
    stretto: str

    def names_of(self, collective: str, form: str) -> list[str]:
        """The MPI library's own algorithms for a collective in a form."""
        return self.algorithms.get(collective, {}).get(form, [])


class MeasuringJob:
    """A job that lasts as long as the block of `measuring_job`."""

    def __init__(self, process: Process, *, has_library: bool = True) -> None:
        self._process = process
        self._has_library = has_library
        self._output = ProgramOutput(process)
        for line in self._lines(_START_SECONDS):
            event = parse_event(line)
            kind = event.pop("event", None)
            if kind == "error":
                raise RefusedError(f"the measuring program failed: {event['message']}")
            if kind == "ready":
                self.ready = Ready(**event)
                return

    def ask(self, words: Sequence[str], most_silence: float, progress: Callable[[float, float], None]) -> Run:
        """The results of a request. `words`: the measuring program's arguments.

        Raises RefusedError if the request cannot be measured, and EndedError if the job has ended, or prints
        nothing for `most_silence` seconds.
        """
        specs = words.index("--specs") + 1
        asked = split_specs(words[specs])
        if self._has_library or NATIVE not in asked:
            self._write(" ".join(words))
            return read_events(self._lines(most_silence), progress)
        # Without an MPI default, other specs are compared with Stretto's own choice.
        wanted = [STRETTO if spec == NATIVE else spec for spec in asked]
        self._write(" ".join([*words[:specs], ",".join(dict.fromkeys(wanted)), *words[specs + 1 :]]))
        run = read_events(self._lines(most_silence), progress)
        run.series = [replace(one, spec=NATIVE if one.spec == STRETTO else one.spec) for one in run.series]
        return run

    def end(self) -> None:
        """Ask the job to end. If it does not, the end of the block ends it."""
        with contextlib.suppress(EndedError, subprocess.TimeoutExpired):
            self._write("end")
            self._process.wait(_END_SECONDS)

    def _write(self, line: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("a job that serves has its standard input piped")
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except OSError:
            raise EndedError("the job has ended; see what the launcher said above") from None

    def _lines(self, most_silence: float) -> Iterator[str]:
        yield from self._output.lines(most_silence)
        raise EndedError("the job has ended; see what the launcher said above")


@contextlib.contextmanager
def measuring_job(
    target: Target, forms: Sequence[str], element: str, variables: Mapping[str, str | None] | None = None
) -> Iterator[MeasuringJob]:
    """Start a job that measures calls in these forms. None of its processes outlives the block.

    `variables`: the environment variables to set or, if None, to unset.
    """
    program = [str(paths.bench_program()), target.abi, "--serve", "yes"]
    program += ["--forms", ",".join(forms), "--type", element]
    # Tuning tables must not influence what is measured here.
    environment = {"STRETTO_TABLE": "none"} | (OPEN_MPI_CHOICE if target.abi == "openmpi" else {})
    with (
        measuring_environment(environment | dict(variables or {})),
        target.start(program, stdin=subprocess.PIPE) as process,
    ):
        try:
            job = MeasuringJob(process, has_library=target.has_library)
            check_library(job.ready.library, target)
            yield job
            job.end()
        finally:
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
