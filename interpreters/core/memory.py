"""Explicit memory in NumPy."""

from typing import Any

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.core import memory
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import meaning
from xrelay.interpreters.core.adt import DataValue


@register_impls
class MemoryFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.core.memory`."""

    @meaning
    def run_alloc_storage(self, op: memory.AllocStorageOp, size: Array, _: Array) -> Any:
        return DataValue(memory.STORAGE, (np.zeros(int(size), np.uint8),))

    @meaning
    def run_alloc_tensor(
        self, op: memory.AllocTensorOp, storage: Any, offset: Array, shape: Array
    ) -> Array:
        stated = None if op.assert_shape is None else op.assert_shape.get_values()
        dims = tuple(int(dim) for dim in (stated or shape))
        return np.ndarray(dims, dtype_of(op.dtype), storage.fields[0].data, int(offset))

    @meaning
    def run_kill(self, op: memory.KillOp, to_free: Any) -> tuple[Array, ...]:
        return ()
