"""
Sequences of tensors of one shape as the rows of a tensor, where how many there are is known when the program runs only,
or where they are many.

    SplitToSequence(x [n, 4], keepdims = 0)                  rows: x
    SequenceAt(…, i)                                         row i of them
    Loop that appends e to a sequence in each round          rows: what its rounds add, of e
"""

from collections.abc import Callable, Sequence

from onnx import GraphProto, NodeProto
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.frontends.onnx.errors import DependsOnData, OnnxImportError
from xrelay.frontends.onnx.importer.core.looping import index, moved, number_of_round, repeated
from xrelay.frontends.onnx.importer.core.parts import all_parts
from xrelay.frontends.onnx.importer.core.unrolling import element
from xrelay.frontends.onnx.importer.emitting import joined
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.importer.rounds import appending_node
from xrelay.frontends.onnx.importer.sequence_forms import Parts, Rows
from xrelay.runtime.arguments import few

MOST_FIELDS = 64
"""How many tensors of a sequence are followed one by one, where they have one shape."""


def rows_of(node: Node, position: int) -> SSAValue | None:
    """The rows of an input that is a sequence in this form, or can be."""
    form = node.form(node.input(position))
    if isinstance(form, Parts):
        return parts_in_rows(node, form.tensor, form.axis, form.size, keeps_axis=True)
    return None if form is None else form.tensor


def stacked(node: Node, fields: Sequence[SSAValue]) -> SSAValue | None:
    """Tensors of one type as the rows of a tensor; None where types differ, or there are none."""
    if not fields or any(each.type != fields[0].type for each in fields):
        return None
    return joined(node, [node.emit(ExpandDimsOp(each, 0)) for each in fields], 0)


def fields_of(node: Node, rows: SSAValue) -> list[SSAValue]:
    """The tensors of a sequence one by one, of which there must be a known number."""
    places = range(node.shape_of(rows)[0])
    node.require_operations(2 * len(places))
    return [element(node, rows, 0, place) for place in places]


def one_by_one(node: Node, sequence: SSAValue) -> SSAValue:
    """A sequence that is one tensor as a tuple of its tensors."""
    form = node.form(sequence)
    assert form is not None
    is_cut = isinstance(form, Parts)
    return node.emit(TupleOp(all_parts(node, form) if is_cut else fields_of(node, form.tensor)))


def parts_in_rows(
    node: Node, data: SSAValue, axis: int, size: int, *, keeps_axis: bool
) -> SSAValue | None:
    """
    The parts of a size along an axis, or of one element without it, as rows; None where the last one is shorter, or where they
    are few.
    """
    shape = node.shape_of(data)
    if is_open(shape[axis]) or is_open(size) or shape[axis] > MOST_FIELDS * size:
        count, rest = divmod(shape[axis], size)
        if not rest:
            lengths = [count, size] if keeps_axis else [count]
            rows = node.emit(ReshapeOp(data, [*shape[:axis], *lengths, *shape[axis + 1 :]]))
            others = [each for each in range(len(node.shape_of(rows))) if each != axis]
            return node.emit(TransposeOp(rows, [axis, *others])) if axis else rows
    return None


def edited(
    node: Node, rows: SSAValue, first: int, last: int, between: Sequence[SSAValue] = ()
) -> SSAValue:
    """Rows without those from a place to before another one, and with tensors there."""
    count = node.shape_of(rows)[0]
    before = [node.emit(StridedSliceOp(rows, [0], [first], axes=[0]))]
    after = [node.emit(StridedSliceOp(rows, [last], [count], axes=[0]))]
    middle = [node.emit(ExpandDimsOp(each, 0)) for each in between]
    return joined(node, [*before, *middle, *after], 0)


def one_after_another(node: Node, rows: SSAValue, axis: int, *, is_new: bool) -> SSAValue:
    """The tensors of a sequence along an axis, or along a new one."""
    if is_new:
        return moved(node, rows, axis)
    count, *shape = node.shape_of(rows)
    found = moved(node, rows, axis)
    return node.emit(ReshapeOp(found, [*shape[:axis], count * shape[axis], *shape[axis + 1 :]]))


def mapped_rows(node: Node, body: GraphProto, rows: SSAValue) -> list[SSAValue]:
    """What a graph makes of the tensors of a sequence, and of the other inputs of a SequenceMap, as rows."""
    count = node.shape_of(rows)[0]
    columns = [rows_of(node, each) for each in range(node.input_count)]
    counts = [node.shape_of(each)[0] for each in columns if each is not None]
    if any(each != count for each in counts):
        raise OnnxImportError(f"its sequences have {few(counts)} tensors")

    def make(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        place = number_of_round(node, number)
        given = [
            node.input(each) if column is None else node.emit(TakeOp(column, place, axis=0))
            for each, column in enumerate(columns)
        ]
        return node.inline_graph(body, given)

    return repeated(node, index(node, count), [], count, [False] * len(body.output), make)


def appending_loop(node: Node, loop: Callable[[Node], Sequence[SSAValue]]) -> list[SSAValue] | None:
    """
    The outputs of a Loop whose rounds do nothing with the sequences that they carry but append to them; None for another
    one. `loop` imports the one without these.

    Raises DependsOnData where what is appended has another shape than what is there.
    """
    body, carried = node.graph("body"), node.input_count - 2
    if len(body.input) < 2 + carried or len(body.output) < 1 + carried:
        return None
    appended: dict[int, str] = {}
    for number in range(carried):
        if is_tensor_type(node.input(2 + number).type):
            continue
        insert = appending_node(body, 2 + number)
        if insert is None:
            return None
        appended[number] = insert.input[1]
    kept = [number for number in range(carried) if number not in appended]
    others = range(carried, len(body.output) - 1)
    made = NodeProto(name=node.name, op_type="Loop")
    attribute = made.attribute.add()
    attribute.CopyFrom(next(each for each in node.proto.attribute if each.name == "body"))
    inner = attribute.g
    inputs, outputs = list(inner.input), list(inner.output)
    del inner.input[:], inner.output[:]
    inner.input.extend([*inputs[:2], *(inputs[2 + number] for number in kept)])
    inner.output.extend([outputs[0], *(outputs[1 + number] for number in (*kept, *others))])
    for name in appended.values():
        inner.output.add(name=name)
    made.input.extend([*(list(node.proto.input[:2])), *(node.proto.input[2 + n] for n in kept)])
    made.output.extend(f"result {number}" for number in range(len(inner.output) - 1))
    results = list(loop(node.like(made)))
    rows = results[len(results) - len(appended) :]
    found = dict(zip((*kept, *others), results, strict=False))
    for number, added in zip(appended, rows, strict=True):
        found[number] = node.sequence(Rows(_behind(node, 2 + number, added)))
    return [found[number] for number in range(carried + len(others))]


def _behind(node: Node, position: int, added: SSAValue) -> SSAValue:
    """The rows of a sequence with more behind them."""
    rows = rows_of(node, position)
    if rows is None:
        owner = node.input(position).owner
        fields = list(owner.fields) if isinstance(owner, TupleOp) else []
        if not fields:
            return added
        rows = stacked(node, fields)
    if rows is None or node.shape_of(rows)[1:] != node.shape_of(added)[1:]:
        raise DependsOnData("its rounds append tensors of another shape to a sequence")
    return joined(node, [rows, added], 0)
