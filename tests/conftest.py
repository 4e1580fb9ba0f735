# SPDX-License-Identifier: Apache-2.0
"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_table_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A tuning table at its default place would change what the library chooses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
