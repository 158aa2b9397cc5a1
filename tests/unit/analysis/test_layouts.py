"""Where layouts of operators do not follow, asked of the functions themselves: what follows is in test_relayout.py."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from guards.passes import GuardGraph
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32
from xdsl.dialects.test import TestOp

from xrelay.analysis.layouts import axes, elementwise, slices, stated
from xrelay.analysis.layouts.alteration import packed_convolutions
from xrelay.analysis.layouts.inference import Inferred, Known, Seen, transformed_like
from xrelay.analysis.patterns.checks import plain
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.norm import LayerNormOp
from xrelay.dialects.qnn.arithmetic import QnnAddOp
from xrelay.dialects.qnn.conversion import QnnRequantizeOp
from xrelay.dialects.qnn.products import QnnConv2DOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import SqueezeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp

Infer = Callable[[GuardGraph, Sequence[Seen], Sequence[Seen] | None], Inferred | None]


def layout(text: str) -> Layout:
    """A layout as a program writes it; an empty one has no axes."""
    return Layout.parse(text, "'layout'") if text else Layout(())


def seen(*texts: str) -> list[Known]:
    """Layouts of operands; empty ones are not known."""
    return [layout(text) if text else None for text in texts]


def requantized(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    one, zero = g.c(1.0), g.c(0, "int32")
    scales, data = g.c([0.5, 0.25, 1.0, 2.0]), g.x(1, 4, 2, 2, dtype="int32")
    return elementwise.requantize(QnnRequantizeOp(data, scales, zero, one, zero, axis=1), old, new)


def added(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    return elementwise.broadcast(AddOp(g.x(1, 4, 2, 2), g.x(4, 1, 1)), old, new)


def quantized(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """A sum with a scale for each channel of the first operand."""
    one, zero, data = g.c(1.0), g.c(0, "int32"), g.x(1, 4, 2, 2, dtype="uint8")
    scales = g.c([0.5, 0.25, 1.0, 2.0])
    op = QnnAddOp(data, data, scales, zero, one, zero, one, zero, lhs_axis=1, rhs_axis=1)
    return elementwise.quantized_broadcast(op, old, new)


def convolved(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Which says itself what layouts it has."""
    zero, one = g.c(0, "int32"), g.c(1.0)
    data, weight = g.x(1, 5, 5, 4, dtype="uint8"), g.x(3, 3, 4, 6, dtype="int8")
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    return stated.convolution(QnnConv2DOp(data, weight, zero, zero, one, one, **layouts), old, new)


def summed(*axis: int, keepdims: bool = False) -> Infer:
    return lambda g, old, new: axes.reduction(
        SumOp(g.x(1, 4, 2, 2), axis, keepdims=keepdims), old, new
    )


def squeezed(*axis: int) -> Infer:
    return lambda g, old, new: axes.squeeze(SqueezeOp(g.x(1, 4, 1, 1), axis), old, new)


def joined(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    fields = g.op(TupleOp([g.x(1, 4, 2, 2), g.x(1, 4, 2, 2)]))
    return axes.concatenate(ConcatenateOp(fields, axis=1), old, new)


def normalized(g: GuardGraph, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Over the channels."""
    one = g.c([1.0] * 4)
    return axes.along_axis()(LayerNormOp(g.x(1, 4, 2, 2), one, one, axis=1), old, new)


def text_of(found: Inferred | None) -> str:
    """ "NCHW, - -> NCHW {axis = 1}" for the layouts of operands, those of results, and properties."""
    if found is None:
        return "None"

    def written(each: Seen) -> str:
        return f"({', '.join(map(written, each))})" if isinstance(each, tuple) else str(each or "-")

    properties = ", ".join(f"{name} = {plain(each)}" for name, each in found.properties.items())
    operands, results = (", ".join(map(written, part)) for part in (found.operands, found.results))
    return f"{operands} -> {results} {{{properties}}}"


@pytest.mark.parametrize(
    ("infer", "old", "new", "found"),
    [
        (convolved, ["", ""], None, "NHWC, HWIO, -, -, -, - -> NHWC {}"),
        (requantized, [""], None, "None"),
        (requantized, ["NCHW"], None, "NCHW, -, -, -, - -> NCHW {}"),
        (requantized, ["NCHW"], ["NCHW"], "NCHW, -, -, -, - -> NCHW {}"),
        (requantized, ["NCHW"], ["NHWC"], "NHWC, -, -, -, - -> NHWC {axis = 3}"),
        (requantized, ["NCHW"], ["NCHW2c"], "NCHW, -, -, -, - -> NCHW {axis = 1}"),
        (requantized, ["NCHW"], ["NDHW"], "None"),
        (added, ["", ""], None, "None"),
        (added, ["NCHW", ""], None, "NCHW, CHW -> NCHW {}"),
        (added, ["", "CHW"], None, "None"),
        (added, ["NCHW", ""], ["NHWC", "CHW"], "NHWC, NHWC -> NHWC {}"),
        (added, ["NCHW", ""], ["NHWC", ""], "None"),
        (added, ["NCHW", ""], ["", "CHW"], "None"),
        (added, ["NCHW", ""], ["NDHW", "CHW"], "None"),
        (quantized, ["", ""], None, "None"),
        (quantized, ["NCHW", "NCHW"], None, "NCHW, NCHW, -, -, -, -, -, - -> NCHW {}"),
        (
            quantized,
            ["NCHW", "NCHW"],
            ["NHWC", "NHWC"],
            "NHWC, NHWC, -, -, -, -, -, - -> NHWC {lhs_axis = 3}",
        ),
        (quantized, ["NCHW", "NCHW"], ["NCHW2c", "NCHW2c"], "None"),
        (summed(2, 3), ["NCHW"], ["NHWC"], "NHWC -> NC {axis = [1, 2]}"),
        (summed(1), ["NCHW"], ["NCHW2c"], "NCHW2c -> NHW {axis = [1, 4]}"),
        (summed(0, 1, 2, 3), ["NCHW"], None, "None"),
        (summed(0, 1, 2, 3), ["NCHW"], ["NHWC"], "None"),
        (
            summed(0, 1, 2, 3, keepdims=True),
            ["NCHW"],
            ["NHWC"],
            "NHWC -> NHWC {axis = [0, 1, 2, 3]}",
        ),
        (summed(1), [""], None, "None"),
        (squeezed(2, 3), ["NCHW"], ["NHWC"], "NHWC -> NC {axis = [1, 2]}"),
        (squeezed(2, 3), ["NCHW"], ["NCHW2c"], "NCHW2c -> NC2c {axis = [2, 3]}"),
        (squeezed(0, 3), ["NCHW"], ["NCHW1n"], "None"),
        (squeezed(2), [""], None, "None"),
        (normalized, ["NCHW"], None, "NCHW, -, - -> NCHW {}"),
        (normalized, ["NCHW"], ["NHWC"], "NHWC, -, - -> NHWC {axis = 3}"),
        (normalized, ["NCHW"], ["NCHW2c"], "None"),
        (normalized, ["NCHW"], [""], "None"),
        (normalized, [""], ["NHWC"], "None"),
    ],
)
def test_operators_on_tensors(
    infer: Infer, old: Sequence[str], new: Sequence[str] | None, found: str
) -> None:
    """What operators are given and give in new layouts, and None where they do not follow."""
    result = infer(GuardGraph(), seen(*old), None if new is None else seen(*new))
    assert text_of(result) == found


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (("NCHW", "NCHW"), None, "(NCHW, NCHW) -> NCHW {}"),
        (("", "NCHW"), None, "(NCHW, NCHW) -> NCHW {}"),
        (("", ""), None, "None"),
        (("C2cHW", "C2cHW"), None, "None"),
        (("N", "N"), None, "None"),
        (("NC", "NC"), None, "(NC, NC) -> NC {}"),
        (("NCHW", "NCHW"), ("NHWC", "NHWC"), "(NHWC, NHWC) -> NHWC {axis = 3}"),
        (("NCHW", "NCHW"), ("NHWC", "NCHW"), "(NCHW, NCHW) -> NCHW {}"),
        (("NCHW", "NCHW"), ("NDHW", "NDHW"), "None"),
        (("", "NCHW"), ("NHWC", "NHWC"), "None"),
    ],
)
def test_fields_that_are_joined(
    old: tuple[str, str], new: tuple[str, str] | None, found: str
) -> None:
    """All fields get one layout; a first field whose layout is not known says nothing about the axis."""
    now = None if new is None else [tuple(seen(*new))]
    assert text_of(joined(GuardGraph(), [tuple(seen(*old))], now)) == found


def test_fields_of_a_tuple_that_is_not_known() -> None:
    assert joined(GuardGraph(), [None], None) is None


@pytest.mark.parametrize(
    ("mine", "old", "new", "found"),
    [
        ("NW", "NC", "NC2c", "NW2w"),
        ("CHW", "NCHW", "NHWC", "NHWC"),
        ("NCHW", "CHW", "HWC", "HWC"),
        ("NCHW", "NCHW", "NHWC", "NHWC"),
        ("W", "NC", "NC2c", "NW2w"),
        ("NCHW2c", "NCHW4c", "NCHW", None),
        ("NCHW", "NHWC2c", "NHWC", None),
        ("C", "NCHW4c", "NCHW", None),
        ("NCHW4c", "C", "C", None),
        ("NHW", "CHW", "HWC", "HWN"),
        ("HWC", "CHW", "HWC", "WCH"),
        ("", "NCHW", "NHWC", ""),
        ("CHW", "NCHW", "NCDHW", None),
    ],
)
def test_layouts_that_change_as_others_do(mine: str, old: str, new: str, found: str | None) -> None:
    """Axes correspond from the last on, whatever they are called, where blocks do."""
    result = transformed_like(layout(mine), layout(old), layout(new))
    assert (None if result is None else str(result)) == found


def cut(
    data: Sequence[int], begin: Sequence[int], end: Sequence[int], **options: Any
) -> StridedSliceOp:
    """A slice of a tensor of some shape."""
    (value,) = TestOp(result_types=[TensorType(f32, data)]).results
    return StridedSliceOp(value, begin, end, **options)


IMAGE = (1, 4, 6, 6)


@pytest.mark.parametrize(
    ("op", "new", "found"),
    [
        (cut(IMAGE, [0, 0, 1], [1, 4, 3], axes=[0, 1, 2]), "NHWC", "{axes = [0, 3, 1]}"),
        (
            cut(IMAGE, [0, 1, 2], [1, 3]),
            "NHWC",
            "{begin = [0, 2, 0, 1], end = [1, 6, 6, 3], strides = [1, 1, 1, 1]}",
        ),
        (
            cut(IMAGE, [0, 3, 2], [1, 0], strides=[1, -1, -2]),
            "NHWC",
            "{begin = [0, 2, 0, 3], end = [1, 0, 6, 0], strides = [1, -2, 1, -1]}",
        ),
        (cut((1, 4, 6, DYNAMIC_INDEX), [0, 0, 1], [1, 4, 3]), "NHWC", "None"),
        (
            cut((1, 4, 6, DYNAMIC_INDEX), [0, 0, 1, 2], [1, 4, 3, 5]),
            "NHWC",
            "{begin = [0, 1, 2, 0], end = [1, 3, 5, 4], strides = [1, 1, 1, 1]}",
        ),
        (cut(IMAGE, [0, 2], [1, 4]), "NCHW2c", "{begin = [0, 1], end = [1, 2]}"),
        (cut(IMAGE, [0, 2, 1], [1]), "NCHW2c", "{begin = [0, 1, 1], end = [1]}"),
        (cut(IMAGE, [0], [1, 2, 3]), "NCHW2c", "{begin = [0], end = [1, 1, 3]}"),
        (
            cut(IMAGE, [2, 1], [4, 5], axes=[1, 2]),
            "NCHW2c",
            "{begin = [1, 1], end = [2, 5], axes = [1, 2]}",
        ),
        (
            cut(IMAGE, [0, 2], [1, 2], slice_mode="size"),
            "NCHW2c",
            "{begin = [0, 1], end = [1, 1]}",
        ),
        (cut(IMAGE, [0, 1], [1, 4]), "NCHW2c", "None"),
        (cut(IMAGE, [0, 0], [1, 3]), "NCHW2c", "None"),
        (cut(IMAGE, [0, 0], [1, 4], strides=[1, 2]), "NCHW2c", "None"),
        (cut(IMAGE, [0, 0], [1, 2]), "NHWC2c", "None"),
        (cut(IMAGE, [0, 0], [1, 2]), "NDHW", "None"),
        (cut(IMAGE, [0, 0], [1, 2]), "NCHW", "{}"),
    ],
)
def test_slices(op: StridedSliceOp, new: str, found: str) -> None:
    """The numbers of a slice of NCHW in another layout, for as many axes as the slice names."""
    result = slices.strided_slice(op, seen("NCHW"), seen(new))
    assert text_of(result) == ("None" if found == "None" else f"{new} -> {new} {found}")


@pytest.mark.parametrize(
    ("data", "weight", "options", "found"),
    [
        ((1, 8, 6, 6), (12, 8, 3, 3), {}, ("NCHW4c", "OIHW4i4o", "NCHW4c")),
        ((1, 6, 6, 6), (10, 6, 3, 3), {}, ("NCHW2c", "OIHW2i2o", "NCHW2c")),
        ((1, 6, 6, 6), (9, 6, 3, 3), {}, ("NCHW3c", "OIHW3i3o", "NCHW3c")),
        ((1, 8, 6, 6), (16, 4, 3, 3), {"groups": 2}, ("NCHW4c", "OIHW4i4o", "NCHW4c")),
        ((1, 6, 6, 6), (6, 1, 3, 3), {"groups": 6}, ("NCHW3c", "OIHW1i3o", "NCHW3c")),
        ((1, 1, 6, 6), (4, 1, 3, 3), {}, ("NCHW1c", "OIHW1i4o", "NCHW4c")),
        ((1, DYNAMIC_INDEX, 6, 6), (12, 8, 3, 3), {}, None),
        ((1, 8, 6, 6), (12, 8, 3, 3), {"out_layout": "NHWC"}, None),
        ((1, 6, 6, 8), (3, 3, 8, 12), {"data_layout": "NHWC", "kernel_layout": "HWIO"}, None),
    ],
)
def test_blocks_of_convolutions(
    data: Sequence[int],
    weight: Sequence[int],
    options: dict[str, Any],
    found: tuple[str, str, str] | None,
) -> None:
    """The largest blocks of at most four channels that divide their number."""
    values = TestOp(result_types=[TensorType(f32, data), TensorType(f32, weight)]).results
    altered = packed_convolutions(4)[Conv2DOp](Conv2DOp(*values, **options))
    if altered is None or found is None:
        assert altered is found
        return
    names = ("data_layout", "kernel_layout", "out_layout")
    assert tuple(plain(altered.properties[name]) for name in names) == found
