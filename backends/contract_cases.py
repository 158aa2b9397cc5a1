"""
The regions of which the contract tests of backends are made, but for those of a backend's patterns: operators,
each in several shapes and dtypes, and structures of several of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import f16, f32, f64, i1, i32
from xdsl.ir import Operation, SSAValue

from xrelay.backends.base import CompositePattern
from xrelay.backends.region_builder import RegionBuilder
from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction

FLOATS = ("float32", "float64", "float16")
NUMBERS = (*FLOATS, "int32", "int64", "int8", "uint8")


Build: TypeAlias = Callable[[RegionBuilder], Sequence[SSAValue]]


@dataclass(frozen=True)
class ContractCase:
    """One region."""

    name: str
    build: Build = field(repr=False)
    special: bool = False
    """Whether it is about NaN and infinities."""
    pattern: CompositePattern | None = None
    """The pattern that becomes a composite in it."""


# Operators

UNARY = (
    *(unary.AbsOp, unary.CeilOp, unary.ErfOp, unary.ExpOp, unary.FloorOp, unary.NegativeOp),
    *(unary.ReluOp, unary.RoundOp, unary.SigmoidOp, unary.SignOp, unary.TanhOp),
)
POSITIVE = (unary.LogOp, unary.RsqrtOp, unary.SqrtOp)
BINARY = (
    *(binary.AddOp, binary.MaximumOp, binary.MinimumOp, binary.MultiplyOp, binary.SubtractOp),
    *(binary.EqualOp, binary.GreaterOp, binary.LessOp),
)
REDUCTIONS = (reduction.MaxOp, reduction.MeanOp, reduction.MinOp, reduction.SumOp)
SHAPES = ((), (1,), (7,), (2, 3, 5), (0, 3), (1, 4, 6, 6))


def operator_cases() -> Iterator[ContractCase]:
    """Cases of one operator each, in several shapes and dtypes."""
    for dtype in NUMBERS:
        for number, shape in enumerate(SHAPES):
            for op in (*UNARY, *POSITIVE):
                positive = op in POSITIVE
                yield _case(op, dtype, shape, partial(_unary, op, dtype, shape, positive))
            other = shape[1:] if number % 2 else shape
            for op in BINARY:
                yield _case(op, dtype, shape, partial(_binary, op, dtype, shape, other))
        for axes, keepdims in (([1], False), ([0, 2], True), (None, False)):
            for op in REDUCTIONS:
                name = f"{_name(op)} {dtype} axes {axes}"
                yield ContractCase(name, partial(_reduction, op, dtype, axes, keepdims))
        for name, build in SAMPLES.items():
            yield ContractCase(f"{name} {dtype}", partial(build, dtype))
    for source in NUMBERS:
        for target, type_ in (("f32", f32), ("i32", i32), ("f64", f64), ("f16", f16), ("i1", i1)):
            yield ContractCase(
                f"cast {source} to {target}",
                lambda b, source=source, type_=type_: [
                    b.op(unary.CastOp(b.input(b.array(source, 3, 5)), type_))
                ],
            )


def _name(op: type[Operation]) -> str:
    return op.name.removeprefix("relay.")


def _case(op: type[Operation], dtype: str, shape: Sequence[int], build: Build) -> ContractCase:
    return ContractCase(f"{_name(op)} {dtype}{list(shape)}", build)


def _unary(
    op: Any, dtype: str, shape: Sequence[int], positive: bool, b: RegionBuilder
) -> list[SSAValue]:
    array = b.array(dtype, *shape)
    return [b.op(op(b.input(np.asarray(abs(array) + 1) if positive else array)))]


def _binary(
    op: Any, dtype: str, shape: Sequence[int], other: Sequence[int], b: RegionBuilder
) -> list[SSAValue]:
    return [b.op(op(b.input(b.array(dtype, *shape)), b.input(b.array(dtype, *other))))]


def _reduction(
    op: Any, dtype: str, axes: Sequence[int] | None, keepdims: bool, b: RegionBuilder
) -> list[SSAValue]:
    return [b.op(op(b.input(b.array(dtype, 3, 4, 5)), axes, keepdims=keepdims))]


def _convolution(
    dtype: str, b: RegionBuilder, *, groups: int = 1, constant: bool = True, **options: Any
) -> list[SSAValue]:
    data = b.input(b.array(dtype, 1, 4, 9, 8))
    weight = b.array(dtype, 8, 4 // groups, 3, 3)
    given = b.constant(weight) if constant else b.input(weight)
    return [b.op(conv.Conv2DOp(data, given, groups=groups, **options))]


def _dense(dtype: str, b: RegionBuilder, *, constant: bool = True) -> list[SSAValue]:
    weight = b.array(dtype, 6, 5)
    given = b.constant(weight) if constant else b.input(weight)
    return [b.op(dense.DenseOp(b.input(b.array(dtype, 3, 5)), given))]


def _pool(op: Any, dtype: str, b: RegionBuilder, **options: Any) -> list[SSAValue]:
    data = b.input(b.array(dtype, 1, 3, 9, 8))
    return [b.op(op(data, (3, 3), strides=(2, 2), padding=(1, 1), **options))]


def _concatenate(dtype: str, b: RegionBuilder) -> list[SSAValue]:
    fields = [b.input(b.array(dtype, 2, length, 3)) for length in (1, 4, 5)]
    return [b.op(transform.ConcatenateOp(b.op(core.TupleOp(fields)), axis=1))]


def _split(dtype: str, b: RegionBuilder) -> list[SSAValue]:
    parts = b.op(transform.SplitOp(b.input(b.array(dtype, 6, 4)), [1, 4], axis=0))
    return [b.op(core.TupleGetItemOp(parts, i)) for i in (2, 0)]


SAMPLES: dict[str, Callable[[str, RegionBuilder], list[SSAValue]]] = {
    "nn.conv2d": partial(_convolution, padding=(1, 1)),
    "nn.conv2d strides, uneven padding": partial(
        _convolution, strides=(2, 1), padding=(0, 1, 2, 1), dilation=(1, 2)
    ),
    "nn.conv2d groups": partial(_convolution, groups=2),
    "nn.conv2d depthwise": partial(_convolution, groups=4, padding=(1, 1)),
    "nn.conv2d weights as parameter": partial(_convolution, constant=False),
    "nn.dense": _dense,
    "nn.dense weights as parameter": partial(_dense, constant=False),
    "nn.batch_matmul": lambda dtype, b: [
        b.op(
            dense.BatchMatmulOp(b.input(b.array(dtype, 2, 3, 5)), b.input(b.array(dtype, 2, 5, 4)))
        )
    ],
    "nn.bias_add": lambda dtype, b: [
        b.op(norm.BiasAddOp(b.input(b.array(dtype, 2, 3, 4, 5)), b.constant(b.array(dtype, 3))))
    ],
    "nn.softmax": lambda dtype, b: [b.op(norm.SoftmaxOp(b.input(b.array(dtype, 3, 7))))],
    "nn.max_pool2d": partial(_pool, pool.MaxPool2DOp),
    "nn.avg_pool2d": partial(_pool, pool.AvgPool2DOp),
    "nn.avg_pool2d with padding": partial(_pool, pool.AvgPool2DOp, count_include_pad=True),
    "nn.global_avg_pool2d": lambda dtype, b: [
        b.op(pool.GlobalAvgPool2DOp(b.input(b.array(dtype, 1, 3, 5, 4))))
    ],
    "nn.batch_flatten": lambda dtype, b: [
        b.op(reshape.BatchFlattenOp(b.input(b.array(dtype, 2, 3, 4))))
    ],
    "reshape": lambda dtype, b: [b.op(reshape.ReshapeOp(b.input(b.array(dtype, 2, 6)), [3, -1]))],
    "transpose": lambda dtype, b: [
        b.op(transform.TransposeOp(b.input(b.array(dtype, 2, 3, 4)), [2, 0, 1]))
    ],
    "strided_slice": lambda dtype, b: [
        b.op(transform.StridedSliceOp(b.input(b.array(dtype, 5, 6)), [1, 4], [5, 0], [2, -1]))
    ],
    "clip": lambda dtype, b: [b.op(unary.ClipOp(b.input(b.array(dtype, 4, 6)), -1.0, 2.0))],
    "concatenate": _concatenate,
    "split": _split,
}
"""Operators with attributes and weights."""


# Structure


def structure_cases() -> Iterator[ContractCase]:
    """Regions of several operators: elementwise ones, of which nearly every engine has some."""
    pairs = ((unary.ReluOp, binary.AddOp), (unary.TanhOp, binary.MultiplyOp))
    for one, two in pairs:
        for name, build in STRUCTURES.items():
            whole = f"{name} ({_name(one)}, {_name(two)})"
            yield ContractCase(whole, partial(build, one, two), special=build is _special)

    for name, step in STEPS.items():
        for shape, outputs in SHAPES_OF_OUTPUTS.items():
            yield ContractCase(f"{shape} ({name})", partial(_steps, step, outputs))


def _steps(step: "Step", outputs: "Outputs", b: RegionBuilder) -> list[SSAValue]:
    first = step(b, None)
    return outputs(b, first, step(b, first))


def _product(b: RegionBuilder, x: SSAValue | None) -> SSAValue:
    data = b.input(b.array("float32", 4, 6)) if x is None else x
    return b.op(dense.DenseOp(data, b.constant(b.array("float32", 6, 6))))


def _image(b: RegionBuilder, x: SSAValue | None) -> SSAValue:
    data = b.input(b.array("float32", 1, 4, 5, 5)) if x is None else x
    weight = b.constant(b.array("float32", 4, 4, 3, 3))
    return b.op(conv.Conv2DOp(data, weight, padding=(1, 1)))


Step: TypeAlias = Callable[[RegionBuilder, SSAValue | None], SSAValue]
STEPS: dict[str, Step] = {
    "nn.dense": _product,
    "nn.conv2d": _image,
    "nn.relu": lambda b, x: b.op(unary.ReluOp(_x(b) if x is None else x)),
}
"""Operators that keep shapes, for engines that have no elementwise ones."""
Outputs: TypeAlias = Callable[[RegionBuilder, SSAValue, SSAValue], list[SSAValue]]
SHAPES_OF_OUTPUTS: dict[str, Outputs] = {
    "two steps": lambda b, one, two: [two],
    "two outputs": lambda b, one, two: [two, one],
    "the same output twice": lambda b, one, two: [one, two, one],
    "outputs in a tuple": lambda b, one, two: [b.op(core.TupleOp([two, one]))],
}
"""What a region of two steps returns."""


def _x(b: RegionBuilder) -> SSAValue:
    return b.input(b.array("float32", 3, 5))


def _chain(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    value, other = _x(b), _x(b)
    for _ in range(5):
        value = b.op(two(b.op(one(value)), other))
    return [value]


def _several_outputs(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    first = b.op(one(_x(b)))
    second = b.op(two(first, _x(b)))
    return [second, first, b.op(one(second))]


def _one_output_twice(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    value = b.op(one(_x(b)))
    return [value, b.op(two(value, value)), value]


def _tuple_output(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    first = b.op(one(_x(b)))
    second = b.op(two(first, first))
    return [b.op(core.TupleOp([first, second, first]))]


def _constants(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    row, number = b.constant(b.array("float32", 5)), b.constant(np.array(0.5, np.float32))
    return [b.op(two(b.op(two(_x(b), row)), number))]


def _constant_operand(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    return [b.op(two(_x(b), b.constant(b.array("float32", 3, 1))))]


def _special(one: Any, two: Any, b: RegionBuilder) -> list[SSAValue]:
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38], np.float32)
    value = b.op(one(b.input(numbers)))
    return [value, b.op(two(value, b.input(numbers[::-1].copy())))]


def _one_input(one: Any, two: Any, b: RegionBuilder, *, shape: Sequence[int]) -> list[SSAValue]:
    value = b.input(b.array("float32", *shape))
    return [b.op(two(b.op(one(value)), value))]


STRUCTURES: dict[str, Callable[[Any, Any, RegionBuilder], list[SSAValue]]] = {
    "chain": _chain,
    "several outputs": _several_outputs,
    "one output twice": _one_output_twice,
    "tuple as output": _tuple_output,
    "constants": _constants,
    "constant operand": _constant_operand,
    "special numbers": _special,
    "rank 0": partial(_one_input, shape=()),
    "no elements": partial(_one_input, shape=(3, 0, 2)),
}
