"""
Kernel code of the selection of boxes. Images, or classes of images, are shared between the threads;
what is done with the boxes of one is sequential.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import larger
from xrelay.dialects.vision import nms as vision
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import maximum, minimum
from xrelay.lowering.math.convert import convert
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.tensor.argsort import Sorter, score_key

COUNT = element(i32)

Corners = tuple[SSAValue, SSAValue, SSAValue, SSAValue]
"""Left, top, right and bottom of a box, whichever corners it was given by."""


def narrowed(b: KernelBuilder, index: Index) -> SSAValue:
    """An index as i32."""
    return convert(b, b.index(index), INDEX, COUNT)


def corners(b: KernelBuilder, numbers: Sequence[SSAValue], kind: Element) -> Corners:
    """The box that has two opposite corners."""
    left, top, right, bottom = numbers
    return (
        minimum(b, left, right, kind),
        minimum(b, top, bottom, kind),
        maximum(b, left, right, kind),
        maximum(b, top, bottom, kind),
    )


def overlap(b: KernelBuilder, one: Corners, other: Corners, kind: Element) -> SSAValue:
    """The part of the area of two boxes together that they have in common."""
    v = Lanes.of(b, one[0])
    zero = v.number(0.0)

    def shared_length(i: int) -> SSAValue:
        high = minimum(b, one[2 + i], other[2 + i], kind)
        low = maximum(b, one[i], other[i], kind)
        return maximum(b, zero, v.sub(high, low), kind)

    width, height = shared_length(0), shared_length(1)
    common = v.mul(height, width)
    first, second = (v.mul(v.sub(box[2], box[0]), v.sub(box[3], box[1])) for box in (one, other))
    both = v.sub(v.add(first, second), common)
    part = v.div(common, both)
    return b.select(b.compare_floats(both, "ole", zero), zero, part)


class Rows:
    """The rows of `data` [B, N, K]."""

    def __init__(self, ctx: KernelContext, data: SSAValue):
        self.b = ctx.b
        self.buffer = ctx.in_memory(data)
        self.kind = element_of(data)
        self.computed = wide(self.kind)

    def raw(self, image: Index, row: Index, column: Index) -> SSAValue:
        """An element."""
        offset = self.b.flatten((image, row, column), self.buffer.shape)
        return self.b.load(self.buffer.pointer, offset, self.kind, 1)

    def number(self, image: Index, row: Index, column: Index) -> SSAValue:
        """An element in the type that is computed in."""
        return convert(self.b, self.raw(image, row, column), self.kind, self.computed)

    def box(self, image: Index, row: Index, first: int) -> Corners:
        """The box whose corners are elements from `first` on."""
        numbers = [self.number(image, row, first + i) for i in range(4)]
        return corners(self.b, numbers, self.computed)


def _get_valid_counts(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, vision.GetValidCountsOp)
    b, shape = ctx.b, shape_of(op.data)
    batch, count, length = shape
    rows, threshold = Rows(ctx, op.data), ctx.scalar(op.score_threshold)
    kind = rows.computed
    threshold = convert(b, threshold, rows.kind, kind)
    score, identity = op.score_index.value.data, op.id_index.value.data
    row_sink, index_sink = ctx.sinks[1:]

    def image(indices: tuple[Index, ...]) -> None:
        (i,) = indices

        def step(j: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            valid = b.compare_floats(threshold, "olt", rows.number(i, j, score))
            if identity >= 0:
                zero = b.constant(kind.compute, 0.0)
                known = b.compare_floats(zero, "ole", rows.number(i, j, identity))
                valid = b.both(valid, known)
            with b.when(valid):
                with b.loop(0, length) as k:
                    row_sink(at(shape, (i, found[0], k)), rows.raw(i, j, k))
                index_sink(at(shape[:2], (i, found[0])), narrowed(b, j))
            return [b.select(valid, b.index(b.add(found[0], 1)), found[0])]

        (valid_count,) = b.fold(0, count, 1, [b.index(0)], step)
        with b.loop(valid_count, count) as j:
            with b.loop(0, length) as k:
                row_sink(at(shape, (i, j, k)), b.constant(rows.kind.compute, -1))
            index_sink(at(shape[:2], (i, j)), b.constant(i32, -1))
        sink(at((batch,), (i,)), narrowed(b, valid_count))

    ctx.tasks((batch,), image)


class _Suppression:
    """The rows of one image that are kept, as numbers of rows or -1 in the order of scores."""

    def __init__(self, ctx: KernelContext, op: vision.NonMaxSuppressionOp):
        self.ctx, self.b, self.op = ctx, ctx.b, op
        self.shape = shape_of(op.data)
        self.rows = Rows(ctx, op.data)
        self.kind = self.rows.computed
        self.valid = ctx.in_memory(op.valid_count)
        most, threshold = ctx.scalar(op.max_output_size), ctx.scalar(op.iou_threshold)
        self.most = convert(self.b, most, element_of(op.max_output_size), INDEX)
        self.threshold = convert(self.b, threshold, element_of(op.iou_threshold), self.kind)
        zero = self.b.constant(self.kind.compute, 0.0)
        self.suppresses = self.b.compare_floats(zero, "olt", self.threshold)
        self.sorter = Sorter(ctx, self.shape[1], self.kind)
        self.chosen = ctx.private_scratch(
            INDEX, row_major((larger(self.shape[1], 1, of_empty=True),))
        )

    def choose(self, image: Index) -> None:
        """Fills `chosen`."""
        b, capacity = self.b, self.shape[1]
        loaded = b.load(self.valid.pointer, image, COUNT, 1)
        stated = convert(b, loaded, COUNT, INDEX)
        count = b.index(b.smaller(b.larger(stated, 0), capacity))
        with b.loop(0, capacity) as j:
            inside = b.compare_index(j, "slt", count)
            b.store(self.chosen.pointer, j, INDEX, b.select(inside, b.index(j), b.index(-1)))
        with b.when(self.suppresses):
            self._suppress(image, count)

    def _suppress(self, image: Index, count: SSAValue) -> None:
        b, op = self.b, self.op
        score, top_k = op.score_index.value.data, op.top_k.value.data
        self.sorter.sort(
            count, lambda row: score_key(b, self.rows.number(image, row, score), self.kind)
        )
        zero = b.constant(self.kind.compute, 0.0)

        def step(place: Index, kept: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = self.sorter.number(place)
            if top_k > 0:
                row = b.select(b.compare_index(place, "slt", top_k), row, b.index(-1))
            inside = b.index(b.larger(row, 0))
            positive = b.compare_floats(zero, "olt", self.rows.number(image, inside, score))
            counts = b.both(b.compare_index(row, "sge", 0), positive)
            full = b.compare_index(kept[0], "eq", self.most)
            b.store(self.chosen.pointer, place, INDEX, row)
            drops = self._overlaps_before(image, place, inside)
            drops = b.either(full, b.both(counts, drops))
            with b.when(drops):
                b.store(self.chosen.pointer, place, INDEX, b.index(-1))
            more = b.both(counts, b.negate(drops))
            return [b.select(more, b.index(b.add(kept[0], 1)), kept[0])]

        b.fold(0, count, 1, [b.index(0)], step)

    def _overlaps_before(self, image: Index, place: Index, row: SSAValue) -> SSAValue:
        """Whether a row overlaps with one that was kept before it."""
        b, op, kind = self.b, self.op, self.kind
        start, score = op.coord_start.value.data, op.score_index.value.data
        identity, force = op.id_index.value.data, bool(op.force_suppress.value.data)
        own = self.rows.box(image, row, start)
        zero = b.constant(kind.compute, 0.0)

        def step(before: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            stated = b.load(self.chosen.pointer, before, INDEX, 1)
            other = b.index(b.larger(stated, 0))
            rival = b.compare_floats(zero, "olt", self.rows.number(image, other, score))
            rival = b.both(rival, b.compare_index(stated, "sge", 0))
            if identity >= 0:
                theirs = self.rows.number(image, other, identity)
                rival = b.both(rival, b.compare_floats(zero, "ole", theirs))
                if not force:
                    ours = self.rows.number(image, row, identity)
                    rival = b.both(rival, b.compare_floats(ours, "oeq", theirs))
            part = overlap(b, own, self.rows.box(image, other, start), kind)
            overlaps = b.compare_floats(self.threshold, "ole", part)
            return [b.either(found[0], b.both(rival, overlaps))]

        return b.fold(0, place, 1, [b.constant(i1, 0)], step)[0]


def _non_max_suppression(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, vision.NonMaxSuppressionOp)
    shape = shape_of(op.data)
    suppression = _Suppression(ctx, op)
    indices = ctx.in_memory(op.indices)
    returns_indices = bool(op.return_indices.value.data)

    def image(place: tuple[Index, ...]) -> None:
        suppression.choose(place[0])
        if returns_indices:
            _write_indices(ctx, suppression, indices, place[0], sink)
        else:
            _write_rows(ctx, suppression, place[0], sink)

    ctx.tasks((shape[0],), image)


def _compacted(
    b: KernelBuilder,
    capacity: int,
    taken: Callable[[Index], tuple[SSAValue, Callable[[Index], None]]],
    fill: Callable[[Index], None],
) -> SSAValue:
    """
    Moves what is taken to the front: `taken` tells for each place whether it is, and how it is
    written to a place. Returns how many there are; `fill` writes the places after them.
    """

    def step(place: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
        keeps, write = taken(place)
        with b.when(keeps):
            write(found[0])
        return [b.select(keeps, b.index(b.add(found[0], 1)), found[0])]

    (count,) = b.fold(0, capacity, 1, [b.index(0)], step)
    with b.loop(count, capacity) as place:
        fill(place)
    return count


def _write_indices(
    ctx: KernelContext, suppression: _Suppression, indices: Buffer, image: Index, sink: Sink
) -> None:
    b, shape = ctx.b, suppression.shape[:2]

    def taken(place: Index) -> tuple[SSAValue, Callable[[Index], None]]:
        row = b.load(suppression.chosen.pointer, place, INDEX, 1)
        inside = b.index(b.larger(row, 0))
        index = b.load(indices.pointer, b.flatten((image, inside), shape), COUNT, 1)
        known = b.compare_integers(index, "sge", b.constant(i32, 0))
        keeps = b.both(b.compare_index(row, "sge", 0), known)
        return keeps, lambda target: sink(at(shape, (image, target)), index)

    count = _compacted(
        b,
        shape[1],
        taken,
        lambda place: sink(at(shape, (image, place)), b.constant(i32, -1)),
    )
    ctx.sinks[1](at((shape[0], 1), (image, 0)), narrowed(b, count))


def _write_rows(ctx: KernelContext, suppression: _Suppression, image: Index, sink: Sink) -> None:
    b, shape, rows = ctx.b, suppression.shape, suppression.rows
    minus = b.constant(rows.kind.compute, -1)

    def fill(place: Index) -> None:
        with b.loop(0, shape[2]) as k:
            sink(at(shape, (image, place, k)), minus)

    def copy(row: SSAValue, target: Index) -> None:
        with b.loop(0, shape[2]) as k:
            sink(at(shape, (image, target, k)), rows.raw(image, row, k))

    def chosen(place: Index) -> tuple[SSAValue, SSAValue]:
        row = b.load(suppression.chosen.pointer, place, INDEX, 1)
        return b.compare_index(row, "sge", 0), b.index(b.larger(row, 0))

    if suppression.op.invalid_to_bottom.value.data:

        def taken(place: Index) -> tuple[SSAValue, Callable[[Index], None]]:
            keeps, row = chosen(place)
            zero = b.constant(rows.computed.compute, 0.0)
            known = b.compare_floats(zero, "ole", rows.number(image, row, 0))
            return b.both(keeps, known), lambda target: copy(row, target)

        _compacted(b, shape[1], taken, fill)
        return
    with b.loop(0, shape[1]) as place:
        keeps, row = chosen(place)
        with b.when(keeps):
            copy(row, place)
        with b.when(b.negate(keeps)):
            fill(place)


STRATEGIES: dict[type[Operation], Strategy] = {
    vision.GetValidCountsOp: (Implementation("rows", _get_valid_counts),),
    vision.NonMaxSuppressionOp: (Implementation("rows", _non_max_suppression),),
}
