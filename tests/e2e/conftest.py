# SPDX-License-Identifier: Apache-2.0
"""Starts whole programs for tests, with or without Stretto, and a browser for pages."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from tests.e2e.torch_starting import build

from stretto.launch import mpi
from stretto.launch.mpi import Install
from stretto.launch.run import mpi4py_settings, rank_options

ROOT = Path(__file__).parent.parent.parent
# The marker of tests that use a fixture.
MARKS = {
    "tensorflow": pytest.mark.frameworks,
    "torch_libraries": pytest.mark.frameworks,
    "chromium": pytest.mark.packages,
    "slurm": pytest.mark.packages,
}


def run_to_end(
    argv: Sequence[str], environment: dict[str, str], seconds: float, *, succeeds: bool | None = True
) -> str:
    """Returns the output of a program that must succeed, fail by itself, or end in any way (None).

    After a time-out, no process of the program is left.
    """
    process = subprocess.Popen(
        argv,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except BaseException as error:
        # A launcher that is terminated (not killed) ends its ranks, on whatever node they are.
        process.terminate()
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            pytest.fail(f"{' '.join(argv)} took more than {seconds} s:\n{output[-4000:]}")
        raise
    as_it_must = succeeds is None or (process.returncode == 0) == succeeds
    assert as_it_must, f"{' '.join(argv)}: {process.returncode}\n{output[-4000:]}"
    return output


@dataclass(frozen=True)
class LocalRanks:
    """Programs on ranks of this machine."""

    install: Install

    def line(self, ranks: int, program: Sequence[str]) -> list[str]:
        """The command line that runs a program without Stretto."""
        options = ["-np", str(ranks)]
        if self.install.flavor.abi == "openmpi":
            options += ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        return [str(self.install.launcher.path), *options, *program]

    def run(
        self,
        ranks: int,
        program: Sequence[str],
        *,
        specs: Sequence[str] | None = None,
        topology: str | None = None,
        stats: Path | None = None,
        settings: Mapping[str, str] | None = None,
        seconds: float = 120,
        succeeds: bool | None = True,
    ) -> str:
        """The output of a program: under `stretto run` when specs are given, else without Stretto."""
        environment = {**self.install.environment(), **(settings or {})}
        if topology is not None:
            environment["STRETTO_TOPOLOGY"] = topology
        line = self.line(ranks, program)
        if specs is None:
            variables = mpi4py_settings(self.install.launcher, {**os.environ, **environment})
            line[1:1] = rank_options(self.install.flavor, variables)
        else:
            ours = [
                sys.executable,
                "-m",
                "stretto",
                "run",
                *itertools.chain.from_iterable(("--spec", spec) for spec in specs),
            ]
            ours += ["--stats", str(stats)] if stats else []
            line = [*ours, "--", *line]
        return run_to_end(line, environment, seconds, succeeds=succeeds)


@pytest.fixture(scope="session")
def run_program() -> Callable[[Sequence[str], dict[str, str], float], str]:
    """Runs a program that must succeed within a number of seconds. Returns its output."""
    return run_to_end


@pytest.fixture(scope="session")
def local_ranks() -> Callable[[str], LocalRanks]:
    """Ranks on this machine, by the name of an MPI."""
    return lambda name: LocalRanks(mpi.find_install(name))


@pytest.fixture(autouse=True)
def nothing_is_known(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gives each test an empty cache, so that its first job is the first one on its network."""
    folder = tmp_path_factory.mktemp("nothing_known")
    monkeypatch.setenv("STRETTO_CACHE", str(folder))
    monkeypatch.delenv("STRETTO_FABRIC")
    return folder


@pytest.fixture(scope="session")
def torch_extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a cache that has the extension for PyTorch, which is built once, ahead of time."""
    settings = {"STRETTO_CACHE": str(tmp_path_factory.mktemp("cache"))}
    ended = build(settings)
    assert ended.returncode == 0, ended.stderr
    module = Path(ended.stdout.strip())
    assert module.is_file()
    # The second time, the extension is already there.
    assert build(settings).stderr == ""
    return module.parent


@pytest.fixture
def cache(torch_extension: Path, nothing_is_known: Path) -> dict[str, str]:
    """The setting of a cache in which nothing but the extension for PyTorch is known."""
    (nothing_is_known / torch_extension.name).symlink_to(torch_extension)
    return {"STRETTO_CACHE": str(nothing_is_known)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by their requirements."""
    for item in items:
        for fixture, mark in MARKS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)


def _find(name: str) -> str:
    found = shutil.which(name)
    assert found, f"there is no {name}; get it with: scripts/setup packages"
    return found


@pytest.fixture(scope="session")
def tensorflow() -> Path:
    """The Python interpreter that has TensorFlow and Horovod."""
    python = ROOT / ".frameworks" / "tensorflow" / "bin" / "python"
    assert python.exists(), "TensorFlow is not installed: make frameworks"
    return python


@pytest.fixture(scope="session")
def torch_libraries() -> Path:
    """The Python interpreter that has Accelerate, DeepSpeed, Ray and torchft."""
    python = ROOT / ".frameworks" / "torch" / "bin" / "python"
    assert python.exists(), "libraries above PyTorch are not installed: make frameworks"
    return python


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser without a window, driven by its own driver."""
    options = ChromeOptions()
    options.binary_location = _find("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",  # which root in a container cannot have
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--window-size=1280,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, Service(_find("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stand-in for the driver of CUDA, and a device of PyTorch in its memory."""
    folder = tmp_path_factory.mktemp("device")
    torch: Any = importlib.import_module("torch")
    package = Path(torch.__file__).parent
    shared = ["g++", "-std=c++20", "-O1", "-fPIC", "-shared"]
    driver = [str(ROOT / "tests" / "interpose" / "cuda_stand_in.cpp"), "-Wl,-soname,libcuda.so.1"]
    subprocess.run([*shared, *driver, "-o", str(folder / "libcuda.so.1")], check=True)
    for_torch = [
        *(f"-I{package / 'include' / part}" for part in ("", "torch/csrc/api/include")),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        str(ROOT / "tests" / "e2e" / "torch_device.cpp"),
        f"-L{package / 'lib'}",
        f"-Wl,-rpath,{package / 'lib'}",
        *("-ltorch_cpu", "-ltorch", "-lc10"),
    ]
    subprocess.run([*shared, *for_torch, "-o", str(folder / "torch_device.so")], check=True)
    return folder
