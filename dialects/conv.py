"""Two-dimensional convolution."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, tensor_operand_def, tensor_result_def
from xrelay.dialects.shapes import (
    element_type,
    int_array,
    integer,
    ranked,
    same_dimension,
    shape_text,
    string,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind
from xrelay.dialects.windows import expand_padding, positive_pair, require_layout, window_output


def _times(dim: int, factor: int) -> int:
    return DYNAMIC_INDEX if dim == DYNAMIC_INDEX else dim * factor


@irdl_op_definition
class Conv2DOp(RelayOp):
    """
    Cross-correlation of `data` [N, C, H, W] with `weight` [O, C / groups, KH, KW]:
    result[n, o, y, x] = sum over c, i, j of
    data[n, g * C / groups + c, y * sh + i * dh - top, x * sw + j * dw - left] * weight[o, c, i, j],
    where g is the group of o, and elements outside of `data` are 0.

    `padding` holds one, two (vertical, horizontal) or four (top, left, bottom, right) numbers.
    `channels` and `kernel_size`, when given, must agree with `weight`. Products are summed in
    `out_dtype`, by default the dtype of `data`.

    Source: Relay's `nn.conv2d`, ONNX's Conv.
    """

    name = "relay.nn.conv2d"

    data = tensor_operand_def()
    weight = tensor_operand_def()
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
    assembly_format = "$data `,` $weight attr-dict `:` functional-type(operands, results)"

    def __init__(
        self,
        data: Value,
        weight: Value,
        *,
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        out_dtype: TypeAttribute | None = None,
    ):
        super().__init__(
            [data, weight],
            {
                "strides": int_array(strides),
                "padding": int_array(padding),
                "dilation": int_array(dilation),
                "groups": integer(groups),
                "out_dtype": out_dtype,
            },
        )

    def infer_type(self) -> Attribute:
        require_layout("data_layout", self.data_layout, "NCHW")
        require_layout("kernel_layout", self.kernel_layout, "OIHW")
        require_layout("out_layout", self.out_layout, "NCHW", "")
        data = ranked(self.data, "'data'", 4)
        weight = ranked(self.weight, "'weight'", 4)
        if data.element_type != weight.element_type:
            raise VerifyException(
                f"'data' has elements of type {data.element_type}, "
                f"'weight' of {weight.element_type}"
            )
        batch, in_channels, *image = data.get_shape()
        out_channels, group_channels, *kernel = weight.get_shape()
        groups = self.groups.value.data
        if groups < 1:
            raise VerifyException(f"'groups' is {groups}, expected at least 1")
        if not same_dimension(in_channels, _times(group_channels, groups)):
            raise VerifyException(
                f"'data' has {in_channels} channels, 'weight' takes {group_channels} "
                f"in each of {groups} groups"
            )
        if out_channels != DYNAMIC_INDEX and out_channels % groups:
            raise VerifyException(
                f"'weight' has {out_channels} output channels, not a multiple of {groups} groups"
            )
        if self.channels is not None and not same_dimension(self.channels.value.data, out_channels):
            raise VerifyException(
                f"'channels' is {self.channels.value.data}, 'weight' has {out_channels}"
            )
        if self.kernel_size is not None:
            stated = self.kernel_size.get_values()
            if len(stated) != 2 or not all(map(same_dimension, stated, kernel)):
                raise VerifyException(
                    f"'kernel_size' is {list(stated)}, 'weight' has {shape_text(kernel)}"
                )
        pads = expand_padding(self.padding.get_values())
        shape = window_output(
            image,
            kernel,
            positive_pair(self.strides, "strides"),
            positive_pair(self.dilation, "dilation"),
            pads,
        )
        dtype = element_type(self.out_dtype or data.element_type, "out_dtype")
        return TensorType(dtype, [batch, out_channels, *shape])


CONV_OPS = (Conv2DOp,)
