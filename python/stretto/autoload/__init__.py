# SPDX-License-Identifier: Apache-2.0
"""The part that PyTorch loads by itself: `import torch` registers the backend "stretto" and loads no more.

It is separate from `stretto.torch`, whose import begins MPI in the ranks of an MPI launcher.
"""

__all__ = ["entry"]
