"""Layouts around operators whose properties state them."""

from collections.abc import Sequence
from typing import TypeAlias

from xrelay.analysis.layouts.inference import Inferred, Seen, layout_now, stating
from xrelay.dialects.conv.conv import ConvolutionOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.winograd import WinogradConvolutionOp
from xrelay.dialects.dyn.image import DynUpsampling3DOp
from xrelay.dialects.dyn.select import DynUpsamplingOp
from xrelay.dialects.image.resize import Dilation2DOp, ResizeOp
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp
from xrelay.dialects.nn.correlation import CorrelationOp, DeformableConv2DOp
from xrelay.dialects.nn.dense import ContribDensePackOp, DenseOp, MatrixProductOp
from xrelay.dialects.nn.upsampling import UpsamplingFamilyOp
from xrelay.dialects.pool.adaptive import AdaptivePoolOp
from xrelay.dialects.pool.pool import GlobalPool2DOp, PoolOp
from xrelay.dialects.qnn.products import QnnConvolutionOp
from xrelay.dialects.shapes import string
from xrelay.dialects.tensor.layout import Layout, LayoutAxis
from xrelay.dialects.vision.regions import RegionOp

StatingOp: TypeAlias = ConvolutionOp | QnnConvolutionOp
PoolFamilyOp: TypeAlias = PoolOp | GlobalPool2DOp | AdaptivePoolOp
UpsamplesOp: TypeAlias = UpsamplingFamilyOp | DynUpsamplingOp | DynUpsampling3DOp
MATRIX = Layout.parse("NC", "layout")


@stating
def convolution(op: StatingOp) -> Inferred:
    """What the properties state: other operators follow convolutions."""
    images = Layout.parse(op.data_layout.data, "data_layout")
    kernels = Layout.parse(op.kernel_layout.data, "kernel_layout")
    results = images
    if op.out_layout.data:
        results = Layout.parse(op.out_layout.data, "out_layout")
    parameters = [None] * (len(op.operands) - 2)
    return Inferred((images, kernels, *parameters), (results,))


@stating
def deformable(op: DeformableConv2DOp) -> Inferred:
    """What the properties state; offsets lie as images do."""
    images, kernels, results = op.layouts
    return Inferred((images, images, kernels), (results,))


@stating
def winograd(op: WinogradConvolutionOp) -> Inferred:
    """What the properties state of images; the transformed weight has a layout of its own."""
    images, results = op.image_layouts
    return Inferred((images, None), (results,))


@stating
def backward_weight(op: Conv2DBackwardWeightOp) -> Inferred:
    """What the properties state."""
    gradients, images, weights = op.layouts
    return Inferred((gradients, images), (weights,))


@stating
def images(op: BitSerialConv2DOp | Dilation2DOp) -> Inferred:
    """What the properties state of images; the weight stays as it is."""
    layout = Layout.parse(op.data_layout.data, "data_layout")
    return Inferred((layout, None), (layout,))


@stating
def correlation(op: CorrelationOp) -> Inferred:
    """What the property states."""
    layout = Layout.parse(op.layout.data, "layout")
    return Inferred((layout, layout), (layout,))


@stating
def regions(op: RegionOp) -> Inferred:
    """What the property states of images."""
    layout = Layout.parse(op.layout.data, "layout")
    return Inferred((layout, None), (layout,))


@stating
def dense(op: DenseOp) -> Inferred | None:
    """The weight is a matrix of N rows of C elements; the result is one like the data."""
    return Inferred((None, MATRIX), (MATRIX,)) if op.data.type.get_num_dims() == 2 else None


@stating
def packed_dense(op: ContribDensePackOp) -> Inferred:
    """The weight stays as it is."""
    return Inferred((None, None), (MATRIX,))


@stating
def matrix_product(op: MatrixProductOp) -> Inferred:
    """What `transpose_b` states of the right factor."""
    batch = LayoutAxis("B"), LayoutAxis("C"), LayoutAxis("N")
    axes = batch[-op.tensor_b.type.get_num_dims() :]
    if op.transpose_b.value.data:
        axes = (*axes[:-2], *reversed(axes[-2:]))
    return Inferred((None, Layout(axes)), (None,))


def _following(
    layout: Layout, old: Sequence[Seen], new: Sequence[Seen] | None, *, follows: bool
) -> Inferred:
    """`layout`, which a property `layout` states, or that of the operand now, if the operator follows it."""
    now = layout_now(old, new)
    if new is None or not follows or now is None or old[0] != layout or now == layout:
        return Inferred((layout,), (layout,))
    return Inferred((now,), (now,), {"layout": string(str(now))})


def pool(op: PoolFamilyOp, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Follows the operand, unless a layout of the result is stated."""
    layout = Layout.parse(op.layout.data, "layout")
    return _following(layout, old, new, follows=not op.out_layout.data)


def resize(op: ResizeOp, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Follows the operand to another order of the axes."""
    layout, now = Layout.parse(op.layout.data, "layout"), layout_now(old, new)
    same_rank = now is not None and len(now.axes) == len(layout.axes)
    return _following(layout, old, new, follows=same_rank)


def upsampling(op: UpsamplesOp, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Follows the operand where rows and columns stay."""
    layout, now = Layout.parse(op.layout.data, "layout"), layout_now(old, new)
    stays = now is not None and all(
        now.find(axis) == layout.find(axis) and axis not in now.blocks for axis in "DHW"
    )
    found = _following(layout, old, new, follows=stays)
    scales = [None] * (len(op.operands) - 1)
    return Inferred((*found.operands, *scales), found.results, found.properties)
