"""
Sequences and optional values of tensors. A sequence is a tuple whose tensors are known one by one, so its length is
that of the tuple: what says how long it is, or which of its tensors are meant, must be known. Many tensors of one shape, or
so many as a length says, are the rows of one tensor instead (`rows.py`), or its parts (`parts.py`).
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.lengths import certainly, is_open
from xrelay.dialects.shapes import is_tensor_type, normalize_axis
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.core.parts import all_parts, count_of, part, parts_of, slices
from xrelay.frontends.onnx.importer.core.rows import (
    edited,
    fields_of,
    mapped_rows,
    one_after_another,
    parts_in_rows,
    rows_of,
    stacked,
)
from xrelay.frontends.onnx.importer.core.unrolling import element
from xrelay.frontends.onnx.importer.emitting import joined
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sequence_forms import Parts, Rows
from xrelay.frontends.onnx.importer.shape_arithmetic import number_array


def _fields(node: Node, index: int) -> list[SSAValue]:
    """The tensors of an input that is a sequence."""
    value = node.input(index)
    if not isinstance(value.owner, TupleOp):
        raise OnnxImportError(f"input {index} is a tensor, expected a sequence")
    parts = parts_of(node, value)
    if parts is not None:
        return all_parts(node, parts)
    rows = rows_of(node, index)
    return list(value.owner.fields) if rows is None else fields_of(node, rows)


def _place(node: Node, index: int, length: int, *, may_end: bool = False) -> int:
    """An input that is a place from 0 to before `length`, or with `may_end` up to `length`, or counted from the end."""
    last = length if may_end else length - 1
    numbers = node.known_integers(index, "position")
    if len(numbers) != 1 or not -length <= numbers[0] <= last:
        raise OnnxImportError(
            f"input {index} ('position') is {numbers}, accepted range is [{-length}, {last}]"
        )
    (place,) = numbers
    return place + length if place < 0 else place


def construct(node: Node) -> SSAValue:
    """SequenceConstruct."""
    return node.emit(TupleOp(node.inputs()))


def empty(node: Node) -> SSAValue:
    """SequenceEmpty."""
    node.ignore("dtype")
    return node.emit(TupleOp([]))


def at(node: Node) -> SSAValue:
    """SequenceAt: one of the tensors."""
    parts, is_known = parts_of(node, node.input(0)), node.known_value(node.input(1)) is not None
    if parts is not None and is_known:
        return part(node, parts, _place(node, 1, count_of(node, parts)))
    rows = rows_of(node, 0)
    if rows is None:
        fields = _fields(node, 0)
        # In bodies, which are unrolled where that makes places known, all would be put together in each round.
        rows = None if is_known or not node.is_of_graph else stacked(node, fields)
        if rows is None:
            return fields[_place(node, 1, len(fields))]
    if is_known:
        return element(node, rows, 0, _place(node, 1, node.shape_of(rows)[0]))
    return node.emit(TakeOp(rows, node.input_as_scalar(1), axis=0, mode="wrap"))


def insert(node: Node) -> SSAValue:
    """SequenceInsert: a tensor more, by default as the last one; places from the end count those before."""
    rows, tensor = rows_of(node, 0), node.input(1)
    if rows is not None and node.shape_of(rows)[1:] == node.shape_of(tensor):
        count = node.shape_of(rows)[0]
        place = _place(node, 2, count, may_end=True) if node.has_input(2) else count
        return node.sequence(Rows(edited(node, rows, place, place, [tensor])))
    fields = _fields(node, 0)
    place = _place(node, 2, len(fields), may_end=True) if node.has_input(2) else len(fields)
    fields.insert(place, tensor)
    return node.emit(TupleOp(fields))


def erase(node: Node) -> SSAValue:
    """SequenceErase: a tensor fewer, by default the last one."""
    rows = rows_of(node, 0)
    if rows is not None:
        count = node.shape_of(rows)[0]
        place = _place(node, 1, count) if node.has_input(1) else count - 1
        return node.sequence(Rows(edited(node, rows, place, place + 1)))
    fields = _fields(node, 0)
    if not fields:
        raise OnnxImportError("its sequence is empty")
    del fields[_place(node, 1, len(fields)) if node.has_input(1) else -1]
    return node.emit(TupleOp(fields))


def length(node: Node) -> SSAValue:
    """SequenceLength."""
    parts = parts_of(node, node.input(0))
    if parts is not None:
        return node.constant(number_array([count_of(node, parts)], ()))
    rows = rows_of(node, 0)
    if rows is not None:
        return node.constant(number_array(node.shape_of(rows)[:1], ()))
    return node.constant(np.array(len(_fields(node, 0)), np.int64))


def concatenate(node: Node) -> SSAValue:
    """ConcatFromSequence: the tensors along an axis, or along a new one."""
    axis, new = node.integer("axis"), node.flag("new_axis")
    parts = parts_of(node, node.input(0))
    if parts is not None and not new:
        rank = len(node.shape_of(parts.tensor))
        if normalize_axis(axis, rank) == parts.axis:
            return parts.tensor
    rows = rows_of(node, 0)
    if rows is not None:
        rank = len(node.shape_of(rows)) - (not new)
        return one_after_another(node, rows, normalize_axis(axis, rank), is_new=new)
    fields = _fields(node, 0)
    if not fields:
        raise OnnxImportError("its sequence is empty")
    if new:
        axis = normalize_axis(axis, len(node.shape_of(fields[0])) + 1)
        fields = [node.emit(ExpandDimsOp(each, axis)) for each in fields]
    return joined(node, fields, axis)


def split(node: Node) -> SSAValue:
    """SplitToSequence: parts of stated lengths, of one length, or of length 1, whose axis may go."""
    keep = node.flag("keepdims", default=True)
    data = node.input(0)
    shape = node.shape_of(data)
    axis = normalize_axis(node.integer("axis", 0), len(shape))
    squeezed = not keep and not node.has_input(1)
    lengths = node.known_lengths(1, "split") if node.has_input(1) else [1]
    if not node.has_input(1) or not node.shape_of(node.input(1)):
        (size,) = lengths
        if size < 1:
            raise OnnxImportError("input 1 ('split') is 0, expected a positive number")
        if is_open(shape[axis]) and not certainly(shape[axis] % size, 0):
            return node.sequence(Parts(data, axis, size))
        rows = parts_in_rows(node, data, axis, size, keeps_axis=not squeezed)
        if rows is not None:
            return node.sequence(Rows(rows))
        whole, rest = divmod(shape[axis], size)
        lengths = [size] * whole + [rest] * (rest > 0)
    if sum(lengths) != shape[axis]:
        raise OnnxImportError(f"parts of {lengths} elements of an axis of {shape[axis]}")
    node.require_operations(len(lengths) * (2 if squeezed else 1))
    parts = slices(node, data, axis, accumulate(lengths, initial=0))
    if squeezed:
        parts = [node.emit(SqueezeOp(each, (axis,))) for each in parts]
    return node.emit(TupleOp(parts))


def mapped(node: Node) -> Sequence[SSAValue]:
    """SequenceMap: what a graph makes of each tensor; other inputs are sequences of as many, or tensors for all."""
    body, rows = node.graph("body"), rows_of(node, 0)
    are_rows = all(
        is_tensor_type(node.input(index).type) or rows_of(node, index) is not None
        for index in range(node.input_count)
    )
    if rows is not None and are_rows and not node.unrolls:
        try:
            return [node.sequence(Rows(each)) for each in mapped_rows(node, body, rows)]
        except UnsupportedNode:
            # What a round takes may be known where there is one for each tensor.
            if is_open(node.shape_of(rows)[0]):
                raise
    first = _fields(node, 0)
    columns: list[list[SSAValue]] = []
    for index in range(node.input_count):
        value = node.input(index)
        column = [value] * len(first) if is_tensor_type(value.type) else _fields(node, index)
        if len(column) != len(first):
            raise OnnxImportError(f"its sequences have {len(first)} and {len(column)} tensors")
        columns.append(column)
    rounds = [node.inline_graph(body, row) for row in zip(*columns, strict=True)]
    outputs = [[each[number] for each in rounds] for number in range(len(body.output))]
    return [node.emit(TupleOp(fields)) for fields in outputs]


def optional(node: Node) -> SSAValue:
    """Optional with a value, which stands for itself."""
    node.ignore("type")
    if not node.has_input(0):
        raise UnsupportedNode("it has no value, and values that are absent are no tensors")
    return node.input(0)


def has_element(node: Node) -> SSAValue:
    """OptionalHasElement: whether there is an input, as what is optional is there or was refused."""
    there = node.input_count > 0 and node.has_input(0)
    if there:
        node.input(0)
    return node.constant(np.array(there))


def get_element(node: Node) -> SSAValue:
    """OptionalGetElement."""
    return node.input(0)


CONVERTERS: ConverterTable = {
    "ConcatFromSequence": {11: concatenate},
    "Optional": {15: optional},
    "OptionalGetElement": {15: get_element},
    "OptionalHasElement": {15: has_element},
    "SequenceAt": {11: at},
    "SequenceConstruct": {11: construct},
    "SequenceEmpty": {11: empty},
    "SequenceErase": {11: erase},
    "SequenceInsert": {11: insert},
    "SequenceLength": {11: length},
    "SequenceMap": {17: mapped},
    "SplitToSequence": {11: split},
}
