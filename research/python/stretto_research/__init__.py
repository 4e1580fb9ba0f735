# SPDX-License-Identifier: Apache-2.0
"""The papers beside Stretto: predicts, simulates, studies and trains, and reproduces their figures."""
