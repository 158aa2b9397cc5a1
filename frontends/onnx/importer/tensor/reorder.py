"""Triangles of matrices, and sequences in reverse order."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.reorder import ReverseSequenceOp, TriluOp
from xrelay.frontends.onnx.importer.emitting import require_range
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def triangle(node: Node) -> SSAValue:
    """Trilu: the upper or the lower triangle of matrices; `k` may be computed."""
    upper = node.flag("upper", default=True)
    k = node.input_as_scalar(1) if node.has_input(1) else node.constant(np.array(0, np.int64))
    return node.emit(TriluOp(node.input(0), k, upper=upper))


def reverse_sequence(node: Node) -> SSAValue:
    """ReverseSequence: the first elements of each sequence in reverse order."""
    batch_axis, time_axis = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    data, lengths = node.input(0), node.input(1)
    op = ReverseSequenceOp(data, lengths, seq_axis=time_axis, batch_axis=batch_axis)
    require_range(node, 1, "sequence_lens", 0, node.shape_of(data)[time_axis])
    return node.emit(op)


CONVERTERS: ConverterTable = {
    "ReverseSequence": {10: reverse_sequence},
    "Trilu": {14: triangle},
}
