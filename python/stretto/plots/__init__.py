# SPDX-License-Identifier: Apache-2.0
"""Draws charts with Matplotlib, in one style.

Matplotlib is loaded only when a chart is drawn.
"""

__all__ = ["drawing", "panels", "pictures", "runs", "style"]
