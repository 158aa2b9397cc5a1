"""`xrelay explain --operators`: how often a model calls each operator, and how much that is to compute."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from xrelay.analysis.facts.operation_count import OperatorUse
from xrelay.dialects.lengths import hint
from xrelay.tools.explain.lengths import number_json, number_text


def print_operators(console: Console, uses: Sequence[OperatorUse], limit: int | None) -> None:
    """One table row for each operator, those with the most multiply-adds first, and the sums."""
    table = Table("operator")
    quantized = any(use.fake_quantized for use in uses)
    for heading in ("calls", "multiply-adds", "share", *["fake-quantized calls"] * quantized):
        table.add_column(heading, justify="right")
    counts = {
        use.name: None if use.multiply_adds is None else hint(use.multiply_adds) for use in uses
    }
    rows = sorted(uses, key=lambda use: (counts[use.name] is not None, -(counts[use.name] or 0)))
    total = total_multiply_adds(uses)
    whole = hint(total or 0)
    for use in rows[:limit]:
        number = counts[use.name]
        count = "unknown" if use.multiply_adds is None else number_text(use.multiply_adds)
        share = f"{100 * number / whole:.1f} %" if number and whole else ""
        fake = [f"{use.fake_quantized:,}"] * quantized
        table.add_row(use.name, f"{use.calls:,}", count, share, *fake)
    console.print(table)
    if limit is not None and len(rows) > limit:
        console.print(f"… {len(rows) - limit} more operators")
    calls = sum(use.calls for use in uses)
    amount = "an unknown number of" if total is None else number_text(total)
    console.print(f"{len(uses)} operators in {calls:,} calls, {amount} multiply-adds")


def total_multiply_adds(uses: Sequence[OperatorUse]) -> int | None:
    """Those of all operators; None when one depends on a shape that is not known."""
    counts = [use.multiply_adds for use in uses if use.multiply_adds is not None]
    return sum(counts) if len(counts) == len(uses) else None


def operators_json(uses: Sequence[OperatorUse]) -> dict[str, object]:
    """The same as data, in the order of first calls; null for what is not known."""
    return {
        **_count_json(total_multiply_adds(uses)),
        "operators": [
            {
                "operator": use.name,
                "calls": use.calls,
                "fake_quantized": use.fake_quantized,
                **_count_json(use.multiply_adds),
            }
            for use in uses
        ],
    }


def _count_json(count: int | None) -> dict[str, object]:
    return {"multiply_adds": None} if count is None else number_json("multiply_adds", count)
