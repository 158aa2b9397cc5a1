"""Instructions of kernels: what would only be slow with others."""

import numpy as np
from graphs import Graph
from xdsl.ir import SSAValue

from xrelay.dialects.nn.norm import LayerNormOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.tensor.unary import FloorOp


def code(graph: Graph) -> str:
    return graph.compile("x86-64-v3").llvm_ir


def test_what_is_standardized_is_computed_once() -> None:
    """Every element is read for the mean, for the variance, and for the result."""
    graph = Graph()
    arrays = graph.small("float32", 4, 64), *graph.small("float32", 2, 64)

    def body(b: Graph, data: SSAValue, *factors: SSAValue) -> SSAValue:
        return b.op(LayerNormOp(b.op(FloorOp(data)), *factors))

    graph.returns(graph.fused([*map(graph.input, arrays)], body))
    assert code(graph).count("= call float @llvm.floor") == 1


def test_rows_between_borders_are_vectors() -> None:
    graph = Graph()
    for length, vectors in ((7, 0), (64, 1)):
        rows = Graph()
        data = rows.input(graph.small("float32", 4, length))
        rows.show(PadOp(data, rows.input(np.float32(0)), [(0, 0), (1, 1)]))
        assert code(rows).count("load <8 x float>") == vectors


def test_rows_that_are_moved_are_vectors() -> None:
    """Only borders along rows break them."""
    for widths, vectors in (([(1, 1), (0, 0)], True), ([(0, 0), (1, 1)], False)):
        graph = Graph()
        data = graph.input(graph.small("float32", 4, 24))
        graph.show(PadOp(data, graph.input(np.float32(0)), widths))
        assert ("load <8 x float>" in code(graph)) == vectors
