# SPDX-License-Identifier: Apache-2.0
"""The wheels of scripts/wheel, installed into an empty environment, where there is no compiler."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from stretto.support.extras import TOOLS
from stretto.support.paths import prebuilt_release

ROOT = Path(__file__).parents[2]
ARCH = platform.machine()
ABIS = ("openmpi", "mpich", "abi")
LAUNCHERS = {
    "openmpi": "mpirun.openmpi",
    "mpich": "mpirun.mpich",
    "abi": str(ROOT / ".mpi/mpich5/bin/mpiexec.hydra"),
}
SYSTEM_LIBRARIES = re.compile(r"lib(?:c|m|dl|pthread|rt)\.so\.\d|ld-linux-.*\.so\.\d")
BUILD_TOOLS = re.compile(
    r"(?:.*-)?(?:cc|c\+\+|gcc|g\+\+|cpp|clang|clang\+\+|ld|as|make|cmake|ninja)(?:[.-].*)?|mpi(?:cc|cxx|f).*"
)

pytestmark = [pytest.mark.packages, pytest.mark.timeout(900)]


def wheel_for(version: tuple[int, int]) -> Path:
    tag = "cp312-abi3" if version >= (3, 12) else "cp311-cp311"
    found = list((ROOT / "dist").glob(f"stretto-*-{tag}-manylinux_*_{ARCH}.whl"))
    assert len(found) == 1, f"dist/ has {len(found)} wheels for Python {version}; run scripts/wheel"
    return found[0]


def run(
    words: Sequence[str | Path], environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    ran = subprocess.run(
        list(map(str, words)),
        env=environment,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, f"{words}: {ran.stdout}"
    return ran.stdout


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of an environment with the wheel, and with all programs except build tools."""
    folder = tmp_path_factory.mktemp("empty")
    tools = folder / "tools"
    tools.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(place).iterdir() if Path(place).is_dir() else []:
            link = tools / program.name
            if not BUILD_TOOLS.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)
    environment = {
        "PATH": f"{folder}/venv/bin:{tools}",
        "HOME": str(folder),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    run([base, "-m", "venv", folder / "venv"])
    for compiler in ("cc", "gcc", "g++", "clang", "make", "mpicc", "mpicxx"):
        assert shutil.which(compiler, path=environment["PATH"]) is None
    run([folder / "venv/bin/pip", "install", "--quiet", wheel_for(sys.version_info[:2])], environment)
    return environment


def command(empty: Mapping[str, str]) -> Path:
    found = shutil.which("stretto", path=empty["PATH"])
    assert found is not None
    return Path(found)


@pytest.fixture(scope="module", params=ABIS)
def abi(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(abi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("program") / f"pairing-{abi}"
    compiler = str(ROOT / ".mpi/mpich5/bin/mpicxx_abi") if abi == "abi" else f"mpicxx.{abi}"
    flags = ["-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    run([compiler, *flags, ROOT / "tests/interpose/pairing.cpp", "-o", out])
    return out


@pytest.mark.parametrize("version", [(3, 11), (3, 12)])
def test_it_needs_the_c_library_alone(version: tuple[int, int], tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel_for(version)) as wheel:
        wheel.extractall(tmp_path)
    lib = tmp_path / "stretto/lib"
    programs = [*lib.glob("libstretto*"), *lib.glob("stretto-bench*")]
    parts = {f"libstretto{part}" for part in (".so", ".so.0", "-core.so", "-audit.so")}
    assert {file.name for file in programs} == {*parts, "stretto-bench", "stretto-bench.so"}
    (core,) = (tmp_path / "stretto").glob("_core.*.so")
    assert ("abi3" in core.name) == (version >= (3, 12))
    for file in [*programs, core]:
        dynamic = run(["readelf", "-d", file])
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        ours = {name for name in needed if name.startswith("libstretto")}
        assert ours == ({"libstretto.so.0"} if "bench" in file.name else set())
        assert all(SYSTEM_LIBRARIES.fullmatch(name) for name in needed - ours), needed
        assert set(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)) <= {"$ORIGIN"}
    # A copy of messages by the compiler's own memcpy took up to 1.7 times as long.
    assert re.search(r" U memcpy@", run(["nm", "-D", lib / "libstretto-core.so"]))
    (static,) = tmp_path.glob("stretto-*.data/scripts/stretto")
    assert "NEEDED" not in run(["readelf", "-d", static])


@pytest.mark.parametrize(
    "elsewhere", [f"manylinux_2_17_{ARCH}", f"musllinux_1_2_{ARCH}", "manylinux_2_39_riscv64"]
)
def test_pip_refuses_it_elsewhere(elsewhere: str, tmp_path: Path) -> None:
    wheel = wheel_for(sys.version_info[:2])
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    ran = subprocess.run(
        [*words, "--platform", elsewhere, "--target", tmp_path, wheel], capture_output=True, text=True
    )
    assert ran.returncode != 0
    assert "is not a supported wheel on this platform" in ran.stderr


def test_the_doctor_is_content(empty: dict[str, str], tmp_path: Path) -> None:
    output = run(["stretto", "doctor"], empty, tmp_path)
    assert "Stretto is ready for Open MPI 4, MPICH 4" in output
    assert re.search(rf"ok +libstretto\.so +{re.escape(str(command(empty).parents[1]))}/", output)


def test_without_an_mpi_library_there_is_one_line(empty: dict[str, str], tmp_path: Path) -> None:
    environment = {**empty, "PATH": str(command(empty).parent)}
    ran = subprocess.run(["stretto", "doctor"], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "no MPI library was found" in ran.stdout
    lib = command(empty).parents[1] / "lib"
    program = next(lib.glob("python3*/site-packages/stretto/lib/stretto-bench"))
    ran = subprocess.run([program, "abi"], env={}, capture_output=True, text=True)  # no Debian has that
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert re.fullmatch(r"stretto-bench: libmpi.* was not found; add the folder .* to LD_LIBRARY_PATH", line)


def test_programs_are_served(empty: dict[str, str], abi: str, program: Path, tmp_path: Path) -> None:
    settings = ["--summary", "--set=STRETTO_PROGRESS_THREAD=1"]
    settings += [f"--spec={one}" for one in ("ring", "bcast/chain", "reduce/chain", "allgather/ring")]
    launcher = [
        LAUNCHERS[abi],
        "-np",
        "2",
        *(["--allow-run-as-root", "--oversubscribe"] if abi == "openmpi" else []),
    ]
    output = run([*launcher, "stretto", "exec", *settings, program], empty, tmp_path)
    assert "right" in output
    assert "by Stretto and 0 by" in output


@pytest.mark.skipif(ARCH != "x86_64", reason="the oldest processor of this kind is named")
def test_an_old_processor_takes_other_kernels(empty: dict[str, str], tmp_path: Path) -> None:
    """One that has nothing beyond SSE3, by an emulator."""
    source = ROOT / "tests/interpose/pairing.cpp"
    run(["mpicxx.mpich", "-std=c++20", "-DMPICH_SKIP_MPICXX", source, "-o", tmp_path / "pairing"])
    library = next(command(empty).parents[1].glob("lib/python3*/site-packages/stretto/lib/libstretto.so"))
    forced = {"STRETTO_ALLREDUCE": "ring", "STRETTO_SUMMARY": "1", "STRETTO_PROGRESS_THREAD": "1"}
    settings = ",".join([f"LD_PRELOAD={library}", *(f"{name}={value}" for name, value in forced.items())])
    emulator = ["qemu-x86_64-static", "-cpu", "qemu64", "-E", settings]
    output = run(["mpirun.mpich", "-np", "2", *emulator, tmp_path / "pairing"])
    assert "right" in output
    assert re.search(r"[1-9]\d* by Stretto", output)


TRAINING = """
import sys
import torch
import torch.distributed as dist
from stretto.torch.extension import load_extension
dist.init_process_group("stretto")
summed = torch.full((1000,), float(dist.get_rank() + 1))
dist.all_reduce(summed)
assert summed.eq(3).all()
sys.stdout.write(f"summed by {load_extension().__file__}\\n")  # in one piece, as ranks write at once
dist.destroy_process_group()
"""


def symbol_versions(file: Path, family: str) -> set[tuple[int, ...]]:
    found = re.findall(rf"{family}_([0-9.]+)", run(["readelf", "-V", file]))
    return {tuple(map(int, version.split("."))) for version in found}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="for Python 3.11 pip finds PyTorch for CPUs")
def test_pytorch_needs_no_compiler(empty: dict[str, str], tmp_path: Path) -> None:
    wheel = wheel_for((3, 11))
    with zipfile.ZipFile(wheel) as archive:
        carried = [name for name in archive.namelist() if re.match(r"stretto/torch/prebuilt/.*\.so", name)]
    assert len(carried) == 1, "scripts/wheel says why"
    release = prebuilt_release(Path(carried[0]))
    venv = tmp_path / "venv"
    pips = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment = {**empty, **pips, "HOME": str(tmp_path), "PATH": f"{venv}/bin:{empty['PATH']}"}
    run([command(empty).with_name("python"), "-m", "venv", venv], environment)
    run([venv / "bin/pip", "install", "--quiet", f"torch=={release}+cpu", wheel], environment)
    (tmp_path / "train.py").write_text(TRAINING, encoding="utf-8")
    output = run([venv / "bin/torchrun", "--nproc-per-node", "2", "train.py"], environment, tmp_path)
    (extension,) = venv.glob(f"lib/python3*/site-packages/{carried[0]}")
    assert output.count(f"summed by {extension}") == 2
    assert "building" not in output
    assert "the wheel has stretto.torch for it" in run(["stretto", "doctor"], environment, tmp_path)

    # The extension needs no newer system than PyTorch does, and has no path of the machine that built it.
    libraries = extension.parents[3] / "torch/lib"
    for family in ("GLIBC", "GLIBCXX", "CXXABI"):
        own, pytorch = (
            {version for file in files for version in symbol_versions(file, family)}
            for files in ([extension], [libraries / "libc10.so", libraries / "libtorch_cpu.so"])
        )
        assert max(own) <= max(pytorch)
    assert "PATH" not in run(["readelf", "-d", extension])
    assert str(ROOT).encode() not in extension.read_bytes()

    def lines_of_build() -> list[str]:
        words = [str(venv / "bin/python"), "-m", "stretto.torch"]
        ran = subprocess.run(words, env=environment, capture_output=True, text=True)
        assert ran.returncode == 1
        return [line for line in ran.stderr.splitlines() if line.startswith("stretto: ")]

    # If the wheel's extension cannot be loaded, or is for another release, the extension is built.
    extension.write_bytes(b"of another system")
    announced, refused = lines_of_build()
    assert "once, since the wheel's cannot be loaded (" in announced
    assert "needs the C++ compiler g++" in refused
    version = libraries.parent / "version.py"
    version.write_text(version.read_text().replace(release, "2.5.1"))
    announced, refused = lines_of_build()
    assert announced == "stretto: building the extension for PyTorch 2.5.1+cpu, once"
    assert refused.endswith(f"or take PyTorch {release}, for which the wheel has the extension")


@pytest.mark.parametrize("flavor", ["openmpi", "openmpi5", "mpich", "mpich5", "intelmpi"])
def test_every_library_is_measured(empty: dict[str, str], flavor: str, tmp_path: Path) -> None:
    """The same program measures all libraries, although their files have different names."""
    words = ["stretto", "bench", "allreduce", "--mpi", flavor, "--specs", "native,ring", "--sizes", "1KiB"]
    environment = {**empty, "STRETTO_MPI_PREFIXES": ":".join(map(str, (ROOT / ".mpi").iterdir()))}
    output = run([*words, "--max-seconds", "2", "-o", tmp_path / "run.json"], environment, tmp_path)
    assert "ring" in output
    assert "wrong" not in output


def test_what_jobs_do_not_need_is_left_out(empty: dict[str, str]) -> None:
    listed = run([command(empty).with_name("pip"), "list", "--format", "freeze"], empty)
    brought = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert {"rich", "stretto", "typer"} <= brought
    # Newer versions of Typer bring Pydantic.
    assert not brought & ({*TOOLS} - {"pydantic"})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a lab")
def test_the_first_part_of_the_demo(empty: dict[str, str], tmp_path: Path) -> None:
    python = command(empty).with_name("python")
    wheel = wheel_for(sys.version_info[:2])
    run([python, "-m", "pip", "install", "--quiet", f"{wheel}[tools]"], empty)
    output = run([python, ROOT / "examples/demo.py", "--first-part", "--results", tmp_path], empty, tmp_path)
    assert "allreduce of 16 MiB, 8 nodes" in output
    assert (tmp_path / "demo-8-nodes.png").stat().st_size > 10_000
