# SPDX-License-Identifier: Apache-2.0
"""The interpreters of frameworks."""

from tests.e2e.conftest import tensorflow

__all__ = ["tensorflow"]
