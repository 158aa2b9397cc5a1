"""How the commands fail: one sentence on stderr, an exit code, no traceback."""

import os
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from itertools import pairwise

from xdsl.utils.exceptions import (
    DiagnosticException,
    InterpretationError,
    ParseError,
    VerifyException,
)

from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.errors import OptionError
from xrelay.placement.errors import PlacementError

FAILED = 1
"""Exit code of a wrong result or a failed compile."""
BAD_INPUT = 2
"""Exit code of bad usage or input."""


MOST_OF_A_LINE = 160
"""Characters of a line of somebody's text in a message."""
_CARETS = re.compile(r"\s*\^+\s*")
_LONG_WORD = re.compile(r"(\S{150})\S{150,}(\S{150})")


class CommandFailed(Exception):
    """A command stops with a sentence and an exit code."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.code = code


@contextmanager
def failing_with(code: int) -> Generator[None]:
    """
    Turns the diagnostics of a stage into the failure of the command. Options and plans that cannot be are bad input
    at whatever stage that shows.
    """
    try:
        yield
    except (OptionError, PassOptionError, PlacementError) as error:
        raise CommandFailed(str(error), BAD_INPUT) from error
    except (DiagnosticException, InterpretationError, ParseError, VerifyException) as error:
        raise CommandFailed(str(error).strip(), code) from error
    except OSError as error:
        where = f"'{error.filename}': " if error.filename else ""
        raise CommandFailed(f"{where}{error.strerror or error}", code) from error
    except MemoryError as error:
        raise CommandFailed("not enough memory for tensors of these shapes", code) from error


def check_words(words: Sequence[str] | None) -> None:
    """Raises CommandFailed for a command line that no shell can give: with NUL, as in no file's name."""
    for word in words or ():
        if "\0" in word:
            raise CommandFailed(f"{word!r} has a NUL character, as no name has", BAD_INPUT)


def run_command(program: str, command: Callable[[], int]) -> int:
    """Runs a command; prints why it fails. Returns the exit code."""
    try:
        try:
            return command()
        finally:
            # What is still buffered, be it a help text, may find that nobody takes it.
            sys.stdout.flush()
    except CommandFailed as error:
        print(f"{program}: error: {shortened(str(error))}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        # The reader of our output has seen enough.
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        print(f"{program}: error: cannot write: {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT


def shortened(message: str) -> str:
    """
    A message whose lines can be read: of a long line of a text only what is around the place that a line of
    carets below it points to, and of a long word, such as a path, the beginning and the end.
    """
    lines = message.split("\n")
    for number, (line, below) in enumerate(pairwise(lines)):
        if len(line) > MOST_OF_A_LINE and _CARETS.fullmatch(below):
            column = below.index("^")
            first = max(0, column - MOST_OF_A_LINE // 2)
            lines[number] = line[first : first + MOST_OF_A_LINE]
            lines[number + 1] = below[first : first + MOST_OF_A_LINE]
            # xDSL's messages begin below the carets.
            for after in range(number + 2, len(lines)):
                if lines[after].startswith(" " * column):
                    lines[after] = lines[after][first:]
    return _LONG_WORD.sub(r"\1…\2", "\n".join(lines))


def _drop_output() -> None:
    """Sends nowhere what standard output does not take: Python writes what is buffered at its end."""
    # A stream that Python code put in its place has no file descriptor.
    with open(os.devnull, "wb") as nowhere, suppress(UnsupportedOperation):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
