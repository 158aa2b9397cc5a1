"""
Numbers that are rounded, moved by a zero point and made integers in one kernel, and numbers again: what is clamped
before it is rounded, and converts without integers between, is the same.
"""

from itertools import product

import numpy as np
import pytest
from graphs import Graph
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import AddOp, DivideOp
from xrelay.dialects.tensor.unary import CastOp, FloorOp, RoundOp
from xrelay.interpreters.arrays import Array, element_type_of

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
