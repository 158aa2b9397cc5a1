"""Elementwise operators on the representation of elements: bits, kinds of numbers, fixed point."""

from abc import ABC

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import defined_for, operators
from xrelay.dialects.core.blob import element_bytes
from xrelay.dialects.fields import Dtype, Integer, prop
from xrelay.dialects.shapes import element_type, is_integer_type, with_dtype
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp


@irdl_op_definition
class BitwiseNotOp(ElementwiseUnaryOp):
    """
    Every bit of x flipped, for each integer (or bool) x.

    Source: Relay's `bitwise_not`, ONNX's BitwiseNot.
    """

    name = "relay.bitwise_not"

    def undefined(self) -> str | None:
        defined = is_integer_type(self.data.type.element_type)
        return defined_for("integers", defined, self.data, "data")


class NumberTestOp(ElementwiseUnaryOp, ABC):
    """Whether each element is a number of some kind: a tensor of bools. Integers are finite."""

    def infer_type(self) -> Attribute:
        return with_dtype(self.data.type, i1)


@irdl_op_definition
class IsFiniteOp(NumberTestOp):
    """
    Whether x is neither infinite nor NaN, for each element x.

    Source: Relay's `isfinite`.
    """

    name = "relay.isfinite"


@irdl_op_definition
class IsInfOp(NumberTestOp):
    """
    Whether x is infinite, for each element x.

    Source: Relay's `isinf`, ONNX's IsInf.
    """

    name = "relay.isinf"


@irdl_op_definition
class IsNanOp(NumberTestOp):
    """
    Whether x is NaN, for each element x.

    Source: Relay's `isnan`, ONNX's IsNaN.
    """

    name = "relay.isnan"


@irdl_op_definition
class ReinterpretOp(ElementwiseUnaryOp):
    """
    The bits of x read as an element of `dtype`, which has as many; bools are bools only.

    Source: Relay's `reinterpret`.
    """

    name = "relay.reinterpret"

    dtype: Dtype = prop()

    def infer_type(self) -> Attribute:
        old, new = self.data.type.element_type, element_type(self.dtype, "dtype")
        if element_bytes(old) != element_bytes(new) or (old == i1) != (new == i1):
            raise VerifyException(
                f"'dtype' is {new}, expected a type with as many bits as {old}, that of 'data'"
            )
        return with_dtype(self.data.type, new)


@irdl_op_definition
class FixedPointMultiplyOp(ElementwiseUnaryOp):
    """
    x * `multiplier` * 2**(`shift` - 31) for each i32 element x, rounded to the nearest integer
    (halves up): (x * 2**max(shift, 0) * multiplier + 2**(r - 1)) >> r with r = 31 + max(-shift, 0),
    in 64 bits, of which the result keeps the last 32.

    Source: Relay's `fixed_point_multiply` (TVM's intrinsic `q_multiply_shift`).
    """

    name = "relay.fixed_point_multiply"

    multiplier: Integer = prop()
    shift: Integer = prop()

    @property
    def shifts(self) -> tuple[int, int]:
        """How many bits x is shifted to the left, and the product to the right."""
        shift = self.shift.value.data
        return max(shift, 0), 31 + max(-shift, 0)

    def infer_type(self) -> Attribute:
        if self.data.type.element_type != i32:
            raise VerifyException(
                f"'data' has elements of type {self.data.type.element_type}, expected i32"
            )
        multiplier, shift = self.multiplier.value.data, self.shift.value.data
        if not -(2**31) <= multiplier < 2**31:
            raise VerifyException(f"'multiplier' is {multiplier}, expected a number of 32 bits")
        if not -31 <= shift <= 31:
            raise VerifyException(f"'shift' is {shift}, accepted range is [-31, 31]")
        return self.data.type


BIT_OPS = operators(__name__)
