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


def line_padding(padding: Sequence[int]) -> tuple[int, int]:
    """Relay's `padding` of one axis, one or two numbers, as (left, right)."""
    if any(pad < 0 for pad in padding):
        raise VerifyException(f"'padding' is {list(padding)}, expected no negative number")
    match padding:
        case [every]:
            return every, every
        case [left, right]:
            return left, right
        case _:
            raise VerifyException(f"'padding' is {list(padding)}, expected 1 or 2 numbers")


def positive_numbers(value: DenseArrayBase[IntegerType], what: str, count: int) -> tuple[int, ...]:
    """A property with one positive number for each of `count` axes."""
    numbers = value.get_values()
    if len(numbers) != count or any(number < 1 for number in numbers):
        names = {1: "one positive number", 2: "two positive numbers"}
        expected = names.get(count, f"{count} positive numbers")
        raise VerifyException(f"'{what}' is {list(numbers)}, expected {expected}")
    return tuple(numbers)


def positive_pair(value: DenseArrayBase[IntegerType], what: str) -> tuple[int, int]:
    """A property with one positive number for each of the two spatial axes."""
    first, second = positive_numbers(value, what, 2)
    return first, second


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


def transposed_window_output(
    image: Sequence[int],
    window: Sequence[int],
    strides: tuple[int, int],
    dilation: tuple[int, int],
    pads: Pads,
    output_padding: Sequence[int],
) -> list[int]:
    """
    The size of the image on which windows take `image` positions on each spatial axis:
    `output_padding` is what the last window leaves at the end.
    """
    if len(output_padding) != 2 or any(extra < 0 for extra in output_padding):
        raise VerifyException(
            f"'output_padding' is {list(output_padding)}, expected two numbers that are not negative"
        )
    result: list[int] = []
    for axis, name in enumerate(("height", "width")):
        size, taps = image[axis], window[axis]
        if DYNAMIC_INDEX in (size, taps):
            result.append(DYNAMIC_INDEX)
            continue
        if taps < 1:
            raise VerifyException(f"the {name} of the window is {taps}, expected at least 1")
        reach = (size - 1) * strides[axis] + (taps - 1) * dilation[axis] + 1
        length = reach - pads[axis] - pads[axis + 2] + output_padding[axis]
        if length < 1:
            raise VerifyException(f"the {name} of the result is {length}, expected at least 1")
        result.append(length)
    return result
