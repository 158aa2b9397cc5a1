"""The operator by which calibration simulates quantisation."""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import Flag, Integer, Tensor, Text, operand, prop
from xrelay.dialects.shapes import require_float, require_one_of
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

    data: Tensor = operand()
    dom_scale: Tensor = operand()
    clip_min: Tensor = operand()
    clip_max: Tensor = operand()
    kind: Integer = prop()
    sign: Flag = prop(default=True)
    rounding: Text = prop(default="round")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        dtype = self.data.type.element_type
        require_float(self.data.type, "data")
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
        require_one_of("rounding", self.rounding, "round", "floor", "ceil")
        return self.data.type
