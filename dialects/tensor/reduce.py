"""Commutative reductions over axes."""

from abc import ABC

from xdsl.dialects.builtin import IntegerType, TensorType, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, defined_for
from xrelay.dialects.fields import Flag, OptionalIntegers, Tensor, operand, prop
from xrelay.dialects.shapes import (
    broadcast_shapes,
    is_float,
    normalize_axes,
    shapes_agree,
    with_shape,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class ReductionOp(RelayOp, ABC):
    """
    Combines the elements of `data` along `axis`: all axes when it is absent, all *but* the named
    ones with `exclude`. Reduced axes disappear, or stay with length 1 with `keepdims`.
    """

    data: Tensor = operand()
    axis: OptionalIntegers = prop(default=None, kw_only=False)
    keepdims: Flag = prop(default=False)
    exclude: Flag = prop(default=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.COMM_REDUCE))

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        """The axes that are reduced, counted from the front, in ascending order."""
        rank = self.data.type.get_num_dims()
        if self.axis is None:
            return tuple(range(rank))
        named = normalize_axes(self.axis.get_values(), rank)
        if self.exclude.value.data:
            return tuple(axis for axis in range(rank) if axis not in named)
        return tuple(sorted(named))

    def infer_type(self) -> Attribute:
        reduced = self.reduced_axes
        shape = [
            1 if axis in reduced else dim
            for axis, dim in enumerate(self.data.type.get_shape())
            if axis not in reduced or self.keepdims.value.data
        ]
        return with_shape(self.data.type, shape)


@irdl_op_definition
class SumOp(ReductionOp):
    """
    The sum of the elements; 0 for none. Integers wrap around.

    Source: Relay's `sum`.
    """

    name = "relay.sum"


@irdl_op_definition
class ProdOp(ReductionOp):
    """
    The product of the elements; 1 for none. Integers wrap around.

    Source: Relay's `prod`.
    """

    name = "relay.prod"


@irdl_op_definition
class MaxOp(ReductionOp):
    """
    The largest element, NaN if one is; the smallest value of the dtype (-inf) for none.

    Source: Relay's `max`.
    """

    name = "relay.max"


@irdl_op_definition
class MinOp(ReductionOp):
    """
    The smallest element, NaN if one is; the largest value of the dtype (inf) for none.

    Source: Relay's `min`.
    """

    name = "relay.min"


@irdl_op_definition
class MeanOp(ReductionOp):
    """
    The mean of the elements; NaN for none. The sum of integers wraps around, and the mean is rounded
    towards zero, 0 for none. Bools have none.

    Source: Relay's `mean`.
    """

    name = "relay.mean"

    def undefined(self) -> str | None:
        defined = self.data.type.element_type != IntegerType(1)
        return defined_for("numbers", defined, self.data, "data")


@irdl_op_definition
class VarianceOp(ReductionOp):
    """
    The sum of (x - mean)**2 over the elements x, divided by their number n, or by n - 1 with
    `unbiased`; floating point. `mean` is given for each element: it broadcasts to the shape of
    `data` (a mean with `keepdims`).

    Source: Relay's `variance`.
    """

    name = "relay.variance"

    # Before the operand that the family has not: those of a base would come after it.
    data: Tensor = operand()
    axis: OptionalIntegers = prop(default=None)
    mean: Tensor = operand()
    unbiased: Flag = prop(default=False)

    def infer_type(self) -> Attribute:
        data, mean = self.data.type, self.mean.type
        if not is_float(data.element_type) or mean.element_type != data.element_type:
            raise VerifyException(
                f"'data' is {data} and 'mean' {mean}, expected floating point of one dtype"
            )
        shape = data.get_shape()
        whole = broadcast_shapes(mean.get_shape(), shape, ("mean", "data"))
        if not shapes_agree(whole, shape):
            raise VerifyException(f"'mean' {mean} does not broadcast to 'data' {data}")
        return super().infer_type()


class BoolReductionOp(ReductionOp, ABC):
    """A reduction of bools."""

    def infer_type(self) -> Attribute:
        if self.data.type.element_type != IntegerType(1):
            raise VerifyException(
                f"'data' has elements of type {self.data.type.element_type}, expected i1"
            )
        return super().infer_type()


@irdl_op_definition
class AllOp(BoolReductionOp):
    """
    Whether all elements are true.

    Source: Relay's `all`.
    """

    name = "relay.all"


@irdl_op_definition
class AnyOp(BoolReductionOp):
    """
    Whether an element is true.

    Source: Relay's `any`.
    """

    name = "relay.any"


class ArgReductionOp(ReductionOp, ABC):
    """
    The i32 index of an extreme element along the reduced axes, which count as one row-major axis.
    The first of equal elements wins, the last with `select_last_index`. A NaN wins over numbers.
    """

    select_last_index: Flag = prop(default=False)

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        if any(shape[axis] == 0 for axis in self.reduced_axes):
            raise VerifyException(
                "a reduced axis of 'data' has length 0: it has no extreme element"
            )
        reduced = super().infer_type()
        assert isinstance(reduced, TensorType)
        return TensorType(i32, reduced.get_shape())


@irdl_op_definition
class ArgmaxOp(ArgReductionOp):
    """
    The index of the largest element.

    Source: Relay's `argmax`.
    """

    name = "relay.argmax"


@irdl_op_definition
class ArgminOp(ArgReductionOp):
    """
    The index of the smallest element.

    Source: Relay's `argmin`.
    """

    name = "relay.argmin"
