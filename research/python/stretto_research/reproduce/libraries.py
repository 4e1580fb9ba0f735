# SPDX-License-Identifier: Apache-2.0
"""The three libraries of the CNN-training paper, and their algorithms (Table 2, and section 4.2)."""

from __future__ import annotations

from stretto_research.reproduce.lines import RDB, RNG, RSA

LIN, SRG = "reduce_broadcast(linear,linear)", "ring:segment_bytes=1MiB"
OF_LIBRARY = {
    "MPICH": ("mpich", {"RDB": RDB, "RSA": RSA}),
    "OpenMPI": ("openmpi", {"RDB": RDB, "RSA": RSA, "LIN": LIN, "RNG": RNG, "SRG": SRG}),
    "IntelMPI": (
        "intelmpi",
        {
            "RDB": RDB,
            "RSA": RSA,
            "RNG": RNG,
            "SHR": "shumilin_ring",
            "R+B": "reduce_broadcast",
            "BGS": "gather_scatter",
            "KNO": "knomial",
        },
    ),
}
"""SMPI's selector and the algorithms, by the paper's names."""
