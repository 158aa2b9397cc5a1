"""`xrelay explain --operators`: how often a model calls each operator, and how much that is to compute."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from xrelay.analysis.facts.operation_count import OperatorUse


def print_operators(console: Console, uses: Sequence[OperatorUse], limit: int | None) -> None:
    """One table row for each operator, those with the most multiply-adds first, and the sums."""
    table = Table("operator")
    for heading in ("calls", "multiply-adds", "share"):
        table.add_column(heading, justify="right")
    rows = sorted(uses, key=lambda use: (use.multiply_adds is not None, -(use.multiply_adds or 0)))
    total = total_multiply_adds(uses)
    for use in rows[:limit]:
        count = "unknown" if use.multiply_adds is None else f"{use.multiply_adds:,}"
        share = f"{100 * use.multiply_adds / total:.1f} %" if use.multiply_adds and total else ""
        table.add_row(use.name, f"{use.calls:,}", count, share)
    console.print(table)
    if limit is not None and len(rows) > limit:
        console.print(f"… {len(rows) - limit} more operators")
    calls = sum(use.calls for use in uses)
    amount = "an unknown number of" if total is None else f"{total:,}"
    console.print(f"{len(uses)} operators in {calls:,} calls, {amount} multiply-adds")


def total_multiply_adds(uses: Sequence[OperatorUse]) -> int | None:
    """Those of all operators; None when one depends on a shape that is not known."""
    counts = [use.multiply_adds for use in uses if use.multiply_adds is not None]
    return sum(counts) if len(counts) == len(uses) else None


def operators_json(uses: Sequence[OperatorUse]) -> dict[str, object]:
    """The same as data, in the order of first calls; null for what is not known."""
    return {
        "multiply_adds": total_multiply_adds(uses),
        "operators": [
            {"operator": use.name, "calls": use.calls, "multiply_adds": use.multiply_adds}
            for use in uses
        ],
    }
