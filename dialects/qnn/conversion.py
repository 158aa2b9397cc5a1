"""Operators on quantised tensors: an integer q stands for the number (q - zero point) * scale."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, Float64Type, TupleType, f32, f64, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import (
    Dtype,
    Integer,
    OptionalDtype,
    Tensor,
    TensorTuple,
    Text,
    operand,
    prop,
)
from xrelay.dialects.qnn.parameters import (
    QUANTIZED,
    REQUANTIZED,
    channel_axis,
    quantized,
    require_channel_parameters,
    require_dtype,
    require_scalar,
    require_scalar_parameters,
    ui8,
)
from xrelay.dialects.shapes import (
    joined_shape,
    normalize_axis,
    require_float,
    require_one_of,
    tensor_type,
    tuple_fields,
    with_dtype,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


@irdl_op_definition
class QnnConcatenateOp(RelayOp):
    """
    The fields of `data`, integers quantised each with its own scale and zero point, one
    after the other along `axis`, quantised with the output's:
    (q - input_zero_point) * input_scale / output_scale, rounded to the nearest integer (halves
    up), plus output_zero_point, clamped to the range of the dtype. Fields whose scale and zero
    point are the output's stay as they are.

    Source: Relay's `qnn.concatenate`.
    """

    name = "relay.qnn.concatenate"

    data: TensorTuple = operand()
    input_scales: TensorTuple = operand()
    input_zero_points: TensorTuple = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    axis: Integer = prop(default=0)
    # Relay registers no kind: the operator is rewritten before fusion.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        fields = tuple_fields(self.data, "'data'")
        return normalize_axis(self.axis.value.data, fields[0].get_num_dims())

    def infer_type(self) -> Attribute:
        fields = tuple_fields(self.data, "'data'")
        if not fields:
            raise VerifyException("'data' is the empty tuple, expected at least one tensor")
        dtype = fields[0].element_type
        require_dtype(dtype, "field 0 of 'data' has elements of type", QUANTIZED)
        _require_scalars(self.input_scales.type, "input_scales", f32, len(fields))
        _require_scalars(self.input_zero_points.type, "input_zero_points", i32, len(fields))
        require_scalar(self.output_scale.type, "'output_scale'", f32)
        require_scalar(self.output_zero_point.type, "'output_zero_point'", i32)
        for i, field in enumerate(fields[1:], 1):
            if field.element_type != dtype or field.get_num_dims() != fields[0].get_num_dims():
                raise VerifyException(f"field {i} of 'data' is {field}, field 0 is {fields[0]}")
        return with_shape(fields[0], joined_shape(fields, self.normalized_axis))


def _require_scalars(type_: TupleType, name: str, dtype: Attribute, count: int) -> None:
    fields: Sequence[Attribute] = type_.types.data
    if len(fields) != count:
        raise VerifyException(f"'{name}' has {len(fields)} fields, 'data' has {count}")
    for i, field in enumerate(fields):
        require_scalar(field, f"field {i} of '{name}'", dtype)


class QnnChannelsOp(RelayOp, ABC):
    """An operator on data, its first operand, whose channels along `axis` may have parameters each."""

    SCALE: ClassVar[int] = 1
    """Which operand the scale is; the zero point is the next one."""

    axis: Integer = prop(default=-1)

    @property
    def parameters(self) -> tuple[SSAValue, SSAValue]:
        """The scale and the zero point that channels may have of their own."""
        return self.operands[self.SCALE], self.operands[self.SCALE + 1]

    @property
    def channel_axis(self) -> int:
        """`axis`, counted from the front; 0 where there is one scale and one zero point."""
        return channel_axis(
            tensor_type(self.operands[0], "'data'"), self.axis.value.data, self.parameters
        )

    def require_parameters(self, names: str) -> None:
        """Raises VerifyException unless `parameters` fit the data."""
        data = tensor_type(self.operands[0], "'data'")
        require_channel_parameters(data, *self.parameters, self.axis.value.data, names)


class QnnConversionOp(QnnChannelsOp, ABC):
    """A conversion of quantised tensors."""

    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())


@irdl_op_definition
class QnnQuantizeOp(QnnConversionOp):
    """
    Numbers x of f32 as quantised ones of `out_dtype`: round(x / output_scale) + output_zero_point,
    computed in f32, halves rounded to even as in `relay.round`, and clamped to the range of the
    dtype; NaN gives 0. Scale and zero point are scalars, or have one element for each index of
    `axis`.

    Source: Relay's `qnn.quantize`, ONNX's QuantizeLinear.
    """

    name = "relay.qnn.quantize"

    data: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    out_dtype: Dtype = prop(kw_only=True)

    def infer_type(self) -> Attribute:
        require_dtype(self.data.type.element_type, "'data' has elements of type", (f32,))
        self.require_parameters("output_{}")
        require_dtype(self.out_dtype, "'out_dtype' is", QUANTIZED)
        return with_dtype(self.data.type, self.out_dtype)


@irdl_op_definition
class QnnDequantizeOp(QnnConversionOp):
    """
    The numbers (q - input_zero_point) * input_scale that quantised ones q stand for, as f32: the
    difference is one of i32, which wraps around, the product one of f32. Scale and zero point are
    scalars, or have one element for each index of `axis`.

    Source: Relay's `qnn.dequantize`, ONNX's DequantizeLinear.
    """

    name = "relay.qnn.dequantize"

    data: Tensor = operand()
    input_scale: Tensor = operand()
    input_zero_point: Tensor = operand()

    def infer_type(self) -> Attribute:
        data = quantized(self.data, "'data'")
        self.require_parameters("input_{}")
        return with_dtype(data, f32)


@irdl_op_definition
class QnnRequantizeOp(QnnConversionOp):
    """
    Quantised numbers q with another scale and zero point:
    round((q - input_zero_point) * input_scale / output_scale) + output_zero_point, clamped to the
    range of `out_dtype` (i32 wraps around instead). Input scale and zero point are scalars, or have
    one element for each index of `axis`. Scales are positive and finite; what others give is not
    specified.

    `rounding` is "UPWARD", halves towards positive infinity, "TONEAREST", halves away from zero, or
    "TONEAREST_EVEN", halves to even; "None" is "UPWARD". `compute_dtype` tells what is computed in:

    - "int64" (and "None"): the ratio of the scales is a fixed-point number m * 2**(s - 31) of 31
      bits, m rounded to nearest; the product of the difference (an i32, which wraps around), 2**s
      for s > 0, and m is one of i64, and so is the sum that rounds it; what remains of it after the
      shift is an i32.
    - "float32", "float64": difference, product, and sum with the output's zero point, of which
      the last is rounded and converted to an i32, with saturation. With "TONEAREST_EVEN", which is
      for these types only, the product is rounded and the zero point added to a whole number; the
      conversion is one to `out_dtype`.

    Source: Relay's `qnn.requantize`; "TONEAREST_EVEN" in f32 is that of ONNX's QLinearConv.
    """

    name = "relay.qnn.requantize"

    data: Tensor = operand()
    input_scale: Tensor = operand()
    input_zero_point: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()
    rounding: Text = prop(default="None")
    compute_dtype: Text = prop(default="None")
    out_dtype: OptionalDtype = prop(default=None)

    @property
    def rounds_up(self) -> bool:
        """Whether halves are rounded upward, and not away from zero."""
        return self.rounding.data in ("None", "UPWARD")

    @property
    def rounds_to_even(self) -> bool:
        """Whether halves are rounded to even, before the zero point is added."""
        return self.rounding.data == "TONEAREST_EVEN"

    @property
    def float_dtype(self) -> Float32Type | Float64Type | None:
        """The floating-point type that it computes in; None for fixed-point numbers."""
        return {"float32": f32, "float64": f64}.get(self.compute_dtype.data)

    def infer_type(self) -> Attribute:
        data = quantized(self.data, "'data'", REQUANTIZED)
        self.require_parameters("input_{}")
        require_scalar_parameters(self.output_scale, self.output_zero_point, "output_{}")
        require_one_of("rounding", self.rounding, "None", "UPWARD", "TONEAREST", "TONEAREST_EVEN")
        require_one_of("compute_dtype", self.compute_dtype, "None", "int64", "float32", "float64")
        if self.rounds_to_even and self.float_dtype is None:
            raise VerifyException(
                f"'rounding' is \"TONEAREST_EVEN\", 'compute_dtype' {self.compute_dtype}: expected "
                '"float32" or "float64"'
            )
        dtype = self.out_dtype or data.element_type
        require_dtype(dtype, "'out_dtype' is", QUANTIZED)
        return with_dtype(data, dtype)


SIMULATED: dict[int, Attribute] = {1: i8, 2: ui8, 3: i32}
"""The dtypes that simulated operators know, by the numbers that stand for them."""


class QnnSimulatedOp(QnnChannelsOp, ABC):
    """
    What the operators share that compute in floating point what quantised operators would. A
    scalar of i32 tells the dtype that is simulated: 1 for i8, 2 for ui8, 3 for i32; with every
    other number the elements stay as they are. Scale and zero point are scalars, or have one
    element for each index of `axis`.
    """

    SCALE: ClassVar[int] = 2

    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_simulated(self, code_name: str, names: str) -> Attribute:
        """The type of the result; the arguments are the names of the parameters."""
        data = tensor_type(self.operands[0], "'data'")
        require_float(data, "data")
        require_scalar(self.operands[1].type, f"'{code_name}'", i32)
        self.require_parameters(names)
        return data


@irdl_op_definition
class QnnSimulatedQuantizeOp(QnnSimulatedOp):
    """
    Numbers x as quantised ones, but in floating point: round(x / output_scale) +
    output_zero_point, halves rounded to even as in `relay.round`, clamped to the range of the dtype
    that `out_dtype` numbers: 1 for i8, 2 for ui8, 3 for i32; for other numbers x itself. Scale and
    zero point are scalars, or have one element for each index of `axis`.

    Source: Relay's `qnn.simulated_quantize`.
    """

    name = "relay.qnn.simulated_quantize"

    data: Tensor = operand()
    out_dtype: Tensor = operand()
    output_scale: Tensor = operand()
    output_zero_point: Tensor = operand()

    def infer_type(self) -> Attribute:
        return self.infer_simulated("out_dtype", "output_{}")


@irdl_op_definition
class QnnSimulatedDequantizeOp(QnnSimulatedOp):
    """
    The numbers (q - input_zero_point) * input_scale that quantised ones q, given in floating point,
    stand for, where `in_dtype` is 1 (i8), 2 (ui8) or 3 (i32); q itself for other numbers. Scale and
    zero point are scalars, or have one element for each index of `axis`.

    Source: Relay's `qnn.simulated_dequantize`.
    """

    name = "relay.qnn.simulated_dequantize"

    data: Tensor = operand()
    in_dtype: Tensor = operand()
    input_scale: Tensor = operand()
    input_zero_point: Tensor = operand()

    def infer_type(self) -> Attribute:
        return self.infer_simulated("in_dtype", "input_{}")
