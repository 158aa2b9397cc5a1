"""
Types of operands that follow from other operands and attributes of an operator: those of weights and
statistics, which untyped text leaves out.

Source: what the type relations of Relay's operators assign to operands of unknown type.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.conv.conv import (
    Conv1DOp,
    Conv2DOp,
    Conv2DTransposeOp,
    Conv3DOp,
    ConvolutionOp,
    TransposedConvolutionOp,
)
from xrelay.dialects.conv.transpose import Conv1DTransposeOp, Conv3DTransposeOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.layout import Layout

Types = Sequence[Attribute | None]
Properties = Mapping[str, Attribute]
Rule = Callable[[Types, Properties], Mapping[int, Attribute]]


def operand_types(
    operator: str, operands: Types, properties: Properties
) -> Iterator[tuple[int, Attribute]]:
    """The operands whose type is not known yet and follows, with their types."""
    rule = RULES.get(operator)
    if rule is None or not operands or not is_tensor_type(operands[0] or _NOTHING):
        return
    for index, type_ in rule(operands, properties).items():
        if index < len(operands) and operands[index] is None:
            yield index, type_


_NOTHING = StringAttr("")


def _tensor(type_: Attribute | None) -> TensorType[Attribute]:
    assert type_ is not None and is_tensor_type(type_)
    return type_


def _integer(properties: Properties, name: str) -> int | None:
    value = properties.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


def _text(properties: Properties, name: str, default: str) -> str:
    value = properties.get(name)
    return value.data if isinstance(value, StringAttr) and value.data else default


def _integers(properties: Properties, name: str) -> tuple[int, ...] | None:
    value = properties.get(name)
    if not isinstance(value, DenseArrayBase):
        return None
    return tuple(int(item) for item in value.get_values())


def convolution(
    op: type[ConvolutionOp], operands: Types, properties: Properties
) -> Mapping[int, Attribute]:
    """The weight of a convolution, from `channels` and `kernel_size`."""

    def stated(name: str) -> Layout:
        default = op.get_irdl_definition().properties[name].default_value
        assert isinstance(default, StringAttr)
        return Layout.parse(_text(properties, name, default.data), name)

    data = _tensor(operands[0])
    channels, kernel = _integer(properties, "channels"), _integers(properties, "kernel_size")
    try:
        images, kernels = stated("data_layout"), stated("kernel_layout")
    except VerifyException:
        return {}  # The operator says so, once its operands have types.
    if channels is None or kernel is None or len(images.axes) != len(data.get_shape()):
        return {}
    outer, inner, *spatial = op.KERNEL_LAYOUT
    known = "C" in images.names and {*kernels.names} == {*op.KERNEL_LAYOUT}
    if not known or len(kernel) != len(spatial):
        return {}
    inputs = images.lengths(data.get_shape())["C"]
    groups = _integer(properties, "groups") or 1
    if issubclass(op, TransposedConvolutionOp):
        sizes = {outer: inputs, inner: channels // groups}
    else:
        sizes = {outer: channels, inner: inputs if inputs == DYNAMIC_INDEX else inputs // groups}
    sizes.update(zip(spatial, kernel, strict=True))
    return {1: TensorType(data.element_type, kernels.shape(sizes))}


def dense(operands: Types, properties: Properties) -> Mapping[int, Attribute]:
    """The weight of `nn.dense`, from `units`."""
    data, units = _tensor(operands[0]), _integer(properties, "units")
    if units is None or not data.get_shape():
        return {}
    return {1: TensorType(data.element_type, [units, data.get_shape()[-1]])}


def matmul(operands: Types, properties: Properties) -> Mapping[int, Attribute]:
    """The second matrix of `nn.matmul`, from `units`."""
    first, units = _tensor(operands[0]), _integer(properties, "units")
    if units is None or len(first.get_shape()) < 2:
        return {}
    flags = [properties.get(name) for name in ("transpose_a", "transpose_b")]
    turned = [isinstance(flag, IntegerAttr) and bool(flag.value.data) for flag in flags]
    depth = first.get_shape()[-2 if turned[0] else -1]
    shape = [units, depth] if turned[1] else [depth, units]
    return {1: TensorType(first.element_type, shape)}


def along_axis(
    count: int, default_axis: int, operands: Types, properties: Properties
) -> Mapping[int, Attribute]:
    """`count` vectors along `axis` of the data: scales, shifts, statistics, biases."""
    data = _tensor(operands[0])
    axis = _integer(properties, "axis")
    axis = default_axis if axis is None else axis
    shape = data.get_shape()
    if not -len(shape) <= axis < len(shape):
        return {}
    vector = TensorType(data.element_type, [shape[axis]])
    return dict.fromkeys(range(1, count + 1), vector)


RULES: Mapping[str, Rule] = {
    "nn.batch_norm": partial(along_axis, 4, 1),
    "nn.bias_add": partial(along_axis, 1, 1),
    "nn.conv1d": partial(convolution, Conv1DOp),
    "nn.conv1d_transpose": partial(convolution, Conv1DTransposeOp),
    "nn.conv2d": partial(convolution, Conv2DOp),
    "nn.conv2d_transpose": partial(convolution, Conv2DTransposeOp),
    "nn.conv3d": partial(convolution, Conv3DOp),
    "nn.conv3d_transpose": partial(convolution, Conv3DTransposeOp),
    "nn.dense": dense,
    "nn.group_norm": partial(along_axis, 2, 1),
    "nn.instance_norm": partial(along_axis, 2, 1),
    "nn.layer_norm": partial(along_axis, 2, -1),
    "nn.matmul": matmul,
    "nn.prelu": partial(along_axis, 1, 1),
}
"""What to find out, by operator. The first operand is known when a rule is asked."""
