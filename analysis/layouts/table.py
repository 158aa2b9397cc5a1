"""The rule of each operator that works in several layouts, and of families of them."""

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.ir import Operation

from xrelay.analysis.layouts.axes import (
    along_axis,
    concatenate,
    instance_norm,
    l2_normalize,
    reduction,
    split,
    squeeze,
    topk,
    transpose,
)
from xrelay.analysis.layouts.elementwise import (
    broadcast,
    elementwise,
    quantized_broadcast,
    requantize,
)
from xrelay.analysis.layouts.inference import Inferred, Rule, Seen
from xrelay.analysis.layouts.slices import pad, slice_like, strided_slice
from xrelay.analysis.layouts.stated import (
    backward_weight,
    convolution,
    correlation,
    deformable,
    dense,
    images,
    matrix_product,
    packed_dense,
    pool,
    regions,
    resize,
    upsampling,
    winograd,
)
from xrelay.dialects.conv.conv import ConvolutionOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.winograd import WinogradConvolutionOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.device import DeviceOp
from xrelay.dialects.dyn.image import DynUpsampling3DOp
from xrelay.dialects.dyn.select import DynUpsamplingOp
from xrelay.dialects.image.resize import Dilation2DOp, ResizeOp
from xrelay.dialects.nn.bitserial import BitSerialConv2DOp
from xrelay.dialects.nn.correlation import CorrelationOp, DeformableConv2DOp
from xrelay.dialects.nn.dense import ContribDensePackOp, DenseOp, MatrixProductOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    DropoutOp,
    InstanceNormOp,
    L2NormalizeOp,
    LayerNormOp,
)
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.nn.upsampling import UpsamplingFamilyOp
from xrelay.dialects.pool.adaptive import AdaptivePoolOp
from xrelay.dialects.pool.pool import GlobalPool2DOp, PoolOp
from xrelay.dialects.qnn.arithmetic import QnnBinaryOp
from xrelay.dialects.qnn.conversion import QnnConcatenateOp, QnnRequantizeOp
from xrelay.dialects.qnn.products import QnnConvolutionOp
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.creation import FilledLikeOp
from xrelay.dialects.tensor.like import CastLikeOp, SliceLikeOp
from xrelay.dialects.tensor.reduce import ReductionOp
from xrelay.dialects.tensor.reshape import SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp
from xrelay.dialects.vision.regions import RegionOp

RULES: Mapping[type[Operation], Rule] = {
    AdaptivePoolOp: pool,
    AnnotationOp: elementwise,
    BatchNormOp: along_axis(None, None),
    BitSerialConv2DOp: images,
    BroadcastBinaryOp: broadcast,
    CastLikeOp: elementwise,
    ConcatenateOp: concatenate,
    ContribDensePackOp: packed_dense,
    Conv2DBackwardWeightOp: backward_weight,
    ConvolutionOp: convolution,
    CorrelationOp: correlation,
    DeformableConv2DOp: deformable,
    DenseOp: dense,
    DeviceOp: elementwise,
    Dilation2DOp: images,
    DropoutOp: elementwise,
    DynUpsampling3DOp: upsampling,
    DynUpsamplingOp: upsampling,
    ElementwiseUnaryOp: elementwise,
    FilledLikeOp: elementwise,
    GlobalPool2DOp: pool,
    InstanceNormOp: instance_norm,
    L2NormalizeOp: l2_normalize,
    LayerNormOp: along_axis(),
    MatrixProductOp: matrix_product,
    PadOp: pad,
    PoolOp: pool,
    QnnBinaryOp: quantized_broadcast,
    QnnConcatenateOp: concatenate,
    QnnConvolutionOp: convolution,
    QnnRequantizeOp: requantize,
    ReductionOp: reduction,
    RegionOp: regions,
    ResizeOp: resize,
    SliceLikeOp: slice_like,
    SplitOp: split,
    SqueezeOp: squeeze,
    StridedSliceOp: strided_slice,
    TopkOp: topk,
    TransposeOp: transpose,
    UpsamplingFamilyOp: upsampling,
    WinogradConvolutionOp: winograd,
}
"""
The operators through which a layout goes on, or which state one. All others take tensors as the program states them:
reshapes, softmax, nn.bias_add (canonicalize-ops makes an addition of it), nn.prelu, …
"""


@cache
def rule_of(op_type: type[Operation]) -> Rule | None:
    """The rule of an operator, else of the family that it belongs to."""
    return next((RULES[base] for base in op_type.__mro__ if base in RULES), None)


def infer_layouts(
    op: Operation, old: Sequence[Seen], new: Sequence[Seen] | None = None
) -> Inferred | None:
    """
    The layouts around an operator whose operands have the layouts `old` in the program, and lie in `new` now. None
    when it does not follow.

    Raises VerifyException for properties that state no layout.
    """
    rule = rule_of(type(op))
    return None if rule is None else rule(op, old, new)
