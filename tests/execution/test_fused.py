"""
Kernels of several operators against the NumPy interpreter: bodies of `relay.fused` written by
hand, and random graphs that `fuse-ops` groups, which are compared with the graph before fusion.
"""

from collections.abc import Callable
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest
from cases.kernel import Case, in_turn
from graphs import Graph
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm, space, upsampling
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, creation, indexing, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction

CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    """Registers a case."""
    CASES[build.__name__] = build
    return build


@case
def convolution_with_epilogue(g: Graph) -> None:
    def body(b: Graph, x: SSAValue, w: SSAValue, bias: SSAValue, other: SSAValue) -> SSAValue:
        y = b.op(norm.BiasAddOp(b.op(conv.Conv2DOp(x, w, padding=(1, 1))), bias))
        return b.op(unary.ReluOp(b.op(binary.AddOp(y, b.op(unary.AbsOp(other))))))

    for dtype, image in product(("float32", "float16", "int32"), ((5, 7), (1, 1), (4, 33))):
        args = [
            g.input(g.small(dtype, 2, 3, *image)),
            g.input(g.small(dtype, 9, 3, 3, 3)),
            g.input(g.small(dtype, 9)),
            g.input(g.small(dtype, 2, 9, *image)),
        ]
        g.returns(g.fused(args, body))


@case
def pointwise_convolution_with_broadcast_epilogue(g: Graph) -> None:
    def body(b: Graph, x: SSAValue, w: SSAValue, scale: SSAValue, row: SSAValue) -> SSAValue:
        y = b.op(binary.MultiplyOp(b.op(conv.Conv2DOp(x, w)), scale))
        y = b.op(binary.AddOp(y, row))
        return b.op(unary.ClipOp(y, 0, 6))

    # The tiles of a pointwise convolution cross rows, which the row vector does not divide.
    for image in ((5, 7), (3, 11), (1, 17), (17, 1), (8, 16)):
        args = [
            g.input(g.small("float32", 1, 4, *image)),
            g.input(g.small("float32", 5, 4, 1, 1)),
            g.input(g.small("float32", 5, 1, 1)),
            g.input(g.small("float32", image[1])),
        ]
        g.returns(g.fused(args, body))


@case
def two_complex_operators(g: Graph) -> None:
    def convolutions(b: Graph, x: SSAValue, w: SSAValue, v: SSAValue) -> SSAValue:
        y = b.op(norm.SoftmaxOp(b.op(conv.Conv2DOp(x, w, padding=(1, 1))), axis=1))
        return b.op(conv.Conv2DOp(b.op(unary.ReluOp(y)), v, strides=(2, 2), padding=(1, 1)))

    x, w, v = ((1, 3, 7, 9), (5, 3, 3, 3), (2, 5, 3, 3))
    args = [g.input(g.rng.standard_normal(shape).astype("float32")) for shape in (x, w, v)]
    g.returns(g.fused(args, convolutions), 64)

    def products(b: Graph, x: SSAValue, w: SSAValue, v: SSAValue) -> SSAValue:
        hidden = b.op(unary.ReluOp(b.op(dense.DenseOp(x, w))))
        total = b.op(reduction.SumOp(hidden, [1], keepdims=True))
        return b.op(binary.AddOp(b.op(dense.DenseOp(hidden, v)), total))

    args = [g.input(g.small("float32", *shape)) for shape in ((3, 17), (19, 17), (5, 19))]
    g.returns(g.fused(args, products))

    def independent(b: Graph, x: SSAValue) -> SSAValue:
        largest = b.op(reduction.MaxOp(x, [0], keepdims=True))
        total = b.op(reduction.SumOp(x, [1], keepdims=True))
        return b.op(binary.SubtractOp(total, largest))

    g.returns(g.fused([g.input(g.small("float32", 7, 18))], independent))


@case
def elementwise_and_reductions(g: Graph) -> None:
    x = g.input(g.small("float32", 3, 5, 17))
    y = g.input(g.small("float32", 5, 1))

    def before(b: Graph, x: SSAValue, y: SSAValue, axes: list[int]) -> SSAValue:
        z = b.op(unary.AbsOp(b.op(binary.MultiplyOp(x, y))))
        return b.op(reduction.SumOp(z, axes))

    def after(b: Graph, x: SSAValue, y: SSAValue, axes: list[int]) -> SSAValue:
        z = b.op(reduction.MaxOp(x, axes, keepdims=True))
        return b.op(unary.NegativeOp(b.op(binary.AddOp(z, y))))

    for axes in chain.from_iterable(combinations(range(3), n) for n in range(4)):
        for body in (before, after):
            g.returns(g.fused([x, y], body, list(axes)))

    def transposed(b: Graph, x: SSAValue) -> SSAValue:
        z = b.op(transform.TransposeOp(x, [2, 0, 1]))
        return b.op(reduction.SumOp(b.op(unary.ReluOp(z)), [0, 2]))

    g.returns(g.fused([x], transposed))


@case
def gathered_rows(g: Graph) -> None:
    """An index is read once for a row, but never where a condition guards it."""
    table = g.input(g.small("float32", 9, 33))
    other = g.input(g.small("float32", 9, 33))
    indices = g.input(np.array([3, -2, 40, 0, 8], "int32"))
    none = g.input(np.zeros((0,), "int32"))

    def sums(b: Graph, x: SSAValue, y: SSAValue, i: SSAValue) -> SSAValue:
        next_one = b.op(binary.AddOp(i, b.op(creation.OnesLikeOp(i))))
        rows = b.op(indexing.TakeOp(x, i, axis=0))
        return b.op(binary.AddOp(rows, b.op(indexing.TakeOp(y, next_one, axis=0, mode="wrap"))))

    def padded(b: Graph, x: SSAValue, y: SSAValue, i: SSAValue) -> SSAValue:
        rows = b.op(indexing.TakeOp(x, i, axis=0))
        zero = b.constant(np.zeros((), "float32"))
        return b.op(space.PadOp(rows, zero, [(70000, 2), (0, 0)]))

    def joined(b: Graph, x: SSAValue, y: SSAValue, i: SSAValue, j: SSAValue) -> SSAValue:
        fields = [b.op(indexing.TakeOp(data, k, axis=0)) for data in (x, y) for k in (i, j)]
        whole = b.op(transform.ConcatenateOp(b.op(core.TupleOp(fields))))
        return b.op(unary.NegativeOp(whole))

    def normal(b: Graph, x: SSAValue, y: SSAValue, i: SSAValue) -> SSAValue:
        rows = b.op(indexing.TakeOp(x, i, axis=0))
        return b.op(reduction.SumOp(rows, [0]))

    for body in (sums, padded, normal):
        g.returns(g.fused([table, other, indices], body))
    g.returns(g.fused([table, other, indices, none], joined))
    places = g.input(np.array([[0, 7, -3, 99], [5, 1, 2, 50]], "int64"))

    def points(b: Graph, x: SSAValue, i: SSAValue) -> SSAValue:
        rows = b.op(indexing.GatherNDOp(x, i))
        return b.op(unary.ReluOp(rows))

    g.returns(g.fused([g.input(g.small("float32", 6, 3, 35)), places], points))


@case
def softmax_and_cast(g: Graph) -> None:
    x = g.input((2 * g.rng.standard_normal((3, 4, 19))).astype("float32"))

    def cast_after(b: Graph, x: SSAValue, axis: int) -> SSAValue:
        y = b.op(norm.SoftmaxOp(b.op(unary.NegativeOp(x)), axis=axis))
        return b.op(unary.CastOp(y, f16))

    def cast_before(b: Graph, x: SSAValue, axis: int) -> SSAValue:
        y = b.op(norm.LogSoftmaxOp(b.op(unary.CastOp(x, f16)), axis=axis))
        return b.op(unary.ExpOp(b.op(unary.CastOp(y, f32))))

    for axis in range(3):
        for body in (cast_after, cast_before):
            g.returns(g.fused([x], body, axis), 2048 * 8)


@case
def injective_producers(g: Graph) -> None:
    x, y = g.input(g.small("float32", 3, 5, 7)), g.input(g.small("float32", 5, 7))

    def body(b: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
        left = b.op(transform.StridedSliceOp(x, [2], [-4], [-1]))
        joined = b.op(transform.ConcatenateOp(b.op(core.TupleOp([left, x])), axis=1))
        split = b.op(transform.SplitOp(joined, 2, axis=1))
        parts = [b.op(core.TupleGetItemOp(split, i)) for i in (1, 0)]
        total = b.op(binary.AddOp(parts[0], b.op(binary.MultiplyOp(parts[1], y))))
        padded = b.op(space.PadOp(total, b.constant(np.float32(2)), [(0, 0), (1, 0), (2, 1)]))
        return b.op(binary.SubtractOp(padded, b.op(unary.AbsOp(padded))))

    g.returns(g.fused([x, y], body))

    def tuple_result(b: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
        total = b.op(binary.AddOp(x, y))
        flat = b.op(reshape.ReshapeOp(total, [-1]))
        fields = [b.op(unary.AbsOp(total)), y, flat, b.constant(g.numbers("int8", 20)), total]
        return b.op(core.TupleOp([b.op(core.TupleOp(fields)), total]))

    g.returns(g.fused([x, y], tuple_result))


@case
def reshapes_and_transposes_in_chains(g: Graph) -> None:
    def body(b: Graph, x: SSAValue, y: SSAValue) -> SSAValue:
        # Rows of 5 become rows of 3, to which a vector of 3 is added.
        z = b.op(reshape.ReshapeOp(b.op(unary.NegativeOp(x)), [-1, 3]))
        z = b.op(binary.AddOp(z, y))
        z = b.op(reshape.ReshapeOp(z, [2, 9, 5]))
        z = b.op(transform.TransposeOp(z, [0, 2, 1]))
        return b.op(reshape.ReshapeOp(b.op(unary.ReluOp(z)), [-1]))

    g.returns(g.fused([g.input(g.small("float32", 2, 9, 5)), g.input(g.small("float32", 3))], body))

    def biased(b: Graph, x: SSAValue, y: SSAValue, axis: int) -> SSAValue:
        z = b.op(norm.BiasAddOp(b.op(reshape.ReshapeOp(x, [2, 3, 15])), y, axis=axis))
        return b.op(reshape.ReshapeOp(z, [6, 15]))

    for axis, length in enumerate((2, 3, 15)):
        x, y = g.input(g.small("float32", 90)), g.input(g.small("float32", length))
        g.returns(g.fused([x, y], biased, axis))

    def gathered(b: Graph, x: SSAValue, indices: SSAValue) -> SSAValue:
        z = b.op(indexing.TakeOp(b.op(unary.AbsOp(x)), indices, axis=0))
        z = b.op(reshape.ReshapeOp(z, [-1, 7]))
        return b.op(reduction.SumOp(b.op(transform.TransposeOp(z)), [1]))

    indices = g.input(g.small("int32", 7, low=0, high=4))
    g.returns(g.fused([g.input(g.small("float32", 4, 17)), indices], gathered))


@case
def operators_around_anchors(g: Graph) -> None:
    """What follows the last complex operator in other shapes, or uses it twice."""

    def pooled(b: Graph, x: SSAValue) -> SSAValue:
        y = b.op(pool.MaxPool2DOp(b.op(unary.ReluOp(x)), (3, 3), strides=(2, 2), padding=(1, 1)))
        y = b.op(binary.AddOp(y, y))
        return b.op(binary.MultiplyOp(y, b.op(unary.NegativeOp(y))))

    def flattened(b: Graph, x: SSAValue) -> SSAValue:
        y = b.op(pool.AvgPool2DOp(x, (3, 3), padding=(1, 1), count_include_pad=True))
        return b.op(unary.ReluOp(b.op(reshape.BatchFlattenOp(y))))

    def upsampled(b: Graph, x: SSAValue) -> SSAValue:
        y = b.op(upsampling.UpsamplingOp(b.op(pool.MaxPool2DOp(x, (2, 2), strides=(2, 2))), 2, 2))
        return b.op(binary.SubtractOp(x, y))

    def summed(b: Graph, x: SSAValue) -> SSAValue:
        y = b.op(pool.GlobalMaxPool2DOp(x))
        return b.op(binary.MultiplyOp(x, b.op(unary.AbsOp(y))))

    x = g.input(g.small("float32", 2, 3, 6, 18))
    for body in (pooled, flattened, upsampled, summed):
        g.returns(g.fused([x], body), 1)

    def normalized(b: Graph, x: SSAValue, w: SSAValue, c: SSAValue) -> SSAValue:
        y = b.op(conv.Conv2DOp(x, w, padding=(1, 1)))
        y = b.op(core.TupleGetItemOp(b.op(norm.BatchNormOp(y, c, c, c, c)), 0))
        return b.op(unary.ReluOp(y))

    weight = g.input(g.small("float32", 4, 3, 3, 3))
    g.returns(g.fused([x, weight, g.input(g.small("float32", 4, low=1))], normalized), 64)


@pytest.mark.parametrize(("name", "target"), in_turn(CASES), indirect=["target"])
def test_bodies_agree_with_the_interpreter(name: str, target: str, graph: Graph):
    CASES[name](graph)
    graph.check(target)


# Random graphs

UNARY = (unary.NegativeOp, unary.AbsOp, unary.ReluOp, unary.SignOp, unary.CopyOp)
BINARY = (binary.AddOp, binary.SubtractOp, binary.MaximumOp, binary.MinimumOp)
REDUCTIONS = (reduction.SumOp, reduction.MaxOp, reduction.MinOp)


class RandomGraph:
    """Adds random operators to a graph. Numbers stay whole and small, so that sums are exact."""

    def __init__(self, g: Graph, dtype: str):
        self.g, self.rng, self.dtype = g, g.rng, dtype
        self.values: list[SSAValue] = []

    def choose(self, items: Any) -> Any:
        return items[self.rng.integers(len(items))]

    def value(self) -> SSAValue:
        """A value, most often a recent one."""
        age = min(int(self.rng.exponential(2.0)), len(self.values) - 1)
        return self.values[-1 - age]

    def input(self) -> SSAValue:
        rank = self.rng.integers(0, 4)
        shape = [int(self.choose((1, 2, 3, 5, 16, 17))) for _ in range(rank)]
        return self.g.input(self.g.small(self.dtype, *shape))

    def partner(self, shape: tuple[int, ...]) -> SSAValue:
        """A value that broadcasts with a shape."""
        for value in reversed(self.values):
            if self.rng.random() < 0.3 and _broadcasts(_shape(value), shape):
                return value
        own = [dim if self.rng.random() < 0.6 else 1 for dim in shape]
        own = own[self.rng.integers(0, len(own) + 1) :] if self.rng.random() < 0.4 else own
        if self.rng.random() < 0.3:
            return self.g.constant(self.g.small(self.dtype, *own))
        return self.g.input(self.g.small(self.dtype, *own))

    def limited(self, value: SSAValue) -> SSAValue:
        """The value within bounds, so that sums stay exact."""
        return self.g.op(unary.ClipOp(value, -9, 9))

    def step(self) -> SSAValue:
        g, x = self.g, self.value()
        shape = _shape(x)
        rank, size = len(shape), int(np.prod(shape))
        kind = self.rng.integers(12)
        if kind <= 1 or rank == 0:
            return g.op(self.choose(UNARY)(x))
        if kind <= 4 and size < 5000:
            return self.limited(g.op(self.choose(BINARY)(x, self.partner(shape))))
        if kind == 5:
            return g.op(transform.TransposeOp(x, [int(a) for a in self.rng.permutation(rank)]))
        if kind == 6:
            factors = [dim for dim in (1, 2, 3, 5, 8, 17) if size % dim == 0]
            return g.op(reshape.ReshapeOp(x, [self.choose(factors), -1]))
        if kind == 7:
            axes = [axis for axis in range(rank) if self.rng.random() < 0.5]
            keep = bool(self.rng.random() < 0.5)
            return self.limited(g.op(self.choose(REDUCTIONS)(x, axes, keepdims=keep)))
        if kind == 8:
            axis = int(self.rng.integers(rank))
            joined = g.op(core.TupleOp([x, g.op(unary.NegativeOp(x)), x]))
            if size < 5000:
                return g.op(transform.ConcatenateOp(joined, axis=axis))
            return g.op(core.TupleGetItemOp(joined, 1))
        if kind == 9:
            step = self.choose((-1, 1, 2, -2))
            ends = ([0], [100]) if step > 0 else ([-1], [-100])
            axis = int(self.rng.integers(rank))
            return g.op(transform.StridedSliceOp(x, *ends, [step], axes=[axis]))
        if kind == 10:
            axis = int(self.rng.integers(rank))
            parts = shape[axis] if shape[axis] < 4 else 1
            split = g.op(transform.SplitOp(x, parts, axis=axis))
            return g.op(core.TupleGetItemOp(split, int(self.rng.integers(parts))))
        widths = [(int(a), int(b)) for a, b in self.rng.integers(0, 2, (rank, 2))]
        if size < 5000:
            return g.op(space.PadOp(x, g.constant(np.array(1, self.dtype)), widths))
        return g.op(unary.NegativeOp(x))


def _shape(value: SSAValue) -> tuple[int, ...]:
    return value.type.get_shape()


def _broadcasts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        return np.prod(np.broadcast_shapes(one, other)) < 5000
    except ValueError:
        return False


@pytest.mark.parametrize(("seed", "target"), in_turn(range(40)), indirect=["target"])
def test_random_graphs_agree_before_and_after_fusion(
    seed: int, target: str, new_graph: Callable[[int], Graph]
):
    graph = new_graph(seed)
    random = RandomGraph(graph, ("float32", "int32", "float16", "int8")[seed % 4])
    random.values = [random.input() for _ in range(3)]
    for _ in range(4 + 4 * (seed % 6)):
        random.values.append(random.step())
    for value in random.values[3:]:
        if not value.uses or graph.rng.random() < 0.15:
            graph.returns(value)
    graph.check(target)
