# SPDX-License-Identifier: Apache-2.0
"""Writes research/docs/reproduction.md from the results."""

from __future__ import annotations

from collections.abc import Sequence

from stretto_research.reproduce.figure import PAPERS, Figure, Result, Verdict

_HEAD = """# The papers' figures, reproduced

`stretto reproduce --all --page research/docs/reproduction.md` writes this page and draws each
figure into `results/reproduction/`. Nothing here is measured: collectives are
[simulated](simulation.md) by SimGrid's SMPI, or [modelled](../../docs/models.md), on the papers'
clusters. If a figure differs from the paper's, the page lists the difference as a finding.

The labels are those of the papers. They call the MPI library's own choice AUTO; elsewhere Stretto
calls it the *MPI default*.

| label | meaning |
| --- | --- |
| AUTO, BEST | the MPI default, and the fastest algorithm that the library has |
| BL, NBL, NBLxK | a blocking call, a non-blocking call and a wait, the same on K segments |
| RDB, RSA, RNG | recursive doubling, Rabenseifner, ring |
| LIN, BIN, CHAIN, SRG | linear, binomial trees, a chain, a ring in segments |
| OVLP, NOVL, NOOP | with full overlap, with none, without arithmetic |
| RD, SMP, NAP | recursive doubling, one leader a node, node-aware parallel |

"""


def page_text(results: Sequence[tuple[Figure, Result]]) -> str:
    """Return the page, in Markdown."""
    claims = [claim for _, result in results for claim in result.claims]
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in Verdict}
    lines = [
        _HEAD + f"Of {len(claims)} claims in {len(results)} figures {counts[Verdict.AGREES]} agree, "
        f"{counts[Verdict.PARTLY]} agree partly, and {counts[Verdict.DIFFERS]} differ.\n"
    ]
    for paper, title in PAPERS.items():
        of_paper = [(figure, result) for figure, result in results if figure.paper == paper]
        if not of_paper:
            continue
        lines.append(
            f"## {title}\n\n| figure | the paper reports | came out | | why |\n"
            "| --- | --- | --- | --- | --- |"
        )
        for figure, result in of_paper:
            name = f"`{figure.name}` {figure.title}"
            for claim in result.claims:
                cells = (name, claim.reported, claim.came_out, _verdict(claim.verdict), claim.why)
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
                name = ""
            if result.remark:
                lines.append(f"| | *{result.remark}* | | | |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _verdict(verdict: Verdict) -> str:
    return verdict.value if verdict == Verdict.AGREES else f"**{verdict.value}**"
