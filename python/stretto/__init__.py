# SPDX-License-Identifier: Apache-2.0
"""Stretto: fast MPI collectives under unmodified programs."""
