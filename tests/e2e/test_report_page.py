# SPDX-License-Identifier: Apache-2.0
"""The page of `stretto report` in a browser: headless Chromium, driven by its own driver."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from stretto.report.contents import page_text
from stretto.report.inputs import read_inputs

KINDS = ("study", "table", "machine", "statistics", "profile", "trace")
CHARTS = [
    *(f"throughput-{number}" for number in range(1, 8)), "choices-1", "choices-2", "machine-1", "run-1",
    "profile-1", "profile-gradients-1", "trace-1", "trace-ranks-1",
]  # fmt: skip
CHART_HINT = "following-sibling::p[text()='Scroll the chart: it continues to the right']"
SECONDS = 20


@pytest.fixture(scope="module")
def page(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page_text(read_inputs([samples / f"{kind}.json" for kind in KINDS])), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(page: Path, chromium: Chrome) -> Chrome:
    """A browser with the page."""
    chromium.get(page.as_uri())
    return chromium


def log(browser: Chrome, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def requested(browser: Chrome, page: Path) -> list[str]:
    """Returns the page's requests since the last call, without requests of the browser's own pages."""
    events = [json.loads(entry["message"])["message"] for entry in log(browser, "performance")]
    requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in requests if one["documentURL"] == page.as_uri()]


def test_each_chart_is_there_without_an_error_or_a_request(browser: Chrome, page: Path) -> None:
    found = browser.find_elements(By.CSS_SELECTOR, "figure:has(.chart svg)")
    assert [one.get_attribute("id") for one in found] == CHARTS
    assert all(one.find_element(By.TAG_NAME, "svg").size["height"] > 100 for one in found)
    assert log(browser, "browser") == []
    urls = [url for url in requested(browser, page) if not url.startswith(("data:", "blob:"))]
    assert urls == [page.as_uri()]


def test_the_page_may_not_fetch_anything(browser: Chrome, page: Path) -> None:
    """The policy that the page states is kept by the browser."""
    refused: Any = browser.execute_async_script(
        """const done = arguments[0];
        fetch('https://example.org/').then(() => done('fetched'), () => done('refused'));"""
    )
    assert refused == "refused"
    refusals = [one["message"] for one in log(browser, "browser")]
    assert any("Content Security Policy" in one and "default-src" in one for one in refusals)
    assert not [url for url in requested(browser, page) if url.startswith("http")]


def hover_text(browser: Chrome, chart: str, words: str) -> str:
    """What is shown while the pointer is over the last place of a chart whose tip begins so."""
    place = browser.find_element(By.CSS_SELECTOR, f"#{chart} .chart")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", place)
    tip = browser.find_element(By.ID, "tip")
    for target in reversed(place.find_elements(By.CSS_SELECTOR, ".tip")):
        ActionChains(browser).move_to_element(target).perform()
        if tip.text.startswith(words):
            return tip.text
    raise AssertionError(f"{chart} has no place with {words}")


def test_hovering_over_a_line_shows_median_interval_and_choice(browser: Chrome) -> None:
    text = hover_text(browser, "throughput-3", "Stretto, 16 MiB")
    assert "chosen: ring:segment_bytes=256KiB" in text
    assert "2.00 times the MPI default" in text
    assert "% of the bound" in text
    ActionChains(browser).move_to_element(browser.find_element(By.TAG_NAME, "h2")).perform()
    assert not browser.find_element(By.ID, "tip").is_displayed()


def test_hovering_over_the_map_shows_spec_and_gain(browser: Chrome) -> None:
    assert "binomial" in hover_text(browser, "choices-2", "8 nodes, ppn 1")


def test_hovering_over_a_bar_shows_its_time(browser: Chrome) -> None:
    assert "12 calls, 1.5 s (75.0 %)" in hover_text(browser, "run-1", "allreduce, 1 MiB to below 2 MiB\nring")


def test_a_point_has_its_text_without_scripts(page: Path) -> None:
    assert "<title>Stretto, 16 MiB\nchosen: ring" in page.read_text(encoding="utf-8")


def rows(figure: WebElement) -> list[list[str]]:
    return [
        [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
        for row in figure.find_elements(By.CSS_SELECTOR, "tbody tr:not(.group)")
        if row.is_displayed()
    ]


def test_a_table_is_filtered_by_run_and_size_and_text(browser: Chrome) -> None:
    figure = browser.find_element(By.ID, "gains-table")
    browser.execute_script("arguments[0].scrollIntoView({block: 'start', behavior: 'instant'})", figure)
    assert len(rows(figure)) == 8
    headings = figure.find_elements(By.CSS_SELECTOR, "tr.group")
    assert [one.text for one in headings] == [
        f"MPI_Allreduce of float, {name}, 8 ranks on 8 nodes" for name in ("Open MPI 4.1.4", "MPICH 5.0.2")
    ]
    run, size = (Select(one) for one in figure.find_elements(By.TAG_NAME, "select"))
    assert [option.text for option in size.options] == ["all", "4 KiB", "64 KiB", "1 MiB", "16 MiB"]
    size.select_by_visible_text("1 MiB")
    assert [row[0] for row in rows(figure)] == ["1 MiB", "1 MiB"]
    run.select_by_index(1)
    assert [row[0] for row in rows(figure)] == ["1 MiB"]
    assert [one.is_displayed() for one in headings] == [True, False]
    assert figure.find_element(By.CLASS_NAME, "count").text == "1 of 8 rows"
    for one in (run, size):
        one.select_by_index(0)
    search = figure.find_element(By.CSS_SELECTOR, "input[type=search]")
    search.send_keys("mpich")
    assert [one.is_displayed() for one in headings] == [False, True]
    assert len(rows(figure)) == 4
    browser.execute_script("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", search)
    assert len(rows(figure)) == 8


def test_a_click_on_a_heading_sorts(browser: Chrome) -> None:
    figure = browser.find_element(By.ID, "run-table-1")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", figure)
    heading = figure.find_elements(By.CSS_SELECTOR, "th button")[5]
    times = ["1.5 s", "500 ms", "1 ms"]
    assert [row[5] for row in rows(figure)] == times
    heading.click()
    assert [row[5] for row in rows(figure)] == times[::-1]
    heading.click()
    assert [row[5] for row in rows(figure)] == times


def test_each_group_of_a_table_is_sorted_by_itself(browser: Chrome) -> None:
    figure = browser.find_element(By.ID, "gains-table")
    browser.execute_script("arguments[0].scrollIntoView({block: 'start', behavior: 'instant'})", figure)
    heading = figure.find_element(By.CSS_SELECTOR, "thead th button")
    sizes = ["4 KiB", "64 KiB", "1 MiB", "16 MiB"]
    assert [row[0] for row in rows(figure)] == 2 * sizes
    heading.click()
    heading.click()
    assert [row[0] for row in rows(figure)] == 2 * sizes[::-1]
    heading.click()


def test_a_spec_is_broken_between_its_parts_only(browser: Chrome) -> None:
    """Even where a column is as narrow as it can be, each part of a spec is on one line."""
    broken: list[str] = browser.execute_script(
        """const table = document.querySelector('#gains-table table');
        table.style.width = '1px';
        const found = [];
        const range = document.createRange();
        for (const cell of table.querySelectorAll('td.wide'))
          for (const part of [...cell.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE))
            for (const word of part.textContent.matchAll(/\\S+/g)) {
              range.setStart(part, word.index);
              range.setEnd(part, word.index + word[0].length);
              if (range.getClientRects().length > 1) found.push(word[0]);
            }
        table.style.width = '';
        return found;"""
    )
    assert broken == []


def test_links_lead_to_their_sections(browser: Chrome) -> None:
    for link in browser.find_elements(By.CSS_SELECTOR, "nav a"):
        anchor = str(link.get_dom_attribute("href")).removeprefix("#")
        assert browser.find_element(By.ID, anchor).tag_name == "section"


def test_nothing_is_wider_than_a_narrow_window(browser: Chrome) -> None:
    size = browser.get_window_size()
    try:
        browser.set_window_size(600, 900)
        script = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        WebDriverWait(browser, SECONDS).until(lambda _: browser.execute_script(script))
    finally:
        browser.set_window_size(size["width"], size["height"])


@pytest.fixture
def phone(browser: Chrome) -> Iterator[Chrome]:
    """The page as on a phone."""
    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_chart_scrolls_on_a_phone_and_says_so(phone: Chrome) -> None:
    for chart in CHARTS:
        box = phone.find_element(By.CSS_SELECTOR, f"#{chart} .chart")
        width, shown = phone.execute_script(
            "return [arguments[0].scrollWidth, arguments[0].clientWidth]", box
        )
        assert width > shown
        # The page says so as soon as it has the phone's width.
        WebDriverWait(box, SECONDS).until(lambda one: one.find_element(By.XPATH, CHART_HINT).is_displayed())


def test_a_table_says_what_of_it_is_out_of_sight(phone: Chrome) -> None:
    figure = phone.find_element(By.ID, "gains-table")
    box = figure.find_element(By.CLASS_NAME, "scroll")
    hint = figure.find_element(By.CLASS_NAME, "hint")

    def tells(expected: str) -> None:
        WebDriverWait(phone, SECONDS).until(lambda _: re.fullmatch(expected, hint.text))

    phone.execute_script("arguments[0].style.maxHeight = '200px'", box)
    tells(r"Scroll the table: \d+ more rows below, \d+ more columns to the right")
    phone.execute_script("arguments[0].scrollTop = 1e6", box)
    tells(r"Scroll the table: \d+ more columns to the right")
    phone.execute_script("arguments[0].scrollLeft = 1e6", box)
    tells("")
    phone.execute_script("arguments[0].scrollTo(0, 0); arguments[0].style.maxHeight = ''", box)


def test_nothing_is_wider_than_a_phone(phone: Chrome) -> None:
    script = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert phone.execute_script(script)
