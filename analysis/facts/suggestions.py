"""What a wrong name was probably meant to be, and what refusals of options say."""

from collections.abc import Iterable
from difflib import get_close_matches

from xdsl.utils.exceptions import PassFailedException


class PassOptionError(PassFailedException):
    """The value of an option cannot be used, at all or for this program: bad usage."""


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """
    The end of a message about an unknown name: a question after the known names that are most like
    it, `most` of them, in whatever case it is written; empty when none is.
    """
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), spellings, most)
    quoted = " or ".join(f"'{spellings[each]}'" for each in close)
    return f"; did you mean {quoted}?" if close else ""


def unknown_choice(option: str, value: str, known: Iterable[str]) -> str:
    """The message about an option whose value is not one of the known ones."""
    accepted = tuple(known)
    return f"'{option}' is '{value}', expected one of {', '.join(accepted)}{did_you_mean(value, accepted)}"


def require_at_least(least: int, **options: int) -> None:
    """Raises PassOptionError for an option that is a smaller number; options are named like their fields."""
    for field, number in options.items():
        if number < least:
            option = field.replace("_", "-")
            raise PassOptionError(f"'{option}' is {number}, expected at least {least}")
