# SPDX-License-Identifier: Apache-2.0
"""`python -m stretto.torch` builds the extension ahead of time, and prints its path."""

from __future__ import annotations

import sys

from stretto.support.errors import StrettoError
from stretto.torch.building import built_extension

try:
    print(built_extension())
except StrettoError as error:
    sys.exit(f"stretto: {error}")
