"""alter-op-layout with the hooks of a target: the scenarios of TVM's tests of AlterOpLayout, with smaller images."""

from collections.abc import Mapping, Sequence

import pytest
from isomorphism import difference
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32
from xdsl.ir import Block
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.layouts.alteration import TARGETS, Altered, Hooks, packed_convolutions
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.shapes import string
from xrelay.frontends.relay_text import read_relay_text
from xrelay.transforms.canonical.canonicalize_ops import CanonicalizeOpsPass
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass

BLOCKS = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i"}
IMAGES = {"data_layout": "NCHW4c"}
PLAIN = {"data_layout": "NCHW", "kernel_layout": "OIHW"}
HALF = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i2o"}

X = "%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32]"
CONV = "nn.conv2d(%x, %w, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1])"
IN = """%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c");
        %1 = nn.conv2d(%0, %w, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1], data_layout="NCHW4c");"""
HX = "%x: Tensor[(1, 6, 6, 8), float32], %w: Tensor[(8, 8, 3, 3), float32]"
HCONV = (
    'nn.conv2d(%x, %w, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1], data_layout="NHWC")'
)
HIN = IN.replace('"NCHW"', '"NHWC"')
OUT = 'src_layout="NCHW4c", dst_layout="NCHW"'
HOUT = 'src_layout="NCHW4c", dst_layout="NHWC"'
BX = "%x: Tensor[(1, 2, 3, 3, 4), float32], %w: Tensor[(2, 2, 1, 1, 4, 4), float32]"
BCONV = 'nn.conv2d(%x, %w, channels=8, kernel_size=[1, 1], data_layout="NCHW4c", kernel_layout="OIHW4i4o")'
FROM_BLOCKS = """%0 = layout_transform(%x, src_layout="NCHW4c", dst_layout="NCHW");
        %1 = layout_transform(%w, src_layout="OIHW4i4o", dst_layout="OIHW");
        %2 = nn.conv2d(%0, %1, channels=8, kernel_size=[1, 1]);
        %3 = layout_transform(%2, src_layout="NCHW", dst_layout="NCHW4c");"""

CASES: Mapping[str, tuple[Mapping[str, str], str, Sequence[str], Sequence[str]]] = {
    "a layer": (
        BLOCKS,
        X + ", %b: Tensor[(8), float32]",
        (
            f"%0 = {CONV};",
            "%1 = nn.bias_add(%0, %b);",
            "%2 = nn.relu(%1);",
            "%3 = nn.max_pool2d(%2, pool_size=[2, 2]);",
            '%4 = cast(%3, dtype="int32");',
            "nn.batch_flatten(%4)",
        ),
        (
            '%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c");',
            '%1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i");',
            (
                "%2 = nn.conv2d(%0, %1, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1],"
                ' data_layout="NCHW4c", kernel_layout="OIHW4i");'
            ),
            "%3 = expand_dims(%b, axis=1, num_newaxis=2);",
            "%4 = expand_dims(%3, axis=0);",
            '%5 = layout_transform(%4, src_layout="NCHW", dst_layout="NCHW4c");',
            "%6 = add(%2, %5);",
            "%7 = nn.relu(%6);",
            '%8 = nn.max_pool2d(%7, pool_size=[2, 2], layout="NCHW4c");',
            '%9 = cast(%8, dtype="int32");',
            f"%10 = layout_transform(%9, {OUT});",
            "nn.batch_flatten(%10)",
        ),
    ),
    "lrn": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "nn.lrn(%0)"),
        (IN, f"%2 = layout_transform(%1, {OUT});", "nn.lrn(%2)"),
    ),
    "two paths": (
        IMAGES,
        X,
        (
            f"%0 = {CONV};",
            "%1 = nn.relu(%0);",
            "%2 = nn.conv2d(%1, %w, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1]);",
            "%3 = nn.batch_flatten(%1);",
            "(%2, %3)",
        ),
        (
            IN,
            "%2 = nn.relu(%1);",
            (
                "%3 = nn.conv2d(%2, %w, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1],"
                ' data_layout="NCHW4c");'
            ),
            f"%4 = layout_transform(%2, {OUT});",
            "%5 = nn.batch_flatten(%4);",
            f"%6 = layout_transform(%3, {OUT});",
            "(%6, %5)",
        ),
    ),
    "a residual block, whose input is transformed once": (
        IMAGES,
        X + ", %v: Tensor[(8, 8, 1, 1), float32]",
        (
            f"%0 = {CONV};",
            "%1 = nn.conv2d(%x, %v, channels=8, kernel_size=[1, 1]);",
            "%2 = add(%0, %1);",
            "nn.global_max_pool2d(%2)",
        ),
        (
            IN,
            '%2 = nn.conv2d(%0, %v, channels=8, kernel_size=[1, 1], data_layout="NCHW4c");',
            "%3 = add(%1, %2);",
            '%4 = nn.global_max_pool2d(%3, layout="NCHW4c");',
            f"layout_transform(%4, {OUT})",
        ),
    ),
    "broadcasts from both sides": (
        IMAGES,
        X + ", %s: Tensor[(8, 1, 1), float32]",
        (f"%0 = {CONV};", "multiply(%s, %0)"),
        (
            IN,
            "%2 = expand_dims(%s, axis=0);",
            '%3 = layout_transform(%2, src_layout="NCHW", dst_layout="NCHW4c");',
            "%4 = multiply(%3, %1);",
            f"layout_transform(%4, {OUT})",
        ),
    ),
    "numbers in tensors of lower rank": (
        IMAGES,
        HX + ", %a: Tensor[(1), float32], %b: Tensor[(1, 1), float32], %c: Tensor[(8), float32]",
        (
            f"%0 = {HCONV};",
            "%1 = add(%c, %0);",
            "%2 = multiply(%a, %1);",
            "%3 = multiply(%2, %b);",
            "add(%3, 1f)",
        ),
        (
            HIN,
            "%2 = expand_dims(%c, axis=0, num_newaxis=3);",
            '%3 = layout_transform(%2, src_layout="NHWC", dst_layout="NCHW4c");',
            "%4 = add(%3, %1);",
            "%5 = multiply(%a, %4);",
            "%6 = multiply(%5, %b);",
            "%7 = add(%6, 1f);",
            f"layout_transform(%7, {HOUT})",
        ),
    ),
    "blocks of 1 for an axis that is repeated": (
        IMAGES,
        X + ", %z: Tensor[(1, 6, 6), float32]",
        (f"%0 = {CONV};", "add(%0, %z)"),
        (
            IN,
            "%2 = expand_dims(%z, axis=0);",
            '%3 = layout_transform(%2, src_layout="NCHW", dst_layout="NCHW1c");',
            "%4 = add(%1, %3);",
            f"layout_transform(%4, {OUT})",
        ),
    ),
    "concatenation of channels": (
        IMAGES,
        HX,
        (f"%0 = {HCONV};", "%1 = nn.relu(%0);", "%2 = (%0, %1);", "concatenate(%2, axis=3)"),
        (
            HIN,
            "%2 = nn.relu(%1);",
            "%3 = (%1, %2);",
            "%4 = concatenate(%3, axis=1);",
            f"layout_transform(%4, {HOUT})",
        ),
    ),
    "upsampling": (
        IMAGES,
        X,
        (
            f"%0 = {CONV};",
            "%1 = nn.upsampling(%0, scale_h=2f, scale_w=2f);",
            "nn.avg_pool2d(%1, pool_size=[2, 2], strides=[2, 2])",
        ),
        (
            IN,
            '%2 = nn.upsampling(%1, scale_h=2f, scale_w=2f, layout="NCHW4c");',
            '%3 = nn.avg_pool2d(%2, pool_size=[2, 2], strides=[2, 2], layout="NCHW4c");',
            f"layout_transform(%3, {OUT})",
        ),
    ),
    "slices of whole blocks": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "strided_slice(%0, begin=[0, 4], end=[1, 9], strides=[1, 1])"),
        (
            IN,
            "%2 = strided_slice(%1, begin=[0, 1], end=[1, 2], strides=[1, 1]);",
            f"layout_transform(%2, {OUT})",
        ),
    ),
    "slices of steps": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "strided_slice(%0, begin=[4], end=[8], strides=[3], axes=[1])"),
        (
            IN,
            f"%2 = layout_transform(%1, {OUT});",
            "strided_slice(%2, begin=[4], end=[8], strides=[3], axes=[1])",
        ),
    ),
    "slices of blocks whose sizes go": (
        PLAIN,
        BX,
        (f"%0 = {BCONV};", "strided_slice(%0, begin=[0, 0], end=[1, -1], strides=[1, 8])"),
        (FROM_BLOCKS, "strided_slice(%3, begin=[0, 0], end=[1, -1], strides=[1, 8])"),
    ),
    "prelu": (
        IMAGES,
        X + ", %a: Tensor[(8), float32]",
        (f"%0 = {CONV};", "nn.prelu(%0, %a)"),
        (IN, f"%2 = layout_transform(%1, {OUT});", "nn.prelu(%2, %a)"),
    ),
    "pads of rows and columns": (
        IMAGES,
        HX,
        (f"%0 = {HCONV};", "nn.pad(%0, 0, pad_width=[[0, 0], [1, 2], [3, 4], [0, 0]])"),
        (
            HIN,
            "%2 = nn.pad(%1, 0, pad_width=[[0, 0], [0, 0], [1, 2], [3, 4], [0, 0]]);",
            f"layout_transform(%2, {HOUT})",
        ),
    ),
    "pads of channels": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "nn.pad(%0, 0, pad_width=[[0, 0], [1, 1], [1, 1], [1, 1]])"),
        (
            IN,
            f"%2 = layout_transform(%1, {OUT});",
            "nn.pad(%2, 0, pad_width=[[0, 0], [1, 1], [1, 1], [1, 1]])",
        ),
    ),
    "sums of channels": (
        IMAGES,
        HX,
        (f"%0 = {HCONV};", "sum(%0, axis=[3], keepdims=True)"),
        (
            HIN,
            "%2 = sum(%1, axis=[1, 4], keepdims=True);",
            'layout_transform(%2, src_layout="NCHW1c", dst_layout="NHWC")',
        ),
    ),
    "sums of all but channels": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "mean(%0, axis=[1], exclude=True)"),
        (
            IN,
            "%2 = mean(%1, axis=[1, 4], exclude=True);",
            'layout_transform(%2, src_layout="C4c", dst_layout="C")',
        ),
    ),
    "places of extremes among channels": (
        IMAGES,
        X,
        (f"%0 = {CONV};", "argmin(%0, axis=[1])"),
        (IN, f"%2 = layout_transform(%1, {OUT});", "argmin(%2, axis=[1])"),
    ),
    "products after a squeeze": (
        IMAGES,
        X + ", %d: Tensor[(5, 8), float32]",
        (
            f"%0 = {CONV};",
            "%1 = nn.global_avg_pool2d(%0);",
            "%2 = squeeze(%1, axis=[2, 3]);",
            "nn.dense(%2, %d, units=None)",
        ),
        (
            IN,
            '%2 = nn.global_avg_pool2d(%1, layout="NCHW4c");',
            "%3 = squeeze(%2, axis=[2, 3]);",
            '%4 = layout_transform(%3, src_layout="NC4c", dst_layout="NC");',
            "nn.dense(%4, %d, units=None)",
        ),
    ),
    "other blocks, also of what is broadcast": (
        HALF,
        BX + ", %b: Tensor[(1, 2, 1, 1, 4), float32]",
        (f"%0 = {BCONV};", "add(%0, %b)"),
        (
            '%0 = layout_transform(%x, src_layout="NCHW4c", dst_layout="NCHW2c");',
            '%1 = layout_transform(%w, src_layout="OIHW4i4o", dst_layout="OIHW2i2o");',
            (
                "%2 = nn.conv2d(%0, %1, channels=8, kernel_size=[1, 1], data_layout="
                '"NCHW2c", kernel_layout="OIHW2i2o");'
            ),
            '%3 = layout_transform(%b, src_layout="NCHW4c", dst_layout="NCHW2c");',
            "%4 = add(%2, %3);",
            'layout_transform(%4, src_layout="NCHW2c", dst_layout="NCHW4c")',
        ),
    ),
    "no other blocks for what has none": (
        HALF,
        BX + ", %b: Tensor[(1, 1, 1, 1, 1), float32]",
        (f"%0 = {BCONV};", "add(%0, %b)"),
        (
            '%0 = layout_transform(%x, src_layout="NCHW4c", dst_layout="NCHW2c");',
            '%1 = layout_transform(%w, src_layout="OIHW4i4o", dst_layout="OIHW2i2o");',
            (
                "%2 = nn.conv2d(%0, %1, channels=8, kernel_size=[1, 1], data_layout="
                '"NCHW2c", kernel_layout="OIHW2i2o");'
            ),
            '%3 = layout_transform(%2, src_layout="NCHW2c", dst_layout="NCHW4c");',
            "add(%3, %b)",
        ),
    ),
    "a broadcast that has no counterpart": (
        PLAIN,
        BX + ", %z: Tensor[(3, 3, 4), float32]",
        (f"%0 = {BCONV};", "add(%0, %z)"),
        (FROM_BLOCKS, "add(%3, %z)"),
    ),
    "axes of other names": (
        IMAGES,
        X,
        (
            f"%0 = {CONV};",
            "%1 = min(%0, axis=[2]);",
            "%2 = min(%0, axis=[3]);",
            "add(%1, %2)",
        ),
        (
            IN,
            "%2 = min(%1, axis=[2]);",
            "%3 = min(%1, axis=[3]);",
            "%4 = add(%2, %3);",
            'layout_transform(%4, src_layout="NCW4c", dst_layout="NCW")',
        ),
    ),
}


def hooks(stated: Mapping[str, str]) -> Hooks:
    """Convolutions with these layouts."""
    layouts = {name: string(text) for name, text in stated.items()}

    def alter(op: RelayOp) -> Altered:
        return Altered(type(op), op.properties | layouts)

    return {Conv2DOp: alter}


def text(parameters: str, lines: Sequence[str]) -> str:
    return "\n".join(('#[version = "0.0.5"]', f"def @main({parameters}) {{", *lines, "}"))


@pytest.mark.parametrize("name", CASES)
def test_layouts_go_on(name: str) -> None:
    stated, parameters, before, after = CASES[name]
    module = read_relay_text(text(parameters, before))
    CanonicalizeOpsPass().apply(Context(), module)
    step = AlterOpLayoutPass(target="vendor")
    with TARGETS.using("vendor", lambda _: hooks(stated)):
        step.apply(Context(), module)
        module.verify()
        assert difference(module, read_relay_text(text(parameters, after))) is None
        again = module.clone()
        step.apply(Context(), again)
    assert again.is_structurally_equivalent(module)
    with pytest.raises(PassFailedException, match="known are cpu, llvm$"):
        step.apply(Context(), module)


@pytest.mark.parametrize(
    ("image", "weight", "taken"),
    [
        ((1, 8, 6, 6), (16, 8, 3, 3), True),
        ((DYNAMIC_INDEX, 8, DYNAMIC_INDEX, 6), (16, 8, 3, 3), True),
        ((1, DYNAMIC_INDEX, 6, 6), (16, 8, 3, 3), False),
        ((1, 8, 6, 6), (DYNAMIC_INDEX, 8, 3, 3), False),
        ((1, 8, 6, 6), (16, DYNAMIC_INDEX, 3, 3), False),
    ],
)
def test_blocks_need_numbers_of_channels(
    image: tuple[int, ...], weight: tuple[int, ...], taken: bool
) -> None:
    block = Block(arg_types=[TensorType(f32, image), TensorType(f32, weight)])
    op = Conv2DOp(*block.args, channels=16, kernel_size=(3, 3))
    altered = packed_convolutions(8)[Conv2DOp](op)
    assert (altered is not None) == taken
