"""Kernel code of the operators that change the shape only: elements keep their order."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation

from xrelay.dialects.lengths import certainly, likely
from xrelay.dialects.tensor import reshape
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, RuleFunction, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.position import Position, at, linear


def reshape_rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    """The elements of the first operand at the same places in row-major order."""
    data = op.operands[0]
    return (yield Demand((data, 0), reshaped_position(ev.b, position, shape_of(data))))


def reshaped_position(b: KernelBuilder, position: Position, shape: tuple[int, ...]) -> Position:
    """The same elements in another shape."""
    if shape and _stays_in_row(b, shape[-1], position):
        coords = reshaped_coords(b, position.coords(b), position.shape, shape)
        return at(shape, coords, position.lanes)
    split = _same_span(position, shape)
    if split is None:
        return linear(shape, position.offset(b), position.lanes)
    outer = reshaped_coords(b, position.outer, position.shape[: len(position.outer)], shape[:split])
    return Position(shape, tuple(outer), position.inner, position.lanes)


def _same_span(position: Position, shape: tuple[int, ...]) -> int | None:
    """Where the last axes of a shape begin that are as many elements as the span of a position."""
    span, outer = (
        prod(axes)
        for axes in (position.shape[len(position.outer) :], position.shape[: len(position.outer)])
    )
    for split in reversed(range(len(shape))):
        if certainly(prod(shape[split:]), span) and certainly(prod(shape[:split]), outer):
            return split
    return None


def _stays_in_row(b: KernelBuilder, length: int, position: Position) -> bool:
    """Whether lanes along one row lie along one row of `length` elements in another shape."""
    if position.lanes == 1:
        return True
    if not position.in_row or length == 0:
        return False
    row, lanes = position.shape[-1], position.lanes
    if certainly(length % row, 0):
        return True
    # Vectors that begin at multiples of their width never cross the end of such a row.
    aligned = b.divisor(position.inner) % lanes == 0
    return aligned and certainly(length % lanes, 0) and certainly(row % lanes, 0)


def reshaped_coords(
    b: KernelBuilder, coords: Sequence[Index], old: Sequence[int], new: Sequence[int]
) -> list[Index]:
    """
    Coordinates in a tensor of shape `new` with the same elements. Runs of axes with the same
    number of elements in both shapes are treated apart, so that most coordinates stay as they are.
    """
    result: list[Index] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, other = i, j
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while i < len(old) or j < len(new):
            count, wanted = prod(old[first:i]), prod(new[other:j])
            if certainly(count, wanted):
                break
            # Which one goes on decides about the length of runs alone, so that it need not hold for all lengths.
            if j == len(new) or (i < len(old) and likely(count) < likely(wanted)):
                i += 1
            else:
                j += 1
        offset = b.flatten(coords[first:i], old[first:i])
        result.extend(b.unflatten(offset, new[other:j]))
    return result


RULES: dict[type[Operation], RuleFunction] = dict.fromkeys(reshape.RESHAPE_OPS, reshape_rule)
