"""
Quantised numbers in kernels: concatenation, the interpreter against the definition and compiled code against it; and
numbers that are rounded, moved by a zero point and made integers, and numbers again: what is clamped before it is
rounded, and converts without integers between, is the same.
"""

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue

import xrelay
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.unary import CastOp, FloorOp, RoundOp
from xrelay.interpreters.arrays import Array, element_type_of, type_of
from xrelay.interpreters.relay import interpret


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("seed", range(3))
def test_concatenate(axis: int, dtype: type[np.int8] | type[np.uint8], seed: int):
    generator = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    shapes = [[3, 5, 2], [3, 5, 2], [3, 5, 2]]
    for shape, length in zip(shapes, (1, 17, 4), strict=True):
        shape[axis] = length
    data = [generator.integers(limits.min, limits.max + 1, shape).astype(dtype) for shape in shapes]
    scales = [np.float32(number) for number in (0.5, 0.1, *generator.uniform(0.01, 2, 1))]
    zeros = [np.int32(number) for number in (3, *generator.integers(-100, 100, 2))]
    # The first field has the scale and zero point of the output.
    new_scale, new_zero = scales[0], zeros[0]
    inputs = [*data, *map(np.asarray, scales), *map(np.asarray, zeros)]
    block = Block(arg_types=[type_of(array) for array in inputs])
    tuples = [TupleOp(block.args[start : start + 3]) for start in (0, 3, 6)]
    op = QnnConcatenateOp(*tuples, block.args[3], block.args[6], axis=axis)
    block.add_ops([*tuples, op, func.ReturnOp(op.result)])
    type_ = FunctionType.from_lists(block.arg_types, [op.result.type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    module.verify()

    def moved(q: int, scale: np.float32, zero: np.int32) -> int:
        exact = (q - int(zero)) * Fraction(float(scale)) / Fraction(float(new_scale))
        return min(max(floor(exact + Fraction(1, 2)) + int(new_zero), limits.min), limits.max)

    parts = [
        np.array([moved(int(q), scale, zero) for q in part.flat], dtype).reshape(part.shape)
        for part, scale, zero in zip(data, scales, zeros, strict=True)
    ]
    expected = np.concatenate(parts, axis)
    np.testing.assert_array_equal(interpret(module, inputs)[0], expected)
    model = xrelay.compile(module)
    names = [spec.name for spec in model.signature.inputs]
    (found,) = model.run(dict(zip(names, inputs, strict=True))).values()
    np.testing.assert_array_equal(found, expected)


ZERO_POINTS = (0, 3, -128, 255, 32768, 65536, 65537, 1e7, 0.5, np.nan)
"""Also such as are no zero points: sums with them are rounded once more, or are no integers."""
OTHERS = {"int8": "uint8", "uint8": "int8", "int16": "uint16", "uint16": "int16"}
"""Integers, and those of other signs that have the same bits."""


def around_bounds(integer: str, zero_point: float, dtype: str) -> Array:
    """Numbers beside those that become the bounds of an integer, halves, and what is not finite."""
    info, steps = np.iinfo(integer), np.arange(-3, 3.25, 0.25)
    moved = np.nan_to_num(zero_point)
    bounds = [float(each) - moved for each in (info.min, info.max, 0, 1 << 15, 1 << 16)]
    special = [*(np.nan, np.inf, -np.inf, 0.0, -0.0, -0.25, 1e-30, -1e-30, 8388607.5, 3e9, -3e38)]
    return np.array([*special, *(bound + step for bound in bounds for step in steps)], dtype)


def converted(g: Graph, value: SSAValue, *dtypes: str) -> SSAValue:
    """A value as one of another type after the other."""
    for dtype in dtypes:
        value = g.op(CastOp(value, element_type_of(np.dtype(dtype))))
    return value


SCALES = (0.02, 1 / 3, 0.5, 7.3e-5, 1e4, 1e-20, 1e30, -0.3)
"""Also such that quotients by them stay divisions."""


@pytest.mark.parametrize("integer", OTHERS)
@pytest.mark.parametrize("zero_point", [0, 3, -77])
def test_quotients_by_known_scales(
    target: str, graph: Graph, integer: str, zero_point: int
) -> None:
    """Beside each number where the integer changes, and what is not finite."""
    g, info = graph, np.iinfo(integer)
    halves = np.arange(max(info.min, -300), min(info.max, 300)) + 0.5 - zero_point
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3e38, -3e38]
    for scale in np.array(SCALES, np.float32):
        middle = (halves * np.float64(scale)).astype(np.float32)
        numbers = [np.nextafter(middle, np.float32(-np.inf)), middle]
        numbers.append(np.nextafter(middle, np.float32(np.inf)))
        x = g.input(np.concatenate([*numbers, np.array(special, np.float32)]))
        whole = g.op(RoundOp(g.op(DivideOp(x, g.constant(scale)))))
        moved = g.op(AddOp(whole, g.constant(np.array(zero_point, np.float32))))
        g.returns(converted(g, moved, integer))
    g.check(target)


SUMS = (
    # scales of the terms and of the sum, zero points of all, the type of the terms
    ((0.053, 0.032, 0.0384), (-130, 0, 0), "uint8"),
    ((0.02, 1 / 3, 0.11), (3, -77, 12), "int8"),
    ((0.5, 0.25, 0.5), (0, 0, -128), "int8"),
    ((1e-4, 30.0, 7.0), (255, 1, 128), "uint8"),
    ((0.04, -0.04, 1e-25), (-128, -128, 0), "uint8"),
)


@pytest.mark.parametrize("integer", ["int8", "uint8"])
@pytest.mark.parametrize(("scales", "zero_points", "kind"), SUMS)
def test_quantized_sums(
    target: str,
    graph: Graph,
    integer: str,
    scales: tuple[float, ...],
    zero_points: tuple[int, ...],
    kind: str,
) -> None:
    """All pairs of bytes."""
    g, info = graph, np.iinfo(kind)
    numbers = np.arange(info.min, info.max + 1, dtype=kind)
    pairs = [g.input(each.reshape(-1)) for each in np.meshgrid(numbers, numbers)]

    def number(value: float) -> SSAValue:
        return g.constant(np.array(value, np.float32))

    terms: list[SSAValue] = []
    for value, scale, zero_point in zip(pairs, scales, zero_points, strict=False):
        x = converted(g, value, "float32")
        moved = g.op(SubtractOp(x, number(zero_point))) if zero_point else x
        terms.append(g.op(MultiplyOp(moved, number(scale))))
    whole = g.op(RoundOp(g.op(DivideOp(g.op(AddOp(*terms)), number(scales[2])))))
    g.returns(converted(g, g.op(AddOp(whole, number(zero_points[2]))), integer))
    g.check(target)


@pytest.mark.in_turn
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("integer", OTHERS)
def test_rounded_numbers(target: str, graph: Graph, integer: str, dtype: str) -> None:
    """The sign of a zero shows in a quotient. Each result is computed by a kernel of its own."""
    g = graph
    for zero_point, rounding in product(ZERO_POINTS, (RoundOp, FloorOp)):
        numbers = g.input(around_bounds(integer, zero_point, dtype))

        def moved(
            numbers: SSAValue = numbers,
            zero_point: float = zero_point,
            rounding: type[RoundOp | FloorOp] = rounding,
        ) -> SSAValue:
            x = g.op(rounding(numbers))
            return g.op(AddOp(x, g.constant(np.array(zero_point, dtype)))) if zero_point else x

        g.returns(converted(g, moved(), integer))
        back = converted(g, moved(), integer, dtype)
        g.show(DivideOp(g.constant(np.ones((), dtype)), back))
        g.returns(converted(g, moved(), integer, OTHERS[integer], dtype))
        g.returns(converted(g, moved(), integer, "float64" if dtype == "float32" else "float32"))
    g.check(target)
