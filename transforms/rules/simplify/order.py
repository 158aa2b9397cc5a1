"""Rules on the order of elements."""

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.tensor.reduce import ArgmaxOp, ArgminOp
from xrelay.dialects.tensor.sort import ArgsortOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.qnn.parameters import dequantized
from xrelay.transforms.rules.rewriting import Emitter


def order_of_quantized(op: ArgmaxOp | ArgminOp | ArgsortOp, emit: Emitter) -> SSAValue | None:
    """
    argmax(dequantize(q)) ──► argmax(q), where the elements that are compared have one scale, and
    dequantize keeps their order: of larger numbers it makes larger ones
    """
    source = op.data.owner
    if not isinstance(source, QnnDequantizeOp) or not _keeps_order(source):
        return None
    axes = (op.normalized_axis,) if isinstance(op, ArgsortOp) else op.reduced_axes
    if not all(map(is_scalar, source.parameters)) and source.channel_axis in axes:
        return None
    return emit(op.clone({op.data: source.data}))


def _keeps_order(op: QnnDequantizeOp) -> bool:
    """Whether all numbers of a quantised type become different ones, in the same order."""
    scale, zero_point = map(known_array, op.parameters)
    dtype = dtype_of(op.data.type.element_type)
    # Numbers of 32 bits round to the same one of f32.
    if scale is None or zero_point is None or dtype.itemsize > 2:
        return False
    limits = np.iinfo(dtype)
    numbers = np.arange(limits.min, limits.max + 1)
    pairs = np.broadcast_arrays(scale.reshape(-1), zero_point.reshape(-1))
    meant = (dequantized(numbers, *pair) for pair in dict.fromkeys(zip(*pairs, strict=True)))
    return all(bool(np.all(values[1:] > values[:-1])) for values in meant)
