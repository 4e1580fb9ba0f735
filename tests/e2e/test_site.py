# SPDX-License-Identifier: Apache-2.0
"""The documentation builds into a site. All links work, and nothing is loaded from another machine."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from typer.testing import CliRunner

from stretto import _core
from stretto.cli.main import app
from stretto.doctor.checks import TOOL_VARIABLES

ROOT = Path(__file__).parents[2]


def built(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(site)]
    return subprocess.run(
        line, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=100
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    made = built(ROOT / "mkdocs.yml", folder)
    assert made.returncode == 0, made.stderr
    return folder


class Page(HTMLParser):
    """What a page loads, and its words."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.text = ""
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.loads.append(values.get("src") or "")
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(values.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        assert not [one for one in Page(page).loads if re.match("(https?:)?//", one)], page


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("[a page](nowhere.md)", "nowhere.md"),
        ("[a section](algorithms.md#nowhere)", "#nowhere"),
        ("[a file](../examples/nowhere.c)", "nowhere.c"),
        ("[a part](../README.md#nowhere)", "README.md#nowhere"),
        ("<!-- README: the table of nowhere -->", "nowhere"),
    ],
)
def test_what_leads_nowhere_is_an_error(link: str, complaint: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs)
    with (docs / "tuning.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{link}\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {docs}\nhooks: [{ROOT}/scripts/site/hooks.py]\n"
    )
    made = built(config, tmp_path / "site")
    assert made.returncode != 0
    assert complaint in made.stderr


def test_the_variables_are_those_that_are_read(site: Path) -> None:
    (complaint,) = _core.complaints("STRETTO_NOWHERE", "1")
    without_mpi = {"INTERFACE", "NETWORK", "QUIET", "REPLACE", "SECRET_FILE"}
    known = set(re.findall(r"STRETTO_\w+", complaint)) | TOOL_VARIABLES
    known |= {f"STRETTO_{name}" for name in without_mpi}
    page = (site / "variables.html").read_text(encoding="utf-8")
    rows = re.findall(r"<td>(<code>STRETTO_.*?)</td>", page)
    assert set(re.findall(r"STRETTO_[A-Z_]+", " ".join(rows))) == known


def test_every_option_is_on_the_page_of_commands(site: Path) -> None:
    text = Page(site / "commands.html").text
    names = re.findall(r"^stretto ([a-z ]+?) (?=[-\[{])", text, re.MULTILINE)
    assert {"run", "bench", "lab up"} <= set(names)
    for name in names:
        shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"}).stdout
        options = set(re.findall(r"^\W*(--[a-z-]+)", shown, re.MULTILINE)) - {"--help", "--"}
        section = text.split(f"\nstretto {name} [OPTIONS]")[1]
        assert all(option in section for option in options), name


def test_every_algorithm_is_on_the_page_of_specs(site: Path) -> None:
    text = Page(site / "specs.html").text
    for algorithm in _core.algorithms():
        assert re.search(rf"^{algorithm.name}\b", text, re.MULTILINE), algorithm.name
        assert algorithm.description in text


def test_messages_of_commands_are_on_their_page(site: Path) -> None:
    text = Page(site / "messages.html").text
    for message in ("there is no -- before the program; use: …", "… could not be started: …"):
        assert message in text


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"], ids=str)
def test_lists_are_such_for_mkdocs(page: Path) -> None:
    # It is stricter than GitHub: an empty line before a list and after a nested one, four spaces before that.
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    item = r"([-*]|\d+\.) "
    for before, line in itertools.pairwise(text.splitlines()):
        assert not re.match(f" {{1,3}}{item}", line), line
        if re.match(item, line):
            assert re.match(rf"$| {{1,3}}\S|{item}", before), line


def test_a_page_that_was_opened_as_a_file_searches(site: Path, chromium: Chrome) -> None:
    chromium.get((site / "source" / "examples" / "sum.f90.html").as_uri())
    chromium.find_element(By.TAG_NAME, "body").send_keys("/reproducible")
    # The results change while the word is typed.
    result = (By.CSS_SELECTOR, ".md-search-result__item a[href*='algorithms.html']")
    WebDriverWait(chromium, 20).until(lambda browser: browser.find_elements(*result))
    assert chromium.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_no_page_is_wider_than_a_phone(site: Path, chromium: Chrome) -> None:
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for page in sorted([*site.glob("*.html"), *site.glob("how-to/*.html")]):
        chromium.get(page.as_uri())
        width = chromium.execute_script("return document.documentElement.scrollWidth")
        assert width == 390, page.name
