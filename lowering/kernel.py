"""
A group of operators as one kernel function.

    group ──► complex operators that are not the anchor: into scratch memory, one after the other
          ──► the anchor, if there is one: its strategy's loops, the rest of the group in the sink
              otherwise: loops over the result, everything on demand

The anchor is the last operator with a strategy, when every operator between it and the result
works element by element: then what remains of the group runs on its registers.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, UnitAttr, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.annotation import AnnotationOp
from xrelay.dialects.binary import BINARY_OPS
from xrelay.dialects.core import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.norm import BatchNormOp, BiasAddOp
from xrelay.dialects.transform import WhereOp
from xrelay.dialects.unary import UNARY_OPS
from xrelay.lowering.builder import Index, KernelBuilder
from xrelay.lowering.core import source_leaf
from xrelay.lowering.elements import Element, element, leaf_types
from xrelay.lowering.evaluate import Buffer, Evaluator, Leaf, leaf_element, leaf_shape
from xrelay.lowering.group import Group
from xrelay.lowering.norm import channel_shape
from xrelay.lowering.position import Position
from xrelay.lowering.registry import RULES, STRATEGIES
from xrelay.lowering.strategy import KernelContext, select_implementation
from xrelay.lowering.target import Target
from xrelay.lowering.transform import varies_along_row

KERNEL_ATTRIBUTE = "xrelay.kernel"
"""Marks the functions that are kernels."""
SCRATCH_ATTRIBUTE = "xrelay.scratch_bytes"
"""How many bytes of scratch memory a kernel needs."""

ELEMENTWISE = (*UNARY_OPS, *BINARY_OPS, WhereOp, BiasAddOp)
"""Operators whose result elements depend on operand elements at the same index."""
BROADCASTING = (*ELEMENTWISE, BatchNormOp)

PASSING_ON = (TupleOp, TupleGetItemOp, AnnotationOp)
"""Operators whose result is what they are given."""

MAX_POSITIONS = 4
"""A value that is wanted at more positions at once is computed into scratch memory first."""


@dataclass(frozen=True)
class Kernel:
    """A kernel function: pointers to the parameters' tensors, to the constants, to the result's
    tensors, and to scratch memory."""

    function: func.FuncOp
    scratch_bytes: int


def build_kernel(group: Group, name: str, target: Target) -> Kernel:
    """
    The kernel of a group.

    Raises DiagnosticException for operators and types that have no kernel code.
    """
    inputs = [
        *((param, i) for param in group.params for i in range(len(leaf_types(param.type)))),
        *((constant.result, 0) for constant in group.constants),
    ]
    outputs: list[Leaf] = [(group.result, i) for i in range(len(leaf_types(group.result.type)))]
    pointer = LLVMPointerType()
    block = Block(arg_types=[pointer] * (len(inputs) + len(outputs) + 1))
    b = KernelBuilder(block, target)
    evaluator = Evaluator(b, RULES)
    for leaf, arg in zip(inputs, block.args, strict=False):
        evaluator.buffers[leaf] = Buffer(arg, leaf_shape(leaf), leaf_element(leaf))
    results = [
        Buffer(arg, leaf_shape(leaf), leaf_element(leaf))
        for leaf, arg in zip(outputs, block.args[len(inputs) : -1], strict=True)
    ]
    ctx = KernelContext(b, evaluator, block.args[-1])
    _emit_group(ctx, group, results)
    b.insert(func.ReturnOp())
    function = func.FuncOp(
        name, FunctionType.from_lists(block.arg_types, []), Region(block), visibility="private"
    )
    function.attributes[KERNEL_ATTRIBUTE] = UnitAttr()
    function.attributes[SCRATCH_ATTRIBUTE] = IntegerAttr(ctx.scratch_bytes, i64)
    return Kernel(function, ctx.scratch_bytes)


def _emit_group(ctx: KernelContext, group: Group, results: list[Buffer]) -> None:
    missing = [op.name for op in group.ops if type(op) not in RULES and type(op) not in STRATEGIES]
    if missing:
        raise DiagnosticException(f"no kernel code for {', '.join(dict.fromkeys(missing))}")
    complex_ops = [op for op in group.ops if type(op) in STRATEGIES]
    anchor = complex_ops[-1] if complex_ops and len(results) == 1 else None
    if anchor is not None and not _keeps_indices(anchor, group):
        anchor = None
    repeated = _often_wanted(group)
    for op in group.ops:
        if op is not anchor and type(op) in STRATEGIES:
            _materialize(ctx, op)
            continue
        for leaf in _leaves(op.results[0]):
            if leaf in repeated:
                kept = ctx.scratch(leaf_element(leaf), leaf_shape(leaf))
                _emit_on_demand(ctx, group, leaf, kept)
                ctx.ev.buffers[leaf] = kept
    if anchor is None:
        for number, buffer in enumerate(results):
            _emit_on_demand(ctx, group, (group.result, number), buffer)
        return
    leaf = (anchor.results[0], 0)
    (buffer,) = results

    def sink(position: Position, value: SSAValue) -> None:
        ctx.ev.bind(leaf, position, value)
        _store(ctx, buffer, position, ctx.ev.get((group.result, 0), position))

    select_implementation(STRATEGIES[type(anchor)], anchor, ctx.target).emit(ctx, anchor, sink)


def _store(ctx: KernelContext, buffer: Buffer, position: Position, value: SSAValue) -> None:
    ctx.b.store(buffer.pointer, position.offset(ctx.b), buffer.element, value)


def _materialize(ctx: KernelContext, op: Operation) -> None:
    """Computes an operator into scratch memory."""
    leaf = (op.results[0], 0)
    buffer = ctx.scratch(leaf_element(leaf), leaf_shape(leaf))
    implementation = select_implementation(STRATEGIES[type(op)], op, ctx.target)
    implementation.emit(ctx, op, lambda place, value: _store(ctx, buffer, place, value))
    ctx.ev.buffers[leaf] = buffer


def _keeps_indices(anchor: Operation, group: Group) -> bool:
    """Whether every use of the anchor on the way to the result is at the index of the result."""
    result = group.result
    shape = leaf_shape((anchor.results[0], 0))
    if leaf_shape((result, 0)) != shape:
        return False
    depends: set[SSAValue] = {anchor.results[0]}
    for op in group.ops:
        used = [i for i, operand in enumerate(op.operands) if operand in depends]
        if not used:
            continue
        same_place = all(
            leaf_shape((op.operands[i], 0)) == shape and channel_shape(op, i) is None for i in used
        )
        if not isinstance(op, ELEMENTWISE) or not same_place:
            return False
        depends.add(op.results[0])
    return result in depends


def _leaves(value: SSAValue) -> list[Leaf]:
    return [(value, number) for number in range(len(leaf_types(value.type)))]


def _often_wanted(group: Group) -> set[Leaf]:
    """
    Tensors that would be computed at more than MAX_POSITIONS unrelated positions for each element
    of the result, because operators that move elements ask for them again and again. Computed
    on demand, a chain of such operators would grow exponentially.
    """
    wanted: dict[Leaf, set[Hashable]] = {
        leaf: {leaf} for leaf in map(source_leaf, _leaves(group.result))
    }
    often: set[Leaf] = set()

    def want(leaf: Leaf, positions: set[Hashable]) -> None:
        known = wanted.setdefault(source_leaf(leaf), set())
        if len(known) <= MAX_POSITIONS:
            known |= positions

    for op in reversed(group.ops):
        if isinstance(op, PASSING_ON):
            continue
        for leaf in _leaves(op.results[0]):
            positions, own = wanted.get(leaf, set()), set[Hashable]((leaf,))
            if type(op) in STRATEGIES:
                positions = own
            elif len(positions) > MAX_POSITIONS and op.operands:
                often.add(leaf)
                positions = own
            for operand in op.operands:
                for source in _leaves(operand):
                    if isinstance(op, BROADCASTING):
                        want(source, positions)
                    else:
                        want(source, {(leaf, source, each) for each in positions})
    return often


def _emit_on_demand(ctx: KernelContext, group: Group, leaf: Leaf, buffer: Buffer) -> None:
    """Loops over all elements of a tensor."""
    b, shape = ctx.b, buffer.shape
    if 0 in shape:
        return
    span = _widest_span(group, shape)
    outer, inner = shape[: len(shape) - span], prod(shape[len(shape) - span :])
    lanes = _lanes(ctx, group)

    def row(indices: tuple[Index, ...]) -> None:
        def elements(start: Index, width: int) -> None:
            position = Position(shape, indices, start, width)
            _store(ctx, buffer, position, ctx.ev.get(leaf, position))

        ctx.vectors(inner, lanes, elements)

    b.loop_nest(outer, row)


def _lanes(ctx: KernelContext, group: Group) -> int:
    """As many lanes as fit for the widest elements; one where vectors would be put together."""
    if any(varies_along_row(op) for op in group.ops if (op.results[0], 0) not in ctx.ev.buffers):
        return 1
    kinds: list[Element] = [
        element(type_.element_type)
        for value in (*group.params, *(op.results[0] for op in group.ops))
        for type_ in leaf_types(value.type)
    ]
    return ctx.target.lanes(max(kind.bytes for kind in kinds))


def _widest_span(group: Group, shape: tuple[int, ...]) -> int:
    """
    How many of the last axes can be run through as one: those on which every operand of the
    group either has all the lengths of the result or only lengths of 1.
    """
    rank = len(shape)
    span = rank
    for op in group.ops:
        if isinstance(op, ConstantOp):
            continue
        if not isinstance(op, BROADCASTING) or leaf_shape((op.results[0], 0)) != shape:
            return 1 if rank else 0
        for i in range(len(op.operands)):
            operand = channel_shape(op, i) or leaf_shape((op.operands[i], 0))
            padded = (1,) * (rank - len(operand)) + operand
            while span > 1 and not (
                padded[rank - span :] == shape[rank - span :]
                or all(dim == 1 for dim in padded[rank - span :])
            ):
                span -= 1
    return span
