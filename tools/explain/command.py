"""
`xrelay explain`: the fused groups of a model, and the rule behind each border; with --strategies
what computes each operator, with --memory where its tensors lie, with --operators how often each is
called. Models whose sizes depend on data are explained stage by stage.
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
from xrelay.compiler import generate, generation, preparation, run_passes
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.model_names import model_name
from xrelay.lowering.program.program import Program
from xrelay.options import CompileOptions, Progress
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.explain.fusion import explain_decisions, label, numbered
from xrelay.tools.explain.lengths import print_reading, reading_json, type_text
from xrelay.tools.explain.memory import check_chart, draw_memory, memory_json, print_memory
from xrelay.tools.explain.operators import operators_json, print_operators
from xrelay.tools.explain.stages import Reader, Stage, require_one, titles
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
        stages = _read(args, compile_options, progress)
        programs: list[Program | None] = [None] * len(stages)
        if args.strategies or args.memory:
            with failing_with(FAILED):
                passes = generation(compile_options, options)
                for number, stage in enumerate(stages):
                    run_passes(stage.module, passes, progress, compile_options.limits)
                    programs[number] = generate(stage.module, compile_options, progress)
    found: list[dict[str, object]] = []
    with failing_with(BAD_INPUT):
        for title, stage, program in zip(titles(stages), stages, programs, strict=True):
            data = _explain_stage(title, stage, program, args, options, compile_options)
            found.append(data)
        if args.json is not None:
            is_one = titles(stages) == [""]
            write_json(Path(args.json), found[0] if is_one else {"stages": found})
    return 0


def _read(args: argparse.Namespace, options: CompileOptions, progress: Progress) -> list[Stage]:
    """The program of the model, simplified, or its stages."""

    def prepare(module: ModuleOp) -> list[str]:
        return [] if args.no_simplify else _prepare(module, options, progress)

    needs_sizes = args.strategies or args.memory
    with failing_with(BAD_INPUT):
        reader = Reader(options, prepare, progress, needs_sizes)
        stages = reader.programs(args.model, arguments.shapes(args.shape))
        if args.chart is not None:
            require_one(stages, "--chart")
        if _asks_plan(args):
            require_one(stages, "--why, --what-if or --plan-json")
    return stages


def _explain_stage(
    title: str,
    stage: Stage,
    program: Program | None,
    args: argparse.Namespace,
    options: FusionOptions,
    compile_options: CompileOptions,
) -> dict[str, object]:
    """Prints what is asked for of one program; the same as data, if there is a way to write that."""
    console = table_console()
    if title:
        console.print(Text(title, style="bold"))
    if stage.reading is not None:
        print_reading(console, stage.reading)
    data: dict[str, object] = {}
    if program is not None:
        data = explain_program(program, args)
    elif args.operators or args.types:
        data = explain_operators(stage.module, args, compile_options)
    elif _asks_plan(args):
        decisions = Console(soft_wrap=True, highlight=False)
        explain_decisions(decisions, stage.module, options, args)
    else:
        _explain_groups(stage.module, options, stage.notes, args.limit)
    if stage.reading is not None:
        data = {"lengths": reading_json(stage.reading), **data}
    if title:
        console.print()
        data = {"title": title, **data}
    return data


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


def explain_program(program: Program, args: argparse.Namespace) -> dict[str, object]:
    """Prints what --strategies or --memory asks for, and draws the chart; the same as data."""
    console = table_console()
    if args.strategies:
        print_strategies(console, program, args.limit)
        data = strategies_json(program)
    else:
        print_memory(console, program, args.limit)
        data = memory_json(program)
    if args.chart is not None:
        draw_memory(program, Path(args.chart))
    return data


def explain_operators(
    module: ModuleOp, args: argparse.Namespace, options: CompileOptions
) -> dict[str, object]:
    """Prints what --operators or --types asks for; the same as data."""
    if args.types:
        rows = type_uses(module, options)
        print_types(table_console(), rows, args.limit)
        return types_json(rows)
    uses = operator_uses(module)
    print_operators(table_console(), uses, args.limit)
    return operators_json(uses)


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
