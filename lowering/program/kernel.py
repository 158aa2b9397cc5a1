"""
A group of operators as one kernel function.

    group ──► operators with loops that are not the anchor: into scratch memory, one after the other
          ──► the anchor, if there is one: its strategy's loops, the rest of the group in the sink
              otherwise: loops over the results of each shape, everything on demand

Which operators have loops, what computes them and which is the anchor is chosen before
(`selection.py`).
"""

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import hint, holds_lengths, is_open, is_open_type
from xrelay.dialects.shapes import HasNoCode
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.emit.attributes import POINTER
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext, Team
from xrelay.lowering.emit.evaluate import Buffer, Evaluator, Leaf, leaf_element, leaf_shape
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.group import Group
from xrelay.lowering.emit.packing import Packing
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.loops.halo import clear_halo
from xrelay.lowering.operators.core.values import source_leaves
from xrelay.lowering.operators.tensor.joining import has_many_fields
from xrelay.lowering.operators.tensor.reshape import reshaped_position
from xrelay.lowering.program.anchors import (
    BROADCASTING,
    ELEMENTWISE,
    reshaped,
    without_last_reshapes,
)
from xrelay.lowering.program.elements import with_elements
from xrelay.lowering.program.on_demand import Rest, emit_on_demand, is_light
from xrelay.lowering.program.operations import PASSING_ON
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.registry import (
    RULES,
    STRATEGIES,
    breaks_rows,
    reads_again,
    why_no_code,
)
from xrelay.lowering.program.selection import Choice
from xrelay.lowering.program.small import threads_of
from xrelay.lowering.program.storage import leaves_of

KERNEL_ATTRIBUTE = "xrelay.kernel"
"""Marks the functions that are kernels."""
SCRATCH_ATTRIBUTE = "xrelay.scratch_bytes"
"""How many bytes of scratch memory a kernel needs."""

MAX_POSITIONS = 4
"""A value that is wanted at more positions at once is computed into scratch memory first."""
TOO_MANY_POSITIONS = frozenset[Hashable](range(MAX_POSITIONS + 1))
"""Those at which a value is wanted that has to be in memory."""


MANY_LIGHT = 8
"""So many of them are repeated for every register of an anchor; more are run in a loop."""


@dataclass(frozen=True)
class Kernel:
    """
    A kernel function: pointers to the parameters' tensors, to the constants, to the result's
    tensors, to the table of lengths if it reads that, and to scratch memory; the number of the thread, how many
    there are, and the team.
    """

    function: func.FuncOp
    scratch_bytes: int
    packings: dict[int, Packing]
    """The order in which inputs that are constants are expected, by number."""
    reads_lengths: bool = False
    """Whether it reads lengths that are not known before the program runs."""
    is_alone: bool = False
    """Whether it is for one thread, in a program for several."""
    elements: int = 1
    """How many elements its results have; without any it must not run."""


def kernel_inputs(group: Group, values: Sequence[SSAValue]) -> list[Leaf]:
    """
    The tensors that a kernel reads, in the order of its parameters: those of `values`, which are `params` or `args` of
    the group, and constants among the operators.
    """
    return list(leaves_of(*values, *(constant.result for constant in group.constants)))


def build_kernel(
    group: Group,
    name: str,
    options: KernelOptions,
    choices: Sequence[Choice],
    inputs: Sequence[Format],
    outputs: Sequence[Format],
    rests: Sequence[Rest | None],
) -> Kernel:
    """
    The kernel of a group whose operators are computed as chosen, for tensors in the given formats. `rests` has, for each
    result, which part is to be computed where that is not all of it; no anchor computes such results. In a program for several
    threads one alone computes what is small, or cannot be shared.

    Raises DiagnosticException for operators and types that have no kernel code.
    """
    threads = threads_of(group, options)
    with with_elements(group) as elements:
        kernel, shares = _built(group, name, options, threads, choices, inputs, outputs, rests)
        if threads > 1 and not shares and options.has_small_steps:
            kernel, _ = _built(group, name, options, 1, choices, inputs, outputs, rests)
    return replace(kernel, elements=elements)


def _built(
    group: Group,
    name: str,
    options: KernelOptions,
    threads: int,
    choices: Sequence[Choice],
    inputs: Sequence[Format],
    outputs: Sequence[Format],
    rests: Sequence[Rest | None],
) -> tuple[Kernel, bool]:
    """A kernel for so many threads, and whether there is work that they share."""
    count = len(inputs) + len(outputs)
    reads_lengths = (
        any(is_open_type(each.type) for each in group.values)
        or any(is_open(each) for format in (*inputs, *outputs) for each in format.strides)
        or any(holds_lengths(inner) for op in group.ops for inner in op.walk())
    )
    block = Block(arg_types=[*[POINTER] * (count + reads_lengths + 1), i64, i64, POINTER])
    lengths = block.args[count] if reads_lengths else None
    b = KernelBuilder(block, options.target, lengths, flushes_bfloat=options.flushes_bfloat)
    evaluator = Evaluator(b, RULES)
    leaves = kernel_inputs(group, group.params)
    for leaf, arg, format in zip(leaves, block.args, inputs, strict=False):
        evaluator.buffers[leaf] = Buffer(arg, format, leaf_element(leaf))
    places = zip(leaves_of(group.result), block.args[len(inputs) : count], outputs, strict=True)
    results = [Buffer(arg, format, leaf_element(leaf)) for leaf, arg, format in places]
    scratch, *team = block.args[-4:]
    ctx = KernelContext(
        b, evaluator, scratch, Team(threads, *team), results, frozenset(group.known)
    )
    ctx.weights_are_kept = options.weights_are_kept
    _emit_group(ctx, group, choices, rests)
    b.insert(func.ReturnOp())
    function = func.FuncOp(
        name, FunctionType.from_lists(block.arg_types, []), Region(block), visibility="private"
    )
    function.attributes[KERNEL_ATTRIBUTE] = UnitAttr()
    function.attributes[SCRATCH_ATTRIBUTE] = IntegerAttr(hint(ctx.scratch_bytes), i64)
    packings = {
        i: ctx.packings[value] for i, (value, _) in enumerate(leaves) if value in ctx.packings
    }
    is_alone = threads < options.threads
    return Kernel(function, ctx.scratch_bytes, packings, reads_lengths, is_alone), ctx.shares


def _require_code(group: Group) -> None:
    """Raises DiagnosticException for a group with operators that have no kernel code."""
    missing = [op for op in group.ops if type(op) not in RULES and type(op) not in STRATEGIES]
    if missing:
        names = dict.fromkeys(op.name for op in missing)
        reasons = dict.fromkeys(filter(None, (why_no_code(type(op)) for op in missing)))
        why = f": {'; '.join(reasons)}" if reasons else ""
        raise HasNoCode(f"no kernel code for {', '.join(names)}{why}")
    for op in group.ops:
        why = op.undefined() if isinstance(op, RelayOp) else None
        if why is not None:
            raise DiagnosticException(f"no kernel code for {op.name}: {why}")


def _emit_group(
    ctx: KernelContext, group: Group, choices: Sequence[Choice], rests: Sequence[Rest | None]
) -> None:
    _require_code(group)
    chosen = {choice.op: choice for choice in choices}

    def emit(op: Operation, sink: Sink) -> None:
        leaves = list(leaves_of(op.results[0]))
        if leaves and all(0 in leaf_shape(leaf) for leaf in leaves):
            return
        choice = chosen[op]
        ctx.numbers = choice.numbers
        ctx.is_begun = op.results[0] is group.result and any(rest is not None for rest in rests)
        choice.implementation.emit(ctx, op, sink)

    for buffer in ctx.results:
        clear_halo(ctx, buffer)
    anchor = next((choice.op for choice in choices if choice.is_anchor), None)
    repeated = _often_wanted(group, chosen.keys()) | _scattered(ctx, group, chosen.keys())
    for op in group.ops:
        if op is not anchor and op in chosen:
            buffers = _result_buffers(ctx, op, group)
            ctx.places = buffers
            places = dict(zip(leaves_of(op.results[0]), buffers, strict=True))
            if type(op) not in RULES:
                # Some read what they have written. Others ask for elements by the rule.
                ctx.ev.buffers.update(places)
            emit(op, ctx.sinks[0])
            ctx.barrier()
            ctx.ev.buffers.update(places)
            continue
        for leaf in leaves_of(op.results[0]):
            if leaf in repeated:
                kept = ctx.scratch(leaf_element(leaf), row_major(leaf_shape(leaf)))
                emit_on_demand(ctx, _up_to(ctx, group, leaf), {leaf: kept})
                ctx.barrier()
                ctx.ev.buffers[leaf] = kept
    if anchor is None:
        _emit_results(ctx, group, rests)
    else:
        epilogue = _epilogue(ctx, group, anchor)
        # Nothing is left to do behind the anchor where its result is the kernel's.
        ctx.places = ctx.results if anchor.results[0] is group.result else []
        emit(anchor, epilogue)


def _emit_results(ctx: KernelContext, group: Group, rests: Sequence[Rest | None]) -> None:
    """The results that do not lie in their buffers yet, those of a shape in one loop."""
    by_shape: dict[tuple[tuple[int, ...], Rest | None], dict[Leaf, Buffer]] = {}
    for leaf, buffer, rest in zip(leaves_of(group.result), ctx.results, rests, strict=True):
        if ctx.ev.buffers.get(leaf) is not buffer:
            by_shape.setdefault((buffer.shape, rest), {})[leaf] = buffer
    for (_, rest), results in by_shape.items():
        emit_on_demand(ctx, group, results, rest)


def _epilogue(ctx: KernelContext, group: Group, anchor: Operation) -> Sink:
    """What becomes of the elements of the operator whose loops the kernel has: the rest of the group."""
    inner = without_last_reshapes(group)
    last, leaf = (inner.result, 0), (anchor.results[0], 0)
    after_reshapes = (reshaped(anchor.results[0], inner), 0)
    (buffer,) = ctx.results
    after = group.ops[group.ops.index(anchor) + 1 :]
    computing = [
        op
        for op in after
        if not isinstance(op, (ConstantOp, *PASSING_ON)) and not op.has_trait(ReshapeOnly)
    ]
    ctx.heavy_epilogue = len(computing) > MANY_LIGHT or not all(
        is_light(ctx, op) for op in computing
    )

    def sink(position: Position, value: SSAValue) -> None:
        if after_reshapes != leaf:
            position = reshaped_position(ctx.b, position, leaf_shape(after_reshapes))
        ctx.ev.bind(after_reshapes, position, value)
        value = ctx.ev.get(last, position)
        if inner.result is not group.result:
            position = reshaped_position(ctx.b, position, buffer.shape)
        ctx.store(buffer, position, value)

    return sink


def _result_buffers(ctx: KernelContext, op: Operation, group: Group) -> list[Buffer]:
    """Where the tensors of an operator's result go: into the kernel's result, or scratch memory."""
    if op.results[0] is group.result:
        return ctx.results
    return [
        ctx.scratch(leaf_element(leaf), row_major(leaf_shape(leaf)))
        for leaf in leaves_of(op.results[0])
    ]


def _often_wanted(group: Group, complex_ops: AbstractSet[Operation]) -> set[Leaf]:
    """
    Tensors that would be computed at more than MAX_POSITIONS unrelated positions for each element
    of the result, because operators that move elements ask for them again and again. Computed
    on demand, a chain of such operators would grow exponentially. `complex_ops` have their results
    in memory anyway.
    """
    wanted: dict[Leaf, set[Hashable]] = {leaf: {leaf} for leaf in source_leaves(group.result)}
    often: set[Leaf] = set()

    def want(leaf: Leaf, positions: AbstractSet[Hashable]) -> None:
        known = wanted.setdefault(leaf, set())
        if len(known) <= MAX_POSITIONS:
            known |= positions

    for op in reversed(group.ops):
        if isinstance(op, PASSING_ON):
            continue
        in_memory = has_many_fields(op)
        for leaf in leaves_of(op.results[0]):
            positions, own = wanted.get(leaf, set()), set[Hashable]((leaf,))
            if op in complex_ops:
                positions = own
            elif len(positions) > MAX_POSITIONS and op.operands:
                often.add(leaf)
                positions = own
            for operand in op.operands:
                for field, source in zip(leaves_of(operand), source_leaves(operand), strict=True):
                    if in_memory:
                        want(source, TOO_MANY_POSITIONS)
                    elif isinstance(op, BROADCASTING):
                        want(source, positions)
                    else:
                        want(source, {(leaf, field, each) for each in positions})
    return often


def _scattered(ctx: KernelContext, group: Group, complex_ops: AbstractSet[Operation]) -> set[Leaf]:
    """
    Tensors of which much is computed, and which are then read by operators that do not keep neighbours together, or that read
    elements again and again. In memory, they are computed in vectors, and once.
    """
    found: set[Leaf] = set()
    read_apart: set[SSAValue] = set()
    for op in reversed(group.ops):
        apart = any(result in read_apart for result in op.results) and op not in complex_ops
        if apart and isinstance(op, ELEMENTWISE) and not is_light(ctx, op):
            found.update(leaves_of(op.results[0]))
        elif apart or (op not in complex_ops and (breaks_rows(op) or reads_again(op))):
            read_apart.update(op.operands)
    return found


def _up_to(ctx: KernelContext, group: Group, leaf: Leaf) -> Group:
    """The operators of a group that a tensor is computed with on demand."""
    needed: set[SSAValue] = {leaf[0]}
    ops: list[Operation] = []
    for op in reversed(group.ops):
        if not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(each for each in op.operands if (each, 0) not in ctx.ev.buffers)
    return replace(group, ops=tuple(ops[::-1]), result=leaf[0])
