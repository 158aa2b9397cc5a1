"""Arithmetic of sliding windows that convolution and pooling share."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.lengths import certainly, larger, may_exceed, smaller

Pads = tuple[int, ...]
"""What is added before each spatial axis, then after each: of images top, left, bottom, right."""

AXIS_NAMES = ("depth", "height", "width")
"""What the spatial axes are called: a line has the last one, an image the last two."""


def may_pad(pads: Sequence[int]) -> bool:
    """Whether pads add something, or may turn out to when the program runs."""
    return not all(certainly(pad, 0) for pad in pads)


def expand_padding(padding: Sequence[int], axes: int = 2) -> Pads:
    """
    Relay's `padding` for each side of `axes` spatial axes. It states one number for all sides, one
    for both sides of each axis, or those before each axis and then those after each.
    """
    if any(pad < 0 for pad in padding):
        raise VerifyException(f"'padding' is {list(padding)}, expected no negative number")
    if len(padding) == 2 * axes:
        return tuple(padding)
    if len(padding) == axes:
        return (*padding, *padding)
    if len(padding) == 1:
        return tuple(padding) * (2 * axes)
    counts = "1 or 2" if axes == 1 else f"1, {axes} or {2 * axes}"
    raise VerifyException(f"'padding' is {list(padding)}, expected {counts} numbers")


def line_padding(padding: Sequence[int]) -> tuple[int, int]:
    """Relay's `padding` of one axis, one or two numbers, as (left, right)."""
    left, right = expand_padding(padding, 1)
    return left, right


def positive_numbers(value: DenseArrayBase[IntegerType], what: str, count: int) -> tuple[int, ...]:
    """A property with one positive number for each of `count` axes."""
    numbers = value.get_values()
    if len(numbers) != count or any(number < 1 for number in numbers):
        names = {1: "one positive number", 2: "two positive numbers", 3: "three positive numbers"}
        expected = names.get(count, f"{count} positive numbers")
        raise VerifyException(f"'{what}' is {list(numbers)}, expected {expected}")
    return tuple(numbers)


def positive_pair(value: DenseArrayBase[IntegerType], what: str) -> tuple[int, int]:
    """A property with one positive number for each of the two spatial axes."""
    first, second = positive_numbers(value, what, 2)
    return first, second


def window_output(
    image: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Pads,
    *,
    ceil_mode: bool = False,
) -> list[int]:
    """
    How many positions a window takes on each spatial axis. With `ceil_mode` a window that starts
    before the end of the image may reach beyond the padding, also the first one of an image that
    is shorter than the window.
    """
    result: list[int] = []
    axes = len(image)
    for axis, name in enumerate(AXIS_NAMES[-axes:]):
        size, taps = image[axis], window[axis]
        if DYNAMIC_INDEX in (size, taps):
            result.append(DYNAMIC_INDEX)
            continue
        if taps < 1:
            raise VerifyException(f"the {name} of the window is {taps}, expected at least 1")
        extent = (taps - 1) * dilation[axis] + 1
        room = size + pads[axis] + pads[axis + axes] - extent
        count = (-(-room // strides[axis]) if ceil_mode else room // strides[axis]) + 1
        if count < 1 or room < 0 and not ceil_mode:
            raise VerifyException(
                f"the window covers {extent} elements, the padded {name} is only "
                f"{size + pads[axis] + pads[axis + axes]}"
            )
        # A window that would start in the padding after the image does not exist.
        if ceil_mode and may_exceed((count - 1) * strides[axis], size + pads[axis] - 1):
            within = (size + pads[axis] - 1) // strides[axis] + 1
            count = larger(count - 1, smaller(count, within))
        result.append(count)
    return result


def transposed_window_output(
    image: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    pads: Pads,
    output_padding: Sequence[int],
) -> list[int]:
    """
    The size of the image on which windows take `image` positions on each spatial axis:
    `output_padding` is what the last window leaves at the end.
    """
    if len(output_padding) != len(image) or any(extra < 0 for extra in output_padding):
        count = {1: "one number that is", 2: "two numbers that are", 3: "three numbers that are"}
        raise VerifyException(
            f"'output_padding' is {list(output_padding)}, expected {count[len(image)]} not negative"
        )
    result: list[int] = []
    axes = len(image)
    for axis, name in enumerate(AXIS_NAMES[-axes:]):
        size, taps = image[axis], window[axis]
        if DYNAMIC_INDEX in (size, taps):
            result.append(DYNAMIC_INDEX)
            continue
        if taps < 1:
            raise VerifyException(f"the {name} of the window is {taps}, expected at least 1")
        reach = (size - 1) * strides[axis] + (taps - 1) * dilation[axis] + 1
        length = reach - pads[axis] - pads[axis + axes] + output_padding[axis]
        if length < 1:
            raise VerifyException(f"the {name} of the result is {length}, expected at least 1")
        result.append(length)
    return result
