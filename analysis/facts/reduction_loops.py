"""
The loops of reductions: which elements a reduction runs through, and whether what uses its result
can run in the same nest of loops.

    %s = sum %x axis=1            # 4x8 -> 4: loops over 4x8, which leave places (0,)
    %e = expand_dims %s axis=1    # 4x1: places (0, none)
    %d = divide %x, %e            # 4x8: row i of %x meets the sum of row i
"""

from collections.abc import Callable
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.norm import BiasAddOp, PReluOp
from xrelay.dialects.shapes import is_dynamic, normalize_axis, same_shape, shape_of
from xrelay.dialects.tensor.reduce import ReductionOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind

Places = tuple[int | None, ...]
"""The axis of a reduction's operand that each axis of a value stands for; None for repetition."""


class Domain(NamedTuple):
    """The elements that a reduction runs through: one nest of loops serves those with equal ones."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]


def domain_of(op: Operation) -> Domain | None:
    """The loops of a reduction, None when they are not known."""
    if not isinstance(op, ReductionOp) or is_dynamic(op.data.type):
        return None
    return Domain(op.data.type.get_shape(), op.reduced_axes)


def meets_what_it_reduced(op: ReductionOp, inside: Callable[[Operation], bool]) -> bool:
    """
    Whether broadcasting pairs the result of a reduction with what it was reduced from, wherever
    operators that are `inside` bring it to the shape of the operand: then one nest of loops
    computes both. Operators of other kinds than broadcast may do anything with it.
    """
    shape = op.data.type.get_shape()
    reduced = op.reduced_axes
    whole: Places = tuple(None if axis in reduced else axis for axis in range(len(shape)))
    start = whole if op.keepdims.value.data else tuple(each for each in whole if each is not None)
    pending: list[tuple[SSAValue, Places]] = [(op.result, start)]
    seen = set(pending)
    while pending:
        value, places = pending.pop()
        for use in value.uses:
            user = use.operation
            if not inside(user) or pattern_kind(user) > OpPatternKind.BROADCAST:
                continue
            after = _places_after(user, use.index, places)
            result = user.results[0]
            if not same_shape(shape_of(result), shape):
                if (result, after) not in seen:
                    seen.add((result, after))
                    pending.append((result, after))
            elif any(
                found != wanted
                for found, wanted, size in zip(after, whole, shape, strict=True)
                if not certainly(size, 1)
            ):
                return False
    return True


def _places_after(user: Operation, operand: int, places: Places) -> Places:
    """What the axes of a result stand for when those of an operand stand for `places`."""
    if isinstance(user, ExpandDimsOp):
        axis = normalize_axis(user.axis.value.data, len(places) + 1)
        return (*places[:axis], *[None] * user.num_newaxis.value.data, *places[axis:])
    rank = len(shape_of(user.results[0]))
    if isinstance(user, BiasAddOp | PReluOp) and operand == 1:
        return tuple(places[0] if axis == user.channel_axis else None for axis in range(rank))
    return (*[None] * (rank - len(places)), *places)
