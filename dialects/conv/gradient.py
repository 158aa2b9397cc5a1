"""The gradient of convolution with respect to its weight."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.conv.windows import (
    Pads,
    expand_padding,
    positive_numbers,
    positive_pair,
    window_output,
)
from xrelay.dialects.shapes import (
    element_type,
    int_array,
    integer,
    same_dimension,
    shape_text,
    string,
)
from xrelay.dialects.tensor.layout import IMAGE, Layout, canonical_shape, layout_of, shape_in_layout
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


@irdl_op_definition
class Conv2DBackwardWeightOp(RelayOp):
    """
    The gradient of `relay.nn.conv2d` with respect to its weight, given the gradient `grad`
    [N, O, OH, OW] with respect to its result, and its operand `data` [N, C, H, W]:
    result[o, c, i, j] = sum over n, y, x of grad[n, o, y, x] *
    data[n, g * C / groups + c, y * sh + i * dh - top, x * sw + j * dw - left],
    where g is the group of o, and elements outside of `data` are 0.

    `kernel_size` must be stated: with strides, weights of several sizes give `grad` its size.
    The layouts are named after those of a convolution, as in Relay: `data_layout` is that of
    `grad`, `kernel_layout` that of `data`, whose default "OIHW" is the same as "NCHW", and
    `out_layout` that of the result, by default OIHW. Products are summed in `out_dtype`, by
    default the dtype of `grad`.

    Source: Relay's `nn.conv2d_backward_weight`.
    """

    name = "relay.nn.conv2d_backward_weight"

    KERNEL_LAYOUT: ClassVar[str] = "OIHW"

    grad = tensor_operand_def()
    data = tensor_operand_def()
    strides = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    padding = prop_def(DenseArrayBase.constr(i64), default_value=int_array((0, 0)))
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=int_array((1, 1)))
    groups = prop_def(IntegerAttr.constr(i64), default_value=integer(1))
    channels = opt_prop_def(IntegerAttr.constr(i64))
    kernel_size = opt_prop_def(DenseArrayBase.constr(i64))
    data_layout = prop_def(StringAttr, default_value=string("NCHW"))
    kernel_layout = prop_def(StringAttr, default_value=string("OIHW"))
    out_layout = prop_def(StringAttr, default_value=string(""))
    out_dtype = opt_prop_def(TypeAttribute)
    result = tensor_result_def()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))
    assembly_format = "$grad `,` $data attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        grad: Value,
        data: Value,
        kernel_size: Sequence[int],
        *,
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        data_layout: str = "NCHW",
        kernel_layout: str = "OIHW",
        out_layout: str = "",
        out_dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [grad, data],
            {
                "kernel_size": int_array(kernel_size),
                "strides": int_array(strides),
                "padding": int_array(padding),
                "dilation": int_array(dilation),
                "groups": integer(groups),
                "data_layout": string(data_layout),
                "kernel_layout": string(kernel_layout),
                "out_layout": string(out_layout),
                "out_dtype": out_dtype,
            },
        )

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """The layouts of `grad`, `data` and the result."""
        named = self.KERNEL_LAYOUT if "O" in self.kernel_layout.data else IMAGE
        stated = layout_of(self.kernel_layout, "kernel_layout", named, splits=named[1])
        images = str(stated).translate(str.maketrans("OIoi", "NCnc"))
        kernels = self.out_layout if self.out_layout.data else string(self.KERNEL_LAYOUT)
        return (
            layout_of(self.data_layout, "data_layout", IMAGE, splits="C"),
            Layout.parse(images, "kernel_layout"),
            layout_of(kernels, "out_layout", self.KERNEL_LAYOUT, splits="OI"),
        )

    @property
    def taps(self) -> tuple[int, ...]:
        """`kernel_size`, which must be there."""
        if self.kernel_size is None:
            raise VerifyException("'kernel_size' is absent, expected two positive numbers")
        return positive_numbers(self.kernel_size, "kernel_size", 2)

    @property
    def pads(self) -> Pads:
        """The padding of each side."""
        return expand_padding(self.padding.get_values())

    def infer_type(self) -> Attribute:
        dtype, other = self.grad.type.element_type, self.data.type.element_type
        if dtype != other:
            raise VerifyException(f"'grad' has elements of type {dtype}, 'data' of {other}")
        grads, images, kernels = self.layouts
        count, outputs, *positions = canonical_shape(self.grad, "'grad'", grads, IMAGE)
        batch, inputs, *image = canonical_shape(self.data, "'data'", images, IMAGE)
        groups = self.groups.value.data
        for what, channels in (("grad", outputs), ("data", inputs)):
            if groups < 1 or (channels != DYNAMIC_INDEX and channels % groups):
                raise VerifyException(
                    f"'groups' is {groups}, expected a divisor of the {channels} channels of "
                    f"'{what}'"
                )
        if self.channels is not None and not same_dimension(self.channels.value.data, outputs):
            raise VerifyException(f"'channels' is {self.channels.value.data}, 'grad' has {outputs}")
        expected = window_output(
            image,
            self.taps,
            positive_pair(self.strides, "strides"),
            positive_pair(self.dilation, "dilation"),
            self.pads,
        )
        if not all(map(same_dimension, (count, *positions), (batch, *expected))):
            raise VerifyException(
                f"'grad' is for {shape_text((count, *positions))} images, rows and columns, the "
                f"convolution of 'data' has {shape_text((batch, *expected))}"
            )
        depth = inputs if inputs == DYNAMIC_INDEX else inputs // groups
        shape = shape_in_layout(
            [outputs, depth, *self.taps], "out_layout", kernels, self.KERNEL_LAYOUT
        )
        return TensorType(element_type(self.out_dtype or dtype, "out_dtype"), shape)


CONV_GRADIENT_OPS = (Conv2DBackwardWeightOp,)
