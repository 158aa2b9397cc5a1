"""Operators that create tensors filled with one value."""

from abc import ABC
from math import ceil, isfinite

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, TensorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.fields import Dtype, Integer, Integers, OptionalDtype, Tensor, operand, prop
from xrelay.dialects.lengths import larger
from xrelay.dialects.shapes import element_type, integer_tensor, normalize_axis, shape_text
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ShapeDataDependent


def _static_shape(shape: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    values = shape.get_values()
    if any(dim < 0 for dim in values):
        raise VerifyException(f"'shape' is {shape_text(values)}, expected no negative number")
    return values


class FilledOp(RelayOp, ABC):
    """A tensor of `shape` and `dtype` without operands."""

    shape: Integers = prop()
    dtype: Dtype = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))
    assembly_format = "attr-dict `:` type($result)"

    def infer_type(self) -> Attribute:
        return TensorType(element_type(self.dtype, "dtype"), _static_shape(self.shape))


@irdl_op_definition
class ZerosOp(FilledOp):
    """
    A tensor of zeros.

    Source: Relay's `zeros`.
    """

    name = "relay.zeros"


@irdl_op_definition
class OnesOp(FilledOp):
    """
    A tensor of ones.

    Source: Relay's `ones`.
    """

    name = "relay.ones"


@irdl_op_definition
class FullOp(RelayOp):
    """
    A tensor of `shape` whose elements are the scalar `fill_value`, converted to `dtype` (that of
    `fill_value` when absent) by the rules of `relay.cast`.

    Source: Relay's `full`, ONNX's ConstantOfShape.
    """

    name = "relay.full"

    fill_value: Tensor = operand()
    shape: Integers = prop()
    dtype: OptionalDtype = prop(default=None, kw_only=False)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        return TensorType(filled_dtype(self.fill_value, self.dtype), _static_shape(self.shape))


def filled_dtype(fill_value: SSAValue[TensorType[Attribute]], dtype: Attribute | None) -> Attribute:
    """The element type of a tensor that is filled with a scalar: `dtype`, or that of the scalar."""
    if fill_value.type.get_num_dims() != 0:
        raise VerifyException(f"'fill_value' is {fill_value.type}, expected a scalar")
    return fill_value.type.element_type if dtype is None else element_type(dtype, "dtype")


class FilledLikeOp(RelayOp, ABC):
    """A tensor with the type of `data`."""

    data: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.ELEMWISE))

    def infer_type(self) -> Attribute:
        return self.data.type


@irdl_op_definition
class ZerosLikeOp(FilledLikeOp):
    """
    Zeros with the type of `data`.

    Source: Relay's `zeros_like`.
    """

    name = "relay.zeros_like"


@irdl_op_definition
class OnesLikeOp(FilledLikeOp):
    """
    Ones with the type of `data`.

    Source: Relay's `ones_like`.
    """

    name = "relay.ones_like"


@irdl_op_definition
class ArangeOp(RelayOp):
    """
    start, start + step, start + 2 * step, … up to before `end`: max(0, ceil((end - start) / step))
    numbers of `dtype`, each computed as start + i * step in the dtype of the operands, scalars of
    one dtype. The length is known when the operands are constants.

    Source: Relay's `arange` (whose attributes repeat the operands), ONNX's Range.
    """

    name = "relay.arange"

    start: Tensor = operand()
    end: Tensor = operand()
    step: Tensor = operand()
    dtype: Dtype = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE), ShapeDataDependent())

    def infer_type(self) -> Attribute:
        dtype = element_type(self.dtype, "dtype")
        own = self.start.type.element_type
        for name, value in (("start", self.start), ("end", self.end), ("step", self.step)):
            if value.type != TensorType(own, []) or own == i1:
                raise VerifyException(
                    f"'{name}' is {value.type}, expected a scalar of the dtype of 'start', no bool"
                )
        numbers = [constant_numbers(value) for value in (self.start, self.end, self.step)]
        if any(number is None for number in numbers):
            return TensorType(dtype, [DYNAMIC_INDEX])
        start, end, step = (number[0] for number in numbers if number is not None)
        return TensorType(dtype, [arange_length(start, end, step)])


def arange_length(start: float, end: float, step: float) -> int:
    """
    How many numbers `relay.arange` gives.

    Raises VerifyException when this is no number.
    """
    whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if step == 0 or not (whole or all(map(isfinite, (start, end, step)))):
        raise VerifyException(
            f"'step' is {step} from {start} to {end}, expected finite numbers and no step of 0"
        )
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        if step < 0:  # Lengths are divided by what is positive.
            return larger(0, -((end - start) // -step))
        return larger(0, -((start - end) // step))
    return max(0, ceil((end - start) / step))


@irdl_op_definition
class OneHotOp(RelayOp):
    """
    A new axis of length `depth` at `axis` (counted in the result) on which `on_value` stands at the
    position that an index says and `off_value` everywhere else. Indices out of range, negative ones
    too, have no position. The scalars are converted to `dtype` (that of `on_value` when absent).

    Source: Relay's `one_hot`, ONNX's OneHot.
    """

    name = "relay.one_hot"

    indices: Tensor = operand()
    on_value: Tensor = operand()
    off_value: Tensor = operand()
    depth: Integer = prop(default=1, kw_only=False)
    axis: Integer = prop(default=-1)
    dtype: OptionalDtype = prop(default=None)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    @property
    def normalized_axis(self) -> int:
        """`axis`, counted from the front."""
        return normalize_axis(self.axis.value.data, self.indices.type.get_num_dims() + 1)

    def infer_type(self) -> Attribute:
        shape, depth = list(integer_tensor(self.indices, "indices").get_shape()), self.depth
        if depth.value.data < 0:
            raise VerifyException(f"'depth' is {depth.value.data}, expected no negative number")
        dtype = one_hot_dtype(self.on_value, self.off_value, self.dtype)
        shape.insert(self.normalized_axis, depth.value.data)
        return TensorType(dtype, shape)


def one_hot_dtype(
    on_value: SSAValue[TensorType[Attribute]],
    off_value: SSAValue[TensorType[Attribute]],
    dtype: Attribute | None,
) -> Attribute:
    """The dtype of a one-hot tensor; refuses values that are no scalars of one dtype."""
    own = on_value.type.element_type
    for name, value in (("on_value", on_value), ("off_value", off_value)):
        if value.type != TensorType(own, []):
            raise VerifyException(
                f"'{name}' is {value.type}, expected a scalar of the dtype of 'on_value'"
            )
    return own if dtype is None else element_type(dtype, "dtype")
