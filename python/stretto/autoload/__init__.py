# SPDX-License-Identifier: Apache-2.0
"""What PyTorch loads by itself: `import torch` registers the backend "stretto", which loads nothing yet.

Apart from `stretto.torch`, whose import begins MPI in the ranks of an MPI launcher.
"""

__all__ = ["entry"]
