"""Convolution, pooling, normalisation, softmax and dropout."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv import Conv2DOp
from xrelay.dialects.core import TupleGetItemOp
from xrelay.dialects.creation import OnesLikeOp, OnesOp
from xrelay.dialects.norm import BatchNormOp, BiasAddOp, LogSoftmaxOp, LrnOp, SoftmaxOp
from xrelay.dialects.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.reduction import MaxOp, MeanOp
from xrelay.dialects.shapes import normalize_axis
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.node import MAX_ELEMENTS, Converter, ConverterTable, Node
from xrelay.frontends.onnx.ops_matrix import reshaped


@dataclass(frozen=True)
class Window:
    """The attributes that convolution and pooling share, of a window over an image."""

    auto_pad: str
    pads: list[int] | None
    strides: list[int]
    dilations: list[int]

    @staticmethod
    def of(node: Node) -> "Window":
        """Reads the attributes; those of images that are not two-dimensional are refused."""
        window = Window(
            node.string("auto_pad", "NOTSET"),
            node.integers("pads"),
            node.integers("strides") or [1, 1],
            node.integers("dilations") or [1, 1],
        )
        for name, numbers, expected in (
            ("pads", window.pads or [0] * 4, 4),
            ("strides", window.strides, 2),
            ("dilations", window.dilations, 2),
        ):
            if len(numbers) != expected:
                raise UnsupportedNode(
                    f"'{name}' is {numbers}: only two-dimensional windows are supported"
                )
            if min(numbers) < 0 or max(numbers) > MAX_ELEMENTS:
                raise UnsupportedNode(
                    f"'{name}' is {numbers}, accepted range is [0, {MAX_ELEMENTS}]"
                )
        if window.auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
            raise UnsupportedNode(f"'auto_pad' is \"{window.auto_pad}\"")
        return window

    def padding(self, image: Sequence[int], kernel: Sequence[int]) -> list[int]:
        """Top, left, bottom, right."""
        if self.auto_pad == "NOTSET":
            return self.pads or [0, 0, 0, 0]
        if self.auto_pad == "VALID":
            return [0, 0, 0, 0]
        before: list[int] = []
        after: list[int] = []
        for size, taps, stride, dilation in zip(
            image, kernel, self.strides, self.dilations, strict=True
        ):
            count = -(-size // stride) if stride else 0
            total = max((count - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
            first = total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2
            before.append(first)
            after.append(total - first)
        return before + after


def require_image(node: Node, value: SSAValue) -> tuple[int, ...]:
    """The height and width of an input of rank 4."""
    shape = node.shape_of(value)
    if len(shape) != 4:
        raise UnsupportedNode(
            f"its input has the shape {list(shape)}: only images, of rank 4, are supported"
        )
    return shape[2:]


def convolution(node: Node) -> SSAValue:
    """Conv in two dimensions, with an optional bias."""
    window = Window.of(node)
    groups = node.integer("group", 1)
    stated = node.integers("kernel_shape")
    data, weight, bias = node.input(0), node.input(1), node.optional(2)
    image, kernel = require_image(node, data), require_image(node, weight)
    if stated is not None and tuple(stated) != kernel:
        raise OnnxImportError(f"'kernel_shape' is {stated}, the weight has {list(kernel)}")
    result = node.emit(
        Conv2DOp(
            data,
            weight,
            strides=window.strides,
            padding=window.padding(image, kernel),
            dilation=window.dilations,
            groups=groups,
        )
    )
    return result if bias is None else node.emit(BiasAddOp(result, bias))


def _kernel_shape(node: Node) -> list[int]:
    kernel = node.integers("kernel_shape")
    if kernel is None:
        raise OnnxImportError("attribute 'kernel_shape' is missing")
    if len(kernel) != 2:
        raise UnsupportedNode(
            f"'kernel_shape' is {kernel}: only two-dimensional windows are supported"
        )
    return kernel


def max_pool(node: Node) -> SSAValue:
    """MaxPool in two dimensions; the indices of the elements are not supported."""
    node.ignore("storage_order")  # orders the indices
    kernel, window = _kernel_shape(node), Window.of(node)
    ceil_mode = bool(node.integer("ceil_mode", 0))
    data = node.input(0)
    return node.emit(
        MaxPool2DOp(
            data,
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(require_image(node, data), kernel),
            ceil_mode=ceil_mode,
        )
    )


def average_pool(node: Node) -> SSAValue:
    """AveragePool in two dimensions."""
    kernel, window = _kernel_shape(node), Window.of(node)
    ceil_mode = bool(node.integer("ceil_mode", 0))
    count_include_pad = bool(node.integer("count_include_pad", 0))
    data = node.input(0)
    return node.emit(
        AvgPool2DOp(
            data,
            kernel,
            strides=window.strides,
            dilation=window.dilations,
            padding=window.padding(require_image(node, data), kernel),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )
    )


def global_pool(
    pool: Callable[[SSAValue], RelayOp], other: type[MeanOp] | type[MaxOp]
) -> Converter:
    """Converts a pool over whole images, and a reduction where the input is no image."""

    def convert(node: Node) -> SSAValue:
        data = node.input(0)
        rank = len(node.shape_of(data))
        if rank == 4:
            return node.emit(pool(data))
        return node.emit(other(data, range(2, rank), keepdims=True))

    return convert


def batch_normalization(node: Node) -> SSAValue:
    """BatchNormalization with stored statistics. Only the first output exists in inference."""
    node.ignore("momentum", "is_test")
    spatial = node.integer("spatial", 1)
    if node.integer("training_mode", 0):
        raise UnsupportedNode("'training_mode' is set: only inference is supported")
    epsilon = node.real("epsilon", 1e-5)
    data = node.input(0)
    if not spatial and len(node.shape_of(data)) > 2:
        raise UnsupportedNode("'spatial' is 0: statistics for each element are not supported")
    result = node.emit(
        BatchNormOp(data, *(node.input(index) for index in range(1, 5)), epsilon=epsilon)
    )
    return node.emit(TupleGetItemOp(result, 0))


def local_response_normalization(node: Node) -> SSAValue:
    """LRN across channels."""
    return node.emit(
        LrnOp(
            node.input(0),
            size=node.integer("size"),
            bias=node.real("bias", 1.0),
            alpha=node.real("alpha", 1e-4),
            beta=node.real("beta", 0.75),
        )
    )


def softmax(op: type[SoftmaxOp] | type[LogSoftmaxOp]) -> Converter:
    """Converts Softmax or LogSoftmax along one axis."""

    def convert(node: Node) -> SSAValue:
        axis = node.integer("axis", -1)
        return node.emit(op(node.input(0), axis=axis))

    return convert


def flat_softmax(op: type[SoftmaxOp] | type[LogSoftmaxOp]) -> Converter:
    """Converts Softmax or LogSoftmax before operator set 13, over all axes from `axis` on."""

    def convert(node: Node) -> SSAValue:
        axis = node.integer("axis", 1)
        data = node.input(0)
        shape = node.shape_of(data)
        axis = normalize_axis(axis, len(shape)) if axis != len(shape) else axis
        long = [position for position in range(axis, len(shape)) if shape[position] != 1]
        if axis < len(shape) and len(long) <= 1:
            return node.emit(op(data, axis=long[0] if long else axis))
        flat = reshaped(node, data, (prod(shape[:axis]), prod(shape[axis:])))
        return reshaped(node, node.emit(op(flat, axis=-1)), shape)

    return convert


def dropout(node: Node) -> list[SSAValue]:
    """Dropout before operator set 12: nothing is dropped, and the mask is all ones."""
    node.ignore("ratio", "is_test")
    return _undropped(node)


def dropout_with_mode(node: Node) -> list[SSAValue]:
    """Dropout, which the input `training_mode` may switch on."""
    node.ignore("seed")
    if node.has_input(2) and node.known(2, "training_mode").any():
        raise UnsupportedNode("input 2 ('training_mode') is true: only inference is supported")
    return _undropped(node)


def _undropped(node: Node) -> list[SSAValue]:
    data = node.input(0)
    if node.output_count < 2:
        return [data]
    mask = OnesLikeOp(data) if node.opset < 10 else OnesOp(node.shape_of(data), i1)
    return [data, node.emit(mask)]


NN_CONVERTERS: ConverterTable = {
    "AveragePool": {1: average_pool},
    "BatchNormalization": {1: batch_normalization},
    "Conv": {1: convolution},
    "Dropout": {1: dropout, 12: dropout_with_mode},
    "GlobalAveragePool": {1: global_pool(GlobalAvgPool2DOp, MeanOp)},
    "GlobalMaxPool": {1: global_pool(GlobalMaxPool2DOp, MaxOp)},
    "LRN": {1: local_response_normalization},
    "LogSoftmax": {1: flat_softmax(LogSoftmaxOp), 13: softmax(LogSoftmaxOp)},
    "MaxPool": {1: max_pool},
    "Softmax": {1: flat_softmax(SoftmaxOp), 13: softmax(SoftmaxOp)},
}
