"""
Parallel operators that become one with more outputs.

    %0 = relay.nn.dense %x, %u                 %0 = relay.concatenate (%u, %v)
    %1 = relay.add %0, %a                      %1 = relay.nn.dense %x, %0
    %2 = relay.nn.dense %x, %v           ──►   %2 = relay.concatenate (%a, %b)
    %3 = relay.add %2, %b                      %3 = relay.add %1, %2
                                               %4, %5 = slices of %3

Weights are concatenated along the axis of the outputs, and so are other operands of the operators after them. These
have the length of the outputs there, and elsewhere they agree.

With `rules=relay`, where outputs lie along the last axis, one element is repeated for all outputs, as is a
scalar. With `rules=cpu` other operands are vectors, or the same scalar constant for all branches, which it stays, and
convolutions may have biases.
"""

from abc import ABC
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import integer, shape_of
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import ConcatenateOp, RepeatOp, StridedSliceOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.combine.parallel import Combiner, Layer
from xrelay.transforms.rules.rewriting import Emitter


@dataclass(frozen=True)
class JoiningCombiner(Combiner, ABC):
    """One kind of operator of which several become one with more outputs."""

    rules: str
    """`relay` or `cpu`."""
    weight_axis: int
    """The axis of the weight, operand 1, along which outputs lie."""
    output_axis: int
    """The same axis of the result, counted from the front, or -1 for the last one."""
    units: str | None = None
    """The property that holds the number of outputs, which the original states."""

    def weight_key(self, op: RelayOp) -> Hashable:
        weight = list(shape_of(op.operands[1]))
        weight[self.weight_axis] = 0
        return tuple(weight)

    def widths(self, branches: Sequence[RelayOp]) -> list[int]:
        """How many outputs branches have."""
        return [shape_of(op.operands[1])[self.weight_axis] for op in branches]

    def widened_shape(self, shape: Sequence[int], branches: Sequence[RelayOp]) -> list[int]:
        widened = list(shape)
        widened[self.output_axis] = sum(self.widths(branches))
        return widened

    def combined(self, emit: Emitter, branches: Sequence[RelayOp]) -> SSAValue:
        weights = [op.operands[1] for op in branches]
        weight = joined(emit, weights, self.weight_axis)
        new = self.widened(branches[0], [branches[0].operands[0], weight], branches)
        if self.units is not None and (self.rules == "relay" or self.units in new.properties):
            new.properties[self.units] = integer(sum(self.widths(branches)))
        return emit(new)

    def parts(self, emit: Emitter, value: SSAValue, branches: Sequence[RelayOp]) -> list[SSAValue]:
        axis = self.output_axis % len(shape_of(value))
        found: list[SSAValue] = []
        begin = 0
        for width in self.widths(branches):
            found.append(emit(self.slice(value, axis, begin, width)))
            begin += width
        return found

    def slice(self, value: SSAValue, axis: int, begin: int, width: int) -> StridedSliceOp:
        """Some outputs, as the original spells it or by the one axis."""
        if self.rules == "cpu":
            return StridedSliceOp(value, [begin], [begin + width], axes=[axis])
        before = [0] * axis, [-1] * axis
        return StridedSliceOp(
            value, [*before[0], begin], [*before[1], width], [1] * (axis + 1), slice_mode="size"
        )

    def fits(self, layer: Layer, tails: Sequence[RelayOp]) -> bool:
        if self.are_numbers(layer):
            # Bit by bit: 0 and -0 are equal, and what is divided by them is not.
            numbers = [known_array(other) for other in layer.others]
            bits = {number.tobytes() for number in numbers if number is not None}
            return len(bits) == 1 and all(number is not None for number in numbers)
        found = {
            self.outputs_of(op, tail, other)
            for op, tail, other in zip(layer.ops, tails, layer.others, strict=True)
        }
        return len(found) == 1 and None not in found

    def other_operand(self, emit: Emitter, layer: Layer, tails: Sequence[RelayOp]) -> SSAValue:
        if self.are_numbers(layer):
            return layer.others[0]
        found = self.outputs_of(layer.ops[0], tails[0], layer.others[0])
        assert found is not None
        axis, _ = found
        wide = [
            repeated(emit, other, axis, shape_of(tail.results[0])[self.output_axis])
            for tail, other in zip(tails, layer.others, strict=True)
        ]
        return joined(emit, wide, self.stated_axis(axis))

    def are_numbers(self, layer: Layer) -> bool:
        """Whether other operands are scalars that stay scalars."""
        return self.rules == "cpu" and not any(map(shape_of, layer.others))

    def stated_axis(self, axis: int) -> int:
        """How the axis is written along which other operands are concatenated."""
        return axis

    def outputs_of(
        self, op: RelayOp, tail: RelayOp, other: SSAValue
    ) -> tuple[int, tuple[int, ...]] | None:
        """
        The axis of another operand that lies along the outputs, and its shape with 0 there; None when
        it has no such axis.
        """
        before, result, shape = map(shape_of, (tail.results[0], op.results[0], other))
        output = self.output_axis % len(result)
        repeats = self.rules == "relay" and self.output_axis == -1
        if result[output] != before[self.output_axis] or len(result) > len(before) and not repeats:
            return None
        axis = output - len(result) + len(shape)
        if isinstance(op, BiasAddOp):
            # The original takes a bias as if it were broadcast along the last axis.
            if op.channel_axis != output or axis != 0 and self.rules == "relay":
                return None
            axis = 0
        elif repeats and not shape:
            return 0, ()
        if axis < 0 or shape[axis] != result[output] and not (repeats and shape[axis] == 1):
            return None
        others = (*shape[:axis], 0, *shape[axis + 1 :])
        return None if self.rules == "cpu" and any(n > 1 for n in others) else (axis, others)


def repeated(emit: Emitter, value: SSAValue, axis: int, width: int) -> SSAValue:
    """A value whose one element along an axis stands for some outputs, for each of them."""
    if not shape_of(value):
        value = emit(ExpandDimsOp(value, -1))
    elif shape_of(value)[axis] == width:
        return value
    return emit(RepeatOp(value, width, axis))


def joined(emit: Emitter, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Values concatenated along an axis."""
    return emit(ConcatenateOp(emit(TupleOp(values)), axis=axis))
