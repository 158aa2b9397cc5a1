"""
Random uses of operators that have several implementations, one implementation at a time.

A *case* adds one use of an operator to a graph, such that a named implementation can compute it:
in blocks of as many channels as the target has lanes, with constant weights, and so on. The sizes
are those that do not divide: channels just below and above whole vectors, odd images, windows
that reach beyond them on any side.

Images in blocks come in three ways: transformed from NCHW or computed by another kernel, which
write them with the zeros around them that the reader wants; or as a parameter, which is used as it
is. The lanes after the last channel of a parameter are NaN: nothing may depend on them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod, sqrt
from typing import Any, TypeAlias, TypeVar

import numpy as np
from graphs import Graph
from numpy.random import Generator
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from cases.attention import HEAD_SIZES, LAYOUTS, LENGTHS, LONG, MASKS, SCALES, Attention
from cases.blocks import ZERO_POINTS, Blocks, BlocksProduct
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.image.resize import CROPPING, MODES, Resize1DOp, Resize2DOp, Resize3DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.pool.pool import (
    AvgPool1DOp,
    AvgPool2DOp,
    AvgPool3DOp,
    AvgPoolOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
    PoolOp,
)
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.layout import LayoutTransformOp, blocked_image
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import ErfOp, NegativeOp, ReluOp, SigmoidOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.evaluate import shape_of
from xrelay.lowering.program.registry import STRATEGIES

T = TypeVar("T")

CHANNELS = (1, 7, 15, 16, 17, 24, 31, 33, 40)
TAPS = ((1, 1), (3, 3), (2, 2), (5, 5), (7, 7), (11, 11), (1, 3), (3, 1), (2, 5))
EPILOGUES = ("nothing", "bias", "bias+relu", "residual", "bias+silu", "residual+gelu")
SOURCES = ("transformed", "parameter", "computed")

POOLS = (MaxPool2DOp, AvgPool2DOp)
POOLS_IN_ROWS = (*(MaxPool1DOp, AvgPool2DOp, MaxPool3DOp, AvgPool1DOp, MaxPool2DOp, AvgPool3DOp),)
"""Of every number of axes: what pools images that are not in blocks is the same code."""
RESIZES = (Resize1DOp, Resize2DOp, Resize3DOp)
PRODUCTS = (DenseOp, MatmulOp, BatchMatmulOp)
COVERED: tuple[type[Operation], ...] = (
    *(Conv2DOp, *PRODUCTS, *POOLS_IN_ROWS, CompositeOp, TransposeOp, TopkOp, *RESIZES),
    QnnDenseBlocksOp,
)
"""The operators that there are cases of."""

WITH_TILES = ("tile-registers", "blocked-tiles", "gathered-tiles")
"""Implementations on targets that have tile registers."""

ROUNDING = 2.0**-23
WINOGRAD_BOUNDS = {"winograd-2": 2e-6, "winograd-4": 2e-5}


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


def names(op: type[Operation]) -> tuple[str, ...]:
    """The implementations of an operator."""
    return tuple(each.name for each in STRATEGIES[op])


def others(implementation: str) -> frozenset[str]:
    """What must not be used for an implementation to be."""
    return frozenset(
        name
        for op in COVERED
        if implementation in names(op)
        for name in names(op)
        if name != implementation
    )


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


# -- windows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """A sliding window on images of a size."""

    size: tuple[int, int]
    taps: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def options(self) -> dict[str, Any]:
        """The properties of an operator."""
        return {"strides": self.strides, "dilation": self.dilation, "padding": self.pads}


def draw_window(rng: Generator, taps: tuple[int, int] | None = None, longest: int = 19) -> Window:
    """Any taps, strides, dilation and padding, and an image on which it has a place."""
    plain = taps is not None
    taps = pick(rng, TAPS) if taps is None else taps
    pair = [(1, 1) if plain or rng.random() < 0.5 else (pick(rng, (1, 2, 3)), pick(rng, (1, 2, 3)))]
    strides = pair[0]
    dilation = (1, 1) if plain or rng.random() < 0.7 else (pick(rng, (1, 2)), pick(rng, (1, 2)))
    reach = [(taps[axis] - 1) * dilation[axis] for axis in (0, 1)]
    match pick(rng, ("none", "same", "any")):
        case "none":
            pads = (0, 0, 0, 0)
        case "same":
            pads = reach[0] // 2, reach[1] // 2, reach[0] - reach[0] // 2, reach[1] - reach[1] // 2
        case _:
            pads = tuple(int(rng.integers(reach[i % 2] + 2)) for i in range(4))
    top, left, bottom, right = pads
    least = [max(1, reach[0] + 1 - top - bottom), max(1, reach[1] + 1 - left - right)]
    height, width = (low + int(rng.integers(max(1, longest - low))) for low in least)
    return Window((height, width), taps, strides, dilation, (top, left, bottom, right))


# -- convolutions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convolution:
    """What is drawn for a convolution."""

    window: Window
    images: int
    channels: int
    out_channels: int
    groups: int
    data_lanes: int | None
    out_lanes: int | None
    source: str
    epilogue: str
    dtype: str = "float32"
    constant: bool = True
    """Whether the weights are known."""

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        taps = self.window.taps
        shape = self.out_channels, self.channels // self.groups, *taps
        scale = sqrt(shape[1] * taps[0] * taps[1])
        weights = (normal(g, self.dtype, *shape) / scale).astype(self.dtype)
        weight = g.constant(weights) if self.constant else g.input(weights)
        data = normal(g, self.dtype, self.images, self.channels, *self.window.size)
        op = Conv2DOp(
            image(g, data, self.data_lanes, self.source),
            weight,
            groups=self.groups,
            data_layout=layout(self.data_lanes),
            out_layout=layout(self.out_lanes),
            **self.window.options,
        )
        value = g.op(op)
        _, _, height, width, *_ = shape_of(op.result)

        def bias(value: SSAValue) -> SSAValue:
            numbers = normal(g, self.dtype, self.out_channels)
            if self.out_lanes is None:
                return g.op(BiasAddOp(value, g.constant(numbers)))
            blocked = in_blocks(numbers.reshape(1, -1, 1, 1), self.out_lanes)
            return g.op(AddOp(value, g.constant(blocked)))

        def residual() -> SSAValue:
            like = normal(g, self.dtype, self.images, self.out_channels, height, width)
            return image(g, like, self.out_lanes, "parameter")

        value = finished(g, value, self.epilogue, self.dtype, bias, residual)
        return unblocked(g, value, self.out_channels, self.out_lanes)


def layout(lanes: int | None) -> str:
    """The layout of images."""
    return "NCHW" if lanes is None else blocked_image(lanes)


def draw_direct(number: int, rng: Generator, lanes: int) -> Convolution:
    """Any convolution of NCHW."""
    groups = pick(rng, (1, 1, 2, 3))
    depth, out = pick(rng, (1, 2, 5, 7)), pick(rng, (1, 3, 7, 8, 9))
    dtype = pick(rng, ("float32", "float32", "float64"))
    return Convolution(
        draw_window(rng), pick(rng, (1, 2)), groups * depth, groups * out, groups, None, None,
        "parameter", turn(number, EPILOGUES), dtype, bool(rng.random() < 0.7),
    )  # fmt: skip


BLOCKED_KINDS = ("any", "deep", "groups", "first layer", "pointwise", "double", "any")


def draw_blocked(number: int, rng: Generator, lanes: int) -> Convolution:
    """Any convolution that gives blocks of channels; each kind in turn."""
    images, source, epilogue = pick(rng, (1, 1, 2, 3)), pick(rng, SOURCES), turn(number, EPILOGUES)
    kind = turn(number, BLOCKED_KINDS)
    channels, out, groups = pick(rng, CHANNELS), pick(rng, CHANNELS), 1
    data_lanes, dtype, window = lanes, "float32", draw_window(rng)
    match kind:
        case "first layer":
            channels, data_lanes = pick(rng, (1, 3, 4)), None
        case "groups":
            groups = pick(rng, (2, 3))
            channels, out = groups * lanes * pick(rng, (1, 2)), groups * lanes * pick(rng, (1, 2))
            if rng.random() < 0.3:
                channels, data_lanes = groups * pick(rng, (1, 3, 5)), None
        case "deep":
            images, channels, out = 1, pick(rng, (288, 304)), pick(rng, (17, 33, 80))
            window = draw_window(rng, (3, 3), longest=6)
        case "pointwise":
            window = Window((pick(rng, (1, 3, 5, 7)), pick(rng, (1, 5, 9, 13))), (1, 1))
            channels, out = pick(rng, (*CHANNELS, 100)), pick(rng, (*CHANNELS, 130))
        case "double":
            # Twice the bytes, half the lanes.
            data_lanes = lanes = lanes // 2
            dtype = "float64"
        case _:
            pass
    return Convolution(
        window, images, channels, out, groups, data_lanes, lanes, source, epilogue, dtype
    )


def draw_depthwise(number: int, rng: Generator, lanes: int) -> Convolution:
    """A filter for every channel."""
    channels = pick(rng, CHANNELS)
    images, source, epilogue = pick(rng, (1, 1, 2)), pick(rng, SOURCES), turn(number, EPILOGUES)
    window = draw_window(rng)
    return Convolution(window, images, channels, channels, channels, lanes, lanes, source, epilogue)


def draw_winograd(number: int, rng: Generator, lanes: int) -> Convolution:
    """3 x 3 filters of stride 1."""
    window = draw_window(rng, (3, 3), longest=22)
    return Convolution(
        window, pick(rng, (1, 1, 2, 3)), pick(rng, CHANNELS), pick(rng, (*CHANNELS, 100)), 1,
        lanes, lanes, pick(rng, SOURCES), turn(number, EPILOGUES),
    )  # fmt: skip


CONVOLUTIONS: dict[str, Callable[[int, Generator, int], Convolution]] = {
    "direct": draw_direct,
    "blocked": draw_blocked,
    "depthwise": draw_depthwise,
    "winograd-2": draw_winograd,
    "winograd-4": draw_winograd,
}


def convolution_case(implementation: str, number: int, rng: Generator, lanes: int) -> Case:
    conv = CONVOLUTIONS[implementation](number, rng, lanes)
    terms = conv.channels // conv.groups * conv.window.taps[0] * conv.window.taps[1]
    bound = WINOGRAD_BOUNDS.get(implementation, direct_bound(terms))
    return Case(implementation, str(conv), bound, conv.build)


# -- matrix products -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """What is drawn for a matrix product."""

    op: type[DenseOp | MatmulOp | BatchMatmulOp]
    batch: tuple[int, int]
    """Members of the batch of each operand."""
    rows: int
    depth: int
    columns: int
    transposed: tuple[bool, bool]
    source: str
    """Whether the left operand is a parameter, or computed by another kernel."""
    constant: bool
    """Whether the right operand is known."""
    epilogue: str
    dtype: str = "float32"

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        shapes = [(self.rows, self.depth), (self.depth, self.columns)]
        left, right = (
            shape[::-1] if flipped else shape
            for shape, flipped in zip(shapes, self.transposed, strict=True)
        )
        if self.op is BatchMatmulOp:
            left, right = (self.batch[0], *left), (self.batch[1], *right)
        elif self.op is DenseOp and self.batch[0] > 1:
            left = self.batch[0], *left
        scale = sqrt(max(1, self.depth))
        matrix = (normal(g, self.dtype, *right) / scale).astype(self.dtype)
        a = g.input(normal(g, self.dtype, *left))
        if self.source == "computed":
            a = g.op(NegativeOp(a))
        b = g.constant(matrix) if self.constant else g.input(matrix)
        if issubclass(self.op, DenseOp):
            value = g.op(self.op(a, b))
        else:
            flip_a, flip_b = self.transposed
            value = g.op(self.op(a, b, transpose_a=flip_a, transpose_b=flip_b))
        result = shape_of(value)

        def bias(value: SSAValue) -> SSAValue:
            return g.op(AddOp(value, g.constant(normal(g, self.dtype, self.columns))))

        def residual() -> SSAValue:
            return g.input(normal(g, self.dtype, *result))

        return finished(g, value, self.epilogue, self.dtype, bias, residual)


ROWS = (1, 1, 2, 5, 13, 14, 31, 64)
DEPTHS = (1, 3, 4, 5, 7, 17, 64, 66)
LONG_DEPTHS = (2048, 4100, 1027, 2052, 1024)
"""Those whose rows are pages apart, those that are cut into parts, and one that is neither."""


def draw_product(implementation: str, number: int, rng: Generator) -> Product:
    """A product of each kind, constant or not, in turn; every other one is deep."""
    op: type[DenseOp | MatmulOp | BatchMatmulOp] = turn(number, PRODUCTS)
    transpose_b = op is DenseOp or bool(rng.random() < 0.5)
    if implementation == "dot-products":
        transpose_b = True
    elif implementation == "row-updates":
        transpose_b, op = False, turn(number, (MatmulOp, BatchMatmulOp))
    may_flip = op is not DenseOp and implementation != "panels"
    transpose_a = may_flip and bool(rng.random() < 0.5)
    members = pick(rng, (1, 2, 3)) if op is not MatmulOp else 1
    batch = members, pick(rng, (1, members)) if op is BatchMatmulOp else 1
    if op is BatchMatmulOp and rng.random() < 0.2:
        batch = 1, members
    depth = turn(number // 2, LONG_DEPTHS) if number % 2 else pick(rng, DEPTHS)
    return Product(
        op,
        batch,
        pick(rng, ROWS),
        depth,
        pick(rng, (*CHANNELS, 48, 64, 100)),
        (transpose_a, transpose_b),
        pick(rng, ("parameter", "computed")),
        bool(rng.random() < 0.5),
        turn(number // 2, EPILOGUES),
        pick(rng, ("float32", "float32", "float64")),
    )


def product_case(implementation: str, number: int, rng: Generator) -> Case:
    """A case of a matrix product."""
    product = draw_product(implementation, number, rng)
    return Case(implementation, str(product), direct_bound(product.depth), product.build)


# -- products with matrices of few bits ------------------------------------------------------------


def blocks_case(implementation: str, number: int, rng: Generator) -> Case:
    """
    A product of one to eight rows, or more, with a matrix of each kind in turn; every third one is deep. What is
    computed number by number may have blocks of any size, and what is known when the code runs.
    """
    bits = turn(number, (4, 8, 4, 2, 4))
    depth = (
        turn(number // 3, (2048, 1040, 4100))
        if number % 3 == 2
        else pick(rng, (1, 31, 64, 70, 200))
    )
    any_size = implementation == "each-number"
    matrix = Blocks(
        pick(rng, (*CHANNELS, 64, 100)),
        7 if any_size else depth,
        pick(rng, (3, 5, 16)) if any_size else pick(rng, (16, 32, 64, 128, 8192)),
        bits,
        turn(number, ZERO_POINTS),
        pick(rng, ("float32", "float32", "float16")),
    )
    outer = pick(rng, ((1,), (1,), (3,), (8,), (2, 5), (37,), ()))
    product = BlocksProduct(
        matrix,
        outer,
        pick(rng, ("parameter", "computed")),
        not any_size or bool(rng.random() < 0.5),
        pick(rng, ("nothing", "bias")),
    )
    return Case(implementation, str(product), direct_bound(4 * depth), product.build)


# -- pooling ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """What is drawn for a pooling operator."""

    op: type[PoolOp]
    window: Window
    """Of the last two axes, or of the last one."""
    images: int
    channels: int
    lanes: int | None
    source: str
    options: tuple[tuple[str, Any], ...]
    epilogue: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        window, axes = self.window, self.op.IMAGE_LAYOUT[2:]
        numbers = [window.size, window.taps, window.strides, window.dilation]
        numbers += [window.pads[:2], window.pads[2:]]
        # Volumes have a short axis before the others.
        both = zip(numbers, (4, 2, 1, 2, 1, 1), strict=True)
        numbers = [(first, *rest)[-len(axes) :] for rest, first in both]
        size, taps, strides, dilation, before, after = numbers
        data = normal(g, "float32", self.images, self.channels, *size)
        make: Any = self.op
        value = g.op(
            make(
                image(g, data, self.lanes, self.source),
                taps,
                layout=self.op.IMAGE_LAYOUT if self.lanes is None else layout(self.lanes),
                strides=strides,
                dilation=dilation,
                padding=(*before, *after),
                **dict(self.options),
            )
        )
        if self.epilogue == "relu":
            value = g.op(ReluOp(value))
        return unblocked(g, value, self.channels, self.lanes)


def pool_case(implementation: str, number: int, rng: Generator, lanes: int) -> Case:
    """A case of pooling, of images in blocks two times in three if they may be."""
    in_rows = implementation != "windows"
    op: type[PoolOp] = turn(number, POOLS_IN_ROWS if in_rows else POOLS)
    mean = issubclass(op, AvgPoolOp)
    flags = ["ceil_mode"] + ["count_include_pad"] * mean
    pool = Pool(
        op,
        draw_window(rng),
        pick(rng, (1, 2)),
        pick(rng, CHANNELS),
        None if in_rows else turn(number // 2, (lanes, None, lanes)),
        pick(rng, SOURCES),
        tuple((flag, bool(rng.random() < 0.5)) for flag in flags),
        pick(rng, ("nothing", "relu")),
    )
    bound = direct_bound(2 * prod(pool.window.taps)) if mean else 0.0
    return Case(implementation, str(pool), bound, pool.build)


# -- attention -------------------------------------------------------------------------------------


def attention_case(number: int, rng: Generator) -> Case:
    """A case of attention, with each mask in turn; now and then with keys in blocks."""
    rows, keys = pick(rng, LENGTHS), pick(rng, LENGTHS)
    depth, width = pick(rng, HEAD_SIZES), pick(rng, HEAD_SIZES)
    mask, layout = turn(number, MASKS), pick(rng, LAYOUTS)
    if layout == "projection":
        keys, width = rows, depth
    if number % 5 == 1:
        rows, keys, depth, width, layout = pick(rng, (1, 5, 70)), LONG, 64, 64, "separate"
    attention = Attention(
        pick(rng, (1, 2)), pick(rng, (1, 3)), rows, keys, depth, width, pick(rng, SCALES), mask,
        layout, pick(rng, ("float32", "float32", "float64")),
    )  # fmt: skip
    bound = direct_bound(depth + keys)
    return Case("blocks of rows", str(attention), bound, attention.build)


# -- transposes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transposition:
    """What is drawn for a transpose."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str
    source: str
    """Whether the operand is a parameter, a part of one in another shape, or computed."""
    epilogue: str
    reshaped: str
    """Whether a reshape comes before or after the epilogue."""

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        value = g.op(TransposeOp(self.operand(g), self.axes))
        if self.reshaped == "before":
            first, *rest = shape_of(value)
            value = g.op(ReshapeOp(value, [first * rest[0], *rest[1:]]))
        shape = shape_of(value)

        def bias(value: SSAValue) -> SSAValue:
            return g.op(AddOp(value, g.constant(self.numbers(g, shape[-1]))))

        def residual() -> SSAValue:
            return g.input(self.numbers(g, *shape))

        value = finished(g, value, self.epilogue, self.dtype, bias, residual)
        if self.reshaped == "after":
            *rest, penultimate, last = shape_of(value)
            value = g.op(ReshapeOp(value, [*rest, penultimate * last]))
        return value

    def operand(self, g: Graph) -> SSAValue:
        """What is transposed."""
        *before, last = self.shape
        if self.source == "part":
            wide = g.input(self.numbers(g, before[0], prod(before[1:]) * last + 5))
            part = g.op(StridedSliceOp(wide, [3], [prod(before[1:]) * last + 3], axes=[1]))
            return g.op(ReshapeOp(part, self.shape))
        value = g.input(self.numbers(g, *self.shape))
        if self.source == "computed":
            value = g.op(MultiplyOp(value, g.input(self.numbers(g, last))))
        return value

    def numbers(self, g: Graph, *shape: int) -> Array:
        """Small numbers, whose products and sums are exact."""
        return g.small(self.dtype, *shape)


def draw_transposition(implementation: str, number: int, rng: Generator) -> Transposition:
    """A transpose that puts another axis last, of elements of every size in turn."""
    few, many = pick(rng, (2, 3, 4)), pick(rng, ((16,), (70,), (5, 7), (4, 16), (3, 1, 31)))
    if implementation in ("interleaved vectors", "separated vectors"):
        # The few elements stand before the others in the operand, or in the result.
        shape, axes = [few, *many], [*range(1, len(many) + 1), 0]
        if implementation == "separated vectors":
            shape, axes = [*many, few], [len(many), *range(len(many))]
        for length in (2, 3)[: pick(rng, (0, 1, 2))]:
            shape, axes = [length, *shape], [0, *(axis + 1 for axis in axes)]
    else:
        rank = pick(rng, (2, 3, 3, 4, 4))
        axes = [rank - 1]
        while axes[-1] == rank - 1:
            axes = [int(axis) for axis in rng.permutation(rank)]
        shape = [pick(rng, (1, 2, 3, 5)) for _ in range(rank)]
        shape[-1] = pick(rng, (16, 17, 31, 32, 64, 5))
        shape[axes[-1]] = pick(rng, (16, 18, 23, 48, 64, 7))
    dtype = turn(number, ("float32", "float64", "int8", "float32", "float16", "int32", "int64"))
    return Transposition(
        tuple(shape),
        tuple(axes),
        dtype,
        pick(rng, ("parameter", "part", "computed")),
        turn(number // 2, EPILOGUES) if dtype == "float32" else "nothing",
        pick(rng, ("no", "before", "after")),
    )


def transposition_case(implementation: str, number: int, rng: Generator) -> Case:
    """A case of a transpose."""
    drawn = draw_transposition(implementation, number, rng)
    return Case(implementation, str(drawn), 2e-6, drawn.build)


# -- first elements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class First:
    """What is drawn for the first elements of rows."""

    shape: tuple[int, ...]
    axis: int
    count: int
    ascending: bool
    result: str
    order: str
    """Of the elements: any, with many equal ones, or already one way or the other."""
    dtype: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        data = g.numbers(self.dtype, *self.shape)
        if self.order == "equal":
            data = np.asarray(g.rng.choice(g.numbers(self.dtype, 5), self.shape))
        elif self.order != "any":
            data = np.sort(data, self.axis)
            data = np.flip(data, self.axis) if self.order == "down" else data
        op = TopkOp(
            g.input(np.ascontiguousarray(data)),
            self.count,
            axis=self.axis,
            is_ascend=self.ascending,
            ret_type=self.result,
            dtype=i64,
        )
        return g.op(op)


def first_case(implementation: str, number: int, rng: Generator) -> Case:
    """
    A case of the first elements, indices and values in turn: of rows that fill the list of
    candidates never, once, and often.
    """
    length, count = turn(number, ((10, 3), (1500, 150), (33, 33), (3000, 40), (515, 1)))
    rows, is_last = pick(rng, (1, 3)), bool(rng.random() < 0.7)
    first = First(
        (rows, length) if is_last else (length, rows),
        1 if is_last else 0,
        count,
        bool(rng.random() < 0.5),
        turn(number, ("indices", "values", "indices")),
        pick(rng, ("any", "equal", "up", "down")),
        turn(number // 2, ("float32", "int64", "float16", "uint8", "float64", "int32")),
    )
    return Case(implementation, str(first), 0.0, first.build)


# -- images in other sizes -------------------------------------------------------------------------


@dataclass(frozen=True)
class Resize:
    """What is drawn for an image in another size."""

    op: type[Resize1DOp | Resize2DOp | Resize3DOp]
    layout: str
    shape: tuple[int, ...]
    size: tuple[int, ...]
    method: str
    mode: str
    dtype: str
    epilogue: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        value = g.op(
            self.op(
                g.input(g.small(self.dtype, *self.shape)),
                self.size,
                layout=self.layout,
                method=self.method,
                coordinate_transformation_mode=self.mode,
            )
        )
        return g.op(ReluOp(value)) if self.epilogue == "relu" else value


def resize_case(implementation: str, number: int, rng: Generator) -> Case:
    """Any image, larger, smaller, and of one element along axes, with each method in turn."""
    op: type[Resize1DOp | Resize2DOp | Resize3DOp] = turn(number, RESIZES)
    axes = "DHW"[2 - number % 3 :]
    layout = pick(rng, (f"NC{axes}", f"N{axes[:-1]}C{axes[-1]}"))
    length = {"N": pick(rng, (1, 2)), "C": pick(rng, (1, 3))}
    lengths = {axis: length.get(axis) or pick(rng, (1, 2, 5, 9, 20)) for axis in layout}
    resize = Resize(
        op,
        layout,
        tuple(lengths[axis] for axis in layout),
        tuple(pick(rng, (1, 3, 8, 17, 33)) for _ in axes),
        turn(number // 2, ("linear", "cubic", "nearest_neighbor")),
        pick(rng, [mode for mode in MODES if mode != CROPPING]),
        pick(rng, ("float32", "float32", "float16", "float64", "uint8", "int32")),
        pick(rng, ("nothing", "relu")),
    )
    return Case(implementation, str(resize), 0.0, resize.build)


# -- cases -----------------------------------------------------------------------------------------


def implementations() -> tuple[str, ...]:
    """The names of all implementations of the operators that there are cases of, on targets without tile registers."""
    found = dict.fromkeys(name for op in COVERED for name in names(op))
    return tuple(name for name in found if name not in WITH_TILES)


def draw(implementation: str, number: int, rng: Generator, lanes: int) -> Case:
    """The random case of a number, for vectors of `lanes` elements of f32."""
    if implementation in CONVOLUTIONS:
        return convolution_case(implementation, number, rng, lanes)
    if implementation in names(DenseOp):
        return product_case(implementation, number, rng)
    if implementation in names(QnnDenseBlocksOp):
        return blocks_case(implementation, number, rng)
    if implementation in names(CompositeOp):
        return attention_case(number, rng)
    if implementation in names(TransposeOp):
        return transposition_case(implementation, number, rng)
    if implementation in names(TopkOp):
        return first_case(implementation, number, rng)
    if implementation in names(Resize2DOp):
        return resize_case(implementation, number, rng)
    assert implementation in names(MaxPool2DOp), f"no cases of '{implementation}'"
    return pool_case(implementation, number, rng, lanes)


def draws(implementation: str, seed: int, lanes: int) -> Iterator[Case]:
    """Endlessly many random cases, the same for the same seed."""
    rng = np.random.default_rng((seed, *implementation.encode()))
    for number in count():
        yield draw(implementation, number, rng, lanes)
