"""
Running code that recurses as deep as its input nests: xDSL's parser, its printer, and the comparison of types.

Hardly any program needs more calls than Python allows, so it is tried without ceremony first (`with_room`). Those
that nest deeper are begun anew in a thread with a large stack, while Python's limit is higher.
"""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from xrelay.errors import CompileError

T = TypeVar("T")
STACK_BYTES = 1 << 29
"""The stack of the thread. Memory is only taken for what is used of it."""
MOST_CALLS = 200_000
"""How many calls may be inside each other in it."""
CALLS_PER_REGION = 12
"""Calls that xDSL makes within each other for every region around an operation, at most."""
CALLS_PER_TUPLE = 8
"""The same for every level of a type of tuples in tuples."""
ROOM = 500
"""Calls that there is always room for: half of Python's limit. The others are around ours."""


class TooDeepError(CompileError):
    """A program nests deeper than calls may."""

    def __init__(self):
        super().__init__(
            f"the program nests too deeply: xDSL needs more than {MOST_CALLS} calls inside each other"
        )


def with_room(function: Callable[[], T]) -> T:
    """
    What `function` returns. If it needs more calls within each other than Python allows, it is called once more
    on a deep stack: until it knows how deep its program nests (`require_room`) it must not change anything.

    Raises TooDeepError where the deep stack is not enough.
    """
    # The limit is that of all threads: while it is higher for another one, it does not save this one's stack.
    if not _ROOM.users:
        try:
            return function()
        except RecursionError:
            pass
    return with_deep_stack(function)


def nests_deeply(regions: int, tuples: int) -> bool:
    """Whether work on a program with so many regions and tuples in each other may need a deep stack."""
    return CALLS_PER_REGION * regions + CALLS_PER_TUPLE * tuples > ROOM


def require_room(regions: int, tuples: int) -> None:
    """Raises RecursionError for a program that nests deeply, unless this is a deep stack."""
    if nests_deeply(regions, tuples) and not _HERE.is_deep:
        raise RecursionError(f"{regions} regions and {tuples} tuples are within each other")


def with_deep_stack(function: Callable[[], T]) -> T:
    """
    What `function` returns where calls may nest deeper than Python usually allows, in a thread of
    its own. What it raises is raised here.

    Raises TooDeepError where they nest deeper still.
    """
    if _HERE.is_deep:
        return function()
    returned: list[T] = []
    raised: list[BaseException] = []

    def body() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        _HERE.is_deep = True
        try:
            returned.append(function())
        except BaseException as error:  # noqa: BLE001 raised again by the caller's thread
            raised.append(error)

    with _ROOM.taken():
        _run(threading.Thread(target=body))
    if raised and isinstance(raised[0], RecursionError):
        raise TooDeepError from raised[0]
    if raised:
        raise raised[0]
    return returned[0]


def _run(thread: threading.Thread) -> None:
    """Runs a thread to its end. Ctrl-C, which only the main thread hears of, ends both."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        _ROOM.start(thread)
        # Not before it runs: then nobody would end it.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        thread.join()
    except KeyboardInterrupt:
        # It may be writing files, which it removes then. Threads are silent about this exception.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
        )
        thread.join()
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class _Here(threading.local):
    """What a thread knows of itself."""

    is_deep = False
    """Whether it has a deep stack."""


class _Room:
    """Python's limit of calls and of new stacks, which all threads share."""

    def __init__(self):
        self.lock = threading.Lock()
        self.users = 0
        """How many threads need the higher limit."""
        self.limit = 0
        """The limit when there are none."""

    @contextmanager
    def taken(self) -> Generator[None]:
        """Raises the limit of calls until the last user leaves."""
        with self.lock:
            if self.users == 0:
                self.limit = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self.limit, MOST_CALLS))
            self.users += 1
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    sys.setrecursionlimit(self.limit)

    def start(self, thread: threading.Thread) -> None:
        """Starts a thread with a large stack."""
        with self.lock:
            size = threading.stack_size(STACK_BYTES)
            try:
                thread.start()
            finally:
                threading.stack_size(size)


_HERE = _Here()
_ROOM = _Room()
