# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import re
import sys
import threading
import time

import pytest
from rich.console import Console
from rich.progress import TextColumn

from stretto.support import console, heartbeat
from stretto.support.console import Bar


def test_where_no_terminal_is_a_line_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Captured output must not be read while another thread writes it: output in between would be lost.
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(heartbeat, "PAUSES", [0.01, 0.02])

    def wait_until_said(line: str) -> None:
        until = time.monotonic() + 60
        while not re.search(rf"^{line}$", said.getvalue(), re.MULTILINE):
            assert time.monotonic() < until, said.getvalue()
            time.sleep(0.01)

    threads = threading.active_count()
    with Bar(TextColumn("{task.description}")) as bar:
        task = bar.add_task("measuring", total=None)
        wait_until_said(r"stretto: measuring, 0:\d\d so far")
        bar.update(task, completed=3, total=12, description="measuring 1 KiB")
        wait_until_said(r"stretto: measuring 1 KiB: 25 %, 0:\d\d so far")
        bar.update(task, completed=11.99)
        wait_until_said(r"stretto: measuring 1 KiB: 99 %, 0:\d\d so far")
    assert capsys.readouterr().out == ""
    # Nobody is left who could say more.
    assert threading.active_count() == threads


def test_a_terminal_has_a_bar_and_no_lines(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "lines_now_and_then", pytest.fail)
    screen = io.StringIO()
    with Bar(TextColumn("{task.description}"), console=Console(file=screen, force_terminal=True)) as bar:
        bar.add_task("measuring", total=None)
        bar.refresh()
    assert "measuring" in screen.getvalue()
    assert capfd.readouterr().err == ""


def test_what_is_over_at_once_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Bar("{task.description}") as bar:
        bar.add_task("measuring")
    assert capfd.readouterr() == ("", "")
