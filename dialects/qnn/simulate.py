"""The operator by which calibration simulates quantisation."""

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.shapes import boolean, integer, is_float, string
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

KIND_IDENTITY, KIND_INPUT, KIND_WEIGHT, KIND_ACTIVATION = range(4)


@irdl_op_definition
class SimulatedQuantizeOp(RelayOp):
    """
    round(min(max(x / dom_scale, clip_min), clip_max)) * dom_scale for each floating-point element x,
    with the scalars `dom_scale`, `clip_min` and `clip_max`; `rounding` is "round" (halves to even),
    "floor" or "ceil". With `kind` 0 (identity), x itself; other kinds, 1 for inputs, 2 for weights
    and 3 for activations, are for passes. Only signed quantisation has a meaning.

    Source: Relay's `relay.op.annotation.simulated_quantize`.
    """

    name = "relay.relay.op.annotation.simulated_quantize"

    data = tensor_operand_def()
    dom_scale = tensor_operand_def()
    clip_min = tensor_operand_def()
    clip_max = tensor_operand_def()
    kind = prop_def(IntegerAttr.constr(i64))
    sign = prop_def(BoolAttr, default_value=boolean(True))
    rounding = prop_def(StringAttr, default_value=string("round"))
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))
    assembly_format = (
        "$data `,` $dom_scale `,` $clip_min `,` $clip_max attr-dict `:` "
        "functional-type(operands, results)"
    )

    def __init__(
        self,
        data: Value,
        dom_scale: Value,
        clip_min: Value,
        clip_max: Value,
        kind: int,
        *,
        sign: bool = True,
        rounding: str = "round",
    ):
        super().__init__(
            [data, dom_scale, clip_min, clip_max],
            {"kind": integer(kind), "sign": boolean(sign), "rounding": string(rounding)},
        )

    def infer_type(self) -> Attribute:
        dtype = self.data.type.element_type
        if not is_float(dtype):
            raise VerifyException(f"'data' has elements of type {dtype}, expected floating point")
        for name, value in (
            ("dom_scale", self.dom_scale),
            ("clip_min", self.clip_min),
            ("clip_max", self.clip_max),
        ):
            if value.type != TensorType(dtype, []):
                raise VerifyException(f"'{name}' is {value.type}, expected a scalar of {dtype}")
        if not KIND_IDENTITY <= self.kind.value.data <= KIND_ACTIVATION:
            raise VerifyException(f"'kind' is {self.kind.value.data}, accepted range is [0, 3]")
        if not self.sign.value.data:
            raise VerifyException("'sign' is false, expected true")
        if self.rounding.data not in ("round", "floor", "ceil"):
            raise VerifyException(
                f'\'rounding\' is "{self.rounding.data}", accepted are "round", "floor" and "ceil"'
            )
        return self.data.type


QUANTIZE_OPS = (SimulatedQuantizeOp,)
