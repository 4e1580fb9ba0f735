# SPDX-License-Identifier: Apache-2.0
"""The base of all other packages: errors, units, files, the console, medians and fits."""

__all__ = [
    "console",
    "errors",
    "estimates",
    "extras",
    "files",
    "heartbeat",
    "interruption",
    "json_files",
    "machine_load",
    "parts",
    "paths",
    "piecewise",
    "robust",
    "tables",
    "units",
]
