# SPDX-License-Identifier: Apache-2.0
"""The manual page that `stretto man` prints."""

from __future__ import annotations

import shutil
import subprocess

from typer.testing import CliRunner

from stretto.cli.main import app


def test_the_page_has_every_command_and_is_right_for_troff() -> None:
    shown = CliRunner().invoke(app, ["man"])
    assert shown.exit_code == 0, shown.output
    for words in ("NAME", "stretto run", "stretto exec", "stretto lab up", "EXIT STATUS"):
        assert words in shown.stdout
    assert r"\-\-stats" in shown.stdout
    groff = shutil.which("groff")
    assert groff, "there is no groff: apt-get install groff-base"
    checked = subprocess.run(
        [groff, "-man", "-ww", "-z", "-K", "utf8"], input=shown.stdout, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")
