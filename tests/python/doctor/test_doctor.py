# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from stretto import _core
from stretto.doctor import checks, node
from stretto.doctor.checks import Finding, Verdict
from stretto.doctor.report import examine_all, print_report
from stretto.launch import mpi
from stretto.launch.mpi import Flavor
from stretto.support import paths
from stretto.torch import building


def compiled(folder: Path, *libraries: str) -> None:
    source = folder / "stand_in.c"
    source.write_text('const char* stretto_interfaces(void) { return "openmpi abi "; }\n')
    argv = ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", str(source), *libraries]
    subprocess.run([*argv, "-o", str(folder / "libstretto.so")], check=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    return tmp_path


def test_a_good_library(folder: Path) -> None:
    compiled(folder)
    finding = checks.check_library(paths.find_library())
    assert finding == Finding(Verdict.GOOD, "libstretto.so", f"{folder}/libstretto.so; serves openmpi abi")


def test_a_library_that_is_missing(folder: Path) -> None:
    finding = checks.check_library(paths.find_library())
    assert finding.verdict is Verdict.BAD
    assert str(folder) in finding.detail


def test_a_library_that_cannot_be_loaded(folder: Path) -> None:
    (folder / "libstretto.so").write_text("nothing")
    finding = checks.check_library(paths.find_library())
    assert finding.verdict is Verdict.BAD
    assert "cannot be preloaded" in finding.detail


def test_a_library_that_brings_an_mpi(folder: Path) -> None:
    launcher = mpi.identify("mpirun.openmpi")
    assert launcher is not None
    compiled(folder, str(mpi.find_libmpi(launcher)))
    finding = checks.check_library(paths.find_library())
    assert finding.verdict is Verdict.BAD
    assert "loads libmpi.so.40" in finding.detail


def check_torch() -> Finding:
    return next(finding for finding in checks.check_frameworks() if finding.what == "PyTorch")


def test_frameworks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    found = {finding.what: finding for finding in checks.check_frameworks()}
    assert found["PyTorch"].verdict is Verdict.ABSENT
    assert found["PyTorch"].detail.startswith(f"{metadata.version('torch')}; stretto.torch is not built yet")
    # Horovod is in its own environment (make frameworks).
    assert found["Horovod"].verdict is Verdict.ABSENT
    assert "make frameworks" in found["Horovod"].detail
    extension = building.place_of_extension()
    assert extension.is_relative_to(tmp_path)
    extension.parent.mkdir()
    extension.touch()
    torch = check_torch()
    assert torch.verdict is Verdict.GOOD
    assert torch.detail.endswith(f"stretto.torch is built: {extension}")
    # A wheel has it for one release.
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    release = metadata.version("torch").partition("+")[0]
    for carried, verdict in (("1.0.0", Verdict.ABSENT), (release, Verdict.GOOD)):
        prebuilt = Path(f"{paths.prebuilt_prefix(carried)}0123.so")
        monkeypatch.setattr(paths, "prebuilt_extensions", lambda prebuilt=prebuilt: [prebuilt])
        torch = check_torch()
        assert torch.verdict is verdict
        assert ("no no-such-compiler" in torch.detail) == (verdict is Verdict.ABSENT)
    assert torch.detail.endswith("the wheel has stretto.torch for it")


def test_installs() -> None:
    install = mpi.find_install("openmpi")
    findings = {finding.what: finding for finding in checks.check_installs([install])}
    assert len(findings) == len(Flavor)
    assert findings["Open MPI 4"].verdict is Verdict.GOOD
    assert findings["MPICH 5"].verdict is Verdict.ABSENT
    assert "pip install" in findings["MPICH 5"].detail


@pytest.mark.parametrize(
    ("name", "value", "verdict"),
    [
        ("STRETTO_ALLREDUCE", "ring:segments=4", Verdict.GOOD),
        ("STRETTO_ALLREDUCE", "auto", Verdict.GOOD),
        ("STRETTO_ALLREDUCE", "rign", Verdict.BAD),
        ("STRETTO_DISABLE", "1", Verdict.GOOD),
        ("STRETTO_DISABLE", "yes", Verdict.BAD),
        ("STRETTO_STRICT", "0", Verdict.GOOD),
        ("STRETTO_STATS", "/tmp/calls.json", Verdict.GOOD),
        ("STRETTO_STATS", "/nowhere/calls.json", Verdict.BAD),
        ("STRETTO_STATS", "/dev/null/calls.json", Verdict.BAD),
        ("STRETTO_STATS", "", Verdict.GOOD),
        ("STRETTO_SUMMARY", "large", Verdict.GOOD),
        ("STRETTO_SUMMARY", "small", Verdict.BAD),
        ("STRETTO_TRACE", "/tmp", Verdict.GOOD),
        ("STRETTO_TRACE", "/tmp/no such folder", Verdict.BAD),
        ("STRETTO_TRACE", "/dev/null", Verdict.BAD),
        ("STRETTO_TRACE", "", Verdict.GOOD),
        ("STRETTO_CHECK", "1", Verdict.GOOD),
        ("STRETTO_CHECK", "on", Verdict.BAD),
        ("STRETTO_ONLINE", "1", Verdict.GOOD),
        ("STRETTO_ONLINE", "always", Verdict.BAD),
        ("STRETTO_PROGRESS_THREAD", "0", Verdict.GOOD),
        ("STRETTO_PROGRESS_THREAD", "2", Verdict.BAD),
        ("STRETTO_WATCHDOG", "5min", Verdict.GOOD),
        ("STRETTO_WATCHDOG", "30", Verdict.GOOD),
        ("STRETTO_WATCHDOG", "auto", Verdict.GOOD),
        ("STRETTO_WATCHDOG", "30x", Verdict.BAD),
        ("STRETTO_ALREDUCE", "ring", Verdict.BAD),
        ("STRETTO_BCAST", "chain:segments=8", Verdict.GOOD),
        ("STRETTO_BCAST", "recursive_doubling", Verdict.BAD),
        ("STRETTO_TOPOLOGY", "nodes=8,ppn=4", Verdict.GOOD),
        ("STRETTO_TOPOLOGY", "nodes=8", Verdict.BAD),
        ("STRETTO_TABLE", "none", Verdict.GOOD),
        ("STRETTO_TABLE", "", Verdict.GOOD),
        ("STRETTO_TABLE", "/nowhere/table.json", Verdict.BAD),
        ("STRETTO_TABLE", "/dev/zero", Verdict.BAD),
    ],
)
def test_variables(name: str, value: str, verdict: Verdict) -> None:
    environment = {name: value, "STRETTO_LIB_DIR": "/x", "HOME": "/root"}
    findings = list(checks.check_variables(environment))
    assert [(finding.what, finding.verdict) for finding in findings] == [(f"{name}={value}", verdict)]
    assert (findings[0].detail == "") == (verdict is Verdict.GOOD)


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert list(checks.check_tables()) == []
    (tmp_path / "stretto").mkdir()
    good, bad = (tmp_path / "stretto" / f"table-{family}.json" for family in ("openmpi", "mpich"))
    shapes = [{"nodes": 8, "ppn": 1}, {"nodes": 4, "ppn": 2}]
    table = {"format": "stretto-table", "version": 1, "mpi": "Open MPI 4.1.4", "shapes": shapes}
    good.write_text(json.dumps(table), encoding="utf-8")
    bad.write_bytes(b'{"format": "\xff"}')
    found, wrong = checks.check_tables()
    of = "of Open MPI 4.1.4, for nodes x ppn of 8 x 1, 4 x 2"
    assert (found.verdict, found.what, found.detail) == (Verdict.GOOD, str(good), of)
    assert (wrong.verdict, wrong.what) == (Verdict.BAD, str(bad))
    (finding,) = checks.check_variables({"STRETTO_TABLE": str(good)})
    assert (finding.verdict, finding.detail) == (Verdict.GOOD, "")
    good.write_text(json.dumps({**table, "shapes": [{"nodes": 0}]}), encoding="utf-8")
    (finding,) = checks.check_variables({"STRETTO_TABLE": str(good)})
    assert finding.verdict is Verdict.BAD
    assert finding.detail == "shapes[0].nodes: expected a whole number from 1 to 1048576, not 0"


def test_mpi4py_is_tried_as_it_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # MPICH's library has its usual name only in a folder that `stretto run` and `stretto exec` add.
    install = mpi.find_install("mpich")
    (finding,) = checks.check_mpi4py([install])
    assert (finding.verdict, finding.what) == (Verdict.GOOD, "mpi4py on MPICH 4")
    # A command outside of this clone finds no such folder.
    command = Path(shutil.copy2(paths.command(), tmp_path))
    monkeypatch.setattr(paths, "find_command", lambda: command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(install), "environment", lambda _self: pytest.fail("run does not set this"))
    (finding,) = checks.check_mpi4py([install])
    assert finding.verdict is Verdict.ABSENT
    assert "build it: MPICC=mpicc.mpich pip install" in finding.detail


def test_mpi4py_on_open_mpi() -> None:
    (finding,) = checks.check_mpi4py([mpi.find_install("openmpi")])
    assert (finding.verdict, finding.what) == (Verdict.GOOD, "mpi4py on Open MPI 4")


def test_the_lab_of_a_user_who_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.check_lab().verdict is Verdict.GOOD
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert checks.check_lab().verdict is Verdict.ABSENT


@pytest.mark.parametrize(
    ("groups", "detail"),
    [
        ([[0, 1]], "2 for this process, with one last-level cache"),
        ([[0, 1, 2], [3, 4, 5]], "6 for this process, with 2 last-level caches, 3 at each"),
        ([[0], [1, 2]], "3 for this process, with 2 last-level caches, 1 to 2 at each"),
    ],
)
def test_caches(groups: list[list[int]], detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "cache_groups", lambda: groups)
    assert list(checks.check_caches()) == [Finding(Verdict.GOOD, "processors", detail)]


def test_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 96)
    finding = node.check_processor()
    assert finding.verdict is Verdict.GOOD
    assert finding.detail.endswith(", 96 cores")


@pytest.mark.parametrize(
    ("limit", "verdict", "detail"),
    [
        (resource.RLIM_INFINITY, Verdict.GOOD, "unlimited"),
        (65536, Verdict.ABSENT, "64 KiB; networks with RDMA want it unlimited (ulimit -l)"),
        (0, Verdict.ABSENT, "0 B; networks with RDMA want it unlimited (ulimit -l)"),
    ],
)
def test_locked_memory(limit: int, verdict: Verdict, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _which: (limit, limit))
    assert node.check_locked_memory() == Finding(verdict, "locked memory", detail)


def test_the_folder_of_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.check_shared_folder().what == "/dev/shm"
    for blocks, verdict, detail in (
        (1 << 20, Verdict.GOOD, "4 GiB"),
        (1 << 14, Verdict.ABSENT, "64 MiB, which may be too little for the MPI library"),
    ):
        found = SimpleNamespace(f_frsize=4096, f_blocks=blocks)
        monkeypatch.setattr(os, "statvfs", lambda _path, found=found: found)
        assert node.check_shared_folder() == Finding(verdict, "/dev/shm", detail)
    monkeypatch.undo()
    monkeypatch.setattr(node, "_SHARED", Path("/nowhere/shm"))
    assert node.check_shared_folder().detail.startswith("No such file or directory; the MPI library may need")


def fabric_files(**environment: str) -> Finding:
    (finding,) = node.check_fabric_folder(environment)
    return finding


def test_the_folder_of_fabric_files(tmp_path: Path) -> None:
    good = fabric_files(HOME=str(tmp_path))
    assert good == Finding(Verdict.GOOD, "fabric files", f"kept in {tmp_path}/.cache/stretto/fabrics")
    assert list(tmp_path.iterdir()) == []
    assert fabric_files(STRETTO_FABRIC=f"{tmp_path}/a.json").detail == f"kept in {tmp_path}"
    lost = fabric_files(XDG_CACHE_HOME="/proc/none")
    assert lost.verdict is Verdict.ABSENT
    assert lost.detail.startswith("/proc/none/stretto/fabrics cannot be written to; what jobs find out")
    assert fabric_files(STRETTO_FABRIC="none").verdict is Verdict.ABSENT
    assert fabric_files(HOME="/nonexistent").detail.startswith("no place for them: set HOME")


def shared_memory(setting: str = "") -> Finding:
    (finding,) = checks.check_shared_memory({"STRETTO_SHM": setting})
    return finding


def test_shared_memory() -> None:
    finding = shared_memory()
    assert finding.verdict is Verdict.GOOD
    assert finding.detail.startswith("two processes have passed messages; each rank takes 2.")
    assert "each rank takes 8." in shared_memory("8MiB").detail
    # A wrong value is another finding; the library ignores it.
    assert shared_memory("much") == finding


def test_shared_memory_that_is_off() -> None:
    finding = shared_memory("0")
    assert finding.verdict is Verdict.ABSENT
    assert finding.detail == "off (STRETTO_SHM=0): the MPI library carries messages inside a node"


@pytest.fixture
def small_files() -> Iterator[None]:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, usual[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.usefixtures("small_files")
def test_shared_memory_without_room() -> None:
    finding = shared_memory("8MiB")
    assert finding.verdict is Verdict.ABSENT
    assert finding.detail.startswith("no room for 8")
    assert "the MPI library carries messages inside a node; raise this limit" in finding.detail
    assert finding.detail.endswith("STRETTO_SHM=512KiB; STRETTO_SHM=0 does without it")
    # The remedy helps.
    assert shared_memory("512KiB").verdict is Verdict.GOOD


@pytest.mark.parametrize(
    ("failed", "remedy"),
    [
        ("memfd_create: Function not implemented", "it needs Linux 3.17"),
        ("no room for 8 KiB of shared memory: No space left on device", "allow the job"),
        ("/proc/7/fd/4: Permission denied", "run all ranks of a node as one user"),
        ("a message through shared memory has not arrived", "STRETTO_SHM=0 does without it"),
    ],
)
def test_remedies(failed: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "try_shared_memory", lambda _setting, _ranks: failed)
    finding = shared_memory()
    assert finding.verdict is Verdict.ABSENT
    assert finding.detail.startswith(f"{failed}; the MPI library carries")
    assert f"; {remedy}" in finding.detail


def test_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(folder)
    only = mpi.find_install("openmpi")
    monkeypatch.setattr(mpi, "installs", lambda: [only])
    report = examine_all()
    assert report.served
    print_report(report)
    output = capsys.readouterr().out
    assert "Stretto is ready for Open MPI 4:" in output
    assert "mpirun.openmpi" in output
    assert "Not for Open MPI 5, MPICH 4, MPICH 5, Intel MPI" in output
    assert "STRETTO_MPI_PREFIXES" in output


@pytest.mark.parametrize(
    ("has_mpi", "reason"),
    [(True, "wrong libstretto.so not in"), (False, "wrong stretto run no MPI library was found")],
)
def test_the_report_when_nothing_can_be_run(
    has_mpi: bool,
    reason: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [mpi.find_install("openmpi")] if has_mpi else []
    monkeypatch.setattr(mpi, "installs", lambda: found)
    report = examine_all()
    assert not report.served
    print_report(report)
    text = " ".join(capsys.readouterr().out.split())  # long paths break the lines
    assert reason in text
    assert "Stretto is not ready" in text
    assert list(folder.iterdir()) == []
