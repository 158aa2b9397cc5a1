"""
What users pass to functions: checked where it comes in, with messages that name the argument, say what
was found and what is expected. Each function takes the exception to raise.
"""

import os
from collections.abc import Iterable
from math import inf
from numbers import Real
from operator import index
from pathlib import Path
from reprlib import repr as shown
from typing import SupportsIndex, cast

from xdsl.utils.exceptions import DiagnosticException

Refusal = type[DiagnosticException]

MOST_LISTED = 8
"""Of so many things a message names all."""


def kind_of(value: object) -> str:
    """The type of a value with its article, for messages: "an int"."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def count_given(count: int, noun: str) -> str:
    """How many of a kind are given: "1 input is given"."""
    return f"{count} {noun} is given" if count == 1 else f"{count} {noun}s are given"


def few(texts: Iterable[object], separator: str = ", ") -> str:
    """What a message names one after the other: the first ones of many, and how many more there are."""
    every = list(texts)
    shown_texts = separator.join(map(str, every[:MOST_LISTED]))
    more = len(every) - MOST_LISTED
    return f"{shown_texts} … and {more} more" if more > 0 else shown_texts or "none"


def path_argument(name: str, value: object, refusal: Refusal) -> Path:
    """The path that a text, or an object for a path, stands for, whether or not a file is there."""
    text = value
    if isinstance(value, os.PathLike):  # Of bytes, it may be.
        text = cast(object, os.fspath(cast(os.PathLike[str], value)))
    if not isinstance(text, str):
        raise refusal(f"{name} is {shown(text)}, expected the path of a file, a str or a Path")
    try:
        if b"\0" in os.fsencode(text):
            raise ValueError("it has a NUL character")
    except ValueError as error:
        raise refusal(f"{name} is {shown(text)}, which no file can be called: {error}") from None
    return Path(text)


def number_argument(name: str, value: object, low: int, high: int | None, refusal: Refusal) -> int:
    """A whole number, of Python's or of NumPy's, from `low` to `high`, if there is a highest."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise refusal(f"{name} is {shown(value)}, expected a whole number")
    try:
        number = index(value)
    except TypeError:  # An array of several numbers, for one
        raise refusal(f"{name} is {shown(value)}, expected a whole number") from None
    if number < low or (high is not None and number > high):
        expected = f"at least {low}" if high is None else f"{low} to {high}"
        raise refusal(f"{name} is {shown(number)}, expected {expected}")
    return number


def check_seconds(
    name: str, value: object, refusal: Refusal, *, positive: bool = False, finite: bool = False
) -> None:
    """Raises `refusal` for what is no number of seconds of 0 or more: more than 0, or finite, where that is asked for."""
    is_number = not isinstance(value, bool) and isinstance(value, Real)
    seconds = cast(float, value) if is_number else -1.0
    if seconds > 0 and (not finite or seconds < inf) or (seconds == 0 and not positive):
        return
    kind = "a finite number" if finite else "a number"
    raise refusal(
        f"{name} is {shown(value)}, expected {kind} of seconds, {'more than 0' if positive else '0 or more'}"
    )


def check_flag(name: str, value: object, refusal: Refusal) -> None:
    """Raises `refusal` for what is neither True nor False, as "no"."""
    if not isinstance(value, bool):
        raise refusal(f"{name} is {shown(value)}, expected True or False")


def check_callable(name: str, value: object, refusal: Refusal) -> None:
    """Raises `refusal` for what cannot be called."""
    if not callable(value):
        raise refusal(f"{name} is {shown(value)}, expected a function")


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""What may stand behind a number of bytes."""


def byte_count(text: str) -> int | None:
    """The bytes that a text such as 500, 500M or 4G says; None for another text."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not (number.isascii() and number.isdigit() and unit in UNITS):
        return None
    return int(number) * UNITS[unit]
