"""Operators of Relay's virtual machine in NumPy."""

from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import vm
from xrelay.interpreters.arrays import Array, arrays_in, dtype_of
from xrelay.interpreters.base import meaning


@register_impls
class VmFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.vm`."""

    @meaning
    def run_shape_of(self, op: vm.VmShapeOfOp, tensor: Array) -> Array:
        return np.array(tensor.shape, dtype_of(op.dtype or i64))

    @meaning
    def run_invoke(self, op: vm.VmInvokeTvmOp, function: Any, ins: Any, outs: Any) -> Any:
        for out, array in zip(outs, arrays_in(function.call(ins)), strict=True):
            out[...] = array
        return ()

    @meaning
    def run_reshape_tensor(self, op: vm.VmReshapeTensorOp, data: Array, shape: Array) -> Array:
        return data.reshape([int(dim) for dim in shape])
