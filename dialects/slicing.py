"""What a slice takes of an axis, as in Python."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import MOST_ELEMENTS, normalize_axes, require_one_of

SLICE_TO_END = "end"
SLICE_BY_SIZE = "size"
FARTHEST = 2**63 - 1
"""An index after the end of every axis."""


@dataclass(frozen=True)
class Slice:
    """`length` elements of an axis: start, start + step, start + 2 * step, …"""

    start: int
    step: int
    length: int
    """DYNAMIC_INDEX when the axis has an unknown length and the slice depends on it."""


def resolve_slices(
    shape: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None,
    axes: Sequence[int] | None,
    mode: str,
) -> tuple[Slice, ...]:
    """
    One slice for each axis of `shape`, from the properties of `relay.strided_slice`.

    Raises VerifyException for lists that do not fit together.
    """
    require_one_of("slice_mode", mode, SLICE_TO_END, SLICE_BY_SIZE)
    steps = [] if strides is None or mode == SLICE_BY_SIZE else list(strides)
    lists = begin, end, steps
    if axes is None:
        named = range(max(map(len, lists)))
    else:
        named = normalize_axes(axes, len(shape), "axes")
    if len(named) > len(shape) or any(len(numbers) > len(named) for numbers in lists):
        raise VerifyException(
            f"'begin' {list(begin)}, 'end' {list(end)} and 'strides' {steps} have numbers for "
            f"{max(map(len, lists))} axes, there are {min(len(named), len(shape))}"
        )
    if axes is not None and not len(named) == len(begin) == len(end):
        raise VerifyException(
            f"'begin' {list(begin)} and 'end' {list(end)} do not have one number for each of "
            f"'axes' {list(named)}"
        )
    result = [Slice(0, 1, dim) for dim in shape]
    for axis, first, last, step in _filled(begin, end, steps, named, mode):
        if step == 0:
            raise VerifyException("'strides' has a 0")
        dim = shape[axis]
        if mode == SLICE_BY_SIZE:
            if first < 0 and dim != DYNAMIC_INDEX:
                first = max(first + dim, 0)
            last = first + last if last >= 0 else dim
        if dim == DYNAMIC_INDEX:
            whole = first == 0 and step == 1
            # However long the axis is: nothing is taken of it.
            empty = step > 0 and 0 <= last <= first
            result[axis] = Slice(0 if whole else first, step, 0 if empty else DYNAMIC_INDEX)
        else:
            result[axis] = _taken(first, last, step, dim)
    return tuple(result)


def _taken(first: int, last: int, step: int, dim: int) -> Slice:
    """What is taken of an axis of a length."""
    if not any(map(is_open, (first, last, step, dim))):
        start, stop, step = slice(first, last, step).indices(dim)
        return Slice(start, step, len(range(start, stop, step)))
    # Beyond the axis an index is the first or the last one, or that before or behind it. Which it is
    # becomes a condition: sizes that follow are sums then, which can be equal to others.
    low, high = (0, dim) if step > 0 else (-1, dim - 1)

    def place(index: int) -> int:
        if not is_open(index) and not -MOST_ELEMENTS < index < MOST_ELEMENTS:
            return low if index < 0 else high
        return max(index + dim, low) if index < 0 else min(index, high)

    start, stop = place(first), place(last)
    distance = stop - start if step > 0 else start - stop
    return Slice(start, step, max((distance + abs(step) - 1) // abs(step), 0))


def _filled(
    begin: Sequence[int], end: Sequence[int], steps: Sequence[int], axes: Sequence[int], mode: str
) -> Iterator[tuple[int, int, int, int]]:
    """
    For each axis the axis, begin, end and step. Numbers that lists lack are those of the whole axis,
    but that the end of a negative step is 0, which leaves out element 0.

    Source: `strided_slice` of TVM's operator inventory.
    """
    for i, axis in enumerate(axes):
        step = steps[i] if i < len(steps) else 1
        first, last = (0, FARTHEST) if step > 0 else (FARTHEST, 0)
        if mode == SLICE_BY_SIZE:
            last = -1
        first = begin[i] if i < len(begin) else first
        yield axis, first, end[i] if i < len(end) else last, step
