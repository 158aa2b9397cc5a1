"""What the reader of Relay text raises."""

import re

from xdsl.utils.exceptions import DiagnosticException


class RelayTextError(DiagnosticException):
    """
    A text is not a Relay program: what was found and what was expected, with file, line and
    column, and the line of the text.
    """


class RelayPrintError(DiagnosticException):
    """A module holds something that the Relay text format has no words for."""


class Source:
    """A text and its name, for messages that show where in it they are."""

    def __init__(self, text: str, name: str):
        self.text = text.removeprefix(_BYTE_ORDER_MARK)
        self.name = name

    def error(self, position: int, message: str) -> RelayTextError:
        """The diagnostic about the character at `position`."""
        text = self.text
        line, start = 1, 0
        for line_end in _LINE_END.finditer(text):
            if line_end.end() > position:
                break
            line, start = line + 1, line_end.end()
        last = _LINE_END.search(text, position)
        shown = text[start : len(text) if last is None else last.start()]
        column = position - start
        if len(shown) > _SHOWN:  # Generated lines can be very long.
            first = max(0, column - _SHOWN // 2)
            shown, column_shown = shown[first : first + _SHOWN], column - first
        else:
            column_shown = column
        caret = "".join("\t" if c == "\t" else " " for c in shown[:column_shown]) + "^"
        return RelayTextError(f"{self.name}:{line}:{column + 1}: {message}\n{shown}\n{caret}")


_BYTE_ORDER_MARK = "\ufeff"
"""The mark that some editors begin a file with; it is not part of the text."""

_LINE_END = re.compile(r"\r\n?|\n")

_SHOWN = 160
"""How many characters of a line a message shows at most."""
