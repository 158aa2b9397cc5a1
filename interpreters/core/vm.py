"""Operators of Relay's virtual machine in NumPy."""

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import vm
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning


@register_impls
class VmFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.vm`."""

    @meaning
    def run_shape_of(self, op: vm.VmShapeOfOp, tensor: Array) -> Array:
        return np.array(tensor.shape, dtype_of(op.dtype or i64))

    @meaning
    def run_reshape_tensor(self, op: vm.VmReshapeTensorOp, data: Array, shape: Array) -> Array:
        return data.reshape([int(dim) for dim in shape])
