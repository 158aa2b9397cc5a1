"""Cases of operators with shapes as operands, which are known when they are compiled."""

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from cases.kernel import CaseTable
from xrelay.dialects.dyn import image as dyn_image
from xrelay.dialects.dyn import select as dyn_select
from xrelay.dialects.dyn import tensor as dyn
from xrelay.dialects.tensor import like

TABLE = CaseTable()


def numbers(g: Graph, *values: float, dtype: str = "int64") -> SSAValue:
    """A constant operand of rank 1."""
    return g.constant(np.array(values, dtype))


def number(g: Graph, value: float, dtype: str = "int64") -> SSAValue:
    """A constant operand of rank 0."""
    return g.constant(np.array(value, dtype))


@TABLE.case(
    dyn.DynBroadcastToOp,
    dyn.DynExpandDimsOp,
    dyn.DynReshapeOp,
    dyn.DynSqueezeOp,
    dyn.DynTileOp,
)
def reshaped(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 1, 7))
    g.show(dyn.DynBroadcastToOp(x, numbers(g, 2, 3, 5, 7)), BITS)
    g.show(dyn.DynExpandDimsOp(x, number(g, -2), num_newaxis=2), BITS)
    g.show(dyn.DynReshapeOp(x, numbers(g, 7, -1)), BITS)
    g.show(dyn.DynReshapeOp(x, numbers(g, 0, -1)), BITS)
    g.show(dyn.DynSqueezeOp(x, numbers(g, 1)), BITS)
    g.show(dyn.DynTileOp(x, numbers(g, 2, 1, 3, 2)), BITS)
    nothing = g.input(g.numbers("float32", 0, 4))
    g.show(dyn.DynReshapeOp(nothing, numbers(g, 2, 0), allowzero=True), BITS)


@TABLE.case(like.ShapeOfOp)
def shapes_of_other_tensors(g: Graph) -> None:
    x = g.input(g.numbers("float32", 4, 6))
    like_this = g.input(g.numbers("float32", 3, 8))
    reshaped = g.op(dyn.DynReshapeOp(x, g.op(like.ShapeOfOp(like_this, i64))))
    # What this shape is, follows from the one before.
    g.show(dyn.DynOnesOp(g.op(like.ShapeOfOp(reshaped, i64)), f32))
    g.returns(reshaped, BITS)


@TABLE.case(dyn.DynFullOp, dyn.DynOnesOp, dyn.DynZerosOp)
def filled(g: Graph) -> None:
    for shape in ((2, 17), (3, 0)):
        g.show(dyn.DynFullOp(g.input(np.float32(-0.0)), numbers(g, *shape)), BITS)
        g.show(dyn.DynOnesOp(numbers(g, *shape), i64))
        g.show(dyn.DynZerosOp(numbers(g, *shape), f32))


@TABLE.case(dyn.DynStridedSliceOp, dyn_select.DynPadOp)
def cut_and_padded(g: Graph) -> None:
    x = g.input(g.numbers("float32", 5, 9))
    g.show(
        dyn.DynStridedSliceOp(x, numbers(g, 4, 1), numbers(g, 0, 8), numbers(g, -2, 3)),
        BITS,
    )
    widths = g.constant(np.array([[1, 0], [2, 3]]))
    for mode in ("constant", "edge", "reflect"):
        value = g.input(np.float32(np.nan))
        g.show(dyn_select.DynPadOp(x, widths, value, pad_mode=mode), BITS)


@TABLE.case(dyn_select.DynOneHotOp, dyn_select.DynSparseToDenseOp, dyn_select.DynTopkOp)
def selected(g: Graph) -> None:
    indices = g.input(np.array([[0, 4, -1], [7, 2, 1]]))
    on, off = g.input(np.float32(2)), g.input(np.float32(-1))
    g.show(dyn_select.DynOneHotOp(indices, on, off, number(g, 5), dtype=f32))
    places, values = g.input(np.array([[0, 1], [1, 3]])), g.input(np.float32([3, 5]))
    g.show(dyn_select.DynSparseToDenseOp(places, values, off, numbers(g, 2, 4)))
    x = g.input(g.numbers("float32", 4, 9))
    g.show(dyn_select.DynTopkOp(x, number(g, 3), is_ascend=True), BITS)


@TABLE.case(dyn_image.DynResize2DOp, dyn_image.DynUpsampling3DOp, dyn_select.DynUpsamplingOp)
def resized(g: Graph) -> None:
    image = g.input(g.small("float32", 1, 2, 4, 6))
    roi = numbers(g, 0, 0.25, 1, 0.75, dtype="float32")
    g.show(dyn_image.DynResize2DOp(image, numbers(g, 7, 3), roi, method="cubic"), 8)
    g.show(
        dyn_image.DynResize2DOp(
            image,
            numbers(g, 2, 9),
            roi,
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
        8,
    )
    scales = [number(g, scale, "float32") for scale in (2.0, 1.5, 0.5)]
    g.show(dyn_select.DynUpsamplingOp(image, *scales[:2]), 8)
    volume = g.input(g.small("float32", 1, 2, 2, 3, 4))
    g.show(dyn_image.DynUpsampling3DOp(volume, *scales, method="trilinear"), 8)
