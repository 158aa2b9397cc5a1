"""
What `xrelay-opt` can watch while passes run: their times, the groups that come out, and whether
the program still means the same.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import is_operator
from xrelay.dialects.core.values import FusedOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.options import Progress
from xrelay.runtime.files import check_writable
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.module_file import write_module
from xrelay.tools.progress import stage_progress
from xrelay.tools.tables import table_console

if TYPE_CHECKING:
    from xrelay.tools.semantics import SemanticsCheck


@dataclass(frozen=True)
class PassTime:
    """What one pass took."""

    name: str
    seconds: float
    before: int
    after: int
    """Operations in the module."""


@dataclass(frozen=True)
class FusedKind:
    """What `relay.fused` are counted by."""

    operators: int
    """Without constants, tuples and projections."""
    kind: OpPatternKind
    """The highest kind among them."""

    @staticmethod
    def of(op: FusedOp) -> "FusedKind":
        """The operators in the body of `op`. A body may have none, a projection alone."""
        kinds = [pattern_kind(inner) for inner in op.block.ops if is_operator(inner)]
        return FusedKind(len(kinds), max(kinds, default=OpPatternKind.INJECTIVE))


def run_watched(
    ctx: Context, module: ModuleOp, pipeline: PassPipeline, args: argparse.Namespace
) -> None:
    """
    Runs the passes of a pipeline, in place, as the pipeline itself would, and prints on stderr what
    the instruments found.

    Raises CommandFailed when --verify-semantics finds that a pass changes a result.
    """
    passes = pipeline.passes
    watch = None
    times: list[PassTime] = []
    fused: tuple[str, Counter[FusedKind]] = "", Counter()
    with stage_progress() as progress:
        if args.bisect is not None:
            if not args.bisect.endswith(".mlir"):
                message = f"--bisect is '{args.bisect}', expected a .mlir file"
                raise CommandFailed(message, BAD_INPUT)
            with failing_with(BAD_INPUT):
                check_writable(Path(args.bisect))
        if args.verify_semantics or args.bisect is not None:
            from xrelay.tools.semantics import SemanticsCheck

            progress("interpret the program")
            watch = SemanticsCheck(module)
        if pipeline.callback is not None:
            pipeline.callback(None, module, passes[0] if passes else None)
        for number, each in enumerate(passes):
            following = passes[number + 1] if number + 1 < len(passes) else None
            progress(each.name)
            before = operation_count(module) if args.timing else 0
            start = time.perf_counter()
            each.apply(ctx, module)
            seconds = time.perf_counter() - start
            if args.timing:
                times.append(PassTime(each.name, seconds, before, operation_count(module)))
            if pipeline.callback is not None:
                pipeline.callback(each, module, following)
            if args.statistics:
                # Code generation takes them apart again.
                kinds = fused_kinds(module)
                fused = (each.name, kinds) if kinds else fused
            if watch is not None:
                progress(f"interpret the program after {each.name}")
                _compare(watch, module, passes[: number + 1], ctx, args.bisect, progress)
    console = table_console(stderr=True)
    if args.timing:
        console.print(timing_table(times))
    if args.statistics and fused[1]:
        console.print(statistics_table(*fused))
    elif args.statistics:
        console.print("there are no relay.fused")
    if watch is not None:
        console.print(watch.summary())


def _compare(
    watch: "SemanticsCheck",
    module: ModuleOp,
    passes: Sequence[ModulePass],
    ctx: Context,
    path: str | None,
    progress: Progress,
) -> None:
    """
    Compares the results after the last of some passes with those before it. When they differ, a
    small program on which they do goes to the file, if one is given.
    """
    from xrelay.tools.semantics import ChangedResult

    try:
        watch.after(passes[-1].name, module)
    except ChangedResult as change:
        if path is None:
            raise
        from xrelay.tools.reduction import reduced_program

        small = reduced_program(watch.module, passes[-1], ctx, change, progress)
        write_module(small, Path(path))
        prefix = ",".join(str(each.pipeline_pass_spec()) for each in passes)
        last = passes[-1].pipeline_pass_spec()
        raise CommandFailed(
            f"{change}\nsmallest failing prefix: -p '{prefix}'\n"
            f"reduced program of {operation_count(small)} operations: {path}\n"
            f"  xrelay-opt {path} -p '{last}' --verify-semantics",
            FAILED,
        ) from change


def operation_count(module: ModuleOp) -> int:
    """All operations of a module, nested ones included."""
    return sum(1 for _ in walk(module))


def timing_table(times: Sequence[PassTime]) -> Table:
    """The passes in the order in which they ran."""
    table = Table("pass", title="time of passes")
    for heading in ("ms", "% of all", "operations before", "after"):
        table.add_column(heading, justify="right")
    total = sum(each.seconds for each in times)
    for each in times:
        share = 100 * each.seconds / total if total else 0.0
        columns = (f"{1e3 * each.seconds:.2f}", f"{share:.1f}", str(each.before), str(each.after))
        table.add_row(each.name, *columns)
    table.add_section()
    table.add_row("all", f"{1e3 * total:.2f}")
    return table


def fused_kinds(module: ModuleOp) -> Counter[FusedKind]:
    """How many `relay.fused` of each kind a module has."""
    return Counter(FusedKind.of(op) for op in walk(module) if isinstance(op, FusedOp))


def statistics_table(name: str, kinds: Counter[FusedKind]) -> Table:
    """A row for each size, a column for each kind that occurs, after the pass called `name`."""
    columns = sorted({each.kind for each in kinds})
    table = Table("operators", title=f"relay.fused after {name}")
    for kind in columns:
        table.add_column(kind.label, justify="right")
    table.add_column("all", justify="right")
    for size in sorted({each.operators for each in kinds}):
        counts = [kinds[FusedKind(size, kind)] for kind in columns]
        table.add_row(str(size), *(str(count or "") for count in counts), str(sum(counts)))
    table.add_section()
    sums = [sum(n for each, n in kinds.items() if each.kind is kind) for kind in columns]
    table.add_row("all", *map(str, sums), str(kinds.total()))
    return table
