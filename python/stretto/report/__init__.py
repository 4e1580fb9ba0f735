# SPDX-License-Identifier: Apache-2.0
"""Makes one HTML page from files that Stretto wrote.

Charts, tables and scripts are inside the page. Other distributions add kinds of files (`kinds`).
"""

__all__ = [
    "choices",
    "contents",
    "inputs",
    "kinds",
    "page",
]
