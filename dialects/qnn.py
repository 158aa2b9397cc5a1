"""Operators on quantised tensors: an integer q stands for the number (q - zero point) * scale."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    TensorType,
    TupleType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import (
    RelayOp,
    Value,
    tensor_operand_def,
    tensor_result_def,
    tuple_operand_def,
)
from xrelay.dialects.shapes import (
    integer,
    is_integer_type,
    normalize_axis,
    same_dimension,
    tuple_fields,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


@irdl_op_definition
class QnnConcatenateOp(RelayOp):
    """
    The fields of `data`, 8-bit integers quantised each with its own scale and zero point, one
    after the other along `axis`, quantised with the output's:
    (q - input_zero_point) * input_scale / output_scale, rounded to the nearest integer (halves
    up), plus output_zero_point, clamped to the range of the dtype. Fields whose scale and zero
    point are the output's stay as they are.

    Source: Relay's `qnn.concatenate`.
    """

    name = "relay.qnn.concatenate"

    data = tuple_operand_def()
    input_scales = tuple_operand_def()
    input_zero_points = tuple_operand_def()
    output_scale = tensor_operand_def()
    output_zero_point = tensor_operand_def()
    axis = prop_def(IntegerAttr.constr(i64), default_value=integer(0))
    result = tensor_result_def()
    # Relay registers no kind: the operator is rewritten before fusion.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())
    assembly_format = (
        "$data `,` $input_scales `,` $input_zero_points `,` $output_scale `,` "
        "$output_zero_point attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        data: Value,
        input_scales: Value,
        input_zero_points: Value,
        output_scale: Value,
        output_zero_point: Value,
        *,
        axis: int = 0,
    ):
        super().__init__(
            [data, input_scales, input_zero_points, output_scale, output_zero_point],
            {"axis": integer(axis)},
        )

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
        if not is_integer_type(dtype) or dtype.width.data != 8:
            raise VerifyException(f"field 0 of 'data' is {fields[0]}, expected 8-bit integers")
        _require_scalars(self.input_scales.type, "input_scales", f32, len(fields))
        _require_scalars(self.input_zero_points.type, "input_zero_points", i32, len(fields))
        _require_scalar(self.output_scale.type, "'output_scale'", f32)
        _require_scalar(self.output_zero_point.type, "'output_zero_point'", i32)
        axis = self.normalized_axis
        shape = list(fields[0].get_shape())
        for i, field in enumerate(fields[1:], 1):
            others = field.get_shape()
            if field.element_type != dtype or len(others) != len(shape):
                raise VerifyException(f"field {i} of 'data' is {field}, field 0 is {fields[0]}")
            for d, dim in enumerate(others):
                if d == axis:
                    unknown = DYNAMIC_INDEX in (dim, shape[d])
                    shape[d] = DYNAMIC_INDEX if unknown else dim + shape[d]
                elif not same_dimension(dim, shape[d]):
                    raise VerifyException(
                        f"field {i} of 'data' has length {dim} in dimension {d}, others {shape[d]}"
                    )
        return with_shape(fields[0], shape)


def _require_scalar(type_: Attribute, what: str, dtype: Attribute) -> None:
    if type_ != TensorType(dtype, []):
        raise VerifyException(f"{what} is {type_}, expected a scalar tensor of {dtype}")


def _require_scalars(type_: TupleType, name: str, dtype: Attribute, count: int) -> None:
    fields: Sequence[Attribute] = type_.types.data
    if len(fields) != count:
        raise VerifyException(f"'{name}' has {len(fields)} fields, 'data' has {count}")
    for i, field in enumerate(fields):
        _require_scalar(field, f"field {i} of '{name}'", dtype)


QNN_OPS = (QnnConcatenateOp,)
