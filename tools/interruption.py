"""How commands end: when they are interrupted, and with which streams they begin."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ends, as of one that the signal kills: 128 + SIGINT."""


def open_closed_streams() -> None:
    """
    Opens the standard streams that were closed (`>&-`), so that no file takes their place. Reading
    or writing them is refused, as it would be; only what goes to standard error is lost.
    """
    for number, (name, way, mode) in enumerate(
        (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    ):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, way)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        setattr(sys, name, os.fdopen(number, mode, closefd=False))


def until_interrupted(command: Callable[[], int]) -> int:
    """Runs the whole of a command. Returns its exit code."""
    open_closed_streams()
    heard: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        try:
            return command()
        finally:
            # All is done: from here on the signal ends the process without a word.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:
        # Modules that are not loaded to their end raise other errors in its place.
        if heard:
            return INTERRUPTED
        raise
