# SPDX-License-Identifier: Apache-2.0
"""The files of `stretto advise`: all figures as JSON, and a tuning table."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

from stretto._core import parse_library_name
from stretto.spec.native import NATIVE
from stretto.support.errors import StrettoError
from stretto.support.json_files import document_text
from stretto.support.units import size_text
from stretto.tune.table import Json, Shape, table_text, within
from stretto_research.advise.result import Question, Result
from stretto_research.advise.search import Advice
from stretto_research.simulate.jobs import LABELS

# A predicted gain must exceed the error of the model, as in stretto tune.
_LEAST_GAIN = 1.1


def advice_json(question: Question, machine: str, result: Result) -> str:
    """The document of all figures."""
    rows = [
        {
            "bytes": one.bytes,
            "spec": one.spec,
            "seconds": one.seconds,
            "bound_seconds": one.bound,
            "by": "simulation" if one.by_simulation else "walker",
            "libraries": {
                item.library: {
                    "algorithm": item.choice.algorithm,
                    "spec": item.choice.spec,
                    "exact": item.choice.exact,
                    "seconds": item.seconds,
                    "gain": one.gain(item),
                    "take": one.spec_for(item),
                }
                for item in one.libraries
            },
        }
        for one in result.advice
    ]
    content: Json = {
        "collective": question.collective,
        "nodes": question.nodes,
        "ppn": question.ppn,
        "machine": machine,
        "remarks": result.remarks,
        "advice": rows,
    }
    check = result.checked
    if check is not None:
        content["check"] = {
            "nodes": check.nodes,
            "ppn": check.ppn,
            "rows": [
                {
                    "bytes": row.bytes,
                    "who": row.who,
                    "spec": row.spec,
                    "walker_seconds": row.walker,
                    "smpi_seconds": row.smpi,
                }
                for row in check.rows
            ],
        }
    return document_text("stretto-advice", sys.argv, result.title, content)


def family_of(mpi: str) -> tuple[str, str]:
    """The family and name of a library, as openmpi and Open MPI 4.1.4. Raises StrettoError if unknown."""
    known = parse_library_name(mpi)
    if known is None or known[0] not in LABELS:
        raise StrettoError(
            f"--mpi {mpi}: expected a library and its version, such as Open MPI 4.1.4 or MPICH 4.0.2"
        )
    return known


def tuning_table(
    collective: str, nodes: int, ppn: int, mpi: str, network: str, advice: Sequence[Advice]
) -> str:
    """A table for STRETTO_TABLE (docs/formats.md), whose rows are marked as modelled."""
    family, name = family_of(mpi)
    specs = [(one.bytes, _worth_it(one, family)) for one in advice]
    rows: list[Json] = [
        {"from": size_text(next(run)[0]), "spec": spec}
        for spec, run in itertools.groupby(specs, key=lambda one: one[1])
    ]
    shape = Shape(nodes, ppn, ppn).to_json() | {
        "modelled": True,
        collective: within(rows, advice[0].bytes, advice[-1].bytes),
    }
    table: Json = {"format": "stretto-table", "version": 1, "mpi": name, "network": network}
    how = "predicted by the schedule walker, or by simulation where the two differ; nothing was measured"
    return table_text(table | {"shapes": [shape], "notes": {"advise": how}})


def _worth_it(one: Advice, family: str) -> str:
    library = next(item for item in one.libraries if item.library == family)
    return one.spec_for(library) if one.gain(library) > _LEAST_GAIN else NATIVE
