# SPDX-License-Identifier: Apache-2.0
"""The lines of `stretto doctor --lines` are right for shells, and name files that are there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.main import app
from stretto.doctor import lines
from stretto.doctor.lines import Group, Installation, LinesFor, lines_for
from stretto.support import paths
from stretto.support.errors import StrettoError

HERE = Installation(Path("/opt/s/lib/libstretto.so"), None, Path("/opt/s/share/spank_stretto.c"))


def text_of(groups: list[Group]) -> str:
    return "\n".join(line for group in groups for line in group.lines)


def test_the_plugin_of_slurm_is_compiled_from_what_is_installed() -> None:
    """Slurm's headers may not be here: the test of Slurm compiles all of it."""
    [line] = [line for line in text_of(lines_for(LinesFor.SLURM)).splitlines() if line.startswith("cc ")]
    words = shlex.split(line)
    assert words[-1] == str(paths.slurm_plugin())
    assert "slurm_spank_task_init" in Path(words[-1]).read_text(encoding="utf-8")
    plugin = words[words.index("-o") + 1]
    named = [one for one in text_of(lines.slurm_groups(HERE)).splitlines() if plugin in one.split()[1:2]]
    assert named == [f"optional {plugin} lib=/opt/s/lib", f"optional {plugin} lib=/opt/s/lib default=on"]


@pytest.mark.parametrize("place", list(LinesFor))
def test_the_lines_name_this_installation(place: LinesFor) -> None:
    text = text_of(lines_for(place))
    assert str(paths.library().parent) in text
    assert f"{paths.find_command()} exec ./solver" in text
    for named in re.findall(r"/[^\s:,\"*$]*stretto[^\s:,\"*$]*", text):
        assert Path(named).exists() or named == "/usr/local/lib/spank_stretto.so", named


def exported(groups: list[Group]) -> Iterator[tuple[str, str]]:
    for line in text_of(groups).splitlines():
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            yield name, value


def test_variables_of_containers() -> None:
    variables = dict(exported(lines.container_groups(HERE)))
    for name in ("APPTAINER", "SINGULARITY"):
        assert variables[f"{name}ENV_LD_PRELOAD"] == str(HERE.library)
        shown = subprocess.run(
            ["/bin/sh", "-c", f"export {name}_BIND={variables[f'{name}_BIND']}; echo ${name}_BIND"],
            env={f"{name}_BIND": "/data"},
            capture_output=True,
            text=True,
        )
        assert shown.stdout == "/opt/s/lib:/opt/s/lib:ro,/data\n"


def test_lines_are_words_of_a_shell() -> None:
    for group in lines.container_groups(HERE):
        for line in group.lines:
            words = shlex.split(line)
            if words[0] == "docker":
                assert words[words.index("-v") + 1] == "/opt/s/lib:/opt/s/lib:ro"
                assert {"--ipc=host", "--shm-size=1g"} & set(words)


@pytest.mark.parametrize("name", ["a b", "a:b", "a,b", "a$b", "a'b", "ä"])
def test_a_folder_that_cannot_be_named_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "libstretto.so").touch()
    monkeypatch.setenv("STRETTO_LIB_DIR", str(folder))
    with pytest.raises(StrettoError, match="is not allowed in LD_PRELOAD"):
        lines_for(LinesFor.SLURM)


def test_only_what_is_there_is_preloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_LIB_DIR", str(tmp_path))
    with pytest.raises(StrettoError, match=r"libstretto\.so does not exist"):
        lines_for(LinesFor.SLURM)
    (tmp_path / "libstretto.so").touch()
    assert f" lib={tmp_path}\n" in text_of(lines_for(LinesFor.SLURM))


def test_lines_are_not_wrapped_and_stand_under_comments() -> None:
    shown = CliRunner().invoke(app, ["doctor", "--lines", "slurm"], env={"COLUMNS": "40"})
    assert shown.exit_code == 0, shown.output
    document = json.loads(CliRunner().invoke(app, ["doctor", "--lines", "slurm", "--json"]).stdout)
    expected = "\n\n".join("\n".join([f"# {group['use']}", *group["lines"]]) for group in document["groups"])
    assert shown.stdout == expected + "\n"
