"""
A program for each operator that has a gradient: `case(graph)` gives what it computes of parameters of f64, at which it has
no bend within a small step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from guards.passes import GuardGraph
from xdsl.dialects.builtin import f32, f64, i1, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.annotation import CheckpointOp, StopFusionOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.dyn.tensor import DynOnesOp, DynReshapeOp, DynZerosOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.loss import CrossEntropyOp, CrossEntropyWithLogitsOp
from xrelay.dialects.nn.norm import BiasAddOp, LogSoftmaxOp, SoftmaxOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, MaxPool2DOp
from xrelay.dialects.tensor import binary, like, reduce, reshape, transform, unary
from xrelay.dialects.tensor import transcendental as functions
from xrelay.dialects.tensor.creation import (
    ArangeOp,
    OneHotOp,
    OnesLikeOp,
    OnesOp,
    ZerosLikeOp,
    ZerosOp,
)
from xrelay.dialects.tensor.indexing import GatherNDOp, TakeOp

Case = Callable[[GuardGraph], SSAValue]


def number(g: GuardGraph, *shape: int, low: float = -1.5, high: float = 1.5) -> SSAValue:
    """A parameter of numbers that are not near each other, nor near whole numbers."""
    count = int(np.prod(shape))
    steps = (g.rng.permutation(count) + g.rng.uniform(0.25, 0.75, count)) / max(count, 1)
    return g.input(np.asarray(low + (high - low) * steps).reshape(shape))


def of(op_type: Callable[..., Operation], *shapes: Any, **options: Any) -> Case:
    """An operator on parameters of some shapes, with properties."""
    return lambda g: g.op(op_type(*(number(g, *shape) for shape in shapes), **options))


def within(op_type: Callable[..., Operation], low: float, high: float) -> Case:
    """A function of numbers in a range."""
    return lambda g: g.op(op_type(number(g, 2, 3, low=low, high=high)))


def tuple_of(op_type: Callable[..., Operation], *shapes: Any, **options: Any) -> Case:
    """An operator on a tuple of parameters."""
    return lambda g: g.op(
        op_type(g.op(TupleOp([number(g, *shape) for shape in shapes])), **options)
    )


def indexed(
    op_type: Callable[..., Operation],
    shape: Any,
    indices: Any,
    dtype: str = "int64",
    **options: Any,
) -> Case:
    """An operator on a parameter and indices."""
    return lambda g: g.op(op_type(number(g, *shape), g.c(indices, dtype), **options))


def matrices(a: Any, b: Any, *turned: bool, op_type: Callable[..., Operation] = MatmulOp) -> Case:
    """A product of matrices, transposed or not."""
    return of(op_type, a, b, transpose_a=turned[0], transpose_b=turned[1])


def with_constant(op_type: Callable[..., Operation], shape: Any, value: Any, dtype: str) -> Case:
    """An operator on a parameter and a constant, or the other way around."""
    return lambda g: g.op(op_type(number(g, *shape), g.c(value, dtype)))


def variance(g: GuardGraph, **options: Any) -> SSAValue:
    x, mean = number(g, 2, 3, 4), number(g, 2, 1, 4)
    return g.op(reduce.VarianceOp(x, mean, axis=[1], **options))


def arange(g: GuardGraph) -> SSAValue:
    start, end, step = (g.input(np.array(each)) for each in (0.5, 3.1, 0.7))
    return g.op(ArangeOp(start, end, step, f64))


def one_hot(g: GuardGraph) -> SSAValue:
    on, off = number(g), number(g)
    return g.op(OneHotOp(g.c([0, 2, 7], "int32"), on, off, depth=3, axis=0))


def chosen(g: GuardGraph) -> SSAValue:
    condition = g.c([[True], [False]], "bool")
    return g.op(transform.WhereOp(condition, number(g, 3), number(g, 2, 1)))


def field(g: GuardGraph) -> SSAValue:
    both = g.op(TupleOp([number(g, 2), number(g, 3)]))
    return g.op(TupleGetItemOp(both, 1))


def nested_tuples(g: GuardGraph) -> SSAValue:
    x = number(g, 2)
    inner = g.op(TupleOp([x, g.op(unary.ExpOp(x))]))
    outer = g.op(TupleOp([inner, inner, x]))
    first, second, third = (g.op(TupleGetItemOp(outer, i)) for i in range(3))
    parts = [
        g.op(TupleGetItemOp(first, 0)),
        g.op(TupleGetItemOp(second, 1)),
        g.op(TupleGetItemOp(first, 1)),
        third,
    ]
    return g.op(transform.ConcatenateOp(g.op(TupleOp(parts)), axis=0))


def tuple_parameter(g: GuardGraph) -> SSAValue:
    pair = g.input((g.rng.random((2, 3)), (g.rng.random(3), g.rng.random(2))))
    inner = g.op(TupleGetItemOp(pair, 1))
    return g.op(binary.MultiplyOp(g.op(TupleGetItemOp(pair, 0)), g.op(TupleGetItemOp(inner, 0))))


def used_twice(g: GuardGraph) -> SSAValue:
    x = number(g, 2, 3)
    y = g.op(unary.ExpOp(x))
    return g.op(binary.MultiplyOp(g.op(binary.AddOp(y, x)), y))


def through_integers(g: GuardGraph) -> SSAValue:
    """Rounded and compared, which does not grow, beside what does."""
    x = number(g, 2, 3)
    whole = g.op(unary.CastOp(g.op(unary.CastOp(x, i32)), f64))
    larger = g.op(unary.CastOp(g.op(binary.GreaterOp(x, g.c(0.1, "float64"))), f64))
    length = g.op(unary.CastOp(g.op(like.ShapeOfOp(x)), f64))
    places = g.op(unary.CastOp(g.op(reduce.ArgmaxOp(x, [0])), f64))
    total = x
    for each in (whole, larger, places):
        total = g.op(binary.MultiplyOp(total, g.op(binary.AddOp(each, g.c(2.0, "float64")))))
    return g.op(binary.AddOp(total, g.op(reduce.SumOp(length))))


def unused(g: GuardGraph) -> SSAValue:
    number(g, 3)
    return g.op(unary.ExpOp(number(g, 2)))


def bodies(g: GuardGraph) -> SSAValue:
    x, y = number(g, 2, 3), number(g, 3)
    fused = g.fused([x, y], lambda g, a, b: g.op(binary.MultiplyOp(a, g.op(unary.ExpOp(b)))))
    return g.fused([fused, y], lambda g, a, b: b, composite="second") if x is y else fused


def constant_operands(g: GuardGraph) -> SSAValue:
    """What depends on constants alone may have no gradient."""
    rounded = g.op(unary.RoundOp(g.c([1.2, 2.7], "float64")))
    return g.op(binary.MultiplyOp(number(g, 2), rounded))


IMAGE, FILTERS = (2, 4, 5, 6), (6, 2, 3, 2)

CASES: dict[str, Case] = {
    # Functions of one element.
    "abs": of(unary.AbsOp, (2, 3)),
    "acos": within(functions.AcosOp, -0.9, 0.9),
    "acosh": within(functions.AcoshOp, 1.2, 3),
    "asin": within(functions.AsinOp, -0.9, 0.9),
    "asinh": of(functions.AsinhOp, (2, 3)),
    "atan": of(functions.AtanOp, (2, 3)),
    "atanh": within(functions.AtanhOp, -0.9, 0.9),
    "cast": lambda g: g.op(unary.CastOp(g.op(unary.CastOp(number(g, 2), f64)), f64)),
    "checkpoint": of(CheckpointOp, (2,)),
    "clip": lambda g: g.op(unary.ClipOp(number(g, 2, 5), a_min=-0.5, a_max=0.7)),
    "copy": of(unary.CopyOp, (2, 3)),
    "cos": of(unary.CosOp, (2, 3)),
    "cosh": of(functions.CoshOp, (2, 3)),
    "erf": of(unary.ErfOp, (2, 3)),
    "exp": of(unary.ExpOp, (2, 3)),
    "exp of rank 0": of(unary.ExpOp, ()),
    "exp of nothing": of(unary.ExpOp, (0, 3)),
    "log": within(unary.LogOp, 0.2, 3),
    "log10": within(functions.Log10Op, 0.2, 3),
    "log2": within(functions.Log2Op, 0.2, 3),
    "negative": of(unary.NegativeOp, (2, 3)),
    "relu": of(unary.ReluOp, (2, 3)),
    "sigmoid": of(unary.SigmoidOp, (2, 3)),
    "sin": of(unary.SinOp, (2, 3)),
    "sinh": of(functions.SinhOp, (2, 3)),
    "sqrt": within(unary.SqrtOp, 0.2, 3),
    "stop_fusion": of(StopFusionOp, (2,)),
    "tan": within(functions.TanOp, -1.2, 1.2),
    "tanh": of(unary.TanhOp, (2, 3)),
    # Arithmetic on two operands.
    "add": of(binary.AddOp, (2, 3), (2, 3)),
    "add of a row": of(binary.AddOp, (2, 3), (3,)),
    "divide": of(binary.DivideOp, (2, 1), (3,)),
    "multiply": of(binary.MultiplyOp, (2, 3), ()),
    "multiply of rank 0": of(binary.MultiplyOp, (), ()),
    "multiply of columns": of(binary.MultiplyOp, (4, 1, 3), (2, 1)),
    "subtract": of(binary.SubtractOp, (3,), (2, 3)),
    # Reductions.
    "max": of(reduce.MaxOp, (2, 3, 4), axis=[1]),
    "max of all": of(reduce.MaxOp, (2, 3)),
    "max that keeps axes": of(reduce.MaxOp, (2, 3, 4), axis=[-1, 0], keepdims=True),
    "mean": of(reduce.MeanOp, (2, 3, 4), axis=[0], exclude=True),
    "mean of all": of(reduce.MeanOp, (2, 3)),
    "mean of rank 0": of(reduce.MeanOp, ()),
    "sum": of(reduce.SumOp, (2, 3, 4), axis=[2, 0]),
    "sum that keeps axes": of(reduce.SumOp, (2, 3, 4), axis=[1], keepdims=True),
    "variance": variance,
    "variance without bias": lambda g: variance(g, unbiased=True, keepdims=True),
    # Other shapes.
    "batch_flatten": of(reshape.BatchFlattenOp, (2, 3, 4)),
    "contrib_reverse_reshape": of(reshape.ReverseReshapeOp, (2, 3, 4), newshape=[-1, 4]),
    "dyn.reshape": with_constant(DynReshapeOp, (2, 3), [3, 2], "int64"),
    "expand_dims": of(reshape.ExpandDimsOp, (2, 3), axis=1, num_newaxis=2),
    "reshape": of(reshape.ReshapeOp, (2, 3), newshape=[3, 2]),
    "reshape to rank 0": of(reshape.ReshapeOp, (1, 1), newshape=[]),
    "reshape_like": of(like.ReshapeLikeOp, (2, 3), (3, 2)),
    "squeeze": of(reshape.SqueezeOp, (2, 1, 3)),
    # Moved, joined, taken and repeated.
    "broadcast_to": of(transform.BroadcastToOp, (3, 1), shape=[2, 3, 4]),
    "broadcast_to_like": of(like.BroadcastToLikeOp, (3, 1), (2, 3, 4)),
    "cast_like": of(like.CastLikeOp, (2, 3), (1,)),
    "collapse_sum_like": of(like.CollapseSumLikeOp, (2, 3, 4), (3, 1)),
    "collapse_sum_to": with_constant(like.CollapseSumToOp, (2, 3, 4), [3, 1], "int64"),
    "concatenate": tuple_of(transform.ConcatenateOp, (2, 3), (2, 1), (2, 2), axis=-1),
    "concatenate one": tuple_of(transform.ConcatenateOp, (2, 3), axis=0),
    "stack": tuple_of(transform.StackOp, (2, 3), (2, 3), axis=1),
    "stack of rank 0": tuple_of(transform.StackOp, (), (), (), axis=0),
    "strided_slice": of(
        transform.StridedSliceOp, (4, 5), begin=[1, 4], end=[4, 0], strides=[2, -2]
    ),
    "strided_slice backwards": of(
        transform.StridedSliceOp, (5,), begin=[4], end=[-6], strides=[-2]
    ),
    "strided_slice by size": of(
        *(transform.StridedSliceOp, (4, 5)), begin=[1, -3], end=[-1, 2], slice_mode="size"
    ),
    "strided_slice of axes": of(
        *(transform.StridedSliceOp, (4, 5, 2)), begin=[1], end=[9], strides=[3], axes=[1]
    ),
    "strided_slice of nothing": of(transform.StridedSliceOp, (4, 5), begin=[2], end=[2]),
    "transpose": of(transform.TransposeOp, (2, 3, 4), axes=[2, 0, 1]),
    "transpose of all": of(transform.TransposeOp, (2, 3, 4)),
    "where": chosen,
    # Elements at indices.
    "gather_nd": indexed(GatherNDOp, (3, 4, 2), [[0, 2, 0], [1, -5, 1]]),
    "gather_nd of one axis": indexed(GatherNDOp, (3, 4), [[2, 2, 9]], dtype="int32"),
    "gather_nd of batches": indexed(
        GatherNDOp, (2, 3, 4, 2), [[[2, 0, 2], [1, -4, 7]]], batch_dims=1
    ),
    "gather_nd of matched elements": indexed(
        GatherNDOp, (2, 3, 4), [[[2, 0, 2], [1, 3, 3]]], batch_dims=2
    ),
    "take": indexed(TakeOp, (3, 4, 2), [[0, 3], [3, 9]], axis=1),
    "take of all": indexed(TakeOp, (3, 4), [0, 11, 5, 5]),
    "take of batches": indexed(TakeOp, (2, 3, 4, 2), [[0, 3, 3], [3, 9, 1]], axis=2, batch_dims=1),
    "take of batches around": indexed(
        TakeOp, (2, 3, 4), [[[0], [3], [3]], [[3], [9], [-1]]], axis=2, batch_dims=2, mode="wrap"
    ),
    "take with a number": indexed(TakeOp, (3, 4), -2, axis=-1),
    "take with bytes": indexed(TakeOp, (300, 1), [255, 0, 255], dtype="uint8", axis=0),
    "take around": indexed(TakeOp, (3, 4), [-1, 3, 4], axis=0, mode="wrap"),
    # Numbers.
    "arange": arange,
    "dyn.ones": lambda g: g.op(DynOnesOp(g.input(np.array([2, 3])), f64)),
    "dyn.zeros": lambda g: g.op(DynZerosOp(g.input(np.array([2, 3])), f64)),
    "one_hot": one_hot,
    "ones": lambda g: g.op(OnesOp([2], f64)),
    "ones_like": of(OnesLikeOp, (2,)),
    "zeros": lambda g: g.op(ZerosOp([2], f64)),
    "zeros_like": of(ZerosLikeOp, (2,)),
    # Products.
    "batch_matmul": matrices((2, 3, 4), (1, 4, 5), False, False, op_type=BatchMatmulOp),
    "batch_matmul tn": matrices((1, 4, 3), (2, 4, 5), True, False, op_type=BatchMatmulOp),
    "batch_matmul nt": matrices((2, 3, 4), (2, 5, 4), False, True, op_type=BatchMatmulOp),
    "batch_matmul tt": matrices((2, 4, 3), (1, 5, 4), True, True, op_type=BatchMatmulOp),
    "dense": of(DenseOp, (3, 4), (5, 4)),
    "dense of a row": of(DenseOp, (4,), (5, 4)),
    "dense of a batch": of(DenseOp, (2, 3, 4), (5, 4), units=5),
    "matmul": matrices((3, 4), (4, 5), False, False),
    "matmul tn": matrices((4, 3), (4, 5), True, False),
    "matmul nt": matrices((3, 4), (5, 4), False, True),
    "matmul tt": matrices((4, 3), (5, 4), True, True),
    "matmul of a batch": matrices((2, 3, 4), (4, 5), False, False),
    "matmul of a batch tt": matrices((2, 4, 3), (5, 4), True, True),
    # Layers.
    "avg_pool2d": of(AvgPool2DOp, (2, 3, 5, 6), pool_size=[3, 2], strides=[2, 1], padding=[1, 0]),
    "avg_pool2d with padding": of(
        *(AvgPool2DOp, (2, 5, 6, 3)),
        pool_size=[3, 2],
        strides=[2, 3],
        padding=[1, 1],
        ceil_mode=True,
        count_include_pad=True,
        layout="NHWC",
    ),
    "bias_add": of(BiasAddOp, (2, 3, 4), (3,)),
    "bias_add of the last axis": of(BiasAddOp, (2, 3), (3,), axis=-1),
    "conv2d": of(Conv2DOp, IMAGE, FILTERS, groups=2, padding=[1, 0, 2, 1]),
    "conv2d with strides": of(Conv2DOp, IMAGE, (6, 4, 3, 2), strides=[3, 2], padding=[1, 1]),
    "conv2d with dilation": of(Conv2DOp, IMAGE, (3, 4, 2, 2), dilation=[2, 3], strides=[2, 1]),
    "conv2d in other layouts": of(
        *(Conv2DOp, (2, 5, 6, 4), (3, 2, 4, 3)), data_layout="NHWC", kernel_layout="HWIO"
    ),
    "cross_entropy": lambda g: g.op(
        CrossEntropyOp(number(g, 3, 4, low=0.1, high=0.9), number(g, 3, 4))
    ),
    "cross_entropy_with_logits": of(CrossEntropyWithLogitsOp, (3, 4), (3, 4)),
    "global_avg_pool2d": of(GlobalAvgPool2DOp, (2, 3, 4, 5)),
    "global_avg_pool2d NHWC": of(GlobalAvgPool2DOp, (2, 4, 5, 3), layout="NHWC"),
    "log_softmax": of(LogSoftmaxOp, (2, 3, 4), axis=1),
    "max_pool2d": of(MaxPool2DOp, (2, 3, 5, 6), pool_size=[3, 2], strides=[2, 1], padding=[1, 0]),
    "softmax": of(SoftmaxOp, (2, 3, 4), axis=-2),
    # Several operators.
    "a body": bodies,
    "a field of a tuple": field,
    "a parameter that is a tuple": tuple_parameter,
    "a value used twice": used_twice,
    "no use of a parameter": unused,
    "operators on constants": constant_operands,
    "through integers": through_integers,
    "tuples in tuples": nested_tuples,
}
"""By name; operators first."""

NARROW = {
    "cast to f32": lambda g: g.op(unary.CastOp(g.x(2, dtype="float64"), f32)),
    "dense of f32 in f64": lambda g: g.op(DenseOp(g.x(2, 3), g.x(4, 3), out_dtype=f64)),
    "bools": lambda g: g.op(unary.CastOp(g.op(unary.CastOp(g.x(2), i1)), f32)),
}
"""Programs whose gradients have to have the types of their parameters."""
