"""Filled tensors in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects import creation
from xrelay.interpreters.arrays import dtype_of


@register_impls
class CreationFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.creation`."""

    @impl(creation.ZerosOp)
    def run_zeros(
        self, interpreter: Interpreter, op: creation.ZerosOp, args: PythonValues
    ) -> PythonValues:
        return (np.zeros(op.shape.get_values(), dtype_of(op.dtype)),)

    @impl(creation.OnesOp)
    def run_ones(
        self, interpreter: Interpreter, op: creation.OnesOp, args: PythonValues
    ) -> PythonValues:
        return (np.ones(op.shape.get_values(), dtype_of(op.dtype)),)

    @impl(creation.FullOp)
    def run_full(
        self, interpreter: Interpreter, op: creation.FullOp, args: PythonValues
    ) -> PythonValues:
        return (np.full(op.shape.get_values(), args[0], args[0].dtype),)

    @impl(creation.ZerosLikeOp)
    def run_zeros_like(
        self, interpreter: Interpreter, op: creation.ZerosLikeOp, args: PythonValues
    ) -> PythonValues:
        return (np.zeros(args[0].shape, args[0].dtype),)

    @impl(creation.OnesLikeOp)
    def run_ones_like(
        self, interpreter: Interpreter, op: creation.OnesLikeOp, args: PythonValues
    ) -> PythonValues:
        return (np.ones(args[0].shape, args[0].dtype),)
