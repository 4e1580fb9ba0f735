# SPDX-License-Identifier: Apache-2.0
"""Measured trainings: what `stretto train` runs, keeps and shows."""
