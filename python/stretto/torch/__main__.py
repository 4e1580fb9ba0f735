# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto.torch` builds the extension ahead of time, unless the wheel has it, and prints its path.

`--into FOLDER` builds it there, as wheels carry it (scripts/wheel).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from stretto.support.errors import StrettoError
from stretto.torch.building import build_into
from stretto.torch.extension import load_extension

arguments = argparse.ArgumentParser(prog="python -m stretto.torch", description=__doc__.splitlines()[0])
arguments.add_argument("--into", type=Path, metavar="FOLDER")
into = arguments.parse_args().into
try:
    print(load_extension().__file__ if into is None else build_into(into))
except StrettoError as error:
    sys.exit(f"stretto: {error}")
