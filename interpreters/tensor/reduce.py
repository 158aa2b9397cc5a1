"""Reductions in NumPy."""

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.tensor.reduce import ArgReductionOp, ReductionOp
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.base import Implementation, by, meaning, require_defined
from xrelay.interpreters.numerics import highest, is_float, lowest, narrow, widen
from xrelay.interpreters.tensor.binary import truncated_quotient

_ReductionT = TypeVar("_ReductionT", bound=ReductionOp)
_ArgReductionT = TypeVar("_ArgReductionT", bound=ArgReductionOp)


def _reduction(
    op_type: type[_ReductionT], function: np.ufunc, neutral: Callable[[DType], Any]
) -> Implementation[_ReductionT]:
    """Combines the elements by `function`, starting with `neutral` of their dtype."""

    def run(op: ReductionOp, data: Array) -> Array:
        return narrow(_reduce(op, function, data, neutral(data.dtype)), data.dtype)

    return by(op_type, run)


def _reduce(op: ReductionOp, function: np.ufunc, data: Array, initial: Any) -> Array:
    """The reduction of `data` in the type that it computes in."""
    wide = widen(data)
    return np.asarray(
        function.reduce(
            wide,
            axis=op.reduced_axes,
            dtype=wide.dtype,
            keepdims=bool(op.keepdims.value.data),
            initial=initial,
        )
    )


def _arg_reduction(
    op_type: type[_ArgReductionT], function: Callable[..., Any]
) -> Implementation[_ArgReductionT]:
    """Positions that `function` (argmax or argmin) finds along the reduced axes."""

    def run(op: ArgReductionOp, data: Array) -> Array:
        reduced = op.reduced_axes
        kept = [axis for axis in range(data.ndim) if axis not in reduced]
        length = prod(data.shape[axis] for axis in reduced)
        rows = data.transpose(*kept, *reduced).reshape(*(data.shape[axis] for axis in kept), length)
        if op.select_last_index.value.data:
            indices = length - 1 - function(rows[..., ::-1], axis=-1)
        else:
            indices = function(rows, axis=-1)
        if op.keepdims.value.data:
            indices = np.expand_dims(indices, reduced)
        return np.asarray(indices, np.int32)

    return by(op_type, run)


@register_impls
class ReductionFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.reduce`."""

    run_all = _reduction(reduction.AllOp, np.minimum, highest)
    run_any = _reduction(reduction.AnyOp, np.maximum, lowest)
    run_argmax = _arg_reduction(reduction.ArgmaxOp, np.argmax)
    run_argmin = _arg_reduction(reduction.ArgminOp, np.argmin)
    run_max = _reduction(reduction.MaxOp, np.maximum, lowest)
    run_min = _reduction(reduction.MinOp, np.minimum, highest)
    run_prod = _reduction(reduction.ProdOp, np.multiply, lambda _: 1)
    run_sum = _reduction(reduction.SumOp, np.add, lambda _: 0)

    @meaning
    def run_mean(self, op: reduction.MeanOp, *args: Array) -> Array:
        require_defined(op)
        data: Array = args[0]
        total = _reduce(op, np.add, data, 0)
        count = prod(data.shape[axis] for axis in op.reduced_axes)
        if not is_float(data.dtype):
            # Narrow integers have no room for the count.
            wide = total.astype(np.uint64 if data.dtype.kind == "u" else np.int64)
            return narrow(truncated_quotient(wide, np.asarray(count, wide.dtype)), data.dtype)
        return narrow(total / total.dtype.type(count), data.dtype)

    @meaning
    def run_variance(self, op: reduction.VarianceOp, *args: Array) -> Array:
        data, mean = map(widen, args)
        total = _reduce(op, np.add, np.square(data - mean), 0)
        count = prod(data.shape[axis] for axis in op.reduced_axes)
        divisor = count - 1 if op.unbiased.value.data else count
        return narrow(total / total.dtype.type(divisor), args[0].dtype)
