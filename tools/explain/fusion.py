"""
`xrelay explain --why`, `--what-if` and `--plan-json`: single decisions of fusion, what they depend
on, and all of them as data.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp, NameLoc
from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.suggestions import did_you_mean
from xrelay.analysis.fusion.file import function_name, plan_data
from xrelay.analysis.fusion.plan import (
    FusionOptions,
    FusionPlan,
    Refusal,
    fusion_blocks,
    is_operator,
    may_fuse,
    plan_fusion,
)
from xrelay.dialects.model_names import location_names, model_name
from xrelay.dialects.traits import OpPatternKind
from xrelay.runtime.reading import read_source
from xrelay.tools.arguments import named_values
from xrelay.tools.errors import BAD_INPUT, CommandFailed
from xrelay.tools.tables import shown_names, write_json

KINDS = {kind.label: kind for kind in OpPatternKind if kind is not OpPatternKind.TUPLE}
"""The kinds that an operator may have, by name."""
SIBLINGS = 42
"""The rule by which groups join that no value connects."""


def explain_decisions(
    console: Console, module: ModuleOp, options: FusionOptions, args: argparse.Namespace
) -> None:
    """Answers --why and --what-if, and writes the file of --plan-json, with what --what-if supposes."""
    plans = [plan_fusion(block, options) for block in fusion_blocks(module)]
    supposed = plans
    if args.what_if:
        kinds = supposed_kinds(plans, args.what_if, Path(args.model))
        supposed = [plan_fusion(plan.block, options, _within(plan, kinds)) for plan in plans]
        for before, after in zip(plans, supposed, strict=True):
            print_changes(console, before, after)
    if args.plan_json is not None:
        write_json(Path(args.plan_json), plan_data(supposed))
    if args.why is not None:
        first, last = args.why
        print_why(console, supposed, first, last, Path(args.model))


def numbered(plan: FusionPlan, op: Operation) -> str:
    """The name of an operator and its number in the block."""
    return f"{op.name.removeprefix('relay.')} #{plan.nodes[op].index}"


def label(plan: FusionPlan, op: Operation) -> str:
    """An operator as explanations call it: with the node of the model, where that is known."""
    name = model_name(op)
    return numbered(plan, op) + ("" if name is None else f" '{shown_names([name])}'")


# Names


def names_of(plan: FusionPlan, op: Operation) -> list[str]:
    """What `op` is known by: its number, the names of its results, and those of the model."""
    names = [f"#{plan.nodes[op].index}"]
    names.extend(result.name_hint for result in op.results if result.name_hint)
    names.extend(location_names(op.location))
    location = op.location
    while isinstance(location, NameLoc):
        location = location.location
        names.extend(location_names(location))
    return names


def onnx_aliases(model: Path) -> dict[str, str]:
    """The node of each value of an ONNX model, whose operations have the name of the node."""
    if model.suffix != ".onnx":
        return {}
    from onnx import ModelProto  # Needed for some names only.

    nodes = ModelProto.FromString(read_source(model)).graph.node
    return {value: node.name for node in nodes if node.name for value in node.output}


def find(
    plans: Sequence[FusionPlan], name: str, model: Path, operators: Iterable[str] = ()
) -> tuple[FusionPlan, Operation]:
    """
    The operation that `name` stands for: a number (#7, of the first block that has it, and operators
    at all), the name of a value, or that of an ONNX node, of which it is the last operation. With a
    function in front (@main:#7) it is one of that function. Messages about unknown names suggest `operators` as well.
    """
    function, _, local = name.rpartition(":") if name.startswith("@") else ("", "", name)
    if function:
        symbols = [function_name(plan.block) for plan in plans]
        if function[1:] not in symbols:
            known_symbols = ", ".join(f"@{each}" for each in dict.fromkeys(symbols) if each)
            raise CommandFailed(
                f"'{name}' is in no function of the program, expected one of {known_symbols}",
                BAD_INPUT,
            )
        plans = [plan for plan in plans if function_name(plan.block) == function[1:]]
        name = local
    wanted = name.removeprefix("%")
    known: dict[str, tuple[FusionPlan, Operation]] = {}
    # Blocks without operators, as that of the module, which has functions, come last.
    order = sorted(plans, key=lambda plan: not any(map(is_operator, plan.nodes)))
    for plan in reversed(order):  # What comes last here takes the name.
        for op in plan.nodes:
            known.update((each, (plan, op)) for each in names_of(plan, op))
    if wanted in known:
        return known[wanted]
    alias = onnx_aliases(model).get(name)
    if alias in known:
        return known[alias]
    for plan in plans:
        if any(arg.name_hint == wanted for arg in plan.block.args):
            raise CommandFailed(
                f"'{name}' is a parameter of the function: those are opaque (rule 5) and computed "
                "by nothing, expected a value that an operation computes",
                BAD_INPUT,
            )
    candidates = [*(each for each in known if each[0] != "#"), *operators]
    raise CommandFailed(
        f"there is no value or node '{name}' (simplification may have removed or renamed it: "
        "`xrelay explain` lists the numbers of operations, and --no-simplify keeps all)"
        f"{did_you_mean(wanted, candidates, most=3)}",
        BAD_INPUT,
    )


# Why


def print_why(
    console: Console, plans: Sequence[FusionPlan], first: str, last: str, model: Path
) -> None:
    """What keeps the operations of two names apart."""
    (plan, producer), (other, consumer) = (find(plans, each, model) for each in (first, last))
    if plan is not other:
        refusal = Refusal(34, "they stand in different blocks, which are graphs of their own")
        console.print(Text(f"{first} and {last} are not fused: {refusal}"))
        return
    if plan.nodes[consumer].index < plan.nodes[producer].index:
        producer, consumer = consumer, producer
    border = plan.why_not_fused(producer, consumer)
    if border is None:
        console.print(Text(f"{label(plan, producer)} and {label(plan, consumer)} are fused:"))
        shared = set(plan.homes(producer)) & set(plan.homes(consumer))
        for join in plan.joins:
            if plan.group_of[join.into.op] in shared:
                console.print(
                    Text(f"  rule {join.rule} for {label(plan, join.node.op)}: {join.sentence}")
                )
    else:
        refusal = border.refusal
        console.print(
            Text(f"{label(plan, producer)} and {label(plan, consumer)} are not fused: {refusal}")
        )
        if (border.producer, border.consumer) != (producer, consumer):
            way = f"{label(plan, border.producer)} -> {label(plan, border.consumer)}"
            console.print(Text(f"  the first border on the way: {way}"))
        if refusal.sweep is not None:
            console.print(Text(f"  decided in sweep {refusal.sweep}"))
        if refusal.culprit is not None:
            console.print(Text(f"  because of {label(plan, refusal.culprit)}"))
    middle = [] if border is None else [border.producer, border.consumer]
    for op in dict.fromkeys([producer, *middle, consumer]):
        console.print(Text(f"  {facts(plan, op)}"))


def facts(plan: FusionPlan, op: Operation) -> str:
    """What fusion knows about an operation, in a line."""
    node = plan.nodes[op]
    uses = ", ".join(f"{label(plan, edge.consumer.op)} {edge.kind.label}" for edge in node.edges)
    sink = "none" if node.dominator is None else label(plan, node.dominator.op)
    groups = ", and in a ".join(
        f"group of {len(plan.computed(group))} up to {label(plan, group.root)}, "
        f"anchor {'none' if group.anchor is None else label(plan, group.anchor)}"
        for group in plan.homes(op)
    )
    return (
        f"{label(plan, op)}: kind {node.kind.label}; used by {uses or 'nothing here'}; "
        f"post-dominator {sink}, path {node.path_kind.label}; in a {groups}"
    )


# What if


def supposed_kinds(
    plans: Sequence[FusionPlan], arguments: Sequence[str], model: Path
) -> dict[Operation, OpPatternKind]:
    """The operations that OP=KIND arguments name, with their kinds."""
    found: dict[Operation, OpPatternKind] = {}
    operators = {op.name.removeprefix("relay."): None for plan in plans for op in plan.nodes}
    for name, kind in named_values(arguments, "--what-if", "OP=KIND").items():
        if kind not in KINDS:
            raise CommandFailed(
                f"--what-if gives '{name}' the kind '{kind}', expected one of {', '.join(KINDS)}"
                f"{did_you_mean(kind, KINDS)}",
                BAD_INPUT,
            )
        operator = f"relay.{name.removeprefix('relay.')}"
        ops = [op for plan in plans for op in plan.nodes if op.name == operator]
        for op in ops or [find(plans, name, model, operators)[1]]:
            if not may_fuse(op):
                raise PassFailedException(
                    f"--what-if: {op.name} has no kind that can be another: it is no operator with "
                    "a kernel and one result (rules 4 to 9)"
                )
            found[op] = KINDS[kind]
    return found


def _within(
    plan: FusionPlan, kinds: dict[Operation, OpPatternKind]
) -> dict[Operation, OpPatternKind]:
    return {op: kind for op, kind in kinds.items() if op in plan.nodes}


def print_changes(console: Console, before: FusionPlan, after: FusionPlan) -> None:
    """The borders that are gone, new, or there for another reason."""
    old = {(each.producer, each.consumer): each.refusal for each in before.boundaries}
    new = {(each.producer, each.consumer): each.refusal for each in after.boundaries}
    if not (old or new or any(group.fused for group in before.groups)):
        return
    counts = [sum(group.fused for group in plan.groups) for plan in (before, after)]
    joins = [
        {(each.node.op, each.into.op): each for each in plan.joins if each.rule == SIBLINGS}
        for plan in (before, after)
    ]
    where = function_name(before.block) or "block"
    console.print(Text(f"{where}: {counts[0]} fused functions become {counts[1]}"))
    for pair in sorted(
        old.keys() | new.keys(), key=lambda each: tuple(before.nodes[op].index for op in each)
    ):
        was, now = old.get(pair), new.get(pair)
        edge = " -> ".join(label(before, op) for op in pair)
        if now is None:
            console.print(Text(f"  + {edge} fuse (before: {was})"))
        elif was is None:
            console.print(Text(f"  - {edge} do not fuse: {now}"))
        elif was.rule != now.rule:
            console.print(Text(f"  ~ {edge}: {now} (before: {was})"))
    # Siblings are groups without a border between them.
    for pair in sorted(
        joins[0].keys() ^ joins[1].keys(),
        key=lambda each: tuple(before.nodes[op].index for op in each),
    ):
        names = " and ".join(label(before, op) for op in pair)
        if pair in joins[1]:
            console.print(Text(f"  + {names} are siblings: rule {SIBLINGS}"))
        else:
            console.print(Text(f"  - {names} are no siblings any more (before: rule {SIBLINGS})"))
