# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: torchft's own tests make Stretto's groups where they make gloo's."""

from __future__ import annotations

import importlib

from stretto.torch.torchft import ProcessGroupStretto

for name in ("torchft", "torchft.process_group"):
    importlib.import_module(name).ProcessGroupGloo = ProcessGroupStretto  # type: ignore[attr-defined]
