"""Arithmetic of sliding windows that convolution and pooling share."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, StringAttr
from xdsl.utils.exceptions import VerifyException

Pads = tuple[int, int, int, int]
"""top, left, bottom, right"""


def expand_padding(padding: Sequence[int]) -> Pads:
    """Relay's `padding` of one, two or four numbers as (top, left, bottom, right)."""
    if any(pad < 0 for pad in padding):
        raise VerifyException(f"'padding' is {list(padding)}, expected no negative number")
    match padding:
        case [every]:
            return every, every, every, every
        case [vertical, horizontal]:
            return vertical, horizontal, vertical, horizontal
        case [top, left, bottom, right]:
            return top, left, bottom, right
        case _:
            raise VerifyException(f"'padding' is {list(padding)}, expected 1, 2 or 4 numbers")


def positive_pair(value: DenseArrayBase[IntegerType], what: str) -> tuple[int, int]:
    """A property with one positive number for each of the two spatial axes."""
    match value.get_values():
        case (first, second) if first > 0 and second > 0:
            return first, second
        case other:
            raise VerifyException(f"'{what}' is {list(other)}, expected two positive numbers")


def require_layout(what: str, layout: StringAttr, *accepted: str) -> None:
    """Raises unless `layout` is one of the accepted ones."""
    if layout.data not in accepted:
        names = " or ".join(f'"{name}"' for name in accepted)
        raise VerifyException(f"'{what}' is \"{layout.data}\", accepted is {names}")


def window_output(
    image: Sequence[int],
    window: Sequence[int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
    pads: Pads,
    *,
    ceil_mode: bool = False,
) -> list[int]:
    """
    How many positions a window takes on each spatial axis. With `ceil_mode` a window that starts
    inside of the padded image may reach beyond its end.
    """
    result: list[int] = []
    for axis, name in enumerate(("height", "width")):
        size, taps = image[axis], window[axis]
        if DYNAMIC_INDEX in (size, taps):
            result.append(DYNAMIC_INDEX)
            continue
        if taps < 1:
            raise VerifyException(f"the {name} of the window is {taps}, expected at least 1")
        extent = (taps - 1) * dilation[axis] + 1
        room = size + pads[axis] + pads[axis + 2] - extent
        if room < 0:
            raise VerifyException(
                f"the window covers {extent} elements, the padded {name} is only "
                f"{size + pads[axis] + pads[axis + 2]}"
            )
        if ceil_mode:
            count = -(-room // strides[axis]) + 1
            # A window that would start in the padding after the image does not exist.
            if (count - 1) * strides[axis] >= size + pads[axis]:
                count -= 1
        else:
            count = room // strides[axis] + 1
        result.append(count)
    return result
