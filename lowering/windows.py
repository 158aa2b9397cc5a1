"""
Images prepared for sliding windows: loops over them need no bounds checks and no strided loads.

Without padding and with a horizontal stride of 1 the image is used where it is. Otherwise it is
copied into scratch memory with its borders, and with the columns of each row sorted by their
number modulo the stride: what one tap of the window meets at neighbouring output columns then
lies side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.windows import Pads
from xrelay.lowering.builder import Index, KernelBuilder
from xrelay.lowering.context import KernelContext
from xrelay.lowering.convert import convert
from xrelay.lowering.elements import Element, element
from xrelay.lowering.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.format import row_major
from xrelay.lowering.position import at


@dataclass(frozen=True)
class Window:
    """The geometry of a sliding window: pairs are (vertical, horizontal)."""

    taps: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    pads: Pads
    positions: tuple[int, int]
    """How many places it takes."""

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the padded image that some place of the window meets."""
        height, width = (
            (self.positions[axis] - 1) * self.strides[axis]
            + (self.taps[axis] - 1) * self.dilation[axis]
            + 1
            for axis in (0, 1)
        )
        return height, width

    @property
    def is_pointwise(self) -> bool:
        """Whether every output element meets exactly the element at its own place."""
        return self.taps == (1, 1) and self.strides == (1, 1) and not any(self.pads)


COUNT = element(i64)
"""The element type in which the elements of windows are counted."""
UNROLLED_TAPS = 9
"""Rows and windows of at most this many taps are unrolled; code for larger ones has loops."""


def fold_taps(
    b: KernelBuilder,
    taps: tuple[int, int],
    initial: Sequence[SSAValue],
    body: Callable[[Index, Index, Sequence[SSAValue]], Sequence[SSAValue]],
) -> Sequence[SSAValue]:
    """Carries values through all taps (y, x) of a window, row by row."""

    def row(y: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if taps[1] > UNROLLED_TAPS:
            return b.fold(0, taps[1], 1, values, lambda x, inner: body(y, x, inner))
        for x in range(taps[1]):
            values = body(y, x, values)
        return values

    if taps[0] * taps[1] > UNROLLED_TAPS:
        return b.fold(0, taps[0], 1, initial, row)
    values = initial
    for y in range(taps[0]):
        values = row(y, values)
    return values


@dataclass(frozen=True)
class WindowedImage:
    """An image [N, C, H, W] in memory, ready for a window."""

    ctx: KernelContext
    buffer: Buffer
    window: Window
    phases: int
    """Into how many groups the columns of a row are sorted."""
    pitch: int
    """Elements from one row to the next."""
    rows: int
    overrun: bool
    """Whether loads may run past the last element that is needed."""

    def row_start(self, image: Index, channel: Index, row: Index) -> Index:
        """The offset that the taps of output row `row` are counted from."""
        b, channels = self.ctx.b, self.buffer.shape[1]
        plane = b.add(b.mul(image, channels), channel)
        return b.add(
            b.mul(plane, self.rows * self.pitch),
            b.mul(row, self.window.strides[0] * self.pitch),
        )

    def tap_offset(self, y: Index, x: Index) -> Index:
        """What tap (y, x) adds to the offset of a row start and an output column."""
        b = self.ctx.b
        column = b.mul(x, self.window.dilation[1])
        in_row = b.add(
            b.mul(b.mod(column, self.phases), self.pitch // self.phases),
            b.div(column, self.phases),
        )
        return b.add(b.mul(y, self.window.dilation[0] * self.pitch), in_row)


def prepare_image(
    ctx: KernelContext, data: SSAValue, window: Window, fill: float, kind: Element
) -> WindowedImage:
    """`data` for a window, with elements of type `kind`; padding has the value `fill`."""
    shape = shape_of(data)
    height, width = window.extent
    fits = height <= shape[2] and width <= shape[3]
    if element_of(data) == kind and not any(window.pads) and window.strides[1] == 1 and fits:
        buffer = ctx.in_memory(data)
        return WindowedImage(ctx, buffer, window, 1, shape[3], shape[2], overrun=False)
    phases = window.strides[1]
    sorted_row = -(-width // phases)
    packed = (shape[0], shape[1], height, phases * sorted_row)
    # Loads may run past the last element by a vector.
    slack = ctx.target.lanes(kind.bytes)
    format = row_major(packed)
    buffer = ctx.scratch(kind, replace(format, size=format.size + slack))
    image = WindowedImage(ctx, buffer, window, phases, packed[3], height, overrun=True)
    _fill(ctx, buffer, fill)
    ctx.barrier()
    _copy_rows(ctx, data, image, sorted_row)
    ctx.barrier()
    return image


def _fill(ctx: KernelContext, buffer: Buffer, number: float) -> None:
    b, kind = ctx.b, buffer.element
    size = 1
    for dim in buffer.shape:
        size *= dim

    def store(_: tuple[Index, ...], offset: Index, lanes: int) -> None:
        b.store(buffer.pointer, offset, kind, b.constant(kind.compute, number, lanes))

    ctx.vector_tasks((), size, ctx.target.lanes(kind.bytes), store)


def _copy_rows(ctx: KernelContext, data: SSAValue, image: WindowedImage, sorted_row: int) -> None:
    b, shape, buffer = ctx.b, shape_of(data), image.buffer
    top, left, _, _ = image.window.pads
    height, width = image.window.extent
    source, phases = element_of(data), image.phases
    rows = min(shape[2], max(0, height - top))
    lanes = ctx.target.lanes(buffer.element.bytes) if phases == 1 else 1

    def copy(coords: Sequence[Index], offset: Index, count: int) -> None:
        value = ctx.ev.get((data, 0), at(shape, coords, count))
        value = convert(b, value, source, buffer.element)
        b.store(buffer.pointer, offset, buffer.element, value)

    def row(indices: tuple[Index, ...]) -> None:
        n, c, y = indices
        start = b.flatten((n, c, b.add(y, top), 0), buffer.shape)
        if phases == 1:
            columns = min(shape[3], max(0, width - left))
            ctx.vectors(
                columns,
                lanes,
                lambda x, count: copy((n, c, y, x), b.add(b.add(start, left), x), count),
            )
            return
        for phase in range(phases):
            # Columns x = q * phases + phase - left of the image, as far as they exist.
            first = max(0, -(-(left - phase) // phases))
            stop = min(-(-(width - phase) // phases), -(-(shape[3] + left - phase) // phases))
            if first >= stop:
                continue
            with b.loop(first, stop) as q:
                x = b.add(b.mul(q, phases), phase - left)
                copy((n, c, y, x), b.add(b.add(start, phase * sorted_row), q), 1)

    ctx.tasks((shape[0], shape[1], rows), row)


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
