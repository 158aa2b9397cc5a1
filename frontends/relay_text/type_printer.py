"""Types and scalar constants as Relay text writes them."""

import struct
from math import isfinite, isnan, nan

from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, Signedness, TensorType, f16, f32, f64
from xdsl.ir import Attribute

from xrelay.analysis.facts.steps import Step, run
from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.functional import ForallType, TypeVarType
from xrelay.dialects.shapes import is_integer_type, is_tensor_type
from xrelay.frontends.relay_text.errors import RelayPrintError
from xrelay.frontends.relay_text.types import Type, Unknown, decompose, element_type_name, resolve


def type_text(type_: Attribute) -> str:
    """
    A type in Relay text.

    Raises RelayPrintError for types that Relay does not have.
    """
    if is_tensor_type(type_):
        return _tensor_text(type_)
    return run(_text(type_))


def _tensor_text(type_: TensorType[Attribute]) -> str:
    name = element_type_name(type_.element_type)
    if name is None:
        raise RelayPrintError(f"Relay text has no name for the element type of {type_}")
    shape = type_.get_shape()
    if not shape:
        return name
    dims = ", ".join("?" if dim == DYNAMIC_INDEX else str(dim) for dim in shape)
    return f"Tensor[({dims}), {name}]"


def written(type_: Type) -> str:
    """A type in messages: as Relay text writes it, with `_` for what is not known."""
    try:
        return run(_text(type_))
    except RelayPrintError:  # of another dialect
        return str(type_)


def _text(type_: Type) -> Step[str]:
    type_ = resolve(type_)
    match type_:
        case Unknown():
            return "_"
        case TensorType():
            return _tensor_text(type_)
        case TypeVarType():
            return type_.variable.data
        case ForallType():
            body = yield _text(type_.body)
            return f"fn [{', '.join(type_.names)}]{body.removeprefix('fn ')}"
        case _:
            whole = decompose(type_)
    if whole is None:
        raise RelayPrintError(f"Relay text has no words for the type {type_}")
    head, parts = whole
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Attribute) and is_tensor_type(part):
            texts.append(_tensor_text(part))
        else:
            texts.append((yield _text(part)))
    match head:
        case "tuple":
            return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
        case "fn":
            return f"fn ({', '.join(texts[:-1])}) -> {texts[-1]}"
        case "ref":
            return f"ref({texts[0]})"
        case _:
            name = head.removeprefix("@")
            return f"{name}[{', '.join(texts)}]" if texts else name


def scalar_text(value: Attribute, type_: TensorType[Attribute], *, six_digits: bool) -> str | None:
    """
    A constant of rank 0 as a literal: with the fewest digits that read back as the same number,
    or with six significant ones as TVM prints it. None for element types, and NaNs, without literals.
    """
    if not is_dense(value) or type_.get_shape():
        return None
    (number,) = value.get_values()
    element = type_.element_type
    if isinstance(number, tuple):
        return None
    if is_integer_type(element):
        width = element.width.data
        if width == 1:
            return "True" if number else "False"
        if element.signedness.data == Signedness.UNSIGNED or width not in (16, 32, 64):
            return None
        return str(number) if width == 32 else f"{number}i{width}"
    if isinstance(element, AnyFloat) and isnan(number) and element.pack((nan,)) != value.data.data:
        return None  # Only one NaN has a name.
    if element not in _FLOATS:
        return None
    return _float_text(float(number), *_FLOATS[element], six_digits)


_FLOATS: dict[Attribute, tuple[str, str]] = {
    f16: ("f16", "<e"),
    f32: ("f", "<f"),
    f64: ("f64", "<d"),
}
"""The suffixes of literals, and what `struct` calls their types."""


def _float_text(number: float, suffix: str, code: str, six_digits: bool) -> str:
    if not isfinite(number):
        return f"{number}{suffix}"
    if six_digits:
        return f"{number:.6g}{suffix}"
    text = repr(number)
    if code != "<d":
        # The fewest digits that give the same number of this width.
        content = struct.pack(code, number)
        for digits in range(1, 18):
            text = f"{number:.{digits}g}"
            try:
                if struct.pack(code, float(text)) == content:
                    break
            except OverflowError:  # rounded up beyond the largest number
                continue
    return text.removesuffix(".0") + suffix
