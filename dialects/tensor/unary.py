"""Elementwise operators with one tensor operand."""

from abc import ABC

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp, defined_for, operators
from xrelay.dialects.fields import Dtype, Real, Tensor, operand, prop
from xrelay.dialects.shapes import element_type, is_float, with_dtype
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class ElementwiseUnaryOp(RelayOp, ABC):
    """One result element for each element of `data`; same shape, same dtype."""

    data: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        return self.data.type


class FloatUnaryOp(ElementwiseUnaryOp, ABC):
    """An elementwise operator that computes with floating point only. Relay types it for every dtype."""

    def undefined(self) -> str | None:
        defined = is_float(self.data.type.element_type)
        return defined_for("floating point", defined, self.data, "data")


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """
    exp(x), for each element x.

    Source: Relay's `exp`.
    """

    name = "relay.exp"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """
    The natural logarithm of x; NaN for x < 0, -inf for 0, for each element x.

    Source: Relay's `log`.
    """

    name = "relay.log"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """
    The square root of x; NaN for x < 0, for each element x.

    Source: Relay's `sqrt`.
    """

    name = "relay.sqrt"


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """
    1 / sqrt(x), for each element x.

    Source: Relay's `rsqrt`.
    """

    name = "relay.rsqrt"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """
    tanh(x), for each element x.

    Source: Relay's `tanh`.
    """

    name = "relay.tanh"


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """
    1 / (1 + exp(-x)), for each element x.

    Source: Relay's `sigmoid`.
    """

    name = "relay.sigmoid"


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """
    The error function of x, for each element x.

    Source: Relay's `erf`.
    """

    name = "relay.erf"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """
    sin(x), x in radians, for each element x.

    Source: Relay's `sin`.
    """

    name = "relay.sin"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """
    cos(x), x in radians, for each element x.

    Source: Relay's `cos`.
    """

    name = "relay.cos"


@irdl_op_definition
class FloorOp(ElementwiseUnaryOp):
    """
    The largest integer <= x, for each element x. Integers stay as they are.

    Source: Relay's `floor`.
    """

    name = "relay.floor"


@irdl_op_definition
class CeilOp(ElementwiseUnaryOp):
    """
    The smallest integer >= x, for each element x. Integers stay as they are.

    Source: Relay's `ceil`.
    """

    name = "relay.ceil"


@irdl_op_definition
class RoundOp(ElementwiseUnaryOp):
    """
    x rounded to the nearest integer, halves to even, for each element x. Integers stay as they are.

    Source: Relay's `round`.
    """

    name = "relay.round"


@irdl_op_definition
class TruncOp(ElementwiseUnaryOp):
    """
    x rounded towards zero, for each element x. Integers stay as they are.

    Source: Relay's `trunc`.
    """

    name = "relay.trunc"


@irdl_op_definition
class NegativeOp(ElementwiseUnaryOp):
    """
    -x; integers wrap around, for each element x.

    Source: Relay's `negative`.
    """

    name = "relay.negative"


@irdl_op_definition
class AbsOp(ElementwiseUnaryOp):
    """
    |x|; integers wrap around, for each element x.

    Source: Relay's `abs`.
    """

    name = "relay.abs"


@irdl_op_definition
class SignOp(ElementwiseUnaryOp):
    """
    -1, 0 or 1 with the sign of x; NaN stays NaN, for each element x.

    Source: Relay's `sign`.
    """

    name = "relay.sign"


@irdl_op_definition
class CopyOp(ElementwiseUnaryOp):
    """
    x, for each element x.

    Source: Relay's `copy`.
    """

    name = "relay.copy"


@irdl_op_definition
class ReluOp(ElementwiseUnaryOp):
    """
    max(x, 0); NaN stays NaN, for each element x.

    Source: Relay's `nn.relu`.
    """

    name = "relay.nn.relu"


@irdl_op_definition
class LogicalNotOp(ElementwiseUnaryOp):
    """
    The negation of each bool.

    Source: Relay's `logical_not`.
    """

    name = "relay.logical_not"

    def undefined(self) -> str | None:
        return defined_for("bools", self.data.type.element_type == i1, self.data, "data")


@irdl_op_definition
class LeakyReluOp(ElementwiseUnaryOp):
    """
    x for x > 0, `alpha` * x otherwise. Among integers `alpha` is rounded towards zero, as by
    `relay.cast`, and the product wraps around.

    Source: Relay's `nn.leaky_relu`.
    """

    name = "relay.nn.leaky_relu"

    alpha: Real = prop(default=0.25, kw_only=False)


@irdl_op_definition
class ClipOp(ElementwiseUnaryOp):
    """
    min(max(x, `a_min`), `a_max`), the bounds rounded to the dtype of `data`. NaN stays NaN.

    Source: Relay's `clip`.
    """

    name = "relay.clip"

    a_min: Real = prop()
    a_max: Real = prop()


@irdl_op_definition
class CastOp(ElementwiseUnaryOp):
    """
    x converted to `dtype`. Floating point to integer rounds towards zero and saturates, NaN gives
    0; integer to narrower integer wraps around; to bool is x != 0.

    Source: Relay's `cast`.
    """

    name = "relay.cast"

    dtype: Dtype = prop()

    def infer_type(self) -> Attribute:
        return with_dtype(self.data.type, element_type(self.dtype, "dtype"))


UNARY_OPS = operators(__name__)
