"""
Kernel code of the selection of boxes of all classes of images, which the threads share. What is done with the boxes of one
is sequential: the best one of those that are left is chosen unless it overlaps with one that was chosen before.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import larger
from xrelay.dialects.vision import nms as vision
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import INDEX
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import row_major
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import at
from xrelay.lowering.emit.strategy import Implementation, Sink, Strategy
from xrelay.lowering.math.arithmetic import lowest
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.argsort import key_element, order_key
from xrelay.lowering.operators.vision.best_first import BestFirst
from xrelay.lowering.operators.vision.nms import Rows
from xrelay.lowering.operators.vision.rivals import Rivals


class _ClassSuppression:
    """For each class of each image, the boxes that are chosen, and how many they are."""

    def __init__(self, ctx: KernelContext, op: vision.AllClassNonMaxSuppressionOp):
        self.ctx, self.b = ctx, ctx.b
        self.shape = shape_of(op.scores)
        batch, classes, count = self.shape
        self.boxes, self.scores = Rows(ctx, op.boxes), ctx.in_memory(op.scores)
        self.kind = self.boxes.computed
        self.threshold, self.least = ctx.scalar(op.iou_threshold), ctx.scalar(op.score_threshold)
        stated = ctx.scalar(op.max_output_boxes_per_class)
        self.most = convert(self.b, stated, element_of(op.max_output_boxes_per_class), INDEX)
        self.found = ctx.scratch(
            INDEX, row_major((larger(batch * classes * count, 1, of_empty=True),))
        )
        self.counts = ctx.scratch(INDEX, row_major((larger(batch * classes, 1, of_empty=True),)))
        self.candidates = BestFirst(ctx, count, key_element(self.kind))
        self.rivals = Rivals(ctx, count, self.kind)
        zero = self.b.constant(self.kind.compute, 0.0)
        self.suppresses = self.b.compare_floats(zero, "olt", self.threshold)

    def choose(self, number: Index) -> None:
        """Fills `found` and `counts` for a class, numbered through all images."""
        b, (_, classes, count), kind = self.b, self.shape, self.kind
        image, first = b.div(number, classes), b.mul(number, count)
        least, lowest_key = order_key(b, self.least, kind), int(lowest(self.candidates.key))

        def key_at(box: Index, lanes: int) -> SSAValue:
            score = b.load(self.scores.pointer, b.add(first, box), kind, lanes)
            key, none = (
                order_key(b, score, kind),
                b.constant(self.candidates.key.compute, lowest_key, lanes),
            )
            above = b.compare_integers(b.splat(least, lanes), "slt", key)
            return b.select(b.is_nan(score), none, b.select(above, key, none))

        self.candidates.fill(key_at)
        limited = b.compare_index(self.most, "sgt", 0)
        limit = b.select(limited, b.index(b.smaller(self.most, count)), b.index(count))
        limit = b.select(self.suppresses, limit, b.index(0))

        def goes_on(state: Sequence[SSAValue]) -> SSAValue:
            chosen, key, _ = state
            none = b.constant(self.candidates.key.compute, lowest_key)
            return b.both(
                b.compare_index(chosen, "slt", limit), b.compare_integers(key, "ne", none)
            )

        def step(state: Sequence[SSAValue]) -> Sequence[SSAValue]:
            chosen, _, box = state
            own = self.boxes.box(image, box, 0)
            keeps = b.negate(self.rivals.overlap(own, chosen, self.threshold))
            with b.when(keeps):
                b.store(self.found.pointer, b.add(first, chosen), INDEX, box)
                self.rivals.add(own, chosen)
            more = b.select(keeps, b.index(b.add(chosen, 1)), chosen)
            return [more, *self.candidates.take()]

        total, _, _ = b.fold_while([b.index(0), *self.candidates.take()], goes_on, step)
        b.store(self.counts.pointer, number, INDEX, total)

    def each_chosen(
        self, first: Index, number: int, write: Callable[[Index, Index, SSAValue, Index], None]
    ) -> SSAValue:
        """
        Hands what is chosen of `number` classes from `first` on to `write`: the class, counted from
        `first` and through all images, the box, and its place. Returns how many boxes there are.
        """
        b, count = self.b, self.shape[2]

        def one(step: Index, start: Sequence[SSAValue]) -> Sequence[SSAValue]:
            row = b.add(first, step)
            chosen = b.load(self.counts.pointer, row, INDEX, 1)
            with b.loop(0, chosen) as j:
                box = b.load(self.found.pointer, b.add(b.mul(row, count), j), INDEX, 1)
                write(step, row, box, b.add(start[0], j))
            return [b.index(b.add(start[0], chosen))]

        return b.fold(0, number, 1, [b.index(0)], one)[0]


def _all_class_non_max_suppression(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    assert isinstance(op, vision.AllClassNonMaxSuppressionOp)
    suppression = _ClassSuppression(ctx, op)
    batch, classes, _ = suppression.shape
    ctx.tasks((batch * classes,), lambda indices: suppression.choose(indices[0]))
    ctx.barrier()
    if op.output_format.data == "onnx":
        ctx.tasks((1,), lambda _: _write_all(ctx, suppression, sink))
    else:
        ctx.tasks((batch,), lambda indices: _write_image(ctx, suppression, indices[0], sink))


def _write_all(ctx: KernelContext, suppression: _ClassSuppression, sink: Sink) -> None:
    """Image, class and box of all that is chosen, and how many rows these are."""
    b, (batch, classes, count) = ctx.b, suppression.shape
    rows = batch * classes * count

    def write(_: Index, row: Index, box: SSAValue, target: Index) -> None:
        for k, each in enumerate((b.div(row, classes), b.mod(row, classes), box)):
            sink(at((rows, 3), (target, k)), b.index(each))

    total = suppression.each_chosen(0, batch * classes, write)
    with b.loop(total, rows) as row:
        for k in range(3):
            sink(at((rows, 3), (row, k)), b.constant(i64, 0))
    ctx.sinks[1](at((1,), (0,)), total)


def _write_image(
    ctx: KernelContext, suppression: _ClassSuppression, image: Index, sink: Sink
) -> None:
    """Class and box, and the score, of what is chosen of an image, and how many rows these are."""
    b, (batch, classes, count), kind = ctx.b, suppression.shape, suppression.kind
    rows = (batch, classes * count)

    def write(step: Index, row: Index, box: SSAValue, target: Index) -> None:
        for k, each in enumerate((step, box)):
            sink(at((*rows, 2), (image, target, k)), b.index(each))
        value = b.load(suppression.scores.pointer, b.add(b.mul(row, count), box), kind, 1)
        ctx.sinks[1](at(rows, (image, target)), value)

    total = suppression.each_chosen(b.mul(image, classes), classes, write)
    with b.loop(total, classes * count) as row:
        for k in range(2):
            sink(at((*rows, 2), (image, row, k)), b.constant(i64, 0))
        ctx.sinks[1](at(rows, (image, row)), b.constant(kind.compute, 0.0))
    ctx.sinks[2](at((batch,), (image,)), total)


STRATEGIES: dict[type[Operation], Strategy] = {
    vision.AllClassNonMaxSuppressionOp: (
        Implementation("classes", _all_class_non_max_suppression),
    ),
}
