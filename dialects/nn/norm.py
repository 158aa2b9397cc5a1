"""Normalisation, softmax, dropout and bias."""

from abc import ABC

from xdsl.dialects.builtin import DYNAMIC_INDEX, TupleType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.fields import Flag, Integer, Integers, Real, Tensor, operand, prop
from xrelay.dialects.shapes import (
    normalize_axes,
    normalize_axis,
    ranked,
    require_float,
    require_same_dtype,
    same_dimension,
    shape_text,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class ChannelsOp(RelayOp, ABC):
    """
    An operator on `data` with vectors of numbers, one for each index of `axis`. They state `data`, too: fields of a base
    come after their own.
    """

    data: Tensor = operand()
    axis: Integer = prop(default=1)

    @property
    def channel_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def require_channels(self, *names: str) -> None:
        """Raises VerifyException unless operands are vectors like `axis` of `data`."""
        data, axis = self.data.type, self.channel_axis
        channels = data.get_shape()[axis]
        for name in names:
            type_ = ranked(getattr(self, name), f"'{name}'", 1)
            if not same_dimension(type_.get_shape()[0], channels):
                raise VerifyException(
                    f"'{name}' has {type_.get_shape()[0]} elements, axis {axis} of 'data' {channels}"
                )
            require_same_dtype(data, "data", type_, name)


@irdl_op_definition
class BiasAddOp(ChannelsOp):
    """
    `data` plus `bias` [C], repeated along all axes but `axis`, which has length C.

    Source: Relay's `nn.bias_add`.
    """

    name = "relay.nn.bias_add"

    data: Tensor = operand()
    bias: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        self.require_channels("bias")
        return self.data.type


@irdl_op_definition
class PReluOp(ChannelsOp):
    """
    `data` where it is positive, elsewhere `data` times `alpha` [C], repeated along all axes but
    `axis`, which has length C.

    Source: Relay's `nn.prelu`, ONNX's PRelu.
    """

    name = "relay.nn.prelu"

    data: Tensor = operand()
    alpha: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.BROADCAST))

    def infer_type(self) -> Attribute:
        self.require_channels("alpha")
        return self.data.type


@irdl_op_definition
class BatchNormOp(ChannelsOp):
    """
    Batch normalisation with stored statistics: a tuple of
    (data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta along `axis`, and the two
    statistics unchanged. Without `scale` gamma counts as 1, without `center` beta as 0.

    Source: Relay's `nn.batch_norm`, ONNX's BatchNormalization.
    """

    name = "relay.nn.batch_norm"

    data: Tensor = operand()
    gamma: Tensor = operand()
    beta: Tensor = operand()
    moving_mean: Tensor = operand()
    moving_var: Tensor = operand()
    axis: Integer = prop(default=1)
    epsilon: Real = prop(default=1e-05)
    center: Flag = prop(default=True)
    scale: Flag = prop(default=True)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        self.require_channels("gamma", "beta", "moving_mean", "moving_var")
        return tuple_type([self.data.type, self.moving_mean.type, self.moving_var.type])


class StandardizingOp(ChannelsOp, ABC):
    """
    Normalisation by statistics of `data` itself: (data - mean) / sqrt(variance + epsilon) * gamma
    + beta, where the mean and the (biased) variance are over a set of elements that each operator
    states. `gamma` and `beta` [C] stand along `axis`, which has length C. Without `scale` gamma
    counts as 1, without `center` beta as 0.
    """

    data: Tensor = operand()
    gamma: Tensor = operand()
    beta: Tensor = operand()
    axis: Integer = prop(default=1)
    epsilon: Real = prop(default=1e-05)
    center: Flag = prop(default=True)
    scale: Flag = prop(default=True)
    # Relay registers no kind, as its pipeline decomposes these before fusion.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        self.require_channels("gamma", "beta")
        return self.data.type


@irdl_op_definition
class LayerNormOp(StandardizingOp):
    """
    Each row of `data` along `axis` has statistics of its own.

    Source: Relay's `nn.layer_norm`, ONNX's LayerNormalization.
    """

    name = "relay.nn.layer_norm"

    axis: Integer = prop(default=-1)


@irdl_op_definition
class InstanceNormOp(StandardizingOp):
    """
    Each channel along `axis` of each example along axis 0 has statistics of its own, over all
    other axes.

    Source: Relay's `nn.instance_norm`, ONNX's InstanceNormalization.
    """

    name = "relay.nn.instance_norm"

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        """The axes that the statistics are over, in ascending order."""
        rank = self.data.type.get_num_dims()
        return tuple(axis for axis in range(1, rank) if axis != self.channel_axis)


@irdl_op_definition
class GroupNormOp(StandardizingOp):
    """
    The channels along `axis` form `num_groups` groups of neighbours. Each group has statistics of
    its own, over its channels and all axes after `axis`; the axes before are examples.

    Source: Relay's `nn.group_norm`, ONNX's GroupNormalization.
    """

    name = "relay.nn.group_norm"

    num_groups: Integer = prop(default=0)

    def infer_type(self) -> Attribute:
        result = super().infer_type()
        groups = self.num_groups.value.data
        channels = self.data.type.get_shape()[self.channel_axis]
        if groups < 1 or (channels != DYNAMIC_INDEX and channels % groups):
            raise VerifyException(
                f"'num_groups' is {groups}, expected a divisor of the "
                f"{shape_text([channels])[1:-1]} channels along axis {self.channel_axis}"
            )
        return result


@irdl_op_definition
class RmsNormOp(ChannelsOp):
    """
    Each row of `data` along `axis` divided by its root mean square: data / sqrt(mean of squares
    + epsilon) * gamma, where `gamma` [C] stands along `axis`, which has length C. Without `scale`
    gamma counts as 1.

    An extension: Relay has no such operator. Source: ONNX's RMSNormalization.
    """

    name = "relay.nn.rms_norm"

    data: Tensor = operand()
    gamma: Tensor = operand()
    axis: Integer = prop(default=-1)
    epsilon: Real = prop(default=1e-05)
    scale: Flag = prop(default=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        self.require_channels("gamma")
        return self.data.type


class SoftmaxFamilyOp(RelayOp, ABC):
    """Normalises the elements of `data` along `axis`."""

    data: Tensor = operand()
    axis: Integer = prop(default=-1)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        _ = self.normalized_axis
        return self.data.type


@irdl_op_definition
class SoftmaxOp(SoftmaxFamilyOp):
    """
    exp(x - m) / sum of exp(x - m), m being the largest x along `axis`.

    Source: Relay's `nn.softmax`, ONNX's Softmax.
    """

    name = "relay.nn.softmax"


@irdl_op_definition
class FastSoftmaxOp(SoftmaxFamilyOp):
    """
    The same as `relay.nn.softmax`; Relay allows its exp to be an approximation.

    Source: Relay's `nn.fast_softmax`.
    """

    name = "relay.nn.fast_softmax"


@irdl_op_definition
class LogSoftmaxOp(SoftmaxFamilyOp):
    """
    x - m - log(sum of exp(x - m)), m being the largest x along `axis`.

    Source: Relay's `nn.log_softmax`, ONNX's LogSoftmax.
    """

    name = "relay.nn.log_softmax"


@irdl_op_definition
class LrnOp(RelayOp):
    """
    Local response normalisation: x / (`bias` + `alpha` / `size` * s) ** `beta`, where s is the sum
    of squares of the `size` elements around x along `axis`: from (size - 1) // 2 before it
    to size // 2 after it, as far as they exist.

    Source: Relay's `nn.lrn`, ONNX's LRN.
    """

    name = "relay.nn.lrn"

    data: Tensor = operand()
    size: Integer = prop(default=5)
    axis: Integer = prop(default=1)
    bias: Real = prop(default=2.0)
    alpha: Real = prop(default=0.0001)
    beta: Real = prop(default=0.75)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        _ = self.normalized_axis
        if self.size.value.data < 1:
            raise VerifyException(f"'size' is {self.size.value.data}, expected at least 1")
        return self.data.type


@irdl_op_definition
class L2NormalizeOp(RelayOp):
    """
    `data` / sqrt(max(s, `eps`)), where s is the sum of the squares of all elements along the axes
    `axis`; without axes every element has a sum of its own.

    Source: Relay's `nn.l2_normalize`.
    """

    name = "relay.nn.l2_normalize"

    data: Tensor = operand()
    eps: Real = prop()
    axis: Integers = prop()
    # Relay registers no kind, as its pipeline decomposes it before fusion.
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    @property
    def normalized_axes(self) -> tuple[int, ...]:
        """`axis`, counted from the front."""
        return normalize_axes(self.axis.get_values(), self.data.type.get_num_dims())

    def infer_type(self) -> Attribute:
        require_float(self.data.type, "data")
        _ = self.normalized_axes
        return self.data.type


@irdl_op_definition
class DropoutOp(RelayOp):
    """
    Dropout as inference sees it: a tuple of `data` unchanged and a mask of ones.

    Source: Relay's `nn.dropout`, ONNX's Dropout.
    """

    name = "relay.nn.dropout"

    data: Tensor = operand()
    rate: Real = prop(default=0.5)
    result = result_def(TupleType)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        return tuple_type([self.data.type, self.data.type])
