"""Regions built operator by operator, for the contract tests of backends."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.constants import constant_op


class RegionBuilder:
    """A region under construction, and values for its parameters."""

    def __init__(self, seed: int = 0, *, bind_constants: bool = True):
        self.bind_constants = bind_constants
        self.rng = np.random.default_rng(seed)
        self.block = Block()
        self.inputs: list[Array] = []

    def array(self, dtype: str, *shape: int) -> Array:
        """Small numbers, in floating point with the special ones among them."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind in "iu":
            return self.rng.integers(0 if kind == "u" else -7, 8, shape).astype(dtype)
        return np.asarray(self.rng.standard_normal(shape)).astype(dtype)

    def input(self, value: Array) -> SSAValue:
        """A parameter with a value."""
        self.inputs.append(value)
        return self.block.insert_arg(type_of(value), len(self.block.args))

    def constant(self, value: Array) -> SSAValue:
        """A constant in the region, or a parameter for backends that want these."""
        return self.op(constant_op(value)) if self.bind_constants else self.input(value)

    def op(self, op: Operation) -> SSAValue:
        """The result of an operation."""
        self.block.add_op(op)
        return op.results[0]

    def function(self, results: Sequence[SSAValue]) -> func.FuncOp:
        """The finished region. Several results are one tuple, as in partitioned programs."""
        if len(results) > 1:
            results = [self.op(TupleOp(results))]
        self.block.add_op(func.ReturnOp(*results))
        type_ = FunctionType.from_lists(self.block.arg_types, [value.type for value in results])
        made = func.FuncOp("region", type_, Region(self.block), visibility="private")
        ModuleOp([made]).verify()
        return made
