# SPDX-License-Identifier: Apache-2.0
"""The program that `stretto train` starts on every rank, in the interpreter that has the framework.

That interpreter need not have Stretto or its packages. These modules import only NumPy, the framework, and
modules of Stretto that need no package.
"""

__all__ = [
    "options",
    "packages",
]
