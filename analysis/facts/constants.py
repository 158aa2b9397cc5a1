"""What is known of constants, and which values they decide."""

from collections.abc import Iterable
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.device import DeviceOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import LengthsAttr
from xrelay.dialects.nn.norm import DropoutOp
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


def computed_of_quantized(ops: Iterable[Operation]) -> dict[RelayOp, None]:
    """
    Of operations that are listed before their users: the conversions of quantised constants, and what is computed of these and
    of constants alone. What is much larger than that is left out, as it is in folding.
    """
    found: dict[RelayOp, None] = {}
    for op in ops:
        if not isinstance(op, RelayOp) or not op.operands or not _is_folded(op):
            continue
        known = [each.owner in found for each in op.operands]
        begins = any(known) or isinstance(op, QnnConversionOp)
        if begins and all(
            is_known or isinstance(each.owner, ConstantOp)
            for is_known, each in zip(known, op.operands, strict=True)
        ):
            found[op] = None
    return found


FOLDED_ELEMENTS = 1 << 18
"""Results of so many elements are constants whatever they are computed from."""


def _is_folded(op: RelayOp) -> bool:
    """Whether an operator may be computed before anything runs, if its operands are known."""
    if not is_side_effect_free(op) or isinstance(op, AnnotationOp | DeviceOp | DropoutOp):
        return False
    types = [value.type for value in (*op.operands, *op.results)]
    if len(op.results) != 1 or not all(is_tensor_type(t) and t.has_static_shape() for t in types):
        return False
    *operands, result = (prod(t.get_shape()) for t in types if is_tensor_type(t))
    return result <= max(FOLDED_ELEMENTS, *operands) and op.undefined() is None
