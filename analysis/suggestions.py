"""What a wrong name was probably meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """
    The end of a message about an unknown name: a question after the known name that is most like
    it, in whatever case it is written; empty when none is.
    """
    spellings = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), spellings, 1)
    return f"; did you mean '{spellings[close[0]]}'?" if close else ""
