"""Explicit memory in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.core import memory
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.core.adt import DataValue


@register_impls
class MemoryFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.memory`."""

    @impl(memory.AllocStorageOp)
    def run_alloc_storage(
        self, interpreter: Interpreter, op: memory.AllocStorageOp, args: PythonValues
    ) -> PythonValues:
        size, _ = args
        return (DataValue(memory.STORAGE, (np.zeros(int(size), np.uint8),)),)

    @impl(memory.AllocTensorOp)
    def run_alloc_tensor(
        self, interpreter: Interpreter, op: memory.AllocTensorOp, args: PythonValues
    ) -> PythonValues:
        storage, offset, shape = args
        stated = None if op.assert_shape is None else op.assert_shape.get_values()
        dims = tuple(int(dim) for dim in (stated or shape))
        return (np.ndarray(dims, dtype_of(op.dtype), storage.fields[0].data, int(offset)),)

    @impl(memory.KillOp)
    def run_kill(
        self, interpreter: Interpreter, op: memory.KillOp, args: PythonValues
    ) -> PythonValues:
        return ((),)
