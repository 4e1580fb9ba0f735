# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto.torch` builds the extension ahead of time, unless the wheel has it, and prints its path.

`python -m stretto.torch --find` builds nothing, and prints its path if it is there.
`python -m stretto.torch --into FOLDER` builds it there in the form that wheels carry (scripts/wheel).
"""

from __future__ import annotations

import sys
from pathlib import Path

from stretto.support.errors import StrettoError
from stretto.torch.building import build_for_wheel, place_of_extension, prebuilt_extension
from stretto.torch.extension import load_extension

try:
    match sys.argv[1:]:
        case []:
            print(load_extension().__file__)
        case ["--find"]:
            found = prebuilt_extension() or place_of_extension()
            print(found if found.is_file() else "")
        case ["--into", folder]:
            print(build_for_wheel(Path(folder)))
        case _:
            sys.exit("stretto: python -m stretto.torch takes no argument but --find, or --into FOLDER")
except StrettoError as error:
    sys.exit(f"stretto: {error}")
