# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have: the cluster to simulate."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto_research.simulate.jobs import SELECTORS
from stretto_research.simulate.platforms import platform_names

PlatformName = Annotated[
    str | None,
    typer.Option(
        "--platform",
        metavar="NAME|FILE",
        help=f"A SimGrid XML file, or one of {', '.join(platform_names())}. Default: altec.",
    ),
]
FromMachine = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Instead of a platform: make one from a file of stretto calibrate."),
]
Selector = Annotated[str, typer.Option(help=f"Which library `native` imitates: {', '.join(SELECTORS)}.")]
