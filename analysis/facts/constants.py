"""What is known of constants, and which values they decide."""

from collections.abc import Iterable

import numpy as np
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import LengthsAttr
from xrelay.dialects.qnn.conversion import QnnConversionOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.arrays import BFLOAT16, dtype_of, held_elements
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.numerics import is_float


def rounding(value: SSAValue) -> float:
    """How far a number in the type of a tensor may be from the one that was meant, relatively."""
    assert is_tensor_type(value.type)
    dtype = dtype_of(value.type.element_type)
    if not is_float(dtype):
        return 0.0
    return 2.0**-6 if dtype == BFLOAT16 else 2 * float(np.finfo(dtype).eps)


def number_of(value: SSAValue) -> int | float | None:
    """The number that all elements of a constant are, bit by bit; None for other values."""
    op = value.owner
    if not isinstance(op, ConstantOp):
        return None
    if isinstance(op.value, LengthsAttr) and len(op.value) == 1:
        return op.value.data[0]
    if not is_dense(op.value):
        return None
    held = held_elements(constant_array(op))
    return held.item() if held.size == 1 else None


def conversions_of_constants(ops: Iterable[Operation]) -> dict[QnnConversionOp, None]:
    """The conversions of quantised constants among operations that are listed before their users."""
    found: dict[QnnConversionOp, None] = {}
    for op in ops:
        if isinstance(op, QnnConversionOp) and all(
            isinstance(each.owner, ConstantOp) or each.owner in found for each in op.operands
        ):
            found[op] = None
    return found
