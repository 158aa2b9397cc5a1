"""Constants that meet integers, as integers that stand for the same."""

import numpy as np
from xdsl.ir import Operation

from xrelay.dialects.qnn.conversion import QnnQuantizeOp
from xrelay.dialects.tensor.binary import MaximumOp, MinimumOp, MultiplyOp
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.quantize.values import Affine, Kept, Quantized, Site

FINEST_FACTOR = 1 / 128
"""How far, relative to itself, a constant factor may move when it is quantized."""


def quantized_constant(source: Quantized, kind: Affine, site: Site, axis: int = -1) -> Quantized:
    """A constant as integers that stand for the same as others."""
    op = QnnQuantizeOp(source.value, *kind.parameters, out_dtype=kind.dtype, axis=axis)
    return Quantized(site.emit(op), kind)


def held_constant(op: Operation, source: Quantized, kind: Affine, site: Site) -> Quantized:
    """
    A constant operand of `op`, quantized as the other operand is. Raises Kept where that is not the same, within a step.
    """
    if not _fits(op, source, kind):
        raise Kept(f"the integers of {op.name} do not hold its constant")
    return quantized_constant(source, kind, site)


def _fits(op: Operation, source: Quantized, kind: Affine) -> bool:
    """
    Whether a constant operand of `op` means the same once it is quantized as the other operand is. Raises Kept where that is
    not known.
    """
    numbers = known_array(source.value)
    scale, zero = known_array(kind.scale), known_array(kind.zero_point)
    if not kind.is_whole or scale is None or zero is None or numbers is None:
        raise Kept(
            "a constant meets integers whose scale differs between channels, or is not known"
        )
    limits = np.iinfo(dtype_of(kind.dtype))
    exact, step = np.asarray(numbers, np.float64), np.float64(scale.item())
    integers = np.clip(np.rint(exact / step) + zero.item(), limits.min, limits.max)
    found = (integers - zero.item()) * step
    if isinstance(op, MultiplyOp):
        return bool(np.all(np.abs(found - exact) <= FINEST_FACTOR * np.abs(exact)))
    # Beyond the numbers that the other operand can be it does not matter how far.
    off = found - exact
    if isinstance(op, MinimumOp):
        off = np.maximum(off, 0)
    if isinstance(op, MaximumOp):
        off = np.minimum(off, 0)
    return bool(np.all(np.abs(off) <= step))
