"""Instructions of kernels: what would only be slow with others."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects.builtin import bf16, f16, f32, f64, i8
from xdsl.ir import Block, Operation, SSAValue, TypeAttribute

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.norm import LayerNormOp, SoftmaxOp
from xrelay.dialects.nn.space import MirrorPadOp, PadOp
from xrelay.dialects.pool.pool import AvgPool2DOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reorder import ReverseOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp, TileOp
from xrelay.dialects.tensor.unary import FloorOp
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.target import AVX2, GENERIC, Target
from xrelay.lowering.math.convert import converts_quickly


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


Move = Callable[[SSAValue, SSAValue], Operation]

MOVES: tuple[Move, ...] = (
    lambda data, zero: PadOp(data, zero, [(1, 1), (0, 0)]),
    lambda data, zero: PadOp(data, zero, [(0, 0), (1, 1)]),
    lambda data, zero: PadOp(data, zero, [(0, 0), (3, 0)], pad_mode="edge"),
    lambda data, zero: PadOp(data, zero, [(1, 0), (0, 3)], pad_mode="reflect"),
    lambda data, _: MirrorPadOp(data, [(1, 1), (3, 3)]),
    lambda data, _: TileOp(data, [2, 3]),
    lambda data, _: ReverseOp(data, 1),
    lambda data, _: StridedSliceOp(data, [-1], [-100], [-1], axes=[1]),
)


@pytest.mark.parametrize("move", MOVES)
def test_rows_that_are_moved_are_vectors(move: Move) -> None:
    """Also between borders, and where they are not whole vectors."""
    graph = Graph()
    data = graph.input(graph.small("float32", 4, 27))
    graph.show(move(data, graph.input(np.float32(0))))
    assert "load <8 x float>" in code(graph)
    assert "load <3 x float>" in code(graph)


def test_rows_in_another_order_are_padded_one_by_one() -> None:
    """Vectors of short rows with borders would be put together, and taken apart."""
    graph = Graph()
    data = graph.input(graph.small("float32", 4, 27))
    padded = graph.op(PadOp(data, graph.input(np.float32(0)), [(0, 0), (1, 1)]))
    graph.show(StridedSliceOp(padded, [0, 1], [4, 20], [1, 1]))
    assert "load <8 x float>" not in code(graph)


@pytest.mark.parametrize(("lengths", "tables"), [([2] * 65, 1), ([2, 3] * 33, 4)])
def test_fields_at_equal_distances_have_no_table_of_places(lengths: list[int], tables: int) -> None:
    """Where each is, is written to memory; and where they end up and how long they are, unless a formula says that."""
    graph = Graph()
    fields = [graph.input(np.zeros((3, length), np.float32)) for length in lengths]
    graph.show(ConcatenateOp(graph.op(TupleOp(fields)), axis=1))
    assert code(graph).count("store i64") == tables * len(lengths)


@pytest.mark.parametrize(
    ("target", "old", "new", "quickly"),
    [
        (GENERIC, f32, f16, False),
        (GENERIC, f16, f32, False),
        (GENERIC, bf16, f32, True),
        (AVX2, f32, f16, True),
        (AVX2, f16, f32, True),
        (AVX2, f64, f32, False),
        (AVX2, f32, i8, False),
    ],
)
def test_conversions_of_few_instructions(
    target: Target, old: TypeAttribute, new: TypeAttribute, quickly: bool
) -> None:
    b = KernelBuilder(Block(), target)
    assert converts_quickly(b, element(old), element(new)) == quickly


@pytest.mark.parametrize(
    ("pool", "options", "is_known"),
    [
        ((6, 6), {}, True),
        ((2, 2), {"strides": (2, 2)}, True),
        ((8, 8), {"padding": (1, 1), "count_include_pad": True}, True),
        ((3, 3), {"padding": (1, 1)}, False),
        ((3, 3), {"strides": (2, 2), "ceil_mode": True}, False),
    ],
)
def test_sums_of_windows_within_the_image_have_one_divisor(
    pool: tuple[int, int], options: dict[str, Any], is_known: bool
) -> None:
    """Others count what they cover, as nothing is never divided by."""
    graph = Graph()
    graph.show(AvgPool2DOp(graph.input(graph.small("float32", 1, 2, 6, 6)), pool, **options))
    text = "\n".join(map(str, graph.program("x86-64-v3").module.ops))
    assert ("arith.maxsi" not in text) == is_known


@pytest.mark.parametrize("steps", [[1, 2], [2, 1], [2, 2]])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_slices_with_steps(axis: int, steps: list[int]) -> None:
    """Neighbours in a row of the slice are none in the tensor where a step along rows is more than one element."""
    graph = Graph()

    def body(b: Graph, data: SSAValue) -> SSAValue:
        return b.op(SumOp(b.op(StridedSliceOp(data, [0, 0], [6, 64], strides=steps)), [axis]))

    graph.returns(graph.fused([graph.input(graph.small("float32", 6, 64))], body))
    graph.check("x86-64-v3")


def test_slices_of_a_number() -> None:
    graph = Graph()
    graph.show(StridedSliceOp(graph.input(graph.small("float32")), [], []))
    graph.check("x86-64-v3")


@pytest.mark.parametrize(
    ("rows", "length", "sums"), [(3, 128, 1), (4, 128, 4), (9, 8, 5), (4, 129, 1), (4, 1024, 1)]
)
def test_short_rows_of_a_softmax_go_together(rows: int, length: int, sums: int) -> None:
    """Four of up to sixteen vectors, and what is left one by one; each row has a sum that divides."""
    graph = Graph()
    graph.show(SoftmaxOp(graph.input(graph.small("float32", rows, length))))
    text = "\n".join(map(str, graph.program("x86-64-v3").module.ops))
    assert text.count("arith.divf") == sums
