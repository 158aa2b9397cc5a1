"""What a slice takes of an axis, as in Python."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.shapes import normalize_axes

SLICE_TO_END = "end"
SLICE_BY_SIZE = "size"


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
    if mode not in (SLICE_TO_END, SLICE_BY_SIZE):
        raise VerifyException(f'\'slice_mode\' is "{mode}", accepted are "end" and "size"')
    named = range(len(begin)) if axes is None else normalize_axes(axes, len(shape), "axes")
    steps = [1] * len(begin) if strides is None or mode == SLICE_BY_SIZE else list(strides)
    if len(steps) == 1 and len(begin) > 1:
        steps *= len(begin)
    if not len(named) == len(begin) == len(end) == len(steps) or len(begin) > len(shape):
        raise VerifyException(
            f"'begin' {list(begin)}, 'end' {list(end)}, 'strides' {steps} and 'axes' "
            f"{list(named)} do not have one number for each axis"
        )
    result = [Slice(0, 1, dim) for dim in shape]
    for axis, first, last, step in zip(named, begin, end, steps, strict=True):
        if step == 0:
            raise VerifyException("'strides' has a 0")
        dim = shape[axis]
        if mode == SLICE_BY_SIZE:
            if first < 0 and dim != DYNAMIC_INDEX:
                first = max(first + dim, 0)
            last = first + last if last >= 0 else dim
        if dim == DYNAMIC_INDEX:
            whole = first == 0 and step == 1
            known = step == 1 and mode == SLICE_BY_SIZE and 0 <= first <= last
            result[axis] = Slice(
                0 if whole else first, step, last - first if known else DYNAMIC_INDEX
            )
        else:
            start, stop, step = slice(first, last, step).indices(dim)
            result[axis] = Slice(start, step, len(range(start, stop, step)))
    return tuple(result)
