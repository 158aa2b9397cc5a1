"""Random convolutions and pools."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

from graphs import Graph
from numpy.random import Generator
from xdsl.ir import SSAValue

from cases.strategies.case import (
    CHANNELS,
    EPILOGUES,
    SOURCES,
    Case,
    direct_bound,
    finished,
    image,
    in_blocks,
    layout,
    normal,
    pick,
    turn,
    unblocked,
)
from xrelay.dialects.conv.conv import Conv2DOp
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
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.lowering.emit.evaluate import shape_of

TAPS = ((1, 1), (3, 3), (2, 2), (5, 5), (7, 7), (11, 11), (1, 3), (3, 1), (2, 5))
POOLS = (MaxPool2DOp, AvgPool2DOp)
POOLS_IN_ROWS = (*(MaxPool1DOp, AvgPool2DOp, MaxPool3DOp, AvgPool1DOp, MaxPool2DOp, AvgPool3DOp),)
"""Of every number of axes: what pools images that are not in blocks is the same code."""
WINOGRAD_BOUNDS = {"winograd-2": 2e-6, "winograd-4": 2e-5}


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
