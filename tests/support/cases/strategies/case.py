"""What all random cases are made of: bounds, numbers, images in blocks, and what follows an operator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias, TypeVar

import numpy as np
from graphs import Graph
from numpy.random import Generator
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.layout import LayoutTransformOp, blocked_image
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.dialects.tensor.unary import ErfOp, NegativeOp, ReluOp, SigmoidOp
from xrelay.interpreters.arrays import Array

T = TypeVar("T")

CHANNELS = (1, 7, 15, 16, 17, 24, 31, 33, 40)
EPILOGUES = ("nothing", "bias", "bias+relu", "residual", "bias+silu", "residual+gelu")
SOURCES = ("transformed", "parameter", "computed")

ROUNDING = 2.0**-23


def direct_bound(terms: int) -> float:
    """How far sums of this many products may be off, relative to the largest result."""
    return ROUNDING * (4 + sqrt(terms))


@dataclass(frozen=True)
class Case:
    """One use of an operator."""

    implementation: str
    label: str
    """What was drawn."""
    bound: float
    """The largest error, relative to the largest expected value."""
    build: Callable[[Graph], SSAValue]
    """Adds it to a graph; the value of which all elements are specified."""


def pick(rng: Generator, values: Sequence[T]) -> T:
    """One of some values."""
    return values[int(rng.integers(len(values)))]


def turn(number: int, values: Sequence[T]) -> T:
    """Each of some values in turn."""
    return values[number % len(values)]


# -- values ----------------------------------------------------------------------------------------


def normal(g: Graph, dtype: str, *shape: int) -> Array:
    """Standard normal numbers."""
    return g.rng.standard_normal(shape).astype(dtype)


def in_blocks(array: Array, lanes: int) -> Array:
    """
    Images [N, C, H, W] as [N, C / lanes, H, W, lanes], NaN in the lanes after channel C, or the largest
    integer.
    """
    n, channels, height, width = array.shape
    count = -(-channels // lanes)
    other = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else np.nan
    padded = np.full((n, count * lanes, height, width), other, array.dtype)
    padded[:, :channels] = array
    split = padded.reshape(n, count, lanes, height, width)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 4, 2))


def layout(lanes: int | None) -> str:
    """The layout of images."""
    return "NCHW" if lanes is None else blocked_image(lanes)


def image(g: Graph, array: Array, lanes: int | None, source: str) -> SSAValue:
    """Images [N, C, H, W] as a value, in blocks of `lanes` channels."""
    if lanes is None:
        return g.input(array)
    if source == "transformed":
        return g.op(LayoutTransformOp(g.input(array), "NCHW", blocked_image(lanes)))
    if source == "parameter":
        return g.input(in_blocks(array, lanes))
    return g.op(NegativeOp(g.input(in_blocks(array, lanes))))


def unblocked(g: Graph, value: SSAValue, channels: int, lanes: int | None) -> SSAValue:
    """Images as [N, C, H, W], without the lanes after the last channel."""
    if lanes is None:
        return value
    value = g.op(LayoutTransformOp(value, blocked_image(lanes), "NCHW"))
    if channels % lanes:
        value = g.op(StridedSliceOp(value, [0], [channels], axes=[1]))
    return value


Residual: TypeAlias = Callable[[], SSAValue]
"""Makes a tensor like the result."""


def finished(
    g: Graph, value: SSAValue, epilogue: str, dtype: str, bias: Callable[[SSAValue], SSAValue],
    residual: Residual,
) -> SSAValue:  # fmt: skip
    """What an epilogue makes of the result of an operator. Those with a + are of two kinds."""
    for part in epilogue.split("+"):
        match part:
            case "bias":
                value = bias(value)
            case "relu":
                value = g.op(ReluOp(value))
            case "residual":
                value = g.op(AddOp(value, residual()))
            case "silu":
                value = g.op(MultiplyOp(value, g.op(SigmoidOp(value))))
            case "gelu":
                half = g.constant(np.array(0.5, dtype))
                scaled = g.op(MultiplyOp(value, g.constant(np.array(sqrt(0.5), dtype))))
                halves = g.op(MultiplyOp(value, half))
                value = g.op(AddOp(halves, g.op(MultiplyOp(halves, g.op(ErfOp(scaled))))))
            case _:
                assert part == "nothing"
    return value
