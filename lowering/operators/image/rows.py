"""
Images in other sizes whose rows lie in memory as rows: what is interpolated along them is used for
several rows of the result.

    for each column of the result: its elements of a row, and their weights    # once, into tables
    for each image, channel and block of rows of the result:                   # shared
        for each row:
            the rows of the image that it is made of, unless they are there:
                for each column: elements and weights -> a sum, into memory of the thread
            vectors of these rows, times the weights of the rows -> vectors of the result

Sums have the order that they have element by element: the bits are the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.image.resize import CROPPING, CUBIC, NEAREST, ResizeOp
from xrelay.dialects.lengths import certainly, likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Sink, Site, unless
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.interpolation import Tap, blend_kind, blended

TapsAt = Callable[[int, Index], Sequence[Tap]]
"""The elements along a spatial axis, counted from 0, that make the one at a place."""

ENOUGH_BLOCKS = 32
"""All images together are cut into so many blocks of rows, or more."""
LEAST_ROWS = 8
"""The least that a block has: at its beginning some rows are interpolated once more."""
UNROLLED_COLUMNS = 4


def blending_kind(method: str, source: Element, out: Element) -> Element:
    """What elements are blended in: the nearest ones just move where their type is the result's."""
    return source if method == NEAREST and source == out else blend_kind(source)


def refuses_rows(site: Site) -> str | None:
    """Why rows cannot be reused."""
    op = site.op
    assert isinstance(op, ResizeOp)
    crops = op.coordinate_transformation_mode.data == CROPPING
    return unless(not crops, "parts outside of the image") or unless(
        op.axes[1] != len(op.axes) - 1 and op.axes[0] != len(op.axes) - 1,
        "rows are not along the last axis",
    )


@dataclass(frozen=True)
class _Geometry:
    """An operator in numbers."""

    shape: tuple[int, ...]
    source_shape: tuple[int, ...]
    spatial: tuple[int, ...]
    """The spatial axes but the last one, which is that of the tensor."""
    order: tuple[int, ...]
    """The number of each spatial axis among those of the operator; that of the last one is last."""
    taps: int
    """How many elements along an axis make one."""

    @staticmethod
    def of(op: ResizeOp) -> "_Geometry":
        """That of an operator."""
        axes, rank = op.axes[2:], len(op.axes)
        order = (*(i for i, a in enumerate(axes) if a != rank - 1), axes.index(rank - 1))
        spatial = tuple(axes[i] for i in order[:-1])
        taps = {NEAREST: 1, CUBIC: 4}.get(op.method.data, 2)
        return _Geometry(shape_of(op.result), shape_of(op.data), spatial, order, taps)

    @property
    def planes(self) -> tuple[int, ...]:
        """The axes of images and channels."""
        return tuple(a for a in range(len(self.shape) - 1) if a not in self.spatial)


class RowResizer:
    """The code of one operator."""

    def __init__(self, ctx: KernelContext, op: ResizeOp, taps_of: Callable[[Element], TapsAt]):
        """`taps_of` gives the elements with weights of a kind."""
        self.ctx, self.b = ctx, ctx.b
        self.geometry = _Geometry.of(op)
        self.source, self.out = element_of(op.data), element_of(op.result)
        self.kind = blending_kind(op.method.data, self.source, self.out)
        self.taps_at = taps_of(self.kind)
        self.buffer = ctx.in_memory(op.data)
        geometry, kind = self.geometry, self.kind
        width, taps = geometry.shape[-1], geometry.taps
        self.slots = taps ** len(geometry.spatial)
        self.indices = ctx.scratch(INDEX, row_major((taps, width)))
        self.weights = ctx.scratch(kind, row_major((taps, width)))
        self.rows = ctx.private_scratch(kind, row_major((self.slots, width)))
        self.held = ctx.private_scratch(INDEX, row_major((self.slots,)))

    def emit(self, sink: Sink) -> None:
        """Appends the loops."""
        ctx, b, geometry = self.ctx, self.b, self.geometry
        ctx.tasks(geometry.shape[-1:], self._write_column)
        ctx.barrier()
        planes = [geometry.shape[axis] for axis in geometry.planes]
        if not geometry.spatial:
            ctx.tasks(planes, lambda task: self._row(task, (), sink))
            return
        first, *others = (geometry.shape[axis] for axis in geometry.spatial)
        wanted, rows = blocks(ENOUGH_BLOCKS, likely(prod(planes))), likely(first)
        size = min(rows, max(LEAST_ROWS, blocks(rows, wanted)))

        def block(task: tuple[Index, ...]) -> None:
            *plane, number = task
            with b.loop(0, self.slots) as slot:
                b.store(self.held.pointer, slot, INDEX, b.index(-1))
            start = b.mul(number, size)
            stop = b.add(start, size)
            end = stop if certainly(first % size, 0) else b.smaller(stop, first)
            with b.loop(start, end) as y:
                b.loop_nest(others, lambda rest: self._row(tuple(plane), (y, *rest), sink))

        ctx.tasks((*planes, blocks(first, size)), block)

    def _write_column(self, place: tuple[Index, ...]) -> None:
        """Writes the elements and weights of a column into the tables."""
        b, geometry = self.b, self.geometry
        for i, tap in enumerate(self.taps_at(geometry.order[-1], place[0])):
            where = b.add(place[0], i * geometry.shape[-1])
            b.store(self.indices.pointer, where, INDEX, tap.index)
            if tap.weight is not None:
                b.store(self.weights.pointer, where, self.kind, tap.weight)

    def _row(self, plane: tuple[Index, ...], line: tuple[Index, ...], sink: Sink) -> None:
        """A row of the result."""
        ctx, b, geometry = self.ctx, self.b, self.geometry
        choices = [
            list(self.taps_at(i, place)) for i, place in zip(geometry.order[:-1], line, strict=True)
        ]
        starts: dict[tuple[SSAValue, ...], Index] = {}
        for chosen in product(*choices):
            indices = tuple(tap.index for tap in chosen)
            starts[indices] = self._interpolated(plane, indices)
        coords = self._coords(plane, line)

        def part(x: Index, lanes: int) -> None:
            def load(indices: tuple[SSAValue, ...], _: SSAValue | None) -> SSAValue:
                return b.load(self.rows.pointer, b.add(starts[indices], x), self.kind, lanes)

            value = blended(b, choices, self.kind, lanes, load)
            result = convert(b, value, self.kind, self.out)
            sink(at(geometry.shape, (*coords, x), lanes), result)

        ctx.vectors(geometry.shape[-1], ctx.target.lanes(self.kind.bytes), part)

    def _coords(self, plane: Sequence[Index], line: Sequence[Index]) -> tuple[Index, ...]:
        """All coordinates but the last one."""
        geometry = self.geometry
        axes = (*geometry.planes, *geometry.spatial)
        places = dict(zip(axes, (*plane, *line), strict=True))
        return tuple(places[axis] for axis in range(len(geometry.shape) - 1))

    def _interpolated(self, plane: tuple[Index, ...], line: tuple[SSAValue, ...]) -> Index:
        """Where the row of the image with these coordinates begins once it is interpolated."""
        b, geometry = self.b, self.geometry
        width = geometry.shape[-1]
        slot = b.flatten([b.mod(i, geometry.taps) for i in line], (geometry.taps,) * len(line))
        start = b.mul(slot, width)
        coords = (*self._coords(plane, line), 0)
        place = b.flatten(coords, geometry.source_shape)
        if not line:
            self._interpolate(place, start)
            return start
        held = b.load(self.held.pointer, slot, INDEX, 1)
        with b.when(b.compare_index(held, "ne", place)):
            b.store(self.held.pointer, slot, INDEX, b.index(place))
            self._interpolate(place, start)
        return start

    def _interpolate(self, place: Index, start: Index) -> None:
        """Interpolates along the row of the image at `place`."""
        ctx, b, geometry = self.ctx, self.b, self.geometry
        width = geometry.shape[-1]
        pixels = b.address(self.buffer.pointer, place, self.source.storage)
        weighted = geometry.taps > 1

        def column(x: Index) -> None:
            taps: list[Tap] = []
            for i in range(geometry.taps):
                where = b.add(x, i * width)
                index = b.load(self.indices.pointer, where, INDEX, 1)
                weight = b.load(self.weights.pointer, where, self.kind, 1) if weighted else None
                taps.append(Tap(index, weight))

            def load(indices: tuple[SSAValue, ...], _: SSAValue | None) -> SSAValue:
                value = b.load(pixels, indices[0], self.source, 1)
                return convert(b, value, self.source, self.kind)

            value = blended(b, [taps], self.kind, 1, load)
            b.store(self.rows.pointer, b.add(start, x), self.kind, value)

        def columns(x: Index, count: int) -> None:
            for n in range(count):
                column(b.add(x, n))

        ctx.vectors(width, UNROLLED_COLUMNS, columns)
