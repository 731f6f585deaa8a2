"""Markdown from parts that may hold anything a stranger wrote."""

import re
from collections.abc import Iterable, Sequence

from traingate.github.text import block, code

__all__ = ["block", "code", "loss_chart", "table", "thinned"]

#: Points of a chart: enough for its shape, few enough for GitHub to draw it.
CHART_POINTS = 40


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two columns without a heading; pipes and line breaks inside a cell are kept harmless."""
    lines = [f"| {_cell(left)} | {_cell(right)} |" for left, right in rows]
    return "\n".join(["| | |", "|---|---|", *lines])


def loss_chart(curve: Sequence[tuple[int, float]]) -> str:
    """The loss curve as a mermaid chart, (step, loss) a point; empty for fewer than two."""
    points = thinned(curve, CHART_POINTS)
    if len(points) < 2:  # noqa: PLR2004 - a line needs two
        return ""
    losses = [loss for _, loss in points]
    top = max(losses) * 1.05 or 1.0
    chart = "\n".join(
        [
            "xychart-beta",
            '    title "Training loss"',
            f'    x-axis "step" {points[0][0]} --> {points[-1][0]}',
            f'    y-axis "loss" {min(0.0, *losses):.4g} --> {top:.4g}',
            f"    line [{', '.join(f'{loss:.4g}' for loss in losses)}]",
        ]
    )
    return block(chart, language="mermaid")


def thinned(curve: Sequence[tuple[int, float]], most: int) -> tuple[tuple[int, float], ...]:
    """At most `most` points, evenly spaced, the first and the last among them."""
    if len(curve) <= most:
        return tuple(curve)
    last = len(curve) - 1
    return tuple(curve[round(index * last / (most - 1))] for index in range(most))


def _cell(text: str) -> str:
    # A pipe behind an odd number of backslashes is escaped already.
    return re.sub(r"(?<!\\)((?:\\\\)*)\|", r"\1\\|", " ".join(text.split()))
