"""
Products of quantised tensors: sums of the products of (q - zero point) in 32-bit integers, which
stand for numbers with the product of the factors' scales.

Zero points come before scales, in the order of Relay's calls; its registry names the arguments in
another order.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import NoneType, TensorType, f32, i16, i32
from xdsl.ir import Attribute, Block, OpResult, SSAValue, TypeAttribute
from xdsl.ir.core import SSAValues
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure

from xrelay.dialects.base import RelayOp, operators
from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp
from xrelay.dialects.fields import (
    Flag,
    Integer,
    Integers,
    OptionalDtype,
    OptionalInteger,
    OptionalIntegers,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp
from xrelay.dialects.qnn.parameters import (
    BYTES,
    quantized,
    require_channel_parameter,
    require_dtype,
    require_scalar,
)
from xrelay.dialects.shapes import tensor_type
from xrelay.dialects.tensor.layout import layout_of
from xrelay.dialects.traits import HasPatternKind, NonComputational, OpPatternKind


class QnnProductOp(RelayOp, ABC):
    """
    What the products share: two factors of 8-bit integers, their zero points, and their scales,
    which do not change the result.
    """

    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), NonComputational())

    NAMES: ClassVar[tuple[str, str, str, str]] = ("data", "weight", "input", "weight")
    """The names of the factors, and of their parameters."""
    SUMS: ClassVar[tuple[Attribute, ...]] = (i32,)
    """The accepted dtypes of results. The first is the default."""

    @abstractmethod
    def integer_product(self, lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        """The operator that computes the result of factors of i32, without their zero points."""

    @abstractmethod
    def channel_count(self, result: Sequence[int]) -> int:
        """The number of elements that the second factor's scale may have, by the result's shape."""

    @property
    def channel_axis(self) -> int | None:
        """
        The axis of the second factor whose indices may have a zero point each; None where the
        factor has one.
        """
        return None

    @property
    def sum_dtype(self) -> TypeAttribute:
        """The dtype of the result."""
        return i32 if self.out_dtype is None else self.out_dtype

    def with_properties(self, op_type: type[RelayOp], lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        """An operator on two factors with the properties that this one has, too."""
        names = op_type.get_irdl_definition().properties
        properties = {name: value for name, value in self.properties.items() if name in names}
        properties["out_dtype"] = self.sum_dtype
        op = op_type.create(operands=[lhs, rhs], result_types=[NoneType()], properties=properties)
        op.results = SSAValues((OpResult(op.infer_type(), op, 0),))
        return op

    def infer_type(self) -> Attribute:
        lhs_name, rhs_name, lhs_prefix, rhs_prefix = self.NAMES
        lhs = quantized(self.operands[0], f"'{lhs_name}'", BYTES)
        rhs = quantized(self.operands[1], f"'{rhs_name}'", BYTES)
        require_dtype(self.sum_dtype, "'out_dtype' is", self.SUMS)
        factors = Block(arg_types=[TensorType(i32, type_.get_shape()) for type_ in (lhs, rhs)]).args
        result = tensor_type(self.integer_product(*factors).results[0], "the result")
        _, _, lhs_zero, rhs_zero, lhs_scale, rhs_scale = self.operands
        require_scalar(lhs_zero.type, f"'{lhs_prefix}_zero_point'", i32)
        axis = self.channel_axis
        if axis is None:
            require_scalar(rhs_zero.type, f"'{rhs_prefix}_zero_point'", i32)
        else:
            length = rhs.get_shape()[axis]
            require_channel_parameter(rhs_zero, f"'{rhs_prefix}_zero_point'", i32, length)
        require_scalar(lhs_scale.type, f"'{lhs_prefix}_scale'", f32)
        length = self.channel_count(result.get_shape())
        require_channel_parameter(rhs_scale, f"'{rhs_prefix}_scale'", f32, length)
        return result


class QnnConvolutionOp(QnnProductOp, ABC):
    """What the convolutions share."""

    data: Tensor = operand()
    weight: Tensor = operand()
    input_zero_point: Tensor = operand()
    weight_zero_point: Tensor = operand()
    input_scale: Tensor = operand()
    weight_scale: Tensor = operand()
    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1, 1))
    groups: Integer = prop(default=1)
    channels: OptionalInteger = prop(default=None)
    kernel_size: OptionalIntegers = prop(default=None)
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")
    out_layout: Text = prop(default="")

    SUMS: ClassVar[tuple[Attribute, ...]] = (i32, i16)

    def channel_count(self, result: Sequence[int]) -> int:
        stated = self.out_layout if self.out_layout.data else self.data_layout
        layout = layout_of(stated, "out_layout", Conv2DOp.IMAGE_LAYOUT, splits="C")
        return layout.lengths(result)["C"]


@irdl_op_definition
class QnnConv2DOp(QnnConvolutionOp):
    """
    The cross-correlation of quantised images with a quantised weight, as `relay.nn.conv2d` of
    `data` - `input_zero_point` and `weight` - `weight_zero_point`; padding stands for 0. Sums are
    those of `out_dtype`, by default i32, and wrap around. `weight_zero_point` is a scalar, or has
    one element for each output channel where `kernel_layout` does not split them; the scales
    (`weight_scale` likewise) do not change the result, whose scale is their product and whose zero
    point is 0.

    Source: Relay's `qnn.conv2d`, ONNX's ConvInteger.
    """

    name = "relay.qnn.conv2d"

    @property
    def channel_axis(self) -> int | None:
        layout = layout_of(self.kernel_layout, "kernel_layout", Conv2DOp.KERNEL_LAYOUT, splits="OI")
        return None if "O" in layout.blocks else layout.index("O")

    def integer_product(self, lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        return self.with_properties(Conv2DOp, lhs, rhs)


@irdl_op_definition
class QnnConv2DTransposeOp(QnnConvolutionOp):
    """
    The transposed convolution of quantised images with a quantised weight, as
    `relay.nn.conv2d_transpose` of `data` - `input_zero_point` and `weight` - `weight_zero_point`.
    Sums are those of `out_dtype`, by default i32, and wrap around. The scales (`weight_scale` may
    have one element for each output channel) do not change the result, whose scale is their product
    and whose zero point is 0.

    Source: Relay's `qnn.conv2d_transpose`.
    """

    name = "relay.qnn.conv2d_transpose"

    output_padding: Integers = prop(default=(0, 0))

    def integer_product(self, lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        return self.with_properties(Conv2DTransposeOp, lhs, rhs)


@irdl_op_definition
class QnnDenseOp(QnnProductOp):
    """
    `data` [..., K] times the transpose of `weight` [N, K], as `relay.nn.dense` of `data` -
    `input_zero_point` and `weight` - `weight_zero_point`, with sums of i32 that wrap around.
    `weight_zero_point` is a scalar, or has one element for each row of the weight; the scales
    (`weight_scale` likewise) do not change the result, whose scale is their product and whose zero
    point is 0. `units`, when given, must be N.

    Source: Relay's `qnn.dense`, ONNX's MatMulInteger.
    """

    name = "relay.qnn.dense"

    data: Tensor = operand()
    weight: Tensor = operand()
    input_zero_point: Tensor = operand()
    weight_zero_point: Tensor = operand()
    input_scale: Tensor = operand()
    weight_scale: Tensor = operand()
    units: OptionalInteger = prop(default=None)

    @property
    def channel_axis(self) -> int | None:
        return 0

    def integer_product(self, lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        return self.with_properties(DenseOp, lhs, rhs)

    def channel_count(self, result: Sequence[int]) -> int:
        return result[-1]


@irdl_op_definition
class QnnBatchMatmulOp(QnnProductOp):
    """
    The products of two batches of matrices, as `relay.nn.batch_matmul` of `x` - `x_zero_point` and
    `y` - `y_zero_point`, with sums of i32 that wrap around. The scales do not change the result,
    whose scale is their product and whose zero point is 0.

    Source: Relay's `qnn.batch_matmul`, ONNX's MatMulInteger.
    """

    name = "relay.qnn.batch_matmul"

    NAMES: ClassVar[tuple[str, str, str, str]] = ("x", "y", "x", "y")

    x: Tensor = operand()
    y: Tensor = operand()
    x_zero_point: Tensor = operand()
    y_zero_point: Tensor = operand()
    x_scale: Tensor = operand()
    y_scale: Tensor = operand()
    transpose_a: Flag = prop(default=False)
    transpose_b: Flag = prop(default=False)

    def integer_product(self, lhs: SSAValue, rhs: SSAValue) -> RelayOp:
        return self.with_properties(BatchMatmulOp, lhs, rhs)

    def channel_count(self, result: Sequence[int]) -> int:
        return 1


QNN_PRODUCT_OPS = operators(__name__)
