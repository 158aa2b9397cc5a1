"""Elementwise arithmetic on quantised tensors, with scales and zero points as operands."""

from abc import ABC

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, defined_for, operators
from xrelay.dialects.fields import Integer, Real, Tensor, operand, prop
from xrelay.dialects.qnn.parameters import (
    BYTES,
    QUANTIZED,
    channel_axis,
    quantized,
    require_channel_parameters,
    require_scalar_parameters,
)
from xrelay.dialects.shapes import (
    broadcast_shapes,
    require_same_dtype,
    same_dimension,
    with_dtype,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


class QnnBinaryOp(RelayOp, ABC):
    """
    An operator on the numbers that `lhs` and `rhs`, quantised tensors of one dtype, stand for, with
    a quantised result of the same dtype; shapes broadcast. Scale and zero point of an operand are
    scalars, or have one element for each index of its axis `lhs_axis` or `rhs_axis`. Scales are
    positive and finite; what others give is not specified. Relay types it for every dtype.
    """

    lhs: Tensor = operand()
    rhs: Tensor = operand()
    lhs_scale: Tensor = operand()
    lhs_zero_point: Tensor = operand()
    rhs_scale: Tensor = operand()
    rhs_zero_point: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    lhs_axis: Integer = prop(default=-1)
    rhs_axis: Integer = prop(default=-1)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    @property
    def channel_axes(self) -> tuple[int, int]:
        """
        The axes of the result that `lhs_axis` and `rhs_axis` become; 0 where there is one scale and
        one zero point.
        """
        rank = max(self.lhs.type.get_num_dims(), self.rhs.type.get_num_dims())
        lhs = channel_axis(
            self.lhs.type, self.lhs_axis.value.data, (self.lhs_scale, self.lhs_zero_point)
        )
        rhs = channel_axis(
            self.rhs.type, self.rhs_axis.value.data, (self.rhs_scale, self.rhs_zero_point)
        )
        return lhs + rank - self.lhs.type.get_num_dims(), rhs + rank - self.rhs.type.get_num_dims()

    def infer_type(self) -> Attribute:
        lhs, rhs = self.lhs.type, self.rhs.type
        require_same_dtype(lhs, "lhs", rhs, "rhs")
        for data, scale, zero_point, axis, name in (
            (lhs, self.lhs_scale, self.lhs_zero_point, self.lhs_axis, "lhs"),
            (rhs, self.rhs_scale, self.rhs_zero_point, self.rhs_axis, "rhs"),
        ):
            require_channel_parameters(
                data, scale, zero_point, axis.value.data, name + "_{}", f"{name}_axis"
            )
        require_scalar_parameters(self.output_scale, self.output_zero_point, "output_{}")
        return with_shape(lhs, broadcast_shapes(lhs.get_shape(), rhs.get_shape()))

    def undefined(self) -> str | None:
        defined = self.lhs.type.element_type in QUANTIZED
        kinds = ", ".join(map(str, QUANTIZED))
        return defined_for(kinds, defined, self.lhs, "lhs")


@irdl_op_definition
class QnnAddOp(QnnBinaryOp):
    """
    The sum of two quantised tensors: both are requantised to i32 with the scale and the zero point
    of the output, as `relay.qnn.requantize` does by default; lhs + rhs - output_zero_point, which
    wraps around, is clamped to the range of the dtype.

    Source: Relay's `qnn.add`.
    """

    name = "relay.qnn.add"


@irdl_op_definition
class QnnSubtractOp(QnnBinaryOp):
    """
    The difference of two quantised tensors: both are requantised to i32 with the scale and the zero
    point of the output, as `relay.qnn.requantize` does by default; lhs - rhs + output_zero_point,
    which wraps around, is clamped to the range of the dtype.

    Source: Relay's `qnn.subtract`.
    """

    name = "relay.qnn.subtract"


@irdl_op_definition
class QnnMulOp(QnnBinaryOp):
    """
    The product of two quantised tensors: (lhs - lhs_zero_point) * (rhs - rhs_zero_point), an i32
    that wraps around, with the scale lhs_scale * rhs_scale, an f32, is requantised with those of
    the output, as `relay.qnn.requantize` does by default.

    Source: Relay's `qnn.mul`.
    """

    name = "relay.qnn.mul"


class QnnUnaryOp(RelayOp, ABC):
    """
    A function of the numbers x = (q - zero_point) * scale that 8-bit integers q stand for: x is
    one of f32, the function is computed in f64 and rounded to f32, and quantised as
    `relay.qnn.quantize` does.
    """

    data: Tensor = operand()
    scale: Tensor = operand()
    zero_point: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    def infer_type(self) -> Attribute:
        data = quantized(self.data, "'data'", BYTES)
        require_scalar_parameters(self.scale, self.zero_point, "{}")
        require_scalar_parameters(self.output_scale, self.output_zero_point, "output_{}")
        return data


@irdl_op_definition
class QnnAbsOp(QnnUnaryOp):
    """
    |x| of 8-bit quantised numbers x.

    Source: Relay's `qnn.abs`.
    """

    name = "relay.qnn.abs"


@irdl_op_definition
class QnnErfOp(QnnUnaryOp):
    """
    The error function of 8-bit quantised numbers.

    Source: Relay's `qnn.erf`.
    """

    name = "relay.qnn.erf"


@irdl_op_definition
class QnnExpOp(QnnUnaryOp):
    """
    exp(x) of 8-bit quantised numbers x.

    Source: Relay's `qnn.exp`.
    """

    name = "relay.qnn.exp"


@irdl_op_definition
class QnnHardswishOp(QnnUnaryOp):
    """
    x * min(max(x + 3, 0), 6) / 6 of 8-bit quantised numbers x.

    Source: Relay's `qnn.hardswish`.
    """

    name = "relay.qnn.hardswish"


@irdl_op_definition
class QnnLogOp(QnnUnaryOp):
    """
    The natural logarithm of 8-bit quantised numbers x: the smallest value of the dtype for 0, 0 for
    x < 0, where it is NaN.

    Source: Relay's `qnn.log`.
    """

    name = "relay.qnn.log"


@irdl_op_definition
class QnnRsqrtOp(QnnUnaryOp):
    """
    1 / sqrt(x) of 8-bit quantised numbers x: the largest value of the dtype for 0, 0 for x < 0,
    where it is NaN.

    Source: Relay's `qnn.rsqrt`.
    """

    name = "relay.qnn.rsqrt"


@irdl_op_definition
class QnnSigmoidOp(QnnUnaryOp):
    """
    1 / (1 + exp(-x)) of 8-bit quantised numbers x.

    Source: Relay's `qnn.sigmoid`.
    """

    name = "relay.qnn.sigmoid"


@irdl_op_definition
class QnnSqrtOp(QnnUnaryOp):
    """
    The square root of 8-bit quantised numbers x; 0 for x < 0, where it is NaN.

    Source: Relay's `qnn.sqrt`.
    """

    name = "relay.qnn.sqrt"


@irdl_op_definition
class QnnTanhOp(QnnUnaryOp):
    """
    tanh(x) of 8-bit quantised numbers x.

    Source: Relay's `qnn.tanh`.
    """

    name = "relay.qnn.tanh"


@irdl_op_definition
class QnnLeakyReluOp(RelayOp):
    """
    x for x >= 0, `alpha` * x for others, of the numbers that 8-bit integers q stand for, in integer
    arithmetic: with r the i32 that q is requantised to with the scale and the zero point z of the
    output, as `relay.qnn.requantize` does by default, the result is r where q is at least the
    input's zero point, else alpha * r + (1 - alpha) * z, both products as those of requantisation;
    clamped to the range of the dtype.

    Source: Relay's `qnn.leaky_relu`.
    """

    name = "relay.qnn.leaky_relu"

    data: Tensor = operand()
    input_scale: Tensor = operand()
    input_zero_point: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    alpha: Real = prop(default=0.25, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    def infer_type(self) -> Attribute:
        data = quantized(self.data, "'data'", BYTES)
        require_scalar_parameters(self.input_scale, self.input_zero_point, "input_{}")
        require_scalar_parameters(self.output_scale, self.output_zero_point, "output_{}")
        if not abs(self.alpha.value.data) < 2**31:
            raise VerifyException(
                f"'alpha' is {self.alpha.value.data}, expected a number between -2**31 and 2**31"
            )
        return data


@irdl_op_definition
class QnnLookupOp(RelayOp):
    """
    The element of `table` for each 8-bit integer of `data`: for each of ui8 the one at its index, for
    each of i8 the one at its index plus 128. The table has 256 elements of any dtype.

    Source: what Relay's `qnn.Legalize` makes of functions of 8-bit integers, there with `take`.
    """

    name = "relay.qnn.lookup"

    data: Tensor = operand()
    table: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        data = quantized(self.data, "'data'", BYTES)
        table = self.table.type
        if table.get_num_dims() != 1 or not same_dimension(table.get_shape()[0], 256):
            raise VerifyException(f"'table' is {table}, expected a vector of 256 elements")
        return with_dtype(data, table.element_type)


QNN_UNARY_OPS = operators(__name__, QnnUnaryOp)
