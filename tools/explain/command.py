"""
`xrelay explain`: the fused groups of a model, and the rule behind each border; with --strategies
what computes each operator, with --memory where its tensors lie, with --operators how often each is
called.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from xrelay.analysis.facts.operation_count import operator_uses
from xrelay.analysis.fusion.plan import (
    Boundary,
    FusionGroup,
    FusionOptions,
    FusionPlan,
    Join,
    fusion_blocks,
    plan_fusion,
)
from xrelay.compiler import generate, generation, preparation, read_model, run_passes
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.model_names import model_name
from xrelay.lowering.program.program import Program
from xrelay.options import CompileOptions, Progress
from xrelay.runtime.signature import UnknownDimensions
from xrelay.staged import require_known_sizes
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.explain.fusion import explain_decisions, label, numbered
from xrelay.tools.explain.lengths import (
    OpenReading,
    print_reading,
    read_open,
    reading_json,
    type_text,
)
from xrelay.tools.explain.memory import check_chart, draw_memory, memory_json, print_memory
from xrelay.tools.explain.operators import operators_json, print_operators
from xrelay.tools.explain.strategies import print_strategies, strategies_json
from xrelay.tools.explain.types import print_types, type_uses, types_json
from xrelay.tools.progress import stage_progress
from xrelay.tools.tables import shown_names, table_console, write_json
from xrelay.transforms.quantize.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from xrelay.transforms.rules.quantize.local import kept_in_floating_point


def explain_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    _check(args)
    with stage_progress() as progress:
        with failing_with(BAD_INPUT):
            options = arguments.fusion_options(args)
            compile_options = arguments.compile_options(args)
        module, notes, reading = _read(args, compile_options, progress)
        program: Program | None = None
        if args.strategies or args.memory:
            with failing_with(FAILED):
                passes = generation(compile_options, options)
                run_passes(module, passes, progress, compile_options.limits)
                program = generate(module, compile_options, progress)
    with failing_with(BAD_INPUT):
        if reading is not None:
            print_reading(table_console(), reading)
        if program is not None:
            explain_program(program, args, reading)
        elif args.operators or args.types:
            explain_operators(module, args, compile_options, reading)
        elif _asks_plan(args):
            console = Console(soft_wrap=True, highlight=False)
            explain_decisions(console, module, options, args)
        else:
            _explain_groups(module, options, notes, args.limit)
    return 0


def _read(
    args: argparse.Namespace, options: CompileOptions, progress: Progress
) -> tuple[ModuleOp, list[str], OpenReading | None]:
    """The module, simplified, what there is to say of it, and what it leaves open."""

    def prepare(module: ModuleOp) -> list[str]:
        return [] if args.no_simplify else _prepare(module, options, progress)

    with failing_with(BAD_INPUT):
        progress("read the model")
        try:
            module, _ = read_model(args.model, arguments.shapes(args.shape), options.limits)
            if args.strategies or args.memory:
                require_known_sizes(module)
        except UnknownDimensions as unknown:
            return read_open(Path(args.model), unknown, options, prepare, progress)
    with failing_with(FAILED):
        return module, prepare(module), None


def _asks_plan(args: argparse.Namespace) -> bool:
    """Whether decisions of fusion are asked for."""
    return args.why is not None or args.what_if or args.plan_json is not None


def _check(args: argparse.Namespace) -> None:
    """Raises CommandFailed for options that make no sense, or not together."""
    shows = args.strategies or args.memory or args.operators or args.types
    if args.limit is not None and args.limit < 1:
        raise CommandFailed(f"--limit is {args.limit}, expected at least 1", BAD_INPUT)
    if args.json is not None and not shows:
        raise CommandFailed(
            "--json goes with --strategies, --memory, --operators or --types", BAD_INPUT
        )
    if args.chart is not None and not args.memory:
        raise CommandFailed("--chart goes with --memory", BAD_INPUT)
    if args.chart is not None:
        check_chart(Path(args.chart))
    arguments.require_writable(args.chart, args.json, args.plan_json)
    if _asks_plan(args) and shows:
        raise CommandFailed(
            "--why, --what-if and --plan-json go without --strategies, --memory, --operators and --types",
            BAD_INPUT,
        )


def _prepare(module: ModuleOp, options: CompileOptions, progress: Progress) -> list[str]:
    """Simplifies a module as the compiler does; tells what stays in floating point before algebra changes it."""
    passes = preparation(options)
    kinds = [type(each) for each in passes]
    middle = kinds.index(FakeQuantizationToIntegerPass) + 1
    run_passes(module, passes[:middle], progress, options.limits)
    kept = kept_in_floating_point(module)
    notes = [f"{described(op)} computes with f32: {reason}" for op, reason in kept]
    run_passes(module, passes[middle:], progress, options.limits)
    return notes


def _explain_groups(
    module: ModuleOp, options: FusionOptions, notes: Sequence[str], limit: int | None
) -> None:
    """The groups, and what stops them from growing."""
    console = Console(soft_wrap=True, highlight=False)
    explained = plans(module, options)
    if not explained:
        console.print("nothing to fuse: no operators of the relay dialect outside of relay.fused")
    for plan in explained:
        print_plan(console, plan, limit)
    print_notes(console, notes, limit)


def described(op: Operation) -> str:
    """An operator and the node that it comes from."""
    name = model_name(op)
    return op.name.removeprefix("relay.") + (f" '{name}'" if name is not None else "")


def print_notes(console: Console, notes: Sequence[str], limit: int | None) -> None:
    """What else there is to say."""
    if notes:
        console.print()
    for note in notes[:limit]:
        console.print(Text(note))
    if limit is not None and len(notes) > limit:
        console.print(Text(f"… {len(notes) - limit} more"))


def explain_program(
    program: Program, args: argparse.Namespace, reading: OpenReading | None
) -> None:
    """Prints what --strategies or --memory asks for, and writes the files."""
    console = table_console()
    if args.strategies:
        print_strategies(console, program, args.limit)
        data = strategies_json(program)
    else:
        print_memory(console, program, args.limit)
        data = memory_json(program)
    if args.chart is not None:
        draw_memory(program, Path(args.chart))
    if args.json is not None:
        write_data(args.json, data, reading)


def explain_operators(
    module: ModuleOp,
    args: argparse.Namespace,
    options: CompileOptions,
    reading: OpenReading | None,
) -> None:
    """Prints what --operators or --types asks for, and writes the file."""
    if args.types:
        rows = type_uses(module, options)
        print_types(table_console(), rows, args.limit)
        data = types_json(rows)
    else:
        uses = operator_uses(module)
        print_operators(table_console(), uses, args.limit)
        data = operators_json(uses)
    if args.json is not None:
        write_data(args.json, data, reading)


def write_data(path: str, data: dict[str, object], reading: OpenReading | None) -> None:
    """Writes data for other programs, with the lengths that were read, if there are any."""
    if reading is not None:
        data = {"lengths": reading_json(reading), **data}
    write_json(Path(path), data)


def plans(module: ModuleOp, options: FusionOptions) -> list[FusionPlan]:
    """The plans of the blocks in which there is something to fuse."""
    every = (plan_fusion(block, options) for block in fusion_blocks(module))
    return [plan for plan in every if any(group.fused for group in plan.groups)]


def print_plan(console: Console, plan: FusionPlan, limit: int | None) -> None:
    """The groups of one block in program order, each with the borders at which it ends."""
    groups = [group for group in plan.groups if group.fused]
    operators = sum(isinstance(op, RelayOp) and not isinstance(op, ConstantOp) for op in plan.nodes)
    parent = plan.block.parent_op()
    where = f"{parent.name} " if parent is not None else ""
    symbol = parent.properties.get("sym_name") if parent is not None else None
    functions = "1 fused function" if len(groups) == 1 else f"{len(groups)} fused functions"
    console.print(Text(f"{where}{symbol or ''}: {operators} operators in {functions}"))
    borders: dict[FusionGroup, list[Boundary]] = {}
    for boundary in plan.boundaries:
        borders.setdefault(plan.group_of[boundary.producer], []).append(boundary)
    joins: dict[FusionGroup, list[Join]] = {}
    for join in plan.joins:
        joins.setdefault(plan.group_of[join.into.op], []).append(join)
    for number, group in enumerate(groups[:limit]):
        _print_group(console, plan, group, number, borders.get(group, []), joins.get(group, []))
    if limit is not None and len(groups) > limit:
        console.print(Text(f"… {len(groups) - limit} more groups"))


def _print_group(
    console: Console,
    plan: FusionPlan,
    group: FusionGroup,
    number: int,
    borders: list[Boundary],
    joins: list[Join],
) -> None:
    root = group.root
    console.print()
    console.print(
        Text.assemble(
            (f"group {number}", "bold"),
            f": {label(plan, root)} -> {type_text(root.results[0].type)}, kind {group.kind.label}",
        )
    )
    for op in plan.computed(group):
        anchor = ", anchor" if op is group.anchor else ""
        operands = ", ".join(_operand(plan, operand) for operand in op.operands)
        kind = plan.nodes[op].kind.label
        type_ = type_text(op.results[0].type)
        name = model_name(op)
        node = "" if name is None else f"  {shown_names([name])}"
        console.print(
            Text(f"  {numbered(plan, op)}({operands}) -> {type_}  [{kind}{anchor}]{node}")
        )
    for join in joins:
        console.print(Text(f"  rule {join.rule} for {label(plan, join.node.op)}: {join.sentence}"))
    for boundary in borders:
        console.print(
            Text(f"  ends before {label(plan, boundary.consumer)}: {boundary.refusal}", style="dim")
        )


def _operand(plan: FusionPlan, value: SSAValue) -> str:
    """The number of the operator that computes a value, or its name in the model; its type."""
    node = plan.nodes.get(value.owner) if isinstance(value, OpResult) else None
    if node is not None and not isinstance(node.op, ConstantOp):
        return f"#{node.index}"
    hint = f"%{value.name_hint}: " if value.name_hint else ""
    return f"{hint}{type_text(value.type)}"
