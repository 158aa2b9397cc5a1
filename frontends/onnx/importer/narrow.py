"""Numbers to and from element types of 8 bits or fewer (`xrelay.frontends.onnx.narrow`)."""

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import (
    BitwiseAndOp,
    LeftShiftOp,
    LessOp,
    NotEqualOp,
    RightShiftOp,
)
from xrelay.dialects.tensor.bits import ReinterpretOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.sort import SearchsortedOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import AbsOp
from xrelay.frontends.onnx.errors import UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast, reshaped
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.narrow import UI8, Narrow, rounding, values_of

MODES = ("up", "down", "nearest")


def numbers(node: Node, value: SSAValue) -> SSAValue:
    """The numbers of a value: of floating-point ones of 8 bits or fewer in f32, else the value itself."""
    narrow = node.narrow(value)
    if narrow is None or not narrow.is_float:
        return value
    places = cast(node, value, i32)
    return node.emit(TakeOp(node.constant(values_of(narrow)), places))


def narrowed(
    node: Node, value: SSAValue, narrow: Narrow, mode: str = "up", *, saturate: bool = True
) -> SSAValue:
    """Numbers converted to an element type of 8 bits or fewer; integers keep their low bits."""
    if narrow.is_float:
        found = _rounded(node, cast(node, value, f32), narrow, mode, saturate=saturate)
    else:
        found = _low_bits(node, value, narrow)
    return node.as_narrow(found, narrow)


def _low_bits(node: Node, value: SSAValue, narrow: Narrow) -> SSAValue:
    whole = cast(node, value, i32)
    gap = node.scalar(32 - narrow.bits, whole)
    if narrow.signed:
        whole = node.emit(RightShiftOp(node.emit(LeftShiftOp(whole, gap)), gap))
    else:
        whole = node.emit(BitwiseAndOp(whole, node.scalar(narrow.mask, whole)))
    return cast(node, whole, narrow.held_as)


def _rounded(node: Node, value: SSAValue, narrow: Narrow, mode: str, *, saturate: bool) -> SSAValue:
    """The bits of numbers of f32."""
    if mode not in MODES:
        raise UnsupportedNode(f"'round_mode' is \"{mode}\"")
    table = rounding(narrow, mode, saturate=saturate)
    shape = node.shape_of(value)
    value = value if shape else reshaped(node, value, (1,))
    size = node.emit(AbsOp(value))
    place = node.emit(SearchsortedOp(node.constant(table.limits), size, right=True))
    positive, negative = (
        node.emit(TakeOp(node.constant(codes), place)) for codes in (table.bits, table.negative)
    )
    is_negative = _is_negative(node, value, zeros=table.negative_zero)
    bits = node.emit(WhereOp(is_negative, negative, positive))
    is_nan = node.emit(NotEqualOp(value, value))
    bits = node.emit(WhereOp(is_nan, node.scalar(table.nan, bits), bits))
    return reshaped(node, bits, shape)


def _is_negative(node: Node, value: SSAValue, *, zeros: bool) -> SSAValue:
    if not zeros:
        return node.emit(LessOp(value, node.scalar(0, value)))
    whole = node.emit(ReinterpretOp(value, i32))
    return node.emit(LessOp(whole, node.scalar(0, whole)))


def from_bits(node: Node, bits: SSAValue, narrow: Narrow) -> SSAValue:
    """What a program holds for an input, whose bytes may have anything in their upper bits."""
    if narrow.bits == 8:
        return node.as_narrow(bits, narrow)
    if narrow.is_float:
        masked = node.emit(BitwiseAndOp(bits, node.scalar(narrow.mask, bits)))
        return node.as_narrow(masked, narrow)
    return node.as_narrow(_low_bits(node, bits, narrow), narrow)


def to_bits(node: Node, value: SSAValue, narrow: Narrow) -> SSAValue:
    """The bytes of an output, of which only the lower bits are set."""
    if narrow.is_float:
        return value
    bits = node.emit(ReinterpretOp(value, UI8)) if narrow.signed else value
    return node.emit(BitwiseAndOp(bits, node.scalar(narrow.mask, bits)))
