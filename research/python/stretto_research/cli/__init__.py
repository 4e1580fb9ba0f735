# SPDX-License-Identifier: Apache-2.0
"""The commands that this distribution adds to `stretto`: a file a command."""
