# SPDX-License-Identifier: Apache-2.0
"""The papers' figures, each by one function: what is simulated or modelled, and what must be seen in it."""
