# SPDX-License-Identifier: Apache-2.0
"""What commands say of a file that cannot be written."""

from __future__ import annotations

from typer.testing import CliRunner

from stretto.cli.main import app


def complaint(command: list[str], file: object) -> str:
    done = CliRunner().invoke(app, [word.format(file) for word in command])
    assert done.exit_code == 2, (done.output, done.exception)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def ending(command: list[str]) -> str:
    return "svg" if command[0] == "show" else "png" if "--png" in command else "json"
