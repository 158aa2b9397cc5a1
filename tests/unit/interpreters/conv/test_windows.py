"""Convolution and pooling of lines and volumes in NumPy, compared with onnxruntime."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from oracles import close, evaluate, from_layout, runtime, same, sample, to_layout
from tiers import fixed_examples
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32
from xdsl.dialects.test import TestOp
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.conv import conv
from xrelay.dialects.conv import transpose as conv_transpose
from xrelay.dialects.pool import pool

run_settings = fixed_examples(25, HealthCheck.too_slow, HealthCheck.filter_too_much)
seeds = st.integers(0, 2**32)

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW",), 3: ("NCDHW", "NDHWC", "CDNWH")}


@st.composite
def windows(draw: st.DrawFn, axes: int) -> dict[str, Any]:
    """Sizes of an image and of windows over it, of which at least one fits."""
    kernel = [draw(st.integers(1, 3)) for _ in range(axes)]
    dilation = [draw(st.integers(1, 2)) for _ in range(axes)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    return {
        "image": [e + draw(st.integers(0, 4)) for e in extent],
        "kernel": kernel,
        "strides": [draw(st.integers(1, 3)) for _ in range(axes)],
        "dilation": dilation,
        "padding": [draw(st.integers(0, kernel[i % axes] - 1)) for i in range(2 * axes)],
        "layout": draw(st.sampled_from(LAYOUTS[axes])),
    }


@given(seed=seeds, case=windows(3), sizes=st.tuples(*[st.integers(1, 2)] * 4))
@run_settings
def test_conv3d(seed: int, case: dict[str, Any], sizes: tuple[int, int, int, int]):
    batch, groups, inner, outer = sizes
    x = sample(seed, (batch, groups * inner, *case["image"]))
    weight = sample(seed + 1, (groups * outer, inner, *case["kernel"]))
    layout, kernel_layout = case["layout"], ("OIDHW", "DHWIO")[seed % 2]
    found = evaluate(
        lambda data, w: conv.Conv3DOp(
            data,
            w,
            strides=case["strides"],
            padding=case["padding"],
            dilation=case["dilation"],
            groups=groups,
            data_layout=layout,
            kernel_layout=kernel_layout,
        ),
        to_layout(x, "NCDHW", layout),
        to_layout(weight, "OIDHW", kernel_layout),
    )
    expected = runtime(
        "Conv",
        x,
        weight,
        strides=case["strides"],
        pads=case["padding"],
        dilations=case["dilation"],
        group=groups,
    )
    close(from_layout(found, "NCDHW", layout), expected, 1e-4, 1e-4)


TRANSPOSED = {
    1: (conv_transpose.Conv1DTransposeOp, ("OIW", "IOW")),
    2: (conv.Conv2DTransposeOp, ("IOHW", "OIHW", "HWOI")),
    3: (conv_transpose.Conv3DTransposeOp, ("OIDHW", "IODHW", "DHWIO")),
}


@pytest.mark.parametrize("axes", (1, 2, 3))
@given(seed=seeds, data=st.data(), sizes=st.tuples(*[st.integers(1, 2)] * 4))
@run_settings
def test_transposed_convolutions(
    axes: int, seed: int, data: st.DataObject, sizes: tuple[int, int, int, int]
):
    case = data.draw(windows(axes))
    op, kernel_layouts = TRANSPOSED[axes]
    batch, groups, inner, outer = sizes
    layout, kernel_layout = case["layout"], kernel_layouts[seed % len(kernel_layouts)]
    extra = [
        min(stride, gap) - 1 for stride, gap in zip(case["strides"], case["dilation"], strict=True)
    ]
    x = sample(seed, (batch, groups * inner, *case["image"]))
    weight = sample(seed + 1, (groups * inner, outer, *case["kernel"]))
    found = evaluate(
        lambda images, w: op(
            images,
            w,
            strides=case["strides"],
            output_padding=extra,
            padding=case["padding"],
            dilation=case["dilation"],
            groups=groups,
            data_layout=layout,
            kernel_layout=kernel_layout,
        ),
        to_layout(x, LAYOUTS[axes][0], layout),
        to_layout(weight, kernel_layouts[0], kernel_layout),
    )
    expected = runtime(
        "ConvTranspose",
        x,
        weight,
        strides=case["strides"],
        pads=case["padding"],
        dilations=case["dilation"],
        output_padding=extra,
        group=groups,
    )
    close(from_layout(found, LAYOUTS[axes][0], layout), expected, 1e-4, 1e-4)


POOLS = {1: (pool.MaxPool1DOp, pool.AvgPool1DOp), 3: (pool.MaxPool3DOp, pool.AvgPool3DOp)}


@pytest.mark.parametrize("axes", (1, 3))
@given(seed=seeds, data=st.data(), ceil_mode=st.booleans(), include=st.booleans())
@run_settings
def test_pools(axes: int, seed: int, data: st.DataObject, ceil_mode: bool, include: bool):
    case = data.draw(windows(axes))
    largest, mean = POOLS[axes]
    layout, names = case["layout"], LAYOUTS[axes][0]
    x = sample(seed, (2, 3, *case["image"]))
    options = {
        "strides": case["strides"],
        "padding": case["padding"],
        "dilation": case["dilation"],
        "ceil_mode": ceil_mode,
        "layout": layout,
    }
    attributes = {
        "kernel_shape": case["kernel"],
        "strides": case["strides"],
        "pads": case["padding"],
        "dilations": case["dilation"],
        "ceil_mode": int(ceil_mode),
    }
    image = to_layout(x, names, layout)
    found = evaluate(lambda v: largest(v, case["kernel"], **options), image)
    same(from_layout(found, names, layout), runtime("MaxPool", x, **attributes))
    found = evaluate(lambda v: mean(v, case["kernel"], **options, count_include_pad=include), image)
    expected = runtime("AveragePool", x, **attributes, count_include_pad=int(include))
    close(from_layout(found, names, layout), expected)


def test_blocked_pools_are_pools():
    x = sample(3, (2, 8, 9))
    blocked = x.reshape(2, 2, 4, 9).transpose(0, 1, 3, 2)
    found = evaluate(lambda v: pool.AvgPool1DOp(v, [3], padding=[1], layout="NCW4c"), blocked)
    expected = evaluate(lambda v: pool.AvgPool1DOp(v, [3], padding=[1]), x)
    same(found.transpose(0, 1, 3, 2).reshape(expected.shape), expected)


def value(*shape: int) -> Any:
    return TestOp(result_types=[TensorType(f32, shape)])


def test_unknown_dimensions_stay_unknown():
    any_ = DYNAMIC_INDEX
    data = value(1, 3, any_, 5, 6)
    assert pool.MaxPool3DOp(data, [2, 2, 2]).result.type.get_shape() == (1, 3, any_, 4, 5)
    found = conv.Conv3DOp(value(any_, 4, 4, 4, 3), value(2, 3, 3, 3, 3), data_layout="NDHWC")
    assert found.result.type.get_shape() == (any_, 2, 2, 2, 2)
    found = conv_transpose.Conv1DTransposeOp(value(1, 4, any_), value(4, 2, 3))
    assert found.result.type.get_shape() == (1, 2, any_)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: pool.MaxPool1DOp(value(1, 2, 5), [2], layout="NCH"),
            '\'layout\' is "NCH", expected the axes of "NCW" in any order',
        ),
        (
            lambda: pool.MaxPool1DOp(value(1, 2, 5, 4), [2], layout="NCW4w"),
            "'layout' is \"NCW4w\", which splits W; only C may be split",
        ),
        (
            lambda: pool.AvgPool3DOp(value(1, 2, 5, 5, 5), [2, 2]),
            "'pool_size' is [2, 2], expected three positive numbers",
        ),
        (
            lambda: pool.AvgPool3DOp(value(1, 2, 5, 5, 5), [2, 2, 2], padding=[1, 1]),
            "'padding' is [1, 1], expected 1, 3 or 6 numbers",
        ),
        (
            lambda: pool.MaxPool2DOp(value(1, 2, 5), [2, 2], layout="NHWC"),
            "'data' in the layout NHWC is tensor<1x2x5xf32>, expected rank 4",
        ),
        (
            lambda: conv.Conv3DOp(value(1, 4, 5, 5, 5), value(6, 3, 2, 2, 2)),
            "'data' has 4 channels, 'weight' takes 3 in each of 1 groups",
        ),
        (
            lambda: conv_transpose.Conv3DTransposeOp(
                value(1, 4, 5, 5, 5), value(4, 6, 2, 2, 2), output_padding=[1]
            ),
            "'output_padding' is [1], expected three numbers that are not negative",
        ),
    ],
)
def test_refusals(build: Any, message: str):
    with pytest.raises(VerifyException) as raised:
        build()
    assert str(raised.value) == message
