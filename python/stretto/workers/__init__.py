# SPDX-License-Identifier: Apache-2.0
"""What `stretto train` starts on every rank, in the interpreter that has the framework.

That interpreter need not have Stretto installed, nor what its tools need: these modules take NumPy and the
framework only, and of Stretto what needs no package.
"""
