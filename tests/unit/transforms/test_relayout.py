"""Programs in other layouts: which operators begin, which follow, and that all mean the same."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from graphs import difference
from guards.passes import GuardGraph, main_function, passes_of, results_of, values_of
from layout_programs import layout_program
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.image.resize import Dilation2DOp, Resize1DOp, Resize2DOp
from xrelay.dialects.nn.correlation import CorrelationOp, DeformableConv2DOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    BiasAddOp,
    DropoutOp,
    InstanceNormOp,
    L2NormalizeOp,
    LayerNormOp,
    PReluOp,
    SoftmaxOp,
)
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.pool.adaptive import AdaptiveMaxPool2DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.qnn.arithmetic import QnnAddOp
from xrelay.dialects.qnn.conversion import QnnConcatenateOp, QnnDequantizeOp, QnnRequantizeOp
from xrelay.dialects.qnn.products import QnnConv2DOp, QnnConv2DTransposeOp
from xrelay.dialects.shapes import boolean, integer, string
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.like import CastLikeOp, SliceLikeOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, MaxOp, MeanOp, SumOp, VarianceOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.dialects.vision.regions import RoiAlignOp, RoiPoolOp
from xrelay.frontends.relay_text import read_relay_text
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fuse_ops import FuseOpsPass

Make = Callable[[GuardGraph], Operation]
Follower = Callable[[GuardGraph, SSAValue], Operation]

NHWC = 'convert-layout{desired-layouts="nn.conv2d:NHWC:default"}'
HWNC = 'convert-layout{desired-layouts="nn.conv2d:HWNC:default"}'
BLOCKS = 'convert-layout{desired-layouts="nn.conv2d:NCHW2c:OIHW2i2o"}'
LLVM = "alter-op-layout{target=llvm lanes=4}"
UNITS = 256
"""How many units of the last place results may be off: sums are in another order."""


def changed(module: ModuleOp, spec: str) -> ModuleOp:
    """What a pass makes of a program, whose meaning it keeps and which it does not change again."""
    types = main_function(module).function_type.inputs.data
    (step,) = passes_of(spec)
    found = module.clone()
    step.apply(Context(), found)
    found.verify()
    assert main_function(found).function_type == main_function(module).function_type
    for kind in ("numbers", "whole"):
        rng = np.random.default_rng(len(kind))
        inputs = [values_of(type_, kind, rng) for type_ in types]
        for a, b in zip(results_of(found, inputs), results_of(module, inputs), strict=True):
            assert difference(a, b, UNITS) is None, f"{module}\n{found}"
    again = found.clone()
    step.apply(Context(), again)
    assert again.is_structurally_equivalent(found), f"{spec} again\n{found}\n{again}"
    return found


# -- operators that begin


def volume(g: GuardGraph, kind: Any, image: tuple[int, ...], weight: tuple[int, ...], **given: Any):
    return kind(g.x(*image), g.w(*weight), **given)


def quantized(g: GuardGraph, kind: Any, weight: tuple[int, ...], **given: Any) -> Operation:
    zeros = g.c(3, "int32"), g.c([1] * 6, "int32") if kind is QnnConv2DOp else g.c(1, "int32")
    scales = g.c(0.5), g.positive(6)
    return kind(g.x(1, 4, 5, 6, dtype="int8"), g.w(*weight, dtype="int8"), *zeros, *scales, **given)


def deformable(g: GuardGraph) -> Operation:
    return DeformableConv2DOp(g.x(1, 4, 5, 6), g.x(1, 18, 3, 4), g.w(6, 4, 3, 3))


def regions(g: GuardGraph, kind: Any) -> Operation:
    rois = g.c([[0, 0, 0, 3, 3], [1, 1, 0, 4, 2]])
    return kind(g.x(2, 4, 5, 6), rois, (2, 3), 0.5)


def gradient(g: GuardGraph) -> Operation:
    return Conv2DBackwardWeightOp(g.x(2, 6, 3, 4), g.x(2, 4, 5, 6), (3, 3))


IMAGE = (1, 4, 5, 6)
BEGIN: Mapping[str, tuple[Make, Mapping[str, str]]] = {
    "nn.avg_pool2d:NHWC": (
        lambda g: AvgPool2DOp(g.x(*IMAGE), (2, 2)),
        {"layout": "NHWC", "out_layout": "NHWC"},
    ),
    "nn.conv2d:CHWN:HWIO": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(6, 4, 3, 3)),
        {"data_layout": "CHWN", "kernel_layout": "HWIO"},
    ),
    "nn.conv2d:HWNC:default": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(6, 4, 3, 3)),
        {"data_layout": "HWNC", "kernel_layout": "HWOI"},
    ),
    "nn.conv2d:NHWC:default": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(4, 1, 3, 3), groups=4),
        {"data_layout": "NHWC", "kernel_layout": "HWOI"},
    ),
    "nn.conv2d:NHWC:default groups": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(8, 1, 3, 3), groups=4),
        {"data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    "nn.conv2d:NHWC:default out": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(6, 4, 3, 3), out_layout="HWNC"),
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_layout": "HWNC"},
    ),
    "nn.conv2d_backward_weight:NHWC:default": (
        gradient,
        {"data_layout": "NHWC", "kernel_layout": "NHWC", "out_layout": "HWIO"},
    ),
    "nn.conv2d_transpose:NHWC:default": (
        partial(volume, kind=Conv2DTransposeOp, image=IMAGE, weight=(6, 4, 3, 3)),
        {"data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    "nn.conv3d:NDHWC:default": (
        partial(volume, kind=Conv3DOp, image=(1, 2, 4, 5, 6), weight=(3, 2, 2, 2, 2)),
        {"data_layout": "NDHWC", "kernel_layout": "DHWIO"},
    ),
    "nn.deformable_conv2d:NHWC:default": (
        deformable,
        {"data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    "nn.global_avg_pool2d:NHWC": (lambda g: GlobalAvgPool2DOp(g.x(*IMAGE)), {"layout": "NHWC"}),
    "nn.global_max_pool2d:NHWC": (lambda g: GlobalMaxPool2DOp(g.x(*IMAGE)), {"layout": "NHWC"}),
    "nn.max_pool2d:NCHW2c": (lambda g: MaxPool2DOp(g.x(*IMAGE), (2, 2)), {"layout": "NCHW2c"}),
    "qnn.conv2d:NHWC:default": (
        partial(quantized, kind=QnnConv2DOp, weight=(6, 4, 3, 3)),
        {"data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    "qnn.conv2d_transpose:NHWC:HWOI": (
        partial(quantized, kind=QnnConv2DTransposeOp, weight=(6, 4, 3, 3)),
        {"data_layout": "NHWC", "kernel_layout": "HWOI"},
    ),
    "image.resize1d:NWC": (lambda g: Resize1DOp(g.x(1, 3, 4), (5,)), {"layout": "NWC"}),
    "image.resize2d:NHWC": (lambda g: Resize2DOp(g.x(*IMAGE), (5, 7)), {"layout": "NHWC"}),
    "vision.roi_align:NHWC:default": (partial(regions, kind=RoiAlignOp), {"layout": "NHWC"}),
    "vision.roi_pool:NHWC:default": (partial(regions, kind=RoiPoolOp), {"layout": "NHWC"}),
}
"""Entries of `desired-layouts`, an operator for each, and what it states then."""


@pytest.mark.parametrize("entry", BEGIN)
def test_what_begins(entry: str) -> None:
    build, expected = BEGIN[entry]
    graph = GuardGraph(len(entry))
    kind = type(graph.show(build(graph)).owner)
    module = changed(graph.module(), f'convert-layout{{desired-layouts="{entry.split()[0]}"}}')
    (op,) = (each for each in module.walk() if isinstance(each, kind))
    assert {name: op.properties[name].data for name in expected} == expected


# -- operators that follow


def images(g: GuardGraph) -> SSAValue:
    return g.op(Conv2DOp(g.x(2, 2, 4, 5), g.w(4, 2, 1, 1)))


def joined(g: GuardGraph, x: SSAValue, other: SSAValue, axis: int) -> Operation:
    return ConcatenateOp(g.op(TupleOp([x, other])), axis=axis)


def norm(kind: Any, vectors: int, axis: int) -> Follower:
    lengths = (2, 4, 4, 5)
    return lambda g, x: kind(x, *(g.positive(lengths[axis]) for _ in range(vectors)), axis=axis)


def variance(g: GuardGraph, x: SSAValue) -> Operation:
    mean = g.op(MeanOp(x, (0, 2, 3), keepdims=True))
    return VarianceOp(x, mean, axis=(0, 2, 3))


FOLLOWERS: Mapping[str, tuple[str, Follower]] = {
    "adaptive pool": ("nb", lambda g, x: AdaptiveMaxPool2DOp(x, (2, 2))),
    "add itself": ("nb", lambda g, x: AddOp(x, x)),
    "add a parameter": ("nb", lambda g, x: AddOp(x, g.x(2, 4, 4, 5))),
    "add channels": ("nb", lambda g, x: AddOp(x, g.x(4, 1, 1))),
    "add columns": ("nb", lambda g, x: AddOp(x, g.x(5))),
    "add a number": ("nb", lambda g, x: AddOp(x, g.c(1))),
    "add to a repeated tensor": ("nb", lambda g, x: AddOp(x, g.x(1, 4, 1, 5))),
    "add a tensor of more axes": ("", lambda g, x: AddOp(x, g.x(3, 1, 1, 1, 1))),
    "argmax of rows and columns": ("nb", lambda g, x: ArgmaxOp(x, (2, 3))),
    "argmax of channels": ("n", lambda g, x: ArgmaxOp(x, (1,))),
    "argmax in another order": ("", lambda g, x: ArgmaxOp(x, (1, 2))),
    "batch_norm": ("n", norm(BatchNormOp, 4, 1)),
    "batch_norm of rows": ("nb", norm(BatchNormOp, 4, -2)),
    "bias_add": ("", norm(BiasAddOp, 1, 1)),
    "cast_like": ("nb", lambda g, x: CastLikeOp(x, g.x(3, dtype="int32"))),
    "concatenate channels": ("nb", lambda g, x: joined(g, x, x, 1)),
    "concatenate columns": ("nb", lambda g, x: joined(g, x, x, -1)),
    "concatenate a parameter": ("", lambda g, x: joined(g, x, g.x(2, 1, 4, 5), 1)),
    "dropout": ("nb", lambda g, x: DropoutOp(x)),
    "flatten": ("", lambda g, x: BatchFlattenOp(x)),
    "instance_norm": ("n", norm(InstanceNormOp, 2, 1)),
    "l2_normalize": ("nb", lambda g, x: L2NormalizeOp(x, 0.1, (1, 3))),
    "layer_norm": ("nb", norm(LayerNormOp, 2, -1)),
    "max of channels": ("nb", lambda g, x: MaxOp(x, (1,))),
    "mean of all but channels": ("nb", lambda g, x: MeanOp(x, (1,), exclude=True)),
    "mean of images": ("nb", lambda g, x: MeanOp(x, (2, 3), keepdims=True)),
    "pad rows": ("nb", lambda g, x: PadOp(x, g.c(2), [(0, 0), (0, 0), (1, 2), (0, -1)])),
    "pad channels": ("n", lambda g, x: PadOp(x, g.c(2), [(0, 0), (1, 1), (0, 0), (0, 0)])),
    "pad and cut channels": (
        "n",
        lambda g, x: PadOp(x, g.c(2), [(0, 0), (1, -1), (0, 0), (0, 0)]),
    ),
    "pool": ("nb", lambda g, x: MaxPool2DOp(x, (2, 2), strides=(2, 1))),
    "pool of other axes": (
        "nb",
        lambda g, x: MaxPool2DOp(g.op(TransposeOp(x, (0, 1, 3, 2))), (2, 2)),
    ),
    "pool with a layout of its own": (
        "",
        lambda g, x: AvgPool2DOp(x, (2, 2), out_layout="NCHW"),
    ),
    "prelu": ("", norm(PReluOp, 1, 1)),
    "relu": ("nb", lambda g, x: ReluOp(x)),
    "resize": ("n", lambda g, x: Resize2DOp(x, (3, 3))),
    "slice_like": ("nb", lambda g, x: SliceLikeOp(x, g.op(ReluOp(x)), (1, 3))),
    "slice_like a parameter": ("", lambda g, x: SliceLikeOp(x, g.x(2, 3, 2, 2), (1, 3))),
    "slice_like in all axes": ("", lambda g, x: SliceLikeOp(x, g.op(ReluOp(x)))),
    "softmax": ("", lambda g, x: SoftmaxOp(x, axis=1)),
    "split channels": ("nb", lambda g, x: SplitOp(x, 2, axis=1)),
    "split whole blocks": ("nb", lambda g, x: SplitOp(x, (2,), axis=1)),
    "split within blocks": ("n", lambda g, x: SplitOp(x, (1, 2), axis=1)),
    "squeeze": ("nb", lambda g, x: SqueezeOp(g.op(MeanOp(x, (2,), keepdims=True)), (2,))),
    "squeeze what has no axes left": ("nb", lambda g, x: SqueezeOp(x, ())),
    "stop_fusion": ("nb", lambda g, x: StopFusionOp(x)),
    "slices": ("nb", lambda g, x: StridedSliceOp(x, [0, 2, 1], [2, 4, 4], [1, 1, 2])),
    "slices of axes": ("nb", lambda g, x: StridedSliceOp(x, [2, 0], [4, 3], axes=[1, -1])),
    "slices with fewer begins": ("nb", lambda g, x: StridedSliceOp(x, [1], [2, 2])),
    "slices with fewer ends": ("nb", lambda g, x: StridedSliceOp(x, [0, 2], [2])),
    "slices by size": (
        "nb",
        lambda g, x: StridedSliceOp(x, [0, 2], [2, -1], slice_mode="size"),
    ),
    "slices of every second channel": (
        "n",
        lambda g, x: StridedSliceOp(x, [0], [4], [2], axes=[1]),
    ),
    "slices without bounds": ("n", lambda g, x: StridedSliceOp(x, [0], [2], [1, -1])),
    "slices within blocks": ("n", lambda g, x: StridedSliceOp(x, [1], [3], axes=[1])),
    "slices backwards": ("n", lambda g, x: StridedSliceOp(x, [0, 4], [2, 0], [1, -1])),
    "sum of everything": ("", lambda g, x: SumOp(x)),
    "sum with channels": ("nb", lambda g, x: SumOp(x, (0, 1), keepdims=True)),
    "topk of all channels": ("n", lambda g, x: TopkOp(x, axis=1, ret_type="values")),
    "topk of columns": ("nb", lambda g, x: TopkOp(x, 2)),
    "topk of channels": ("n", lambda g, x: TopkOp(x, 2, axis=1, ret_type="values")),
    "transpose": ("n", lambda g, x: TransposeOp(x, (0, -1, 1, 2))),
    "upsampling": ("b", lambda g, x: UpsamplingOp(x, 2.0, 1.0)),
    "variance": ("nb", variance),
    "correlation": ("", lambda g, x: CorrelationOp(x, x)),
    "dilation2d": ("", lambda g, x: Dilation2DOp(x, g.w(4, 2, 2))),
}
"""With convolutions in NHWC (n) or in blocks (b), which operators take their results as they are."""


def takes_as_it_is(module: ModuleOp, kind: type[Operation]) -> bool:
    """Whether the last operator of a kind takes a tensor, or a tuple of some, that was not transformed for it."""
    op = next(each for each in reversed([*module.walk()]) if isinstance(each, kind))
    owner = op.operands[0].owner
    first = owner.fields[0].owner if isinstance(owner, TupleOp) else owner
    return not isinstance(first, LayoutTransformOp)


@pytest.mark.parametrize("layout, spec", (("n", NHWC), ("b", BLOCKS)))
def test_what_follows(layout: str, spec: str) -> None:
    wrong: list[str] = []
    for name, (follows, build) in FOLLOWERS.items():
        graph = GuardGraph(len(name))
        kind = type(graph.show(build(graph, images(graph))).owner)
        module = changed(graph.module(), spec)
        if takes_as_it_is(module, kind) != (layout in follows):
            wrong.append(name)
    assert not wrong


OF_BLOCKS: Mapping[str, tuple[bool, Follower]] = {
    "relu": (True, lambda g, x: ReluOp(x)),
    "multiply": (True, lambda g, x: MultiplyOp(x, x)),
    "pool": (True, lambda g, x: MaxPool2DOp(x, (2, 2), layout="NCHW2c")),
    "concatenate": (False, lambda g, x: joined(g, x, x, 2)),
    "l2_normalize": (False, lambda g, x: L2NormalizeOp(x, 0.1, (1,))),
    "pad": (False, lambda g, x: PadOp(x, g.c(2), [(0, 0), (0, 0), (1, 0), (0, 0), (0, 0)])),
    "slices": (False, lambda g, x: StridedSliceOp(x, [0], [1], axes=[1])),
    "slice_like": (False, lambda g, x: SliceLikeOp(x, g.op(ReluOp(x)), (2,))),
    "split": (False, lambda g, x: SplitOp(x, 2, axis=2)),
    "squeeze": (True, lambda g, x: SqueezeOp(x, ())),
    "sum of blocks": (False, lambda g, x: SumOp(x, (1,))),
    "sum of rows": (False, lambda g, x: SumOp(x, (2,))),
    "transpose": (False, lambda g, x: TransposeOp(x, (0, 2, 3, 1, 4))),
}
"""With convolutions that are in blocks and come to NCHW, which operators take their results as they are."""


def test_what_follows_out_of_blocks() -> None:
    for name, (follows, build) in OF_BLOCKS.items():
        g = GuardGraph(len(name))
        x, w = g.x(1, 1, 4, 5, 2), g.w(2, 1, 1, 1, 2, 2)
        layouts = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i2o"}
        last = build(g, g.op(Conv2DOp(x, w, **layouts)))
        g.show(last)
        module = changed(g.module(), 'convert-layout{desired-layouts="nn.conv2d:NCHW:OIHW"}')
        assert takes_as_it_is(module, type(last)) == follows, name


def test_the_batch_of_instance_norm_stays_first() -> None:
    g = GuardGraph()
    g.show(norm(InstanceNormOp, 2, 1)(g, images(g)))
    assert not takes_as_it_is(changed(g.module(), HWNC), InstanceNormOp)


def test_desired_layouts_are_kept() -> None:
    """An operator that is in its desired layout does not follow others."""
    g = GuardGraph()
    g.show(Resize2DOp(images(g), (3, 3)))
    layouts = '"nn.conv2d:NHWC:default","image.resize2d:NCHW"'
    module = changed(g.module(), f"convert-layout{{desired-layouts={layouts}}}")
    assert not takes_as_it_is(module, Resize2DOp)


QUANTIZED: Mapping[str, tuple[bool, Follower]] = {
    "add": (True, lambda g, x: QnnAddOp(x, x, *scales(g), *scales(g), *scales(g))),
    "add with a scale for each channel": (
        True,
        lambda g, x: QnnAddOp(
            x, x, g.positive(6), zero(g), *scales(g), *scales(g), lhs_axis=1, rhs_axis=1
        ),
    ),
    "concatenate": (
        True,
        lambda g, x: QnnConcatenateOp(
            g.op(TupleOp([x, x])),
            g.op(TupleOp([g.c(0.5), g.c(0.25)])),
            g.op(TupleOp([zero(g), zero(g)])),
            *scales(g),
            axis=1,
        ),
    ),
    "dequantize": (False, lambda g, x: QnnDequantizeOp(x, *scales(g), axis=1)),
    "requantize": (True, lambda g, x: requantize(g, x, g.positive(6), axis=1)),
    "requantize one scale": (True, lambda g, x: requantize(g, x, g.c(0.5))),
}


def zero(g: GuardGraph) -> SSAValue:
    return g.c(2, "int32")


def scales(g: GuardGraph) -> tuple[SSAValue, SSAValue]:
    return g.c(0.5), zero(g)


def requantize(g: GuardGraph, x: SSAValue, scale: SSAValue, **given: Any) -> Operation:
    return QnnRequantizeOp(x, scale, zero(g), *scales(g), **given)


def test_what_follows_quantized() -> None:
    spec = 'convert-layout{desired-layouts="qnn.conv2d:NHWC:default"}'
    for name, (follows, build) in QUANTIZED.items():
        graph = GuardGraph(len(name))
        sums = graph.op(quantized(graph, QnnConv2DOp, (6, 4, 3, 3)))
        last = build(graph, graph.op(requantize(graph, sums, graph.positive(6), axis=1)))
        graph.show(last)
        module = changed(graph.module(), spec)
        assert takes_as_it_is(module, type(last)) == follows, name


# -- weights of kernels

WEIGHTS: Mapping[str, tuple[Make, str, Mapping[str, Attribute]]] = {
    "nn.batch_matmul:BNC": (
        lambda g: BatchMatmulOp(g.x(2, 3, 4), g.w(2, 4, 5)),
        "nn.batch_matmul",
        {"transpose_b": boolean(True)},
    ),
    "nn.batch_matmul:BCN": (
        lambda g: BatchMatmulOp(g.x(2, 3, 4), g.w(1, 5, 4), transpose_b=True),
        "nn.batch_matmul",
        {"transpose_b": boolean(False)},
    ),
    "nn.conv2d:OIHW2i4o": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(8, 4, 3, 3)),
        "nn.conv2d",
        {"data_layout": string("NCHW"), "kernel_layout": string("OIHW2i4o")},
    ),
    "nn.conv2d:winograd2": (
        partial(volume, kind=Conv2DOp, image=IMAGE, weight=(8, 4, 3, 3)),
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {"data_layout": string("NCHW"), "tile_size": integer(2)},
    ),
    "nn.conv2d:winograd4": (
        lambda g: Conv2DOp(
            g.x(1, 7, 6, 4),
            g.w(3, 3, 4, 8),
            padding=(1, 0),
            data_layout="NHWC",
            kernel_layout="HWIO",
        ),
        "nn.contrib_conv2d_winograd_without_weight_transform",
        {"data_layout": string("NHWC"), "tile_size": integer(4)},
    ),
    "nn.conv3d:winograd2": (
        partial(volume, kind=Conv3DOp, image=(1, 2, 5, 5, 6), weight=(3, 2, 3, 3, 3)),
        "nn.contrib_conv3d_winograd_without_weight_transform",
        {"data_layout": string("NCDHW"), "tile_size": integer(2)},
    ),
    "nn.conv3d:winograd3": (
        partial(volume, kind=Conv3DOp, image=(1, 2, 5, 5, 6), weight=(3, 2, 1, 3, 3)),
        "nn.contrib_conv3d_winograd_without_weight_transform",
        {"data_layout": string("NCDHW"), "tile_size": integer(3)},
    ),
    "nn.conv3d:DHWIO": (
        partial(volume, kind=Conv3DOp, image=(1, 2, 4, 5, 6), weight=(3, 2, 2, 2, 2)),
        "nn.conv3d",
        {"data_layout": string("NCDHW"), "kernel_layout": string("DHWIO")},
    ),
    "nn.dense:NC3n": (
        lambda g: DenseOp(g.x(2, 4), g.w(6, 4)),
        "nn.contrib_dense_pack",
        {"units": integer(6)},
    ),
    "nn.matmul:NC": (
        lambda g: MatmulOp(g.x(2, 3, 4), g.w(4, 5)),
        "nn.matmul",
        {"transpose_b": boolean(True)},
    ),
    "nn.matmul:CN": (
        lambda g: MatmulOp(g.x(2, 4), g.w(5, 4), transpose_b=True, units=5),
        "nn.matmul",
        {"transpose_b": boolean(False)},
    ),
}
"""Entries of `weights`, an operator for each, and what it becomes."""


@pytest.mark.parametrize("entry", WEIGHTS)
def test_weights_of_kernels(entry: str) -> None:
    """Of a transformed weight the constant is left, once kernels are taken apart and made again."""
    build, name, expected = WEIGHTS[entry]
    graph = GuardGraph(len(entry))
    graph.show(ReluOp(graph.op(build(graph))))
    module = graph.module()
    inputs = [values_of(type_, "whole", graph.rng) for type_ in graph.block.arg_types]
    before = results_of(module, inputs)
    FuseOpsPass().apply(Context(), module)
    module = changed(module, f'layout-rewrite{{weights="{entry}"}}')
    for step in (DefuseOpsPass(), FoldConstantPass(), FuseOpsPass()):
        step.apply(Context(), module)
    module.verify()
    for a, b in zip(results_of(module, inputs), before, strict=True):
        assert difference(a, b, UNITS) is None
    (op,) = (op for op in module.walk() if op.name == f"relay.{name}")
    assert expected.items() <= op.properties.items()
    assert not any(isinstance(each, LayoutTransformOp) for each in module.walk())


# -- programs


@pytest.mark.parametrize("spec", (NHWC, HWNC, BLOCKS, LLVM))
def test_random_programs(spec: str) -> None:
    differs = 0
    for seed in range(12):
        module = layout_program(seed).module()
        differs += not module.is_structurally_equivalent(changed(module, spec))
    assert differs > 2


def test_tuples_and_their_fields() -> None:
    g = GuardGraph()
    x = images(g)
    parts = g.op(SplitOp(x, 2, axis=1))
    g.show(TupleGetItemOp(parts, 1))
    g.returns(parts)
    pair = g.op(TupleOp([x, g.x(2)]))
    g.returns(pair)
    g.show(AddOp(g.op(TupleGetItemOp(pair, 0)), x))
    nested = g.op(TupleOp([pair, x]))
    g.returns(nested)
    module = changed(g.module(), NHWC)
    assert sum(isinstance(op, LayoutTransformOp) for op in module.walk()) == 6


CONTROL_FLOW = """#[version = "0.0.5"]
def @layer(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(2, 2, 1, 1), float32]) {
  nn.relu(nn.conv2d(%x, %w))
}
def @main(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(2, 2, 1, 1), float32], %c: bool) {
  let %f = fn (%y: Tensor[(1, 2, 4, 4), float32]) { nn.relu(nn.conv2d(%y, %w)) };
  let %z = nn.conv2d(@layer(%x, %w), %w);
  %0 = nn.conv2d(%x, %w);
  %1 = if (%c) { let %a = nn.relu(%0); %f(%a) } else { (nn.softmax(%0, axis=1), nn.conv2d(%z, %w)).1 };
  (%1, %0, on_device(%0, virtual_device=meta[VirtualDevice][0]))
}
#[metadata]
{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
    {"type_key": "Array", "data": [3]},
    {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1", "memory_scope": "0", "target": "0", "virtual_device_id": "0"}}
  ],
  "b64ndarrays": [],
  "attrs": {"tvm_version": "0.10.0"}
}
"""


def test_control_flow() -> None:
    """Layouts go on in branches, and end at bindings and calls."""
    module = changed(read_relay_text(CONTROL_FLOW), NHWC)
    (branch,) = (op for op in module.walk() if op.name == "scf.if")
    takes = {op.name: type(op.operands[0].owner) for op in branch.walk() if op.operands}
    assert takes["relay.nn.relu"] is Conv2DOp
    for name in ("relay.let", "relay.nn.softmax", "relay.nn.conv2d", "scf.yield"):
        assert takes[name] is LayoutTransformOp, name


def test_a_layout_is_made_once() -> None:
    g = GuardGraph()
    x = images(g)
    for _ in range(3):
        g.show(SoftmaxOp(x, axis=1))
        g.show(MultiplyOp(x, g.c(2)))
    module = changed(g.module(), NHWC)
    assert sum(isinstance(op, LayoutTransformOp) for op in module.walk()) == 2 + 1 + 3


def test_channels_that_are_no_whole_blocks_stay() -> None:
    g = GuardGraph()
    x = g.op(ReluOp(g.x(1, 3, 4, 4)))
    y = g.op(Conv2DOp(x, g.w(4, 3, 1, 1)))
    g.show(Conv2DOp(y, g.w(5, 4, 1, 1)))
    module = g.module()
    assert changed(module, BLOCKS).is_structurally_equivalent(module)


def test_deep_programs() -> None:
    g = GuardGraph()
    x = images(g)
    for _ in range(3_000):
        x = g.op(ReluOp(x))
    g.returns(x)
    module = g.module()
    (step,) = passes_of(NHWC)
    step.apply(Context(), module)
    assert sum(isinstance(op, LayoutTransformOp) for op in module.walk()) == 3
