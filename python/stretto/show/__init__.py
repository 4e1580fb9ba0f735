# SPDX-License-Identifier: Apache-2.0
"""Lists algorithms, proves their schedules and draws them.

Nothing here starts an MPI program.
"""

__all__ = [
    "algorithms",
    "diagram",
    "proof",
    "terminal",
    "verdicts",
]
