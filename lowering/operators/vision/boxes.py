"""Kernel code of boxes: those that stand on images, and those that a network moves and keeps."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.vision import regions
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX, Element, wide
from xrelay.lowering.emit.evaluate import Buffer, element_of, leaf_element, leaf_shape, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Sink
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math.arithmetic import maximum, minimum
from xrelay.lowering.math.convert import REAL, convert
from xrelay.lowering.math.interpolation import real
from xrelay.lowering.math.lanes import Lanes
from xrelay.lowering.operators.tensor.argsort import Sorter, score_key
from xrelay.lowering.operators.vision.nms import narrowed


def multibox_prior(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Relay's `vision.multibox_prior`: the boxes of each place of an image."""
    assert isinstance(op, regions.MultiboxPriorOp)
    b, kind, shape = ctx.b, element_of(op.result), shape_of(op.result)
    height, width = shape_of(op.data)[2:]
    steps, offsets = op.step_sizes(height, width), op.offsets.get_values()
    sizes = op.half_sizes(height, width)

    def place(indices: tuple[Index, ...]) -> None:
        centres: list[SSAValue] = []
        # Columns come first in a box.
        for axis in (1, 0):
            x = real(b, indices[axis])
            v = Lanes.of(b, x)
            centres.append(v.mul(v.add(x, v.number(offsets[axis])), v.number(steps[axis])))
        first = b.mul(b.flatten(indices, (height, width)), len(sizes))
        for k, half in enumerate(sizes):
            for i in range(4):
                v = Lanes.of(b, centres[i % 2])
                edge = (v.sub if i < 2 else v.add)(centres[i % 2], v.number(half[i % 2]))
                if op.clip.value.data:
                    edge = _between(b, edge)
                sink(at(shape, (0, b.add(first, k), i)), convert(b, edge, REAL, kind))

    ctx.tasks((height, width), place)


def _between(b: KernelBuilder, x: SSAValue) -> SSAValue:
    """The nearest number from 0 to 1."""
    v = Lanes.of(b, x)
    below = b.insert(arith.MinimumfOp(v.number(1.0), x)).result
    return b.insert(arith.MaximumfOp(v.number(0.0), below)).result


def multibox_transform_loc(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Relay's `vision.multibox_transform_loc`: boxes moved, with their classes, best first."""
    assert isinstance(op, regions.MultiboxTransformLocOp)
    b, (batch, classes, count) = ctx.b, shape_of(op.cls_prob)
    shape, source = leaf_shape((op.result, 0)), leaf_element((op.result, 0))
    kind = wide(source)
    probabilities, moves, anchor = (ctx.in_memory(value) for value in op.operands)
    threshold = b.constant(kind.compute, op.threshold.value.data)
    variances = op.variances.get_values()

    def load(buffer: Buffer, *coords: Index) -> SSAValue:
        value = b.load(buffer.pointer, b.flatten(coords, buffer.shape), source, 1)
        return convert(b, value, source, kind)

    def box(image: Index, number: Index) -> list[SSAValue]:
        left, top, right, bottom = (load(anchor, 0, number, i) for i in range(4))
        delta = [load(moves, image, b.add(b.mul(number, 4), i)) for i in range(4)]
        v = Lanes.of(b, left)
        centres: list[SSAValue] = []
        halves: list[SSAValue] = []
        for i, (low, high) in enumerate(((left, right), (top, bottom))):
            size, middle = v.sub(high, low), v.div(v.add(low, high), v.number(2.0))
            moved = v.mul(v.mul(delta[i], v.number(variances[i])), size)
            centres.append(v.add(moved, middle))
            raised = vector_math.exp(b, v.mul(delta[2 + i], v.number(variances[2 + i])))
            halves.append(v.div(v.mul(raised, size), v.number(2.0)))
        edges = [(v.sub if i < 2 else v.add)(centres[i % 2], halves[i % 2]) for i in range(4)]
        return [_between(b, edge) for edge in edges] if op.clip.value.data else edges

    def image(indices: tuple[Index, ...]) -> None:
        (i,) = indices

        def step(number: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def compare(k: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                probability = load(probabilities, i, k, number)
                above = b.compare_floats(best[0], "olt", probability)
                return [b.select(above, probability, best[0]), b.select(above, b.index(k), best[1])]

            start = [b.constant(kind.compute, -1.0), b.index(0)]
            best, chosen = b.fold(1, classes, 1, start, compare)
            low = b.compare_floats(best, "olt", threshold)
            valid = b.both(b.compare_index(chosen, "sge", 1), b.negate(low))
            with b.when(valid):
                name = convert(b, b.index(b.sub(chosen, 1)), INDEX, kind)
                for j, value in enumerate((name, best, *box(i, number))):
                    sink(at(shape, (i, found[0], j)), convert(b, value, kind, source))
            return [b.select(valid, b.index(b.add(found[0], 1)), found[0])]

        (total,) = b.fold(0, count, 1, [b.index(0)], step)
        with b.loop(total, count) as row:
            for j in range(6):
                sink(at(shape, (i, row, j)), b.constant(source.compute, -1))
        ctx.sinks[1](at((batch,), (i,)), narrowed(b, total))

    ctx.tasks((batch,), image)


class _Proposals:
    """The boxes of one image, in memory of the thread."""

    def __init__(self, ctx: KernelContext, op: regions.ProposalOp):
        self.ctx, self.b, self.op = ctx, ctx.b, op
        self.source = element_of(op.cls_prob)
        self.kind = wide(self.source)
        self.scores, self.moves, self.info = (ctx.in_memory(value) for value in op.operands)
        self.anchors = op.anchors()
        _, _, self.height, self.width = self.scores.shape
        self.count = self.height * self.width * len(self.anchors)
        top = op.rpn_pre_nms_top_n.value.data
        self.candidates = min(top, self.count) if top > 0 else self.count
        self.boxes = ctx.private_scratch(self.kind, row_major((4 * self.count,)))
        self.best = ctx.private_scratch(self.kind, row_major((self.count,)))
        self.sorter = Sorter(ctx, self.count, self.kind)
        self.kept = ctx.private_scratch(INDEX, row_major((self.candidates,)))

    def load(self, buffer: Buffer, *coords: Index) -> SSAValue:
        """An element as f64."""
        offset = self.b.flatten(coords, buffer.shape)
        return convert(
            self.b, self.b.load(buffer.pointer, offset, self.source, 1), self.source, REAL
        )

    def predict(self, image: Index) -> None:
        """Fills `boxes` and `best`."""
        b, kinds = self.b, len(self.anchors)
        info = [self.load(self.info, image, i) for i in range(3)]
        v = Lanes.of(b, info[0])
        stride = float(self.op.feature_stride.value.data)
        limits = [v.sub(info[1 - i], v.number(1.0)) for i in (0, 1)]
        least = v.mul(info[2], v.number(float(self.op.rpn_min_size.value.data)))
        grown = v.div(least, v.number(2.0))
        inside = [convert(b, v.div(info[i], v.number(stride)), REAL, INDEX) for i in (0, 1)]

        def place(coords: tuple[Index, ...]) -> None:
            shifts = [v.mul(real(b, coords[1 - i]), v.number(stride)) for i in (0, 1)]
            beyond = b.either(*(b.compare_index(coords[i], "sge", inside[i]) for i in (0, 1)))
            first = b.mul(b.flatten(coords, (self.height, self.width)), kinds)
            for k, anchor in enumerate(self.anchors):
                corners = [v.add(v.number(anchor[i]), shifts[i % 2]) for i in range(4)]
                delta = [self.load(self.moves, image, 4 * k + i, *coords) for i in range(4)]
                # From 0 to the limits; 0 where these are negative.
                cut = [
                    v.at_least(v.at_most(corner, limits[i % 2]), 0.0)
                    for i, corner in enumerate(self._moved(v, corners, delta))
                ]
                sizes = (v.add(v.sub(cut[2 + i], cut[i]), v.number(1.0)) for i in (0, 1))
                small = b.either(*(b.compare_floats(size, "olt", least) for size in sizes))
                box = b.add(first, k)
                for i, corner in enumerate(cut):
                    larger = (v.sub if i < 2 else v.add)(corner, grown)
                    value = convert(b, b.select(small, larger, corner), REAL, self.kind)
                    b.store(self.boxes.pointer, b.add(b.mul(box, 4), i), self.kind, value)
                score = self.load(self.scores, image, kinds + k, *coords)
                none = b.constant(f64, -1.0)
                score = b.select(b.either(beyond, small), none, score)
                b.store(self.best.pointer, box, self.kind, convert(b, score, REAL, self.kind))

        b.loop_nest((self.height, self.width), place)

    def _moved(
        self, v: Lanes, corners: Sequence[SSAValue], delta: Sequence[SSAValue]
    ) -> list[SSAValue]:
        if self.op.iou_loss.value.data:
            return [v.add(*both) for both in zip(corners, delta, strict=True)]
        one, half = v.number(1.0), v.number(0.5)
        centres: list[SSAValue] = []
        halves: list[SSAValue] = []
        for i in (0, 1):
            size = v.add(v.sub(corners[2 + i], corners[i]), one)
            middle = v.add(corners[i], v.mul(half, v.sub(size, one)))
            centres.append(v.add(v.mul(delta[i], size), middle))
            raised = v.mul(vector_math.exp(self.b, delta[2 + i]), size)
            halves.append(v.mul(half, v.sub(raised, one)))
        return [(v.sub if i < 2 else v.add)(centres[i % 2], halves[i % 2]) for i in range(4)]

    def box(self, number: Index) -> list[SSAValue]:
        """The corners of a box."""
        first = self.b.mul(number, 4)
        return [
            self.b.load(self.boxes.pointer, self.b.add(first, i), self.kind, 1) for i in range(4)
        ]

    def separate(self) -> SSAValue:
        """Fills `kept` with the numbers of boxes that are kept; returns how many they are."""
        b, kind = self.b, self.kind
        self.sorter.sort(
            self.count, lambda i: score_key(b, b.load(self.best.pointer, i, kind, 1), kind)
        )
        threshold = b.constant(kind.compute, self.op.threshold.value.data)

        def step(place: Index, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number = self.sorter.number(place)
            own = self.box(number)

            def compare(before: Index, over: Sequence[SSAValue]) -> Sequence[SSAValue]:
                other = self.box(b.load(self.kept.pointer, before, INDEX, 1))
                part = _common_part(b, other, own, kind)
                return [b.either(over[0], b.compare_floats(threshold, "olt", part))]

            (removed,) = b.fold(0, found[0], 1, [b.constant(i1, 0)], compare)
            keeps = b.negate(removed)
            with b.when(keeps):
                b.store(self.kept.pointer, found[0], INDEX, number)
            return [b.select(keeps, b.index(b.add(found[0], 1)), found[0])]

        return b.fold(0, self.candidates, 1, [b.index(0)], step)[0]


def _common_part(
    b: KernelBuilder, one: Sequence[SSAValue], other: Sequence[SSAValue], kind: Element
) -> SSAValue:
    """The part of the area of two boxes together that both have, edges being elements wide."""
    v = Lanes.of(b, one[0])
    unit, zero = v.number(1.0), v.number(0.0)

    def length(low: SSAValue, high: SSAValue) -> SSAValue:
        return v.add(v.sub(high, low), unit)

    def area(box: Sequence[SSAValue]) -> SSAValue:
        return v.mul(length(box[0], box[2]), length(box[1], box[3]))

    def shared_length(i: int) -> SSAValue:
        high = minimum(b, one[2 + i], other[2 + i], kind)
        low = maximum(b, one[i], other[i], kind)
        return maximum(b, length(low, high), zero, kind)

    common = v.mul(shared_length(0), shared_length(1))
    return v.div(common, v.sub(v.add(area(one), area(other)), common))


def proposal(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    """Relay's `vision.proposal`: the boxes that differ most, best first."""
    assert isinstance(op, regions.ProposalOp)
    b, shape = ctx.b, shape_of(op.result)
    proposals, count = _Proposals(ctx, op), op.rpn_post_nms_top_n.value.data
    kind, out = proposals.kind, element_of(op.result)

    def image(indices: tuple[Index, ...]) -> None:
        (i,) = indices
        proposals.predict(i)
        total = proposals.separate()
        name = convert(b, b.index(i), INDEX, out)

        def row(j: Index, place: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number = b.load(proposals.kept.pointer, place[0], INDEX, 1)
            values = [name, *(convert(b, each, kind, out) for each in proposals.box(number))]
            for k, value in enumerate(values):
                sink(at(shape, (b.add(b.mul(i, count), j), k)), value)
            following = b.index(b.add(place[0], 1))
            again = b.compare_index(following, "sge", total)
            return [b.select(again, b.index(0), following)]

        b.fold(0, count, 1, [b.index(0)], row)

    ctx.tasks((shape[0] // count,), image)
