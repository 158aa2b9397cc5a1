"""Operators that change the shape of a tensor and keep its elements in row-major order."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import operators
from xrelay.dialects.fields import Flag, Integer, Integers, OptionalIntegers, prop
from xrelay.dialects.lengths import certainly, is_of_element, is_open, whole_quotient
from xrelay.dialects.shapes import (
    dimension_product,
    element_count,
    normalize_axes,
    normalize_axis,
    same_dimension,
    shape_text,
    with_shape,
)
from xrelay.dialects.tensor.transform import TransformOp
from xrelay.dialects.traits import HasPatternKind, OpPatternKind, ReshapeOnly


class ReshapeFamilyOp(TransformOp, ABC):
    """Keeps the elements in row-major order and changes the shape only."""

    traits = traits_def(HasPatternKind(OpPatternKind.INJECTIVE), ReshapeOnly())


class CodedReshapeOp(ReshapeFamilyOp, ABC):
    """Reshapes to `newshape`, in which codes stand for lengths."""

    newshape: Integers = prop()
    allowzero: Flag = prop(default=False)

    @abstractmethod
    def new_shape(self, old: Sequence[int]) -> list[int]:
        """The shape of the result for data of a shape."""

    def infer_type(self) -> Attribute:
        old = self.data.type.get_shape()
        new = self.new_shape(old)
        if not same_dimension(element_count(old), element_count(new)):
            raise VerifyException(
                f"'newshape' {list(self.newshape.get_values())} gives {shape_text(new)} with "
                f"{element_count(new)} elements, 'data' {shape_text(old)} has {element_count(old)}"
            )
        return with_shape(self.data.type, new)


@irdl_op_definition
class ReshapeOp(CodedReshapeOp):
    """
    `data` with the shape `newshape`, in which 0 copies a dimension (unless `allowzero`), -1 is
    inferred, -2 copies all that remain, -3 merges two, and -4 splits one into the two numbers
    that follow.

    Source: Relay's `reshape`, ONNX's Reshape.
    """

    name = "relay.reshape"

    def new_shape(self, old: Sequence[int]) -> list[int]:
        return apply_reshape(old, self.newshape.get_values(), bool(self.allowzero.value.data))


def apply_reshape(old: Sequence[int], codes: Sequence[int], allowzero: bool) -> list[int]:
    """The new shape that Relay's reshape codes describe for the old one."""
    new: list[int] = []
    copied: dict[int, int] = {}
    """Axes of the new shape that are axes of the old one."""
    inferred: int | None = None
    position = 0  # in `old`
    i = 0
    while i < len(codes):
        code = codes[i]
        if not allowzero and is_of_element(code) and not code > 0 and code == 0:
            code = 0  # It says what to copy. A program for others serves no call in which it does.
        needed = {0: 0 if allowzero else 1, -3: 2, -4: 1}.get(code, 0)
        if needed and position + needed > len(old):
            raise VerifyException(
                f"code {code} of 'newshape' {list(codes)} needs more dimensions than 'data' "
                f"{shape_text(old)} has"
            )
        # A length that turns out to be 0 is one all the same, as there are no elements then, unless -1 tells what it copies.
        copies = position < len(old) and certainly(code, old[position])
        is_length = is_open(code) and (copies or allowzero or -1 not in codes)
        if (is_length and code >= 0) or code > 0 or (code == 0 and allowzero):
            new.append(code)
            position += 1
        elif code == 0:
            copied[len(new)] = position
            new.append(old[position])
            position += 1
        elif code == -1:
            if inferred is not None:
                raise VerifyException(f"'newshape' {list(codes)} has more than one -1")
            inferred = len(new)
            new.append(DYNAMIC_INDEX)
            position += 1
        elif code == -2:
            copied.update((len(new) + i, position + i) for i in range(len(old) - position))
            new.extend(old[position:])
            position = len(old)
        elif code == -3:
            new.append(dimension_product(old[position : position + 2]))
            position += 2
        elif code == -4:
            if i + 2 >= len(codes):
                raise VerifyException(f"-4 in 'newshape' {list(codes)} needs two numbers after it")
            new.extend(_split_dimension(old[position], codes[i + 1], codes[i + 2]))
            position += 1
            i += 2
        else:
            raise VerifyException(f"'newshape' {list(codes)} has the unknown code {code}")
        i += 1
    if inferred is not None:
        # Axes that are copied cancel out, known or not.
        kept = [dim for axis, dim in enumerate(old) if axis not in copied.values()]
        others = [dim for axis, dim in enumerate(new) if axis not in (inferred, *copied)]
        if 0 in new:
            raise VerifyException(f"-1 in 'newshape' {list(codes)} stands beside a dimension of 0")
        length = _quotient(dimension_product(kept), dimension_product(others))
        if length is None:
            raise VerifyException(
                f"'data' {shape_text(old)} does not divide into 'newshape' {list(codes)}"
            )
        new[inferred] = length
    return new


def _quotient(total: int, others: int) -> int | None:
    """The length that makes up a total with others, unknown when one is; None when there is none."""
    if DYNAMIC_INDEX in (total, others):
        return DYNAMIC_INDEX
    whole = whole_quotient(total, others)
    if whole is not None:
        return whole
    return None if total % others else total // others


@irdl_op_definition
class ReverseReshapeOp(CodedReshapeOp):
    """
    `data` with the shape `newshape`, whose codes are those of `relay.reshape` but are read from the
    last axis to the first. (The codes of several numbers, -3 and -4, are read backwards as well.)

    Source: Relay's `contrib_reverse_reshape`.
    """

    name = "relay.contrib_reverse_reshape"

    def new_shape(self, old: Sequence[int]) -> list[int]:
        codes = self.newshape.get_values()[::-1]
        return apply_reshape(old[::-1], codes, bool(self.allowzero.value.data))[::-1]


def _split_dimension(dim: int, first: int, second: int) -> tuple[int, int]:
    if first == -1 and second == -1:
        raise VerifyException("-4 in 'newshape' is followed by two -1")
    if any(part < 1 and part != -1 for part in (first, second)):
        raise VerifyException(
            f"-4 in 'newshape' is followed by {first} and {second}, expected positive numbers or -1"
        )
    if dim != DYNAMIC_INDEX and first == -1:
        first = dim // second
    if dim != DYNAMIC_INDEX and second == -1:
        second = dim // first
    if dim != DYNAMIC_INDEX and first * second != dim:
        raise VerifyException(f"-4 in 'newshape' splits {dim} into {first} times {second}")
    return (
        DYNAMIC_INDEX if first == -1 else first,
        DYNAMIC_INDEX if second == -1 else second,
    )


@irdl_op_definition
class BatchFlattenOp(ReshapeFamilyOp):
    """
    `data` [N, ...] as a matrix [N, product of the rest].

    Source: Relay's `nn.batch_flatten`, ONNX's Flatten.
    """

    name = "relay.nn.batch_flatten"

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        if not shape:
            raise VerifyException(f"'data' is {self.data.type}, expected at least rank 1")
        return with_shape(self.data.type, [shape[0], dimension_product(shape[1:])])


@irdl_op_definition
class SqueezeOp(ReshapeFamilyOp):
    """
    `data` without the axes of length 1 named by `axis`; without all of them when absent.

    Source: Relay's `squeeze`, ONNX's Squeeze.
    """

    name = "relay.squeeze"

    axis: OptionalIntegers = prop(default=None, kw_only=False)

    def infer_type(self) -> Attribute:
        shape = self.data.type.get_shape()
        if self.axis is None:
            if DYNAMIC_INDEX in shape:
                raise VerifyException(
                    f"'axis' is absent and 'data' {shape_text(shape)} has an unknown dimension"
                )
            return with_shape(self.data.type, [dim for dim in shape if dim != 1])
        axes = normalize_axes(self.axis.get_values(), len(shape))
        for axis in axes:
            if not same_dimension(shape[axis], 1):
                raise VerifyException(f"'axis' names dimension {axis} of length {shape[axis]}")
        return with_shape(
            self.data.type, [dim for axis, dim in enumerate(shape) if axis not in axes]
        )


MOST_NEW_AXES = 64
"""NumPy's arrays have no more axes than this."""


def new_axes(number: IntegerAttr) -> int:
    """The property `num_newaxis`."""
    count = number.value.data
    if not 0 <= count <= MOST_NEW_AXES:
        raise VerifyException(f"'num_newaxis' is {count}, accepted range is [0, {MOST_NEW_AXES}]")
    return count


@irdl_op_definition
class ExpandDimsOp(TransformOp):
    """
    `data` with `num_newaxis` axes of length 1 inserted at `axis`.

    Source: Relay's `expand_dims`, ONNX's Unsqueeze.
    """

    name = "relay.expand_dims"

    axis: Integer = prop()
    num_newaxis: Integer = prop(default=1)
    # Relay registers it as a broadcast, and as reshape-only.
    traits = traits_def(HasPatternKind(OpPatternKind.BROADCAST), ReshapeOnly())

    def infer_type(self) -> Attribute:
        shape = list(self.data.type.get_shape())
        count = new_axes(self.num_newaxis)
        axis = normalize_axis(self.axis.value.data, len(shape) + 1)
        return with_shape(self.data.type, [*shape[:axis], *[1] * count, *shape[axis:]])


RESHAPE_OPS = operators(__name__, TransformOp)
