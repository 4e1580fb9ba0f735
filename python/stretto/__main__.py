# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto` is the command line."""

from stretto.cli.main import app

app(prog_name="stretto")
