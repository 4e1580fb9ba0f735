# SPDX-License-Identifier: Apache-2.0
"""The pages show commands with options that there are."""

from __future__ import annotations

import pytest
from tests.python.cli.test_docs import check_options, shown_commands

COMMANDS = [pytest.param(*one, id=" ".join(one[1])) for one in shown_commands(of_research=True)]


@pytest.mark.parametrize(("page", "words"), COMMANDS)
def test_commands_have_the_options_that_are_shown(page: str, words: list[str]) -> None:
    check_options(page, words)


def test_many_commands_are_shown() -> None:
    assert len(COMMANDS) > 30
