# SPDX-License-Identifier: Apache-2.0
"""The documentation is up to date: tables, quoted messages, the width of lines, a short README."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app
from stretto.cli.program import command_in

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
RESEARCH = ROOT / "research"
PAGES = sorted([*DOCS.rglob("*.md"), *RESEARCH.rglob("*.md")])
MORE_COMMANDS = RESEARCH / "python" / "stretto_research" / "cli" / "listing.py"
TABLE = re.compile(r"^<!-- table: stretto ([^\n]*) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
TABLES = [
    pytest.param(command, table, id=f"{page.stem}: {command}")
    for page in PAGES
    for command, table in TABLE.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("command", "table"), TABLES)
def test_tables_are_up_to_date(command: str, table: str) -> None:
    shown = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert table == shown.stdout, "run scripts/docs-tables"


def test_predictions_beside_measured_copies_are_up_to_date() -> None:
    benchmark = ROOT / "benchmarks" / "device_segments.py"
    table = subprocess.check_output([sys.executable, benchmark, "measured"], encoding="utf-8")
    assert len(table.splitlines()) > 2
    assert table in (DOCS / "device-memory.md").read_text(encoding="utf-8")


def test_every_algorithm_is_in_the_docs() -> None:
    page = (DOCS / "algorithms.md").read_text(encoding="utf-8")
    found = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    sections = {name.lower(): text for heading, text in found for name in heading.split(" and ")}
    for algorithm in _core.algorithms():
        # A section is about equal blocks and about blocks of any length.
        collective = algorithm.collective.removesuffix("v")
        assert f"**`{algorithm.name}`**" in sections[collective], str(algorithm.usual)


def test_the_readme_is_read_in_two_minutes() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert len(text.split()) <= 700


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=str)
def test_prose_wraps_at_100_columns(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    # Tables, headings, links and HTML comments cannot always be broken.
    breakable = [line for line in prose.splitlines() if not re.match(r" *\||#|<", line) and "](" not in line]
    assert [line for line in breakable if len(line) > 100] == []


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=str)
def test_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:src|include|python|research|tests|scripts|cmake|benchmarks|examples)/[\w./-]+)`", text
    )
    # COLLECTIVE, NAME and ROOM are placeholders.
    missing = [one for one in named if not re.search(r"[A-Z]{4}", one) and not (ROOT / one).exists()]
    assert missing == []


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *PAGES], ids=str)
def test_links_lead_to_files_of_the_repository(page: Path) -> None:
    """The links also work where pages are read without the site, which has more files."""
    targets = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", page.read_text(encoding="utf-8"))
    files = [one for one in targets if not re.match(r"[a-z]+:", one)]
    assert [one for one in files if not (page.parent / one).exists()] == []


def _sources() -> str:
    """Returns the sources with adjacent string literals joined, which have all texts that can be printed."""
    files = [*(ROOT / "src").rglob("*.[ch]pp"), *(ROOT / "python").rglob("*.py"), *RESEARCH.rglob("*.py")]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    return re.sub(r'"\s+f?"', "", text).replace('\\"', '"')


def test_quoted_messages_are_those_that_are_printed() -> None:
    # The lines of its tables; … stands for what varies.
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    sources = _sources()
    quoted = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(quoted) > 50
    for line in quoted:
        parts = [part.strip() for part in line.split("…")]
        missing = [part for part in parts if re.search(r"\w", part) and part not in sources]
        assert not missing, f"docs/troubleshooting.md quotes {line!r}, which nothing prints"


def _is_of_research(name: str) -> bool:
    return f'"{name}": _line(' in MORE_COMMANDS.read_text(encoding="utf-8")


def shown_commands(*, of_research: bool) -> Iterator[tuple[str, list[str]]]:
    """The words of each stretto command in a block of shell, and the page that it stands on."""
    for page, words in _all_commands():
        if _is_of_research(next((word for word in words[1:] if word[0] != "-"), "")) == of_research:
            yield page, words


def _all_commands() -> Iterator[tuple[str, list[str]]]:
    for page in [ROOT / "README.md", *PAGES]:
        for block in re.findall(
            r"^```(?:sh|console)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        ):
            for line in block.replace("\\\n", " ").splitlines():
                found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(stretto .*)", line)
                if found:
                    yield page.name, shlex.split(found[1], comments=True)


@pytest.mark.parametrize(
    ("page", "words"), [pytest.param(*one, id=" ".join(one[1])) for one in shown_commands(of_research=False)]
)
def test_commands_have_the_options_that_are_shown(page: str, words: list[str]) -> None:
    check_options(page, words)


def check_options(page: str, words: list[str]) -> None:
    """Checks that a command has the options with which a page shows it."""
    command: Any = get_command(app)
    command.list_all()
    own = list(takewhile(lambda word: word != "--", words[1:]))
    while hasattr(command, "commands") and own:
        assert own[0] in command.commands or own[0].startswith("--"), f"{page}: {words}"
        name = own.pop(0)
        command = command_in(command, name) if name in command.commands else command
    known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]} | {
        "--help",
        "-h",
    }
    options = {word.partition("=")[0] for word in own if word.startswith("-") and not word[1:2].isdigit()}
    assert options <= known, f"{page}: {words}"
