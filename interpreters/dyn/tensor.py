"""Operators with shapes, axes, slices or sizes as operands, in NumPy."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.dyn import image as dyn_image
from xrelay.dialects.dyn import select as dyn_select
from xrelay.dialects.dyn import tensor as dyn
from xrelay.interpreters.dyn.base import by_static


@register_impls
class DynFunctions(InterpreterFunctions):
    """One entry for each `relay.dyn` operator."""

    run_broadcast_to = by_static(dyn.DynBroadcastToOp)
    run_expand_dims = by_static(dyn.DynExpandDimsOp)
    run_full = by_static(dyn.DynFullOp)
    run_one_hot = by_static(dyn_select.DynOneHotOp)
    run_ones = by_static(dyn.DynOnesOp)
    run_pad = by_static(dyn_select.DynPadOp)
    run_reshape = by_static(dyn.DynReshapeOp)
    run_resize2d = by_static(dyn_image.DynResize2DOp)
    run_sparse_to_dense = by_static(dyn_select.DynSparseToDenseOp)
    run_squeeze = by_static(dyn.DynSqueezeOp)
    run_strided_slice = by_static(dyn.DynStridedSliceOp)
    run_tile = by_static(dyn.DynTileOp)
    run_topk = by_static(dyn_select.DynTopkOp)
    run_upsampling = by_static(dyn_select.DynUpsamplingOp)
    run_upsampling3d = by_static(dyn_image.DynUpsampling3DOp)
    run_zeros = by_static(dyn.DynZerosOp)
