"""
Loops that stay loops. What is carried keeps its type; what rounds add is written row by row into a tensor of
as many rows as there are rounds, which must be known.

    Loop with a number of rounds, Scan    scf.for
    Loop with a condition                 scf.while
"""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Block, Region, SSAValue

from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.shapes import element_count, normalize_axis
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.frontends.onnx.errors import DependsOnData, OnnxImportError
from xrelay.frontends.onnx.importer.core.loop_inputs import loop_parts, scan_parts, single
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.importer.sizes import require_size

INDEX = IndexType()

Body = Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""The values of a round, by its number and the values that it is given."""


def counted_loop(node: Node, rounds: int | None = None) -> Sequence[SSAValue]:
    """Loop whose condition stays true: it makes so many rounds, where that is given, or else as its input M says."""
    body, initial = loop_parts(node)
    going = node.constant(np.array(True))
    added = len(body.output) - 1 - len(initial)
    if rounds is None and node.has_input(1) and not single(node, 1, "cond"):
        rounds = 0
    elif rounds is None and node.known_value(node.input(0)) is not None:
        rounds = max(single(node, 0, "M"), 0)
    if rounds is not None:
        end = index(node, rounds)
    else:
        end = node.add(arith.IndexCastOp(number(node, node.input(0), i64), INDEX))

    def make(count: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if rounds is not None:
            node.note_rounds(count, rounds)
        return node.inline_graph(body, [number_of_round(node, count), going, *carried])[1:]

    if added and rounds is None:
        # Where a round changes what it carries, it is no help to know how many there are.
        block = Block(arg_types=[INDEX, *(value.type for value in initial)])
        require_types(initial, make(block.args[0], block.args[1:])[: len(initial)])
    if added and (rounds is None or certainly(rounds, 0)):
        raise DependsOnData(
            "input 0 ('M') is not a constant, and the shape of what rounds add depends on it"
            if rounds is None
            else "it makes no round, and the shape of what rounds add is not known"
        )
    return repeated(node, end, initial, 0 if rounds is None else rounds, [False] * added, make)


def counted_scan(node: Node) -> Sequence[SSAValue]:
    """Scan: each round takes a slice of each scanned tensor."""
    parts = scan_parts(node)
    last = index(node, parts.rounds - 1)

    def make(count: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        slices: list[SSAValue] = []
        for value, axis, backwards in parts.inputs:
            at = node.add(arith.SubiOp(last, count)) if backwards else count
            slices.append(node.emit(TakeOp(value, number_of_round(node, at), axis=axis)))
        return node.inline_graph(parts.body, [*carried, *slices])

    end = index(node, parts.rounds)
    backwards = [bool(back) for _, back in parts.outputs]
    results = repeated(node, end, parts.states, parts.rounds, backwards, make)
    states = len(parts.states)
    collected = [
        moved(node, rows, axis)
        for rows, (axis, _) in zip(results[states:], parts.outputs, strict=True)
    ]
    return [*results[:states], *collected]


def tested_loop(node: Node) -> Sequence[SSAValue]:
    """Loop with a condition, at most as many rounds as its input M says, if it has that."""
    body, initial = loop_parts(node)
    if len(body.output) > 1 + len(initial):
        raise DependsOnData(
            "how many rounds it makes is computed, and the shape of what rounds add depends on it"
        )
    zero = constant(node, 0, i64)
    most = number(node, node.input(0), i64) if node.has_input(0) else None
    going = number(node, node.input(1), i1) if node.has_input(1) else constant(node, 1, i1)
    types = [i64, i1, *(value.type for value in initial)]
    test, round_ = Block(arg_types=types), Block(arg_types=types)
    first = node.operation_count
    count, goes, *_ = test.args
    if most is not None:
        goes = node.add(arith.AndIOp(goes, node.add(arith.CmpiOp(count, most, "slt"))))
    node.close(test, scf.ConditionOp(goes, *test.args), first)
    first = node.operation_count
    count, goes, *carried = round_.args
    given = [as_tensor(node, count), as_tensor(node, goes), *carried]
    condition, *following = node.inline_graph(body, given)
    require_types(initial, following)
    again = number(node, condition, i1)
    after = node.add(arith.AddiOp(count, constant(node, 1, i64)))
    node.close(round_, scf.YieldOp(after, again, *following), first)
    op = scf.WhileOp([zero, going, *initial], types, Region(test), Region(round_))
    node.add(op)
    return op.results[2:]


def repeated(
    node: Node,
    end: SSAValue,
    initial: Sequence[SSAValue],
    rounds: int,
    backwards: Sequence[bool],
    make: Body,
) -> list[SSAValue]:
    """
    What an `scf.for` from 0 to an end gives: the carried values after the last round, and for each further
    value of a round, in which the last comes first where `backwards` says so, its rows.
    """
    block = Block(arg_types=[INDEX, *(value.type for value in initial)])
    first = node.operation_count
    count, *carried = block.args
    results = make(count, carried)
    following, added = results[: len(initial)], results[len(initial) :]
    require_types(initial, following)
    row_inputs: list[SSAValue] = []
    grown: list[SSAValue] = []
    for row, back in zip(added, backwards, strict=True):
        type_ = TensorType(node.element_type(row), [rounds, *node.shape_of(row)])
        require_size(type_.get_shape(), "what its rounds add")
        rows = block.insert_arg(type_, len(block.args))
        at = node.add(arith.SubiOp(index(node, rounds - 1), count)) if back else count
        shape = [1, *node.shape_of(row)]
        offsets = [DYNAMIC_INDEX, *[0] * len(shape[1:])]
        sizes = [DYNAMIC_INDEX if is_open(length) else length for length in shape]
        computed = [index(node, length) for length in shape if is_open(length)]
        insertion = tensor.InsertSliceOp.get(
            row, rows, sizes, offsets, offsets=[at], sizes=computed
        )
        grown.append(node.add(insertion))
        row_inputs.append(rows)
    node.close(block, scf.YieldOp(*following, *grown), first)
    begins = [node.add(tensor.EmptyOp([], rows.type)) for rows in row_inputs]
    loop = scf.ForOp(index(node, 0), end, index(node, 1), [*initial, *begins], block)
    node.add(loop)
    return list(loop.results)


def require_types(before: Sequence[SSAValue], after: Sequence[SSAValue]) -> None:
    """Raises DependsOnData where a round changes the type of what it carries."""
    for position, (old, new) in enumerate(zip(before, after, strict=True)):
        if old.type != new.type:
            raise DependsOnData(
                f"a round makes {new.type} of its carried value {position}, which is {old.type} before",
                inside=True,
            )


def number(node: Node, value: SSAValue, type_: IntegerType) -> SSAValue:
    """The element of a tensor that has only one, as a number in a register."""
    if node.element_type(value) != type_ or element_count(node.shape_of(value)) != 1:
        raise OnnxImportError(f"{value.type} is given, expected one element of type {type_}")
    if node.shape_of(value):
        value = node.emit(ReshapeOp(value, []))
    return node.add(tensor.ExtractOp(value, [], type_))


def as_tensor(node: Node, value: SSAValue) -> SSAValue:
    """A number in a register as a tensor of rank 0."""
    return node.add(tensor.FromElementsOp(value, result_type=TensorType(value.type, [])))


def number_of_round(node: Node, count: SSAValue) -> SSAValue:
    """An index as a tensor of rank 0."""
    return as_tensor(node, node.add(arith.IndexCastOp(count, i64)))


def constant(node: Node, value: int, type_: IntegerType | IndexType) -> SSAValue:
    """A constant in a register."""
    return node.add(arith.ConstantOp(IntegerAttr(value, type_)))


def index(node: Node, value: int) -> SSAValue:
    """A constant index."""
    return constant(node, value, INDEX)


def moved(node: Node, rows: SSAValue, axis: int) -> SSAValue:
    """Rows, with their axis at another place."""
    rank = len(node.shape_of(rows))
    place = normalize_axis(axis, rank)
    if place == 0:
        return rows
    return node.emit(TransposeOp(rows, [*range(1, place + 1), 0, *range(place + 1, rank)]))
