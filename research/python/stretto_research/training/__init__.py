# SPDX-License-Identifier: Apache-2.0
"""Measures the steps of a training with several specs, in one job.

The ranks of the job run stretto_research.workers.
"""

__all__ = [
    "file",
    "lines",
    "measure",
    "plot",
    "request",
    "table",
]
