"""Operators on images, indices and orders, with the sizes of their results as operands, in NumPy."""

from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects import dyn_select
from xrelay.interpreters.dyn_base import by_static


@register_impls
class DynSelectFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.dyn_select`."""

    run_one_hot = by_static(dyn_select.DynOneHotOp)
    run_pad = by_static(dyn_select.DynPadOp)
    run_sparse_to_dense = by_static(dyn_select.DynSparseToDenseOp)
    run_topk = by_static(dyn_select.DynTopkOp)
    run_upsampling = by_static(dyn_select.DynUpsamplingOp)
