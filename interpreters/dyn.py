"""Operators that create and reshape tensors, with shapes, axes or slices as operands, in NumPy."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects import dyn
from xrelay.interpreters.dyn_base import by_static


@register_impls
class DynFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.dyn`."""

    run_broadcast_to = by_static(dyn.DynBroadcastToOp)
    run_expand_dims = by_static(dyn.DynExpandDimsOp)
    run_full = by_static(dyn.DynFullOp)
    run_ones = by_static(dyn.DynOnesOp)
    run_reshape = by_static(dyn.DynReshapeOp)
    run_squeeze = by_static(dyn.DynSqueezeOp)
    run_strided_slice = by_static(dyn.DynStridedSliceOp)
    run_tile = by_static(dyn.DynTileOp)
    run_zeros = by_static(dyn.DynZerosOp)
