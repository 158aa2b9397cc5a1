"""Operators on two tensors that broadcast against each other as in NumPy."""

from abc import ABC

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp, defined_for, operators
from xrelay.dialects.fields import Tensor, operand
from xrelay.dialects.shapes import (
    broadcast_shapes,
    is_float,
    is_tensor_type,
    require_same_dtype,
    with_dtype,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class BroadcastBinaryOp(RelayOp, ABC):
    """
    One result element for each pair of elements of `lhs` and `rhs`, which have the same dtype
    and shapes that broadcast.
    """

    lhs: Tensor = operand()
    rhs: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        lhs, rhs = self.lhs.type, self.rhs.type
        require_same_dtype(lhs, "lhs", rhs, "rhs")
        return with_shape(lhs, broadcast_shapes(lhs.get_shape(), rhs.get_shape()))


class IntegerBinaryOp(BroadcastBinaryOp, ABC):
    """An operator that computes with integers and bools only. Relay types it for every dtype."""

    def undefined(self) -> str | None:
        defined = isinstance(self.lhs.type.element_type, IntegerType)
        return defined_for("integers", defined, self.lhs, "lhs")


class FloatBinaryOp(BroadcastBinaryOp, ABC):
    """An operator that computes with floating point only. Relay types it for every dtype."""

    def undefined(self) -> str | None:
        defined = is_float(self.lhs.type.element_type)
        return defined_for("floating point", defined, self.lhs, "lhs")


class LogicalBinaryOp(BroadcastBinaryOp, ABC):
    """An operator that computes with bools only. Relay types it for every dtype."""

    def undefined(self) -> str | None:
        return defined_for("bools", self.lhs.type.element_type == i1, self.lhs, "lhs")


class ComparisonOp(BroadcastBinaryOp, ABC):
    """A comparison: the result is a tensor of bools. Every comparison with NaN but != is false."""

    def infer_type(self) -> Attribute:
        compared = super().infer_type()
        assert is_tensor_type(compared)
        return with_dtype(compared, i1)


@irdl_op_definition
class AddOp(BroadcastBinaryOp):
    """
    lhs + rhs; integers wrap around.

    Source: Relay's `add`.
    """

    name = "relay.add"


@irdl_op_definition
class SubtractOp(BroadcastBinaryOp):
    """
    lhs - rhs; integers wrap around.

    Source: Relay's `subtract`.
    """

    name = "relay.subtract"


@irdl_op_definition
class MultiplyOp(BroadcastBinaryOp):
    """
    lhs * rhs; integers wrap around.

    Source: Relay's `multiply`.
    """

    name = "relay.multiply"


@irdl_op_definition
class DivideOp(BroadcastBinaryOp):
    """
    lhs / rhs; integers round towards zero, and division by 0 gives 0.

    Source: Relay's `divide`.
    """

    name = "relay.divide"


@irdl_op_definition
class FloorDivideOp(BroadcastBinaryOp):
    """
    floor(lhs / rhs); integer division by 0 gives 0.

    Source: Relay's `floor_divide`.
    """

    name = "relay.floor_divide"


@irdl_op_definition
class FloorModOp(BroadcastBinaryOp):
    """
    lhs - floor(lhs / rhs) * rhs, with the sign of rhs; integer division by 0 gives 0.

    Source: Relay's `floor_mod`.
    """

    name = "relay.floor_mod"


@irdl_op_definition
class ModOp(BroadcastBinaryOp):
    """
    The remainder of the division rounded towards zero, with the sign of lhs; integer
    division by 0 gives 0.

    Source: Relay's `mod`.
    """

    name = "relay.mod"


@irdl_op_definition
class TruncDivideOp(BroadcastBinaryOp):
    """
    lhs / rhs rounded towards zero; integer division by 0 gives 0.

    Source: Relay's `trunc_divide`.
    """

    name = "relay.trunc_divide"


@irdl_op_definition
class TruncModOp(BroadcastBinaryOp):
    """
    The remainder of the division rounded towards zero, with the sign of lhs; integer
    division by 0 gives 0. Relay has it beside `mod`, which is the same.

    Source: Relay's `trunc_mod`.
    """

    name = "relay.trunc_mod"


@irdl_op_definition
class PowerOp(FloatBinaryOp):
    """
    lhs to the power rhs, floating point.

    Source: Relay's `power`.
    """

    name = "relay.power"


@irdl_op_definition
class MaximumOp(BroadcastBinaryOp):
    """
    The larger of lhs and rhs; NaN if one of them is.

    Source: Relay's `maximum`.
    """

    name = "relay.maximum"


@irdl_op_definition
class MinimumOp(BroadcastBinaryOp):
    """
    The smaller of lhs and rhs; NaN if one of them is.

    Source: Relay's `minimum`.
    """

    name = "relay.minimum"


@irdl_op_definition
class LeftShiftOp(IntegerBinaryOp):
    """
    lhs shifted left by rhs bits; 0 when rhs is negative or not smaller than the width.

    Source: Relay's `left_shift`.
    """

    name = "relay.left_shift"


@irdl_op_definition
class RightShiftOp(IntegerBinaryOp):
    """
    lhs shifted right by rhs bits, arithmetically when signed; shifts of at least the width,
    and negative ones, fill with the sign bit (0 when unsigned).

    Source: Relay's `right_shift`.
    """

    name = "relay.right_shift"


@irdl_op_definition
class BitwiseAndOp(IntegerBinaryOp):
    """
    The bitwise and.

    Source: Relay's `bitwise_and`.
    """

    name = "relay.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(IntegerBinaryOp):
    """
    The bitwise or.

    Source: Relay's `bitwise_or`.
    """

    name = "relay.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(IntegerBinaryOp):
    """
    The bitwise exclusive or.

    Source: Relay's `bitwise_xor`.
    """

    name = "relay.bitwise_xor"


@irdl_op_definition
class LogicalAndOp(LogicalBinaryOp):
    """
    lhs and rhs.

    Source: Relay's `logical_and`.
    """

    name = "relay.logical_and"


@irdl_op_definition
class LogicalOrOp(LogicalBinaryOp):
    """
    lhs or rhs.

    Source: Relay's `logical_or`.
    """

    name = "relay.logical_or"


@irdl_op_definition
class LogicalXorOp(LogicalBinaryOp):
    """
    lhs != rhs.

    Source: Relay's `logical_xor`.
    """

    name = "relay.logical_xor"


@irdl_op_definition
class EqualOp(ComparisonOp):
    """
    lhs == rhs.

    Source: Relay's `equal`.
    """

    name = "relay.equal"


@irdl_op_definition
class NotEqualOp(ComparisonOp):
    """
    lhs != rhs; true when one of them is NaN.

    Source: Relay's `not_equal`.
    """

    name = "relay.not_equal"


@irdl_op_definition
class LessOp(ComparisonOp):
    """
    lhs < rhs.

    Source: Relay's `less`.
    """

    name = "relay.less"


@irdl_op_definition
class LessEqualOp(ComparisonOp):
    """
    lhs <= rhs.

    Source: Relay's `less_equal`.
    """

    name = "relay.less_equal"


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """
    lhs > rhs.

    Source: Relay's `greater`.
    """

    name = "relay.greater"


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """
    lhs >= rhs.

    Source: Relay's `greater_equal`.
    """

    name = "relay.greater_equal"


BINARY_OPS = operators(__name__)
