"""Cases of what few programs ask for: vectors of elements that lie in several rows, and results without elements."""

from itertools import product

import numpy as np
from graphs import BITS, Graph
from xdsl.ir import Operation, SSAValue

from cases.kernel import CaseTable
from xrelay.dialects.conv import conv, gradient
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image import resize, sampling
from xrelay.dialects.nn import correlation, space, upsampling
from xrelay.dialects.pool import adaptive, pool
from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.sparse import products as sparse
from xrelay.dialects.tensor import binary, indexing, layout, reshape, transform, unary
from xrelay.dialects.vision import regions

TABLE = CaseTable()


@TABLE.case(reshape.ReshapeOp)
def elements_of_several_rows(g: Graph) -> None:
    """A kernel with a result of one row asks for vectors that begin in one row and end in another."""

    def flat(op: Operation) -> None:
        g.show(reshape.ReshapeOp(g.op(op), [-1]), BITS)

    x, number = g.input(g.numbers("float32", 2, 3, 5, 7)), g.input(np.float32(2))
    one, low = [(0, 0), (1, 0), (0, 0), (0, 0)], [(0, 0), (1, 0), (0, 1), (0, 0)]
    for widths in (one, low, [*low[:3], (0, 2)], [*low[:3], (3, -1)], [*low[:3], (-1, 3)]):
        flat(space.PadOp(x, number, widths))
    flat(space.PadOp(x, number, one, pad_mode="edge"))
    flat(space.SpaceToBatchNDOp(x, [3], paddings=[(1, 2)]))
    flat(indexing.TakeOp(x, g.input(np.array([2, 0, 1], np.int32)), axis=1))
    flat(indexing.GatherNDOp(x, g.input(np.array([[1, 0, 1]], np.int32))))
    flat(upsampling.UpsamplingOp(x, scale_h=2, scale_w=1))
    flat(binary.MaximumOp(x, g.input(g.numbers("float32", 3, 1, 7))))
    flat(sampling.AffineGridOp(g.input(g.small("float32", 2, 2, 3)), [3, 5]))
    smooth = g.input(g.small("float32", 2, 3, 5, 7))
    flat(upsampling.UpsamplingOp(smooth, scale_h=2, scale_w=2, method="bilinear"))


@TABLE.case(QnnDequantizeOp)
def scales_of_several_rows(g: Graph) -> None:
    for shape, axis in (((2, 5, 7), 1), ((5, 14), 0), ((3, 11), 1), ((2, 3, 5), 2)):
        scale = g.input((2.0 ** g.rng.integers(-3, 4, shape[axis])).astype(np.float32))
        zero = g.input(np.arange(shape[axis], dtype=np.int32))

        def body(b: Graph, *operands: SSAValue, axis: int = axis) -> SSAValue:
            return b.op(reshape.ReshapeOp(b.op(QnnDequantizeOp(*operands, axis=axis)), [-1]))

        g.returns(g.fused([g.input(g.numbers("int8", *shape)), scale, zero], body))


@TABLE.case(transform.TransposeOp, binary.AddOp)
def operands_that_broadcast_to_transposes(g: Graph) -> None:
    for shape, axes in (
        ((2, 24, 5, 8), (0, 2, 3, 1)),
        ((2, 5, 8, 24), (0, 3, 1, 2)),
        ((4, 8, 16), (2, 0, 1)),
    ):
        value = g.op(transform.TransposeOp(g.input(g.small("float32", *shape)), axes))
        whole = [shape[axis] for axis in axes]
        for chosen in product((False, True), repeat=len(whole)):
            other = [n if kept else 1 for n, kept in zip(whole, chosen, strict=True)]
            value = g.op(binary.AddOp(value, g.input(g.small("float32", *other))))
        g.returns(value)


@TABLE.case(layout.LayoutTransformOp)
def channels_that_are_no_whole_block(g: Graph) -> None:
    for channels, block, (height, width) in product((1, 3, 5), (4, 5), ((1, 1), (1, 3), (2, 5))):
        x = g.input(g.numbers("float32", 2, channels, height, width))
        g.show(layout.LayoutTransformOp(x, "NCHW", f"NCHW{block}c"), BITS)
        g.show(layout.LayoutTransformOp(x, "NCHW", f"NHWC{block}c"), BITS)


@TABLE.case(resize.Resize2DOp)
def results_of_nothing(g: Graph) -> None:
    def numbers(*shape: int) -> SSAValue:
        return g.input(g.small("float32", *shape))

    def indices(*numbers: int) -> SSAValue:
        return g.input(np.array(numbers, np.int32))

    none, image = numbers(0, 3, 4, 5), numbers(1, 3, 4, 5)
    boxes = g.input(np.zeros((0, 4), np.float32))
    for method in ("nearest_neighbor", "linear", "cubic"):
        g.show(resize.Resize2DOp(none, (2, 3), method=method))
        g.show(resize.Resize3DOp(numbers(1, 0, 2, 2, 2), (2, 3, 1), method=method))
    g.show(resize.CropAndResizeOp(image, boxes, indices(), (2, 2)))
    g.show(resize.Dilation2DOp(none, numbers(3, 2, 2)))
    g.show(sampling.GridSampleOp(none, numbers(0, 2, 3, 3)))
    g.show(regions.RoiPoolOp(image, numbers(0, 5), (2, 2), 1.0))
    for op in (pool.AvgPool2DOp, pool.MaxPool2DOp):
        g.show(op(none, (2, 2)))
        g.show(op(numbers(0, 1, 4, 5, 8), (2, 2), layout="NCHW8c"))
    for op in (adaptive.AdaptiveAvgPool2DOp, adaptive.AdaptiveMaxPool2DOp):
        g.show(op(none, output_size=[2, 2]))
    g.show(correlation.DeformableConv2DOp(none, numbers(0, 2, 4, 5), numbers(2, 3, 1, 1)))
    # The only one that writes to the workspace, which is NaN before.
    rows = numbers(1, 1, 0, 3), numbers(1, 2, 1, 4), numbers(2, 1, 1, 1)
    g.show(correlation.DeformableConv2DOp(*rows, padding=(1, 0, 0, 1)))
    g.show(gradient.Conv2DBackwardWeightOp(numbers(1, 0, 3, 4), image, kernel_size=(2, 2)))
    for groups, weight in ((1, (2, 3, 3, 3)), (3, (3, 1, 3, 3))):
        g.show(conv.Conv2DOp(none, numbers(*weight), groups=groups, padding=(1, 1)))
    matrix = (numbers(2), indices(0, 1), indices(0, 1, 2))
    g.show(sparse.SparseDenseOp(numbers(0, 2), *matrix))
    g.show(sparse.SparseConv2DOp(numbers(0, 2, 2, 2), numbers(2, 1), *matrix[1:]))
    no_rows = (numbers(0), indices(), indices(0))
    g.show(sparse.SparseAddOp(numbers(0, 3), *no_rows))
    many = g.op(TupleOp([numbers(0, 3)] * 40))
    g.show(transform.ConcatenateOp(many))
    parts = g.op(transform.SplitOp(numbers(40, 0), 40))
    g.show(TupleGetItemOp(parts, 1))
    g.show(unary.NegativeOp(none))
