"""`xrelay explain --strategies`: what computes each operator, what else could, and what cannot."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from xrelay.analysis.facts.names import short_name
from xrelay.lowering.emit.strategy import Basis, Candidate, Selection
from xrelay.lowering.program.program import Program, Step
from xrelay.lowering.program.steps import COPY
from xrelay.tools.explain.lengths import number_json, type_text


@dataclass(frozen=True)
class KernelUse:
    """A kernel, and how many steps call it."""

    step: Step
    uses: int


def kernel_uses(program: Program) -> tuple[KernelUse, ...]:
    """The kernels of a program in the order of their first calls; copies are none."""
    uses = Counter(step.name for step in program.steps if step.is_kernel)
    first = {step.name: step for step in reversed(program.steps)}
    return tuple(KernelUse(first[name], count) for name, count in uses.items())


def why_not(selection: Selection, candidate: Candidate) -> str:
    """Why a candidate that is not the best one is not used."""
    best = selection.candidates[0]
    if selection.basis is Basis.RECORD:
        if candidate.measured is None or best.measured is None:
            return "no tuning record"
        return f"{candidate.measured / best.measured:.2f} × the time"
    if candidate.implementation.plevel < best.implementation.plevel:
        return "lower level"
    if not candidate.cost or not best.cost:
        return "listed later"
    return f"{candidate.cost / best.cost:.2f} × the estimate"


def print_strategies(console: Console, program: Program, limit: int | None) -> None:
    """The kernels that have operators with loops of their own, one table row for each way."""
    kernels = kernel_uses(program)
    chosen = [kernel for kernel in kernels if kernel.step.selections]
    table = Table("kernel", "uses", title="implementations, estimates on one core")
    table.columns[0].overflow = "fold"
    for heading in ("operator", "implementation"):
        table.add_column(heading, overflow="fold")
    for heading in ("level", "estimated µs", "measured µs"):
        table.add_column(heading, justify="right")
    table.add_column("why", overflow="fold")
    for kernel in chosen[:limit]:
        labels = [kernel.step.name, str(kernel.uses)]
        for selection in kernel.step.selections:
            result = selection.site.op.results[0]
            operator = f"{short_name(selection.site.op)} -> {type_text(result.type)}"
            for row in _rows(selection):
                table.add_row(*labels, Text(operator), *row)
                labels, operator = ["", ""], ""
        table.add_section()
    console.print(table)
    if limit is not None and len(chosen) > limit:
        console.print(f"… {len(chosen) - limit} more kernels")
    copies = sum(step.name == COPY for step in program.steps)
    console.print(
        f"{len(program.steps)} steps: {len(chosen)} kernels with implementations to choose from, "
        f"{len(kernels) - len(chosen)} that work element by element, {copies} copies"
    )


def _rows(selection: Selection) -> Iterator[tuple[str | Text, ...]]:
    """Implementation, level, estimate, record and reason: the one in use, the others, refusals."""
    for candidate in selection.candidates:
        is_chosen = candidate is selection.candidates[0]
        name = candidate.implementation.name
        yield (
            Text(f"→ {name}", style="bold") if is_chosen else f"  {name}",
            str(candidate.implementation.plevel),
            _microseconds(candidate.cost),
            _microseconds(candidate.measured),
            selection.basis.value if is_chosen else why_not(selection, candidate),
        )
    for refusal in selection.refusals:
        level = str(refusal.implementation.plevel)
        name = Text(f"  {refusal.implementation.name}", style="dim")
        yield name, level, "", "", Text(f"cannot: {refusal.reason}", style="dim")


def _microseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e6 * seconds:.1f}"


def strategies_json(program: Program) -> dict[str, object]:
    """The same as data; times in seconds."""
    return {
        "kernels": [
            {
                "name": kernel.step.name,
                "uses": kernel.uses,
                **number_json("flops", kernel.step.flops),
                **number_json("bytes", kernel.step.bytes),
                "operators": [_selection_json(each) for each in kernel.step.selections],
            }
            for kernel in kernel_uses(program)
        ]
    }


def _selection_json(selection: Selection) -> dict[str, object]:
    return {
        "operator": selection.site.op.name,
        "key": selection.site.key,
        "chosen": selection.chosen.name,
        "why": selection.basis.value,
        "candidates": [
            {
                "name": each.implementation.name,
                "plevel": each.implementation.plevel,
                "estimated": each.cost,
                "measured": each.measured,
            }
            for each in selection.candidates
        ],
        "refused": [
            {
                "name": each.implementation.name,
                "plevel": each.implementation.plevel,
                "reason": each.reason,
            }
            for each in selection.refusals
        ],
    }
