# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto.torch` builds the extension ahead of time, unless the wheel has it, and prints its path.

`python -m stretto.torch --into FOLDER` builds it there in the form that wheels carry (scripts/wheel).
"""

from __future__ import annotations

import sys
from pathlib import Path

from stretto.support.errors import StrettoError
from stretto.torch.building import build_for_wheel
from stretto.torch.extension import load_extension

try:
    match sys.argv[1:]:
        case []:
            print(load_extension().__file__)
        case ["--into", folder]:
            print(build_for_wheel(Path(folder)))
        case _:
            sys.exit("stretto: python -m stretto.torch takes no argument but --into FOLDER")
except StrettoError as error:
    sys.exit(f"stretto: {error}")
