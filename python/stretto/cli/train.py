# SPDX-License-Identifier: Apache-2.0
"""`stretto train`: images per second of a real framework, by several specs in turns."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stretto.bench.targets import Place, Target, find_target
from stretto.cli.options import LabName, LabPpn, MpiName, OnLab, Provider, Ranks
from stretto.cli.program import program_of
from stretto.lab.cluster import DEFAULT_NAME, Lab
from stretto.launch.mpi import Flavor
from stretto.launch.run import find_start
from stretto.spec.architectures import ARCHITECTURES
from stretto.spec.native import NATIVE
from stretto.support.console import console_for, progress_bar
from stretto.support.errors import StrettoError
from stretto.support.files import check_files, write_all
from stretto.support.interruption import INTERRUPTIONS, signal_of
from stretto.support.machine_load import LoadWatch
from stretto.support.units import parse_seconds
from stretto.training import job, lines, memory, output
from stretto.training.result import Line, Training
from stretto.workers.options import Options
from stretto.workers.packages import PACKAGES, missing_complaint


class Framework(StrEnum):
    """What trains."""

    TENSORFLOW = "tensorflow"
    PYTORCH = "pytorch"


class Data(StrEnum):
    """What images there are."""

    IMAGENET = "synthetic-imagenet"
    CIFAR10 = "synthetic-cifar10"
    DIGITS = "digits"


class Compression(StrEnum):
    """Of gradients on their way."""

    NONE = "none"
    FP16 = "fp16"
    BF16 = "bf16"


class Backend(StrEnum):
    """Of torch.distributed."""

    STRETTO = "stretto"
    GLOO = "gloo"


def train(
    context: typer.Context,
    model: Annotated[str, typer.Option(metavar="|".join(ARCHITECTURES), help="The network.")],
    framework: Annotated[
        Framework, typer.Option(help="tensorflow with Horovod, or pytorch with DistributedDataParallel.")
    ] = Framework.TENSORFLOW,
    data: Annotated[
        Data | None,
        typer.Option(
            help="The images; unless given, those that the network is made for.", show_default=False
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Images of each rank in a step.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Steps by one spec before the next has its turn.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of each spec.")] = 6,
    specs: Annotated[
        str,
        typer.Option(
            help="Specs of MPI_Allreduce: the MPI default, RNG, NBL, NBLx4 and Stretto's choice unless given."
        ),
    ] = lines.USUAL,
    without: Annotated[
        bool, typer.Option("--without-stretto", help="Only the MPI default, without Stretto in the job.")
    ] = False,
    compression: Annotated[Compression, typer.Option(help="Of gradients.")] = Compression.NONE,
    backend: Annotated[Backend, typer.Option(help="Of PyTorch.")] = Backend.STRETTO,
    compute_steps: Annotated[
        int, typer.Option(min=0, help="Steps without communication, before all others: they tell its share.")
    ] = 3,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads of each rank's computation; unless given, its share of the cores."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the parameters and the images.")] = 1,
    learning_rate: Annotated[float, typer.Option(min=0, help="Of SGD with momentum 0.9.")] = 0.01,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM", help="The interpreter that has the framework; this one unless given."
        ),
    ] = None,
    mpi_name: MpiName = None,
    ranks: Ranks = None,
    lab: OnLab = False,
    lab_name: LabName = DEFAULT_NAME,
    ppn: LabPpn = 1,
    provider: Provider = "ucx",
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="End a job of which no step ends for so long.")
    ] = "15min",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write samples and figures here.")] = None,
    png_file: Annotated[
        Path | None, typer.Option("--png", help="Draw images per second and losses here.")
    ] = None,
) -> None:
    """Train a network data-parallel, by the MPI default and others in turns; print images per second."""
    if model not in ARCHITECTURES:
        raise StrettoError(
            f"--model {model}: there is no such network; choose from {', '.join(ARCHITECTURES)}"
        )
    if compression == Compression.BF16 and framework == Framework.TENSORFLOW:
        raise StrettoError("--compression bf16: Horovod has none and fp16; --framework pytorch has all three")
    if without and framework == Framework.PYTORCH and backend == Backend.STRETTO:
        raise StrettoError(
            "--without-stretto: PyTorch's way to MPI is Stretto's backend; give --backend gloo"
        )
    architecture = ARCHITECTURES[model]()
    is_plain = without or backend == Backend.GLOO
    chosen = [NATIVE] if is_plain else lines.parse(specs)
    launcher = program_of(context)
    place = Place(launcher, mpi_name, ranks, lab_name if lab else None, provider, ppn)
    check_files([json_file], [png_file])
    wait = parse_seconds(patience)
    on_this_machine = ranks or (Lab(lab_name).require().nodes * ppn if lab else 2)
    if not launcher:
        memory.check(model, architecture, batch, on_this_machine)
    options = Options(
        framework=framework.value,
        model=model,
        data=data.value if data else "synthetic-cifar10" if model == "resnet110" else "synthetic-imagenet",
        batch=batch,
        steps=steps,
        rounds=rounds,
        specs=() if is_plain else tuple(chosen),
        compute_steps=compute_steps,
        threads=threads or (0 if launcher else max(1, (os.cpu_count() or 1) // on_this_machine)),
        seed=seed,
        learning_rate=learning_rate,
        compression=compression.value,
        backend=backend.value,
    )
    interpreter = _find_python(python)
    _check_packages(interpreter, framework.value)
    target = find_target(place, preloaded=bool(options.specs))
    training = Training(
        framework.value, architecture.name, options.data, batch, [Line(spec) for spec in chosen]
    )
    training.rate = target.rate
    training.mpi = _name_of_mpi(target, launcher, mpi_name)
    watch = LoadWatch()

    def look() -> None:
        training.load = watch.look(training.ranks if training.nodes == 1 or lab else None)

    try:
        with progress_bar("training") as progress:
            job.run(target, interpreter, options, wait, training, progress)
    except INTERRUPTIONS as ended:
        look()
        training.end_early(f"{signal_of(ended).name} ended it before its last round", steps)
        if training.lines[0].rounds:
            _report(training, json_file, png_file)
        else:
            name = signal_of(ended).name
            print(
                f"stretto: {name} came before the first round was through: nothing was written",
                file=sys.stderr,
            )
        raise
    look()
    _report(training, json_file, png_file)


def _report(training: Training, json_file: Path | None, png_file: Path | None) -> None:
    shown = output.table(training)
    console = console_for(shown)
    console.print(shown)
    for line in output.notes(training):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    write_all(
        lambda: training.write(json_file) if json_file else None,
        lambda: output.draw(training, png_file) if png_file else None,
    )


def _name_of_mpi(target: Target, launcher_line: list[str], asked: str | None) -> str:
    flavor = target.flavor or next((one for one in Flavor if one.value == asked), None)
    if flavor is None and (launcher := find_start(launcher_line, os.environ).launcher):
        flavor = launcher.flavor
    return flavor.label if flavor else Path(launcher_line[0]).name


def _find_python(given: str | None) -> str:
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise StrettoError(f"--python {given}: there is no such program")
    # Not resolved: an environment is known by where its link to the interpreter lies.
    return str(Path(found).absolute())


def _check_packages(python: str, framework: str) -> None:
    """Before ranks are started, whose launcher would say so at length."""
    names = PACKAGES[framework]
    # What lies in the folder at hand is not found by workers either.
    code = (
        "import sys; sys.path[:] = filter(None, sys.path); from importlib.util import find_spec; "
        f"print(*[name for name in {names} if find_spec(name) is None])"
    )
    try:
        asked = subprocess.run([python, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise StrettoError(f"--python {python} could not be started: {error.strerror}") from None
    if asked.returncode != 0:
        said = " ".join(asked.stderr.split())[-300:]
        raise StrettoError(f"--python {python} does not work as an interpreter: {said or 'it said nothing'}")
    if missing := asked.stdout.split():
        raise StrettoError(missing_complaint(", ".join(missing), framework, python))
