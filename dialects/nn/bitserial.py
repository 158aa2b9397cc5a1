"""Arithmetic on the bits of small integers: packing them, and convolution and dense of them."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, TensorType, i1, i16
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import Pads, expand_padding, positive_pair, window_output
from xrelay.dialects.fields import (
    Flag,
    Integer,
    Integers,
    OptionalDtype,
    OptionalInteger,
    Tensor,
    Text,
    operand,
    prop,
)
from xrelay.dialects.shapes import (
    compatible,
    dimension_product,
    divided,
    integer_tensor,
    is_integer_type,
    normalize_axis,
    ranked,
    require_one_of,
    same_dimension,
    shape_text,
    tensor_type,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

PACKED = IntegerType(32, Signedness.UNSIGNED)
"""What bits are packed into where nothing is stated, as in Relay's constructors."""


def packed_type(dtype: Attribute | None, what: str) -> IntegerType:
    """The unsigned integers that bits are packed into."""
    if dtype is None:
        return PACKED
    if is_integer_type(dtype) and dtype.signedness.data == Signedness.UNSIGNED:
        return dtype
    raise VerifyException(f"'{what}' is {dtype}, expected an unsigned integer type")


def bit_count(value: IntegerAttr, what: str) -> int:
    """A property that tells how many bits of each number count."""
    bits = value.value.data
    if not 1 <= bits <= 8:
        raise VerifyException(f"'{what}' is {bits}, accepted range is [1, 8]")
    return bits


def _result_type(out_dtype: Attribute | None, default: Attribute) -> Attribute:
    dtype = out_dtype or default
    if not is_integer_type(dtype) or dtype == i1:
        raise VerifyException(f"'out_dtype' is {dtype}, expected an integer type")
    return dtype


@irdl_op_definition
class BitPackOp(RelayOp):
    """
    The lowest `bits` bits of integers as unsigned integers of type `pack_type` (ui32 when absent),
    each made of neighbours along `pack_axis`. With its width w and bit b at the new axis `bit_axis`
    of the result: result[…, p, …, b] = sum over k of
    ((data[…, w * p + k, …] >> b) & 1) << (w - 1 - k): the first element is the highest bit.
    `bit_axis` counts the axes of the result.

    Source: Relay's `nn.bitpack`.
    """

    name = "relay.nn.bitpack"

    data: Tensor = operand()
    bits: Integer = prop(default=1)
    pack_axis: Integer = prop(default=1)
    bit_axis: Integer = prop(default=-1)
    pack_type: OptionalDtype = prop(default=None)
    pack_name: Text = prop(default="BitPack", name="name")
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def axes(self) -> tuple[int, int]:
        """`pack_axis` of `data` and `bit_axis` of the result, counted from the front."""
        rank = self.data.type.get_num_dims()
        return (
            normalize_axis(self.pack_axis.value.data, rank, "pack_axis"),
            normalize_axis(self.bit_axis.value.data, rank + 1, "bit_axis"),
        )

    def infer_type(self) -> Attribute:
        integer_tensor(self.data, "data")
        pack_axis, bit_axis = self.axes
        dtype = packed_type(self.pack_type, "pack_type")
        shape = list(self.data.type.get_shape())
        what = f"the length of axis {pack_axis} of 'data'"
        shape[pack_axis] = divided(shape[pack_axis], dtype.width.data, what, " bits")
        shape.insert(bit_axis, bit_count(self.bits, "bits"))
        return TensorType(dtype, shape)


@irdl_op_definition
class BitSerialConv2DOp(RelayOp):
    """
    Cross-correlation of the lowest `activation_bits` bits a of the integers `data` [N, C, H, W]
    with the lowest `weight_bits` bits w of the integers `weight` [O, C, KH, KW]. The factors are
    a and w, or, when `unipolar`, a and 2 w - (2 ** `weight_bits` - 1), whose bits stand for -1
    and 1. Products are summed in the integers `out_dtype` (i16 when absent).

    In `data_layout` NHWC, `data` and the result are [N, H, W, C] and `weight` [KH, KW, C, O]. A
    weight of rank 5 is packed along its channels, as by `relay.nn.bitpack` with `bit_axis` 4:
    [O, C / w, KH, KW, bits], or [KH, KW, C / w, O, bits], of type `pack_dtype` (ui32 when absent)
    of width w, which must divide C. `kernel_layout` may name the packed form, OIHWi or HWIOi; the
    rank decides.

    Source: Relay's `nn.bitserial_conv2d`.
    """

    name = "relay.nn.bitserial_conv2d"

    LAYOUTS: ClassVar = {"NCHW": ("OIHW", "OIHWi"), "NHWC": ("HWIO", "HWIOi")}

    data: Tensor = operand()
    weight: Tensor = operand()
    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    kernel_size: Integers = prop(default=(3, 3), kw_only=False)
    channels: OptionalInteger = prop(default=None)
    activation_bits: Integer = prop(default=1)
    weight_bits: Integer = prop(default=1)
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")
    pack_dtype: OptionalDtype = prop(default=None)
    out_dtype: OptionalDtype = prop(default=None)
    unipolar: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def is_packed(self) -> bool:
        """Whether the weight is packed."""
        return self.weight.type.get_num_dims() == 5

    @property
    def channels_last(self) -> bool:
        """Whether the tensors have their channels last."""
        require_one_of("data_layout", self.data_layout, *self.LAYOUTS)
        kernels = self.LAYOUTS[self.data_layout.data]
        require_one_of("kernel_layout", self.kernel_layout, *kernels)
        return self.data_layout.data == "NHWC"

    @property
    def pads(self) -> Pads:
        """The padding of each side."""
        return expand_padding(self.padding.get_values())

    def _weight_shape(self, width: int) -> list[int]:
        """The shape of the weight before it was packed, in the order OIHW."""
        shape = list(ranked(self.weight, "'weight'", 5 if self.is_packed else 4).get_shape())
        if self.is_packed:
            expected = TensorType(packed_type(self.pack_dtype, "pack_dtype"), shape)
            if self.weight.type != expected:
                raise VerifyException(f"'weight' is {self.weight.type}, expected {expected}")
            bits = bit_count(self.weight_bits, "weight_bits")
            if not same_dimension(shape.pop(), bits):
                raise VerifyException(f"'weight' is {self.weight.type}, expected {bits} bits last")
        if self.channels_last:
            shape = [shape[3], shape[2], shape[0], shape[1]]
        if self.is_packed:
            shape[1] = dimension_product((shape[1], width))
        return shape

    def infer_type(self) -> Attribute:
        for name, value in (("data", self.data), ("weight", self.weight)):
            integer_tensor(value, name)
        bit_count(self.activation_bits, "activation_bits")
        bit_count(self.weight_bits, "weight_bits")
        width = packed_type(self.pack_dtype, "pack_dtype").width.data
        outputs, inputs, *kernel = self._weight_shape(width)
        shape = list(ranked(self.data, "'data'", 4).get_shape())
        if self.channels_last:
            shape = [shape[0], shape[3], *shape[1:3]]
        batch, channels, *image = shape
        divided(channels, width, "the number of channels of 'data'", " bits")
        if not same_dimension(channels, inputs):
            raise VerifyException(f"'data' has {channels} channels, 'weight' takes {inputs}")
        stated = positive_pair(self.kernel_size, "kernel_size")
        if not all(map(same_dimension, stated, kernel)):
            raise VerifyException(
                f"'kernel_size' is {list(stated)}, 'weight' has {shape_text(kernel)}"
            )
        if self.channels is not None and not same_dimension(self.channels.value.data, outputs):
            raise VerifyException(
                f"'channels' is {self.channels.value.data}, 'weight' has {outputs}"
            )
        rows, columns = window_output(
            image, kernel, positive_pair(self.strides, "strides"), (1, 1), self.pads
        )
        dtype = _result_type(self.out_dtype, i16)
        if self.channels_last:
            return TensorType(dtype, [batch, rows, columns, outputs])
        return TensorType(dtype, [batch, outputs, rows, columns])


@irdl_op_definition
class BitSerialDenseOp(RelayOp):
    """
    `relay.nn.dense` of the lowest `data_bits` bits a of the integers `data` [M, K] with the lowest
    `weight_bits` bits w of the integers `weight` [N, K]. The factors are a and w, or, when
    `unipolar`, a and 2 w - (2 ** `weight_bits` - 1), whose bits stand for -1 and 1. Products are
    summed in the integers `out_dtype`, by default the dtype of `data`. `units` must be N.

    A weight of rank 3 is packed, as by `relay.nn.bitpack` with both axes 1: [N, bits, K / w] of
    type `pack_dtype` (ui32 when absent) of width w, which must divide K.

    Source: Relay's `nn.bitserial_dense`.
    """

    name = "relay.nn.bitserial_dense"

    data: Tensor = operand()
    weight: Tensor = operand()
    units: Integer = prop()
    data_bits: Integer = prop(default=1)
    weight_bits: Integer = prop(default=1)
    pack_dtype: OptionalDtype = prop(default=None)
    out_dtype: OptionalDtype = prop(default=None)
    unipolar: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def is_packed(self) -> bool:
        """Whether the weight is packed."""
        return self.weight.type.get_num_dims() == 3

    def _weight_shape(self, width: int) -> list[int]:
        """The shape of the weight before it was packed."""
        if not self.is_packed:
            return list(ranked(self.weight, "'weight'", 2).get_shape())
        rows, _, words = tensor_type(self.weight, "'weight'").get_shape()
        expected = TensorType(
            packed_type(self.pack_dtype, "pack_dtype"),
            [rows, bit_count(self.weight_bits, "weight_bits"), words],
        )
        if not compatible(self.weight.type, expected):
            raise VerifyException(f"'weight' is {self.weight.type}, expected {expected}")
        return [rows, dimension_product((words, width))]

    def infer_type(self) -> Attribute:
        for name, value in (("data", self.data), ("weight", self.weight)):
            integer_tensor(value, name)
        bit_count(self.data_bits, "data_bits")
        bit_count(self.weight_bits, "weight_bits")
        width = packed_type(self.pack_dtype, "pack_dtype").width.data
        examples, depth = ranked(self.data, "'data'", 2).get_shape()
        rows, weight_depth = self._weight_shape(width)
        divided(depth, width, "the length of axis 1 of 'data'", " bits")
        if not same_dimension(depth, weight_depth):
            raise VerifyException(
                f"the reduced axis has {depth} elements in 'data' and {weight_depth} in 'weight'"
            )
        if not same_dimension(self.units.value.data, rows):
            raise VerifyException(f"'units' is {self.units.value.data}, 'weight' has {rows} rows")
        dtype = _result_type(self.out_dtype, self.data.type.element_type)
        return TensorType(dtype, [examples, self.units.value.data])
