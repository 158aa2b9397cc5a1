"""The parameters of quantised tensors: scales and zero points, of a tensor or of its channels."""

from collections.abc import Sequence
from math import floor, frexp

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32, i8, i16, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import normalize_axis, same_dimension, tensor_type

ui8 = IntegerType(8, Signedness.UNSIGNED)
ui16 = IntegerType(16, Signedness.UNSIGNED)

BYTES: tuple[Attribute, ...] = (i8, ui8)
"""The dtypes of quantised factors."""
QUANTIZED: tuple[Attribute, ...] = (i8, ui8, i16, ui16, i32)
"""The dtypes of quantised tensors."""
REQUANTIZED: tuple[Attribute, ...] = (*QUANTIZED, i64)
"""The dtypes that get another scale."""


def require_dtype(dtype: Attribute, what: str, accepted: Sequence[Attribute]) -> None:
    """Raises VerifyException unless a dtype is among the accepted ones."""
    if dtype not in accepted:
        names = ", ".join(map(str, accepted))
        raise VerifyException(f"{what} {dtype}, accepted are {names}")


def quantized(
    value: SSAValue, what: str, accepted: Sequence[Attribute] = QUANTIZED
) -> TensorType[Attribute]:
    """The type of a quantised tensor."""
    type_ = tensor_type(value, what)
    require_dtype(type_.element_type, f"{what} has elements of type", accepted)
    return type_


def require_scalar(type_: Attribute, what: str, dtype: Attribute) -> None:
    """Raises VerifyException unless a type is that of a scalar tensor of `dtype`."""
    if type_ != TensorType(dtype, []):
        raise VerifyException(f"{what} is {type_}, expected a scalar tensor of {dtype}")


def require_scalar_parameters(scale: SSAValue, zero_point: SSAValue, names: str) -> None:
    """
    Raises VerifyException unless the scale is a scalar of f32 and the zero point one of i32.
    `names` is their name, in which the place of "scale" is marked by `{}`.
    """
    require_scalar(scale.type, f"'{names.format('scale')}'", f32)
    require_scalar(zero_point.type, f"'{names.format('zero_point')}'", i32)


def is_scalar(value: SSAValue) -> bool:
    """Whether a parameter is one number for a whole tensor."""
    return all(certainly(dim, 1) for dim in tensor_type(value, "a parameter").get_shape())


def require_channel_parameter(value: SSAValue, what: str, dtype: Attribute, length: int) -> None:
    """Raises VerifyException unless a parameter is one number, or one for each of `length`."""
    type_ = tensor_type(value, what)
    shape = type_.get_shape()
    fits = not shape or (len(shape) == 1 and (shape[0] == 1 or same_dimension(shape[0], length)))
    if type_.element_type != dtype or not fits:
        raise VerifyException(
            f"{what} is {type_}, expected a scalar tensor of {dtype} or one of "
            f"{length if length >= 0 else '?'} elements, the length of the channel axis"
        )


def channel_axis(
    data: TensorType[Attribute], axis: int, parameters: Sequence[SSAValue], what: str = "axis"
) -> int:
    """`axis` of `data`, counted from the front; 0 where the parameters are single numbers."""
    if all(map(is_scalar, parameters)):
        return 0
    return normalize_axis(axis, data.get_num_dims(), what)


def require_channel_parameters(
    data: TensorType[Attribute],
    scale: SSAValue,
    zero_point: SSAValue,
    axis: int,
    names: str,
    what: str = "axis",
) -> None:
    """
    Raises VerifyException unless scale and zero point, named as in `require_scalar_parameters`,
    are those of `data` or of its channels along `axis`.
    """
    place = channel_axis(data, axis, (scale, zero_point), what)
    length = data.get_shape()[place] if data.get_num_dims() else 1
    require_channel_parameter(scale, f"'{names.format('scale')}'", f32, length)
    require_channel_parameter(zero_point, f"'{names.format('zero_point')}'", i32, length)


def fixed_point(number: float) -> tuple[int, int]:
    """
    The integers m and s of a number m * 2**(s - 31): m has 31 bits, rounded to nearest, halves away
    from zero. 0 is (0, 0).

    Source: Relay's requantisation.
    """
    fraction, shift = frexp(number)
    size = floor(abs(fraction) * 2**31 + 0.5)
    if size == 2**31:
        size, shift = 2**30, shift + 1
    return (size if fraction >= 0 else -size), shift
