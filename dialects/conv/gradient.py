"""The gradient of convolution with respect to its weight."""

from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.windows import (
    Pads,
    expand_padding,
    positive_numbers,
    positive_pair,
    window_output,
)
from xrelay.dialects.fields import (
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
from xrelay.dialects.shapes import (
    element_type,
    require_same_dtype,
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

    grad: Tensor = operand()
    data: Tensor = operand()
    strides: Integers = prop(default=(1, 1))
    padding: Integers = prop(default=(0, 0))
    dilation: Integers = prop(default=(1, 1))
    groups: Integer = prop(default=1)
    channels: OptionalInteger = prop(default=None)
    kernel_size: OptionalIntegers = prop(default=None, kw_only=False)
    data_layout: Text = prop(default="NCHW")
    kernel_layout: Text = prop(default="OIHW")
    out_layout: Text = prop(default="")
    out_dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

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
        require_same_dtype(self.grad.type, "grad", self.data.type, "data")
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
        return TensorType(
            element_type(self.out_dtype or self.data.type.element_type, "out_dtype"), shape
        )
