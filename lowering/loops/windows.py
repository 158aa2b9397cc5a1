"""
Lines, images and volumes prepared for sliding windows: loops over them need no bounds checks and no
strided loads.

Without padding and with a horizontal stride of 1 the image is used where it is. Otherwise it is
copied into scratch memory with its borders, and with the columns of each row sorted by their
number modulo the stride: what one tap of the window meets at neighbouring output columns then
lies side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.conv.windows import Pads, may_pad
from xrelay.dialects.lengths import certainly, is_open, larger, smaller
from xrelay.dialects.shapes import same_shape
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.loops.axis_order import FIRST_TO_LAST, AxisOrder
from xrelay.lowering.math.convert import convert


@dataclass(frozen=True)
class Window:
    """
    The geometry of a sliding window: a number for each spatial axis, the last one horizontal. Along
    an axis where it takes one place the stride counts as 1: no image is longer for its sake.
    """

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: Pads
    positions: tuple[int, ...]
    """How many places it takes."""

    def __post_init__(self) -> None:
        moves = zip(self.strides, self.positions, strict=True)
        strides = tuple(1 if certainly(places, 1) else stride for stride, places in moves)
        object.__setattr__(self, "strides", strides)

    @property
    def axes(self) -> int:
        """How many spatial axes there are."""
        return len(self.taps)

    @property
    def before(self) -> tuple[int, ...]:
        """The padding before each axis."""
        return self.pads[: self.axes]

    @property
    def extent(self) -> tuple[int, ...]:
        """The elements of the padded image along each axis that some place of the window meets."""
        return tuple(
            (self.positions[axis] - 1) * self.strides[axis]
            + (self.taps[axis] - 1) * self.dilation[axis]
            + 1
            for axis in range(self.axes)
        )


COUNT = element(i64)
"""The element type in which the elements of windows are counted."""
UNROLLED_TAPS = 9
"""Rows and windows of at most this many taps are unrolled; code for larger ones has loops."""
UNROLLED_PHASES = 8
"""Up to this many groups the columns of a row are sorted by a loop for each, which stores in order."""


def fold_taps(
    b: KernelBuilder,
    taps: tuple[int, ...],
    initial: Sequence[SSAValue],
    body: Callable[[tuple[Index, ...], Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """Carries values through all taps of a window, row by row."""
    is_known = not any(map(is_open, taps))
    unrolled = is_known and prod(taps) <= UNROLLED_TAPS

    def along(tap: tuple[Index, ...], values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(tap) == len(taps):
            return body(tap, values)
        count = taps[len(tap)]
        in_row = is_known and len(tap) == len(taps) - 1 and count <= UNROLLED_TAPS
        if not (unrolled or in_row):
            return b.fold(0, count, 1, values, lambda i, inner: along((*tap, i), inner))
        for i in range(count):
            values = along((*tap, i), values)
        return values

    return along((), initial)


def taps_between(
    b: KernelBuilder, window: Window, axis: int, place: Index, low: int, high: int
) -> tuple[Index, Index]:
    """
    The taps on an axis of a window at an output position that lie from `low` up to `high`, counted
    from the first element of the image.
    """
    step, taps = window.dilation[axis], window.taps[axis]
    first = b.sub(b.mul(place, window.strides[axis]), window.pads[axis])
    start = b.div(b.add(b.larger(b.sub(low, first), 0), step - 1), step)
    stop = b.div(b.add(b.larger(b.sub(high, first), 0), step - 1), step)
    return b.smaller(start, taps), b.smaller(stop, taps)


@dataclass(frozen=True)
class WindowedImage:
    """An image [N, C, …, W] in memory, ready for a window."""

    ctx: KernelContext
    buffer: Buffer
    window: Window
    phases: int
    """Into how many groups the columns of a row are sorted."""
    shape: tuple[int, ...]
    """The lengths of the spatial axes in memory, the last one that of a row with its gaps."""
    overrun: bool
    """Whether loads may run past the last element that is needed."""

    @property
    def is_pointwise(self) -> bool:
        """
        Whether every output element meets exactly the element at its own place, and the window takes every place:
        images can be read as one long row.
        """
        window = self.window
        moves = {*window.taps, *window.strides} != {1} or may_pad(window.pads)
        return not moves and same_shape(self.shape, window.positions)

    def row_start(self, image: Index, channel: Index, row: Sequence[Index]) -> Index:
        """The offset that the taps of an output row are counted from."""
        b, channels = self.ctx.b, self.buffer.shape[1]
        plane = b.add(b.mul(image, channels), channel)
        start = b.mul(plane, prod(self.shape))
        for axis, place in enumerate(row):
            step = self.window.strides[axis] * prod(self.shape[axis + 1 :])
            start = b.add(start, b.mul(place, step))
        return start

    def tap_offset(self, tap: Sequence[Index]) -> Index:
        """What a tap adds to the offset of a row start and an output column."""
        b = self.ctx.b
        *outer, x = tap
        column = b.mul(x, self.window.dilation[-1])
        offset = b.add(
            b.mul(b.mod(column, self.phases), self.shape[-1] // self.phases),
            b.div(column, self.phases),
        )
        for axis, place in enumerate(outer):
            step = self.window.dilation[axis] * prod(self.shape[axis + 1 :])
            offset = b.add(b.mul(place, step), offset)
        return offset


def prepare_image(
    ctx: KernelContext,
    data: SSAValue,
    window: Window,
    fill: float,
    kind: Element,
    order: AxisOrder = FIRST_TO_LAST,
) -> WindowedImage:
    """
    `data` for a window, with elements of type `kind`; padding has the value `fill`. `order` tells
    where the elements of [N, C, …, W] lie in `data`.
    """
    shape = order.canonical(shape_of(data))
    batch, channels, *image = shape
    extent = window.extent
    as_it_is = element_of(data) == kind and window.strides[-1] == 1 and order.is_identity
    if (
        as_it_is
        and not may_pad(window.pads)
        and all(reach <= length for reach, length in zip(extent, image, strict=True))
    ):
        buffer = ctx.in_memory(data)
        return WindowedImage(ctx, buffer, window, 1, tuple(image), overrun=False)
    phases = window.strides[-1]
    sorted_row = -(-extent[-1] // phases)
    packed = (batch, channels, *extent[:-1], phases * sorted_row)
    # Loads may run past the last element by a vector.
    slack = ctx.target.lanes(kind.bytes)
    format = row_major(packed)
    buffer = ctx.scratch(kind, replace(format, size=format.size + slack))
    result = WindowedImage(ctx, buffer, window, phases, packed[2:], overrun=True)
    _fill(ctx, buffer, fill)
    ctx.barrier()
    _copy_rows(ctx, data, result, sorted_row, order)
    ctx.barrier()
    return result


def _fill(ctx: KernelContext, buffer: Buffer, number: float) -> None:
    b, kind = ctx.b, buffer.element

    def store(_: tuple[Index, ...], offset: Index, lanes: int) -> None:
        b.store(buffer.pointer, offset, kind, b.constant(kind.compute, number, lanes))

    ctx.vector_tasks((), prod(buffer.shape), ctx.target.lanes(kind.bytes), store)


def _copy_rows(
    ctx: KernelContext, data: SSAValue, image: WindowedImage, sorted_row: int, order: AxisOrder
) -> None:
    b, buffer = ctx.b, image.buffer
    shape = order.canonical(shape_of(data))
    before, extent, width = image.window.before, image.window.extent, shape[-1]
    source, phases = element_of(data), image.phases
    rows = [
        smaller(length, larger(0, reach - pad))
        for length, reach, pad in zip(shape[2:-1], extent[:-1], before[:-1], strict=True)
    ]
    left = before[-1]
    straight = phases == 1 and order.keeps_rows
    lanes = ctx.target.lanes(buffer.element.bytes) if straight else 1

    def copy(coords: Sequence[Index], offset: Index, count: int) -> None:
        value = ctx.ev.get((data, 0), at(shape_of(data), order.stated(b, coords), count))
        value = convert(b, value, source, buffer.element)
        b.store(buffer.pointer, offset, buffer.element, value)

    def row(indices: tuple[Index, ...]) -> None:
        n, c, *line = indices
        shifted = [b.add(place, pad) for place, pad in zip(line, before[:-1], strict=True)]
        start = b.flatten((n, c, *shifted, 0), buffer.shape)
        columns = smaller(width, larger(0, extent[-1] - left))
        if phases == 1:
            ctx.vectors(
                columns,
                lanes,
                lambda x, count: copy((*indices, x), b.add(b.add(start, left), x), count),
            )
            return
        if phases > UNROLLED_PHASES:
            with b.loop(0, columns) as x:
                place = b.add(x, left)
                sorted_place = b.add(b.mul(b.mod(place, phases), sorted_row), b.div(place, phases))
                copy((*indices, x), b.add(start, sorted_place), 1)
            return
        for phase in range(phases):
            # Columns x = q * phases + phase - left of the image, as far as they exist.
            first = larger(0, -(-(left - phase) // phases))
            stop = smaller(-(-(extent[-1] - phase) // phases), -(-(width + left - phase) // phases))
            if not is_open(stop) and first >= stop:
                continue
            with b.loop(first, stop) as q:
                x = b.add(b.mul(q, phases), phase - left)
                copy((*indices, x), b.add(b.add(start, phase * sorted_row), q), 1)

    ctx.tasks((*shape[:2], *rows), row)


def row_tiles(length: int, lanes: int, vectors: int) -> tuple[int, list[list[int]]]:
    """
    How a row of `length` is cut: the number of elements in the leading tiles of `vectors` full
    vectors each, and the vectors of the tiles: that of the leading ones and that of the rest.
    """
    tile = lanes * vectors
    whole = length - length % tile
    rest = length - whole
    tail = [lanes] * (rest // lanes) + ([rest % lanes] if rest % lanes else [])
    return whole, [[lanes] * vectors, tail]
