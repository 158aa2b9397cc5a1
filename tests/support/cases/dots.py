"""
Convolutions and matrix products of every combination of types that a dot product takes.

Integers have all magnitudes, with the extremes of their type among them; depths are those that groups do not divide.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from graphs import Graph
from xdsl.ir import SSAValue

from cases.strategies.case import SOURCES, Case, direct_bound, image, layout, turn, unblocked
from cases.strategies.windows import WINOGRAD_BOUNDS, Window
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.interpreters.arrays import Array, element_type_of

Types: TypeAlias = tuple[str, str, str]
"""Of the image, the weights and the result."""

BYTES: tuple[Types, ...] = tuple(
    (x, w, "int32") for x in ("uint8", "int8") for w in ("int8", "uint8")
)
INTEGERS: tuple[Types, ...] = (
    *BYTES,
    ("int16", "int8", "int32"),
    ("int16", "int16", "int32"),
    ("int32", "int8", "int32"),
    ("uint8", "int8", "int16"),
    ("int32", "int32", "int32"),
)
FLOATS: tuple[Types, ...] = (
    ("float16", "float16", "float16"),
    ("float16", "float16", "float32"),
    ("float32", "float16", "float32"),
    ("bfloat16", "bfloat16", "bfloat16"),
    ("bfloat16", "bfloat16", "float32"),
    ("float32", "bfloat16", "float32"),
)
TYPES = (*INTEGERS, *FLOATS)
BOUNDS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 0.0}
"""One rounding of the result."""


def bound(types: Types, terms: int) -> float:
    """How far results may be off, relative to the largest."""
    return 0.0 if types in INTEGERS else BOUNDS[types[2]] + direct_bound(terms)


def numbers(g: Graph, dtype: str, *shape: int) -> Array:
    """Integers of all magnitudes, or standard normal numbers."""
    if dtype_of(dtype).kind in "iu":
        return g.numbers(dtype, *shape)
    return g.rng.standard_normal(shape).astype(dtype_of(dtype))


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's type of a name."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@dataclass(frozen=True)
class TypedConvolution:
    """A convolution whose tensors differ in type."""

    types: Types
    window: Window
    channels: int
    out_channels: int
    groups: int
    data_lanes: int | None
    out_lanes: int
    source: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        x, w, result = self.types
        weights = numbers(g, w, self.out_channels, self.channels // self.groups, *self.window.taps)
        data = numbers(g, x, 2, self.channels, *self.window.size)
        op = Conv2DOp(
            image(g, data, self.data_lanes, self.source),
            g.constant(weights),
            groups=self.groups,
            data_layout=layout(self.data_lanes),
            out_layout=layout(self.out_lanes),
            out_dtype=element_type_of(dtype_of(result)),
            **self.window.options,
        )
        return unblocked(g, g.op(op), self.out_channels, self.out_lanes)


CONVOLUTIONS = (
    # window, channels, output channels, groups, in blocks
    (Window((5, 6), (1, 1)), 17, 33, 1, True),
    (Window((4, 5), (3, 3), pads=(1, 1, 1, 1)), 35, 17, 1, True),
    (Window((7, 6), (3, 2), (2, 1), (1, 2), (0, 2, 1, 0)), 5, 16, 1, True),
    (Window((5, 5), (3, 3), pads=(1, 1, 1, 1)), 32, 32, 2, True),
    (Window((3, 3), (3, 3), pads=(1, 1, 1, 1)), 320, 17, 1, True),
    (Window((9, 11), (7, 7), (2, 2), (1, 1), (3, 3, 3, 3)), 3, 20, 1, False),
    (Window((6, 9), (3, 3), (1, 2), (2, 2), (1, 1, 0, 2)), 3, 16, 1, False),
)
LARGE_BLOCKS = (
    # window, blocks of output channels
    (Window((5, 6), (1, 1)), 2),
    (Window((4, 5), (3, 3), pads=(1, 1, 1, 1)), 1),
)
"""Of several vectors of sums."""
DEPTHWISE = (
    Window((6, 7), (3, 3), pads=(1, 1, 1, 1)),
    Window((9, 8), (5, 5), (2, 2), (1, 1), (1, 2, 2, 2)),
    Window((7, 9), (2, 3), (1, 2), (2, 1), (1, 0, 0, 1)),
    Window((3, 19), (1, 4), pads=(0, 2, 0, 1)),
)


def convolutions(types: Types, lanes: int) -> Iterator[Case]:
    """Blocked convolutions."""
    for number, (window, channels, out, groups, blocked) in enumerate(CONVOLUTIONS):
        source = turn(number, SOURCES)
        conv = TypedConvolution(
            types, window, channels, out, groups, lanes if blocked else None, lanes, source
        )
        terms = channels // groups * prod(window.taps)
        yield Case("blocked", str(conv), bound(types, terms), conv.build)
    for number, (window, out) in enumerate(LARGE_BLOCKS):
        large = 2 * lanes
        conv = TypedConvolution(
            types, window, large, out * large, 1, large, large, turn(number, SOURCES)
        )
        yield Case("blocked", str(conv), bound(types, large * prod(window.taps)), conv.build)


def depthwise(types: Types, lanes: int) -> Iterator[Case]:
    """Depthwise convolutions."""
    for number, window in enumerate(DEPTHWISE):
        conv = TypedConvolution(types, window, 19, 19, 19, lanes, lanes, turn(number, SOURCES))
        yield Case("depthwise", str(conv), bound(types, prod(window.taps)), conv.build)


def winograd(types: Types, lanes: int) -> Iterator[Case]:
    """Convolutions of 3 x 3 filters by Winograd's algorithm, which is in single precision."""
    windows = Window((6, 7), (3, 3), pads=(1, 1, 1, 1)), Window((9, 8), (3, 3))
    for number, name in enumerate(WINOGRAD_BOUNDS if types in FLOATS else ()):
        source = turn(number, SOURCES[1:])
        conv = TypedConvolution(types, windows[number], 19, 33, 1, lanes, lanes, source)
        largest = BOUNDS[types[2]] + WINOGRAD_BOUNDS[name]
        yield Case(name, str(conv), largest, conv.build)


@dataclass(frozen=True)
class TypedProduct:
    """A matrix product whose tensors differ in type."""

    types: Types
    op: type[DenseOp | MatmulOp | BatchMatmulOp]
    rows: int
    depth: int
    columns: int
    constant: bool
    transposed: bool
    """Whether the right operand is stored by columns."""
    extreme: bool = False
    """Whether all elements are the least ones of their types."""

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        right = (self.depth, self.columns)
        right = right[::-1] if self.transposed else right
        batch = (2,) if self.op is BatchMatmulOp else ()
        arrays = [
            numbers(g, dtype, *batch, *shape)
            for dtype, shape in zip(self.types, ((self.rows, self.depth), right), strict=False)
        ]
        if self.extreme:
            arrays = [np.full_like(array, np.iinfo(array.dtype).min or 255) for array in arrays]
        a = g.input(arrays[0])
        b = g.constant(arrays[1]) if self.constant else g.input(arrays[1])
        out_dtype = element_type_of(dtype_of(self.types[2]))
        if self.op is DenseOp:
            return g.op(DenseOp(a, b, out_dtype=out_dtype))
        return g.op(self.op(a, b, transpose_b=self.transposed, out_dtype=out_dtype))


def products(types: Types, lanes: int) -> Iterator[Case]:
    """Matrix products."""
    shapes = (
        (DenseOp, 5, 64, 33, True),
        (DenseOp, 1, 1024, 40, True),
        (MatmulOp, 14, 131, 48, False),
        (BatchMatmulOp, 9, 37, 31, True),
        (BatchMatmulOp, 7, 30, 32, False),
    )
    for (op, rows, depth, columns, transposed), constant in product(shapes, (True, False)):
        drawn = TypedProduct(types, op, rows, depth, columns, constant, transposed)
        yield Case("panels", str(drawn), bound(types, depth), drawn.build)


def converted_products(types: Types, lanes: int) -> Iterator[Case]:
    """With so many tiles, and depths in several parts, that weights of fewer bits than sums are converted before them."""
    shapes = (
        (DenseOp, 90, 52, 33, True),
        (MatmulOp, 61, 4104, 20, False),
        (BatchMatmulOp, 90, 30, 64, True),
    )
    for op, rows, depth, columns, transposed in shapes if types in FLOATS else ():
        drawn = TypedProduct(types, op, rows, depth, columns, True, transposed)
        yield Case("panels", str(drawn), bound(types, depth), drawn.build)


def converted_convolutions(types: Types, lanes: int) -> Iterator[Case]:
    """Likewise."""
    windows = (
        (Window((13, 15), (1, 1)), 35, 65, 1),
        (Window((9, 9), (3, 3), pads=(1, 1, 1, 1)), 20 * lanes, 17, 1),
        (Window((12, 9), (3, 2), (1, 1), (2, 1), (2, 0, 2, 1)), 2 * lanes, 6 * lanes, 2),
    )
    for window, channels, out, groups in windows if types in FLOATS else ():
        conv = TypedConvolution(types, window, channels, out, groups, lanes, lanes, SOURCES[0])
        terms = channels // groups * prod(window.taps)
        yield Case("blocked", str(conv), bound(types, terms), conv.build)


def short_depths(types: Types, lanes: int) -> Iterator[Case]:
    """Of bytes, every depth that is less than a round of steps or little more, with extreme elements."""
    for depth in (*range(1, 10), 17) if types in BYTES else ():
        drawn = TypedProduct(types, BatchMatmulOp, 3, depth, 17, depth % 2 == 0, depth % 3 == 0)
        for extreme in (False, True):
            case = replace(drawn, extreme=extreme)
            yield Case("panels", str(case), 0.0, case.build)
