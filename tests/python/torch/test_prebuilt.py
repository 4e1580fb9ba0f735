# SPDX-License-Identifier: Apache-2.0
"""The extension of a wheel: the versions of PyTorch for which it is used, and the error without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import torch
from stretto.support import files, paths
from stretto.support.errors import StrettoError
from stretto.torch import building, command, extension
from stretto.torch.building import prebuilt_extension, prebuilt_name

RELEASE = torch.__version__.partition("+")[0]


def test_the_name_is_that_of_the_release_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    name = prebuilt_name()
    assert paths.prebuilt_release(Path(name)) == RELEASE
    monkeypatch.setenv("CXX", "clang++ -O3")
    monkeypatch.setattr(command, "PYTORCH", Path("/elsewhere/torch"))
    assert prebuilt_name() == name


def test_builds_for_gpus_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for version in (RELEASE, f"{RELEASE}+cpu", f"{RELEASE}+cu130", "2.12.1+cu130"):
        monkeypatch.setattr(torch, "__version__", version)
        names.append(prebuilt_name())
    assert len({*names[:3]}) == 1
    assert names[3] != names[0]


def test_other_sources_are_not_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = prebuilt_name()
    sources = shutil.copytree(command.SOURCES, tmp_path / "source")
    monkeypatch.setattr(command, "SOURCES", sources)
    assert prebuilt_name() == name
    with (sources / "work.hpp").open("a") as file:
        file.write("// changed\n")
    assert prebuilt_name() != name


def test_a_commit_of_pytorch_between_releases_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    name = prebuilt_name()
    monkeypatch.setattr(torch.version, "git_version", "0" * 40)
    assert prebuilt_name() != name


def test_one_that_cannot_be_loaded_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / prebuilt_name()
    broken.write_text("of another system")
    monkeypatch.setattr(paths, "prebuilt_extensions", lambda: [broken])
    assert prebuilt_extension() == broken

    def build(reason: str) -> Path:
        raise StrettoError(reason)

    monkeypatch.setattr(extension, "built_extension", build)
    with pytest.raises(StrettoError, match=r"the wheel's cannot be loaded \(.*"):
        extension.load_extension.__wrapped__()


def test_environments_with_the_same_versions_share_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    place = building.place_of_extension()
    monkeypatch.setattr(command, "PYTORCH", Path("/elsewhere/torch"))
    assert building.place_of_extension() == place
    monkeypatch.setattr(torch, "__version__", "2.12.1+cpu")
    assert building.place_of_extension() != place


@pytest.mark.parametrize("carried", ["2.12.1", RELEASE])
def test_without_a_compiler_a_release_is_named(
    carried: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / f"{paths.prebuilt_prefix(carried)}0123{command.SUFFIX}"
    monkeypatch.setattr(paths, "prebuilt_extensions", lambda: [other])
    assert prebuilt_extension() is None
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(StrettoError, match="needs the C\\+\\+ compiler no-such-compiler") as refused:
        building.built_extension()
    # Another release of PyTorch helps, and not the one that is here.
    assert ("or take PyTorch 2.12.1, for which" in str(refused.value)) == (carried != RELEASE)
    assert capfd.readouterr().err.endswith(f"building the extension for PyTorch {torch.__version__}, once\n")


def test_a_build_that_was_killed_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))

    def killed(_line: object, module: Path, _reason: str = "") -> None:
        files.beside(module).touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(building, "_build", killed)
    with pytest.raises(KeyboardInterrupt):
        building.built_extension()
    monkeypatch.setattr(building, "_build", lambda _line, module, _reason: module.touch())
    module = building.built_extension()
    assert sorted(one.name for one in module.parent.iterdir()) == ["lock", module.name]
