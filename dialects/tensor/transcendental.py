"""Elementary functions of floating-point elements beyond those of every network."""

from xdsl.irdl import irdl_op_definition

from xrelay.dialects.base import operators
from xrelay.dialects.tensor.unary import FloatUnaryOp


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    """
    The angle between 0 and pi whose cosine is x; NaN for |x| > 1, for each element x.

    Source: Relay's `acos`, ONNX's Acos.
    """

    name = "relay.acos"


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    """
    The number y >= 0 with cosh(y) = x; NaN for x < 1, for each element x.

    Source: Relay's `acosh`, ONNX's Acosh.
    """

    name = "relay.acosh"


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    """
    The angle between -pi/2 and pi/2 whose sine is x; NaN for |x| > 1, for each element x.

    Source: Relay's `asin`, ONNX's Asin.
    """

    name = "relay.asin"


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    """
    The number whose hyperbolic sine is x, for each element x.

    Source: Relay's `asinh`, ONNX's Asinh.
    """

    name = "relay.asinh"


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """
    The angle between -pi/2 and pi/2 whose tangent is x, for each element x.

    Source: Relay's `atan`, ONNX's Atan.
    """

    name = "relay.atan"


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    """
    The number whose hyperbolic tangent is x; infinite for |x| = 1, NaN for |x| > 1, for each element x.

    Source: Relay's `atanh`, ONNX's Atanh.
    """

    name = "relay.atanh"


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    """
    (e**x + e**-x) / 2, the hyperbolic cosine, for each element x.

    Source: Relay's `cosh`, ONNX's Cosh.
    """

    name = "relay.cosh"


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    """
    (e**x - e**-x) / 2, the hyperbolic sine, for each element x.

    Source: Relay's `sinh`, ONNX's Sinh.
    """

    name = "relay.sinh"


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """
    The tangent of an angle x in radians; NaN for infinities, for each element x.

    Source: Relay's `tan`, ONNX's Tan.
    """

    name = "relay.tan"


@irdl_op_definition
class Log2Op(FloatUnaryOp):
    """
    The logarithm of x with base 2; NaN for x < 0, -inf for 0, for each element x.

    Source: Relay's `log2`.
    """

    name = "relay.log2"


@irdl_op_definition
class Log10Op(FloatUnaryOp):
    """
    The logarithm of x with base 10; NaN for x < 0, -inf for 0, for each element x.

    Source: Relay's `log10`.
    """

    name = "relay.log10"


@irdl_op_definition
class FastErfOp(FloatUnaryOp):
    """
    erf(x), which may be approximated: here it is as exact as `relay.erf`, for each element x.

    Source: Relay's `fast_erf`.
    """

    name = "relay.fast_erf"


@irdl_op_definition
class FastExpOp(FloatUnaryOp):
    """
    exp(x), which may be approximated: here it is as exact as `relay.exp`, for each element x.

    Source: Relay's `fast_exp`.
    """

    name = "relay.fast_exp"


@irdl_op_definition
class FastTanhOp(FloatUnaryOp):
    """
    tanh(x), which may be approximated: here it is as exact as `relay.tanh`, for each element x.

    Source: Relay's `fast_tanh`.
    """

    name = "relay.fast_tanh"


TRANSCENDENTAL_OPS = operators(__name__)
