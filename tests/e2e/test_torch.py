# SPDX-License-Identifier: Apache-2.0
"""The backend "stretto" of torch.distributed, by each MPI, by its launcher alone and under `stretto run`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.torch_starting import PYTHON, build

from stretto.support.paths import find_command

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

FOLDER = Path(__file__).parent
# Open MPI's op/avx gives wrong sums of 8-bit integers.
RIGHT_SUMS = {"OMPI_MCA_op": "^avx"}
SECONDS = 200


def lines_of_right(output: str) -> int:
    # Launchers mix the output of ranks that write at the same time.
    return output.count("right")


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("openmpi", 2),
        ("mpich", 3),
        *(
            pytest.param(name, ranks, marks=pytest.mark.long)
            for name, ranks in (("openmpi", 4), ("openmpi5", 2), ("mpich5", 2), ("intelmpi", 2))
        ),
    ],
)
def test_every_collective_is_right(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str, ranks: int
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_collectives.py")]
    output = local_ranks(name).run(ranks, program, settings={**cache, **RIGHT_SUMS}, seconds=SECONDS)
    assert lines_of_right(output) == ranks


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_preloaded_one_that_serves_is_taken(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str
) -> None:
    """`stretto exec` preloads one Stretto for each binary interface."""
    program = [str(find_command()), "exec", *PYTHON, str(FOLDER / "torch_collectives.py")]
    output = local_ranks(name).run(2, program, settings={**cache, **RIGHT_SUMS}, seconds=SECONDS)
    assert lines_of_right(output) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "ranks", "specs"),
    [
        ("openmpi", 3, "ring:segments=3 bcast/chain allgather/ring reduce_scatter/ring reduce/chain"),
        (
            "mpich",
            2,
            "recursive_doubling bcast/binomial allgather/bruck reduce_scatter/pairwise reduce/linear",
        ),
    ],
)
def test_every_collective_is_right_by_forced_algorithms(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str, ranks: int, specs: str
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_collectives.py")]
    output = local_ranks(name).run(
        ranks,
        program,
        specs=specs.split(),
        topology=f"nodes={ranks},ppn=1",
        settings={**cache, **RIGHT_SUMS},
        seconds=SECONDS,
    )
    assert lines_of_right(output) == ranks


@pytest.mark.parametrize("part", ["collectives", "streams", "training", "refused"])
@pytest.mark.parametrize(
    ("name", "ranks", "specs"),
    [
        ("openmpi", 2, None),
        *(
            pytest.param(name, ranks, specs, marks=pytest.mark.long)
            for name, ranks, specs in (
                ("mpich", 2, "ring:segments=3 bcast/chain allgather/ring reduce_scatter/ring reduce/chain"),
                ("openmpi", 3, "native"),
                ("mpich", 3, None),
                ("openmpi5", 2, None),
                ("intelmpi", 2, None),
            )
        ),
    ],
)
def test_tensors_on_a_device(
    local_ranks: Callable[[str], LocalRanks],
    cache: dict[str, str],
    device: Path,
    name: str,
    ranks: int,
    specs: str | None,
    part: str,
) -> None:
    """With libraries that support only host memory: calls by Stretto, and calls by the library."""
    program = [*PYTHON, str(FOLDER / "torch_on_device.py"), str(device), part]
    output = local_ranks(name).run(
        ranks,
        program,
        specs=specs.split() if specs else None,
        topology=f"nodes={ranks},ppn=1" if specs else None,
        settings={**cache, **RIGHT_SUMS, "LD_LIBRARY_PATH": str(device)},
        seconds=SECONDS,
    )
    assert lines_of_right(output) == ranks


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
@pytest.mark.parametrize("specs", ["native", "ring"])
def test_streams_with_a_library_that_takes_device_memory(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], device: Path, name: str, specs: str
) -> None:
    """The library gets the tensors themselves, after the operations in their current stream."""
    program = [*PYTHON, str(FOLDER / "torch_on_device.py"), str(device), "streams"]
    output = local_ranks(name).run(
        2,
        program,
        specs=[specs],
        topology="nodes=2,ppn=1",
        settings={
            **cache,
            **RIGHT_SUMS,
            "LD_LIBRARY_PATH": str(device),
            "STRETTO_GPU_AWARE": "1",
            "STANDIN_OPEN": "1",
        },
        seconds=SECONDS,
    )
    assert lines_of_right(output) == 2


@pytest.mark.long
def test_what_pytorch_builds_on_a_backend_works(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str]
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_above.py")]
    output = local_ranks("openmpi").run(3, program, settings=cache, seconds=SECONDS)
    assert lines_of_right(output) == 3


@pytest.mark.long
@pytest.mark.parametrize("hook", ["none", "bf16", "fp16"])
@pytest.mark.parametrize(("name", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_a_training_learns_the_same_as_by_gloo(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str, ranks: int, hook: str
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_training.py"), hook]
    output = local_ranks(name).run(ranks, program, settings=cache, seconds=SECONDS)
    assert lines_of_right(output) == ranks


@pytest.mark.long
def test_the_example_learns_the_same_as_by_gloo(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str]
) -> None:
    accuracies = []
    for backend in ("stretto", "gloo"):
        program = [*PYTHON, "examples/train_digits_torch.py", "--backend", backend, "--steps", "40"]
        output = local_ranks("openmpi").run(2, program, settings=cache)
        accuracies.append(output.split("accuracy ")[1].split()[0])
    assert accuracies[0] == accuracies[1]
    assert float(accuracies[0].rstrip("%,")) > 80


@pytest.mark.long
def test_the_benchmark_compares_backends(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "backends.json"
    program = [*PYTHON, "benchmarks/torch_backends.py", "--sizes", "4KiB,256KiB", "--repetitions", "3"]
    output = local_ranks("openmpi").run(2, [*program, "--json", str(file)], settings=cache)
    assert "bfloat16" in output
    assert '"stretto"' in file.read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("model", ["resnet110", "gpt2 --layers 1 --length 8"])
def test_the_benchmark_of_steps_compares_backends(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], tmp_path: Path, model: str
) -> None:
    file = tmp_path / "steps.json"
    program = [*PYTHON, "benchmarks/torch_steps.py", "--model", *model.split(), "--steps", "2"]
    assert "gloo's step is" in local_ranks("openmpi").run(2, [*program, "--json", str(file)], settings=cache)
    seconds = json.loads(file.read_text(encoding="utf-8"))["seconds"]
    assert {name: len(times["step"]) for name, times in seconds.items()} == {
        "stretto": 2,
        "gloo": 2,
        "alone": 2,
    }


@pytest.mark.long
@pytest.mark.parametrize("routing", [[], ["--uneven"]])
def test_the_benchmark_of_experts_compares_all_to_alls(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], tmp_path: Path, routing: list[str]
) -> None:
    file = tmp_path / "experts.json"
    options = ["--sizes", "64KiB", "--steps", "2", "--link-rate", "1gbit", "--json", str(file)]
    program = [*PYTHON, "benchmarks/torch_experts.py", *options, *routing]
    assert "64 KiB" in local_ranks("openmpi").run(2, program, settings=cache)
    (one,) = json.loads(file.read_text(encoding="utf-8"))["series"]
    assert {way: len(times["step"]) for way, times in one["seconds"].items()} == {"auto": 2, "native": 2}


@pytest.mark.long
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_what_cannot_be_is_refused_and_mpi4py_goes_along(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str
) -> None:
    for case in ("refused", "mpi4py"):
        program = [*PYTHON, str(FOLDER / "torch_failing.py"), case]
        assert lines_of_right(local_ranks(name).run(3, program, settings=cache)) == 1


@pytest.mark.long
@pytest.mark.parametrize("case", ["daemon", "child", "unwaited", "destroyed"])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_job_ends_whatever_is_under_way(
    local_ranks: Callable[[str], LocalRanks], cache: dict[str, str], name: str, case: str
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_ending.py"), case]
    assert lines_of_right(local_ranks(name).run(3, program, settings=cache)) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "settings", "line"),
    [
        ("hook", {}, "ArithmeticError: the hook has failed"),
        ("hook chain", {}, "ArithmeticError: the hook has failed"),
        ("daemon", {}, "stretto: rank 2 has given up a collective that did not end; all ranks end"),
        ("then", {}, "ArithmeticError: what follows has failed"),
        ("killed", {}, ""),
        ("exit", {}, "stretto: rank 2 ends with status 3; all ranks end"),
        ("overdue", {}, "of process group 0, 3 ranks) has not ended after a timeout of 2 s"),
        ("shapes", {"STRETTO_CHECK": "1"}, "has a message of 1200016 bytes; the job ends"),
        ("shapes", {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, "Detected mismatch between collectives on ranks"),
        ("mpi4py exception", {}, "ArithmeticError: the last rank has failed"),
        ("mpi4py overdue", {}, "has not ended after a timeout of 2 s"),
        ("alone", {}, "not all of its 3 ranks arrived within 2 s"),
        ("threads", {}, "MPI was initialized without MPI_THREAD_MULTIPLE"),
        ("refused", {"WORLD_SIZE": "8"}, "WORLD_SIZE is 8 in the environment, but 3 for MPI"),
        ("refused", {"MPI4PY_LIBMPI": "/nowhere/libmpi.so"}, "could not be loaded (/nowhere/libmpi.so"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_job_that_fails_ends_with_a_line(
    local_ranks: Callable[[str], LocalRanks],
    cache: dict[str, str],
    name: str,
    case: str,
    settings: dict[str, str],
    line: str,
) -> None:
    program = [*PYTHON, str(FOLDER / "torch_failing.py"), case]
    output = local_ranks(name).run(3, program, settings={**cache, **settings}, succeeds=False)
    assert line in output, output
    # In all failures, no rank printed "right".
    assert lines_of_right(output) == 0


def said(code: str, settings: Mapping[str, str]) -> str:
    """The last line of a program that fails without a launcher."""
    ended = subprocess.run(
        [*PYTHON, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True, timeout=SECONDS
    )
    assert ended.returncode != 0
    return ended.stderr.splitlines()[-1]


def test_mpi_without_its_launcher_says_how_to_start() -> None:
    assert "mpirun -np 4 python train.py" in said("import stretto.torch", {"STRETTO_NETWORK": "mpi"})


def test_without_torch_it_says_so() -> None:
    line = said("import sys; sys.modules['torch'] = None; import stretto.torch", {})
    assert "stretto.torch needs PyTorch" in line
    assert "pip install torch" in line


def test_a_compiler_that_fails_is_one_line(tmp_path: Path) -> None:
    # The compiled extension needs no other C++ library.
    static = tmp_path / "static"
    static.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho nothing >"$2"\n')
    static.chmod(0o755)
    for compiler, wanted in (
        ("false", "exit status 1"),
        ("no-such-compiler", "is not in PATH"),
        (str(static), "links it statically"),
    ):
        ended = build({"STRETTO_CACHE": str(tmp_path), "CXX": compiler})
        assert ended.returncode != 0
        lines = [line for line in ended.stderr.splitlines() if line.startswith("stretto: the extension")]
        assert len(lines) == 1, ended.stderr
        assert compiler in lines[0]
        assert wanted in lines[0]
    assert [file.name for file in (tmp_path / "torch").iterdir() if file.name != "lock"] == []


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "torch").write_text("in the way")
    ended = build({"STRETTO_CACHE": str(tmp_path)})
    assert ended.returncode != 0
    assert "name another folder by STRETTO_CACHE" in ended.stderr
