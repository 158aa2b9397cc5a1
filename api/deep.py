"""Running code that recurses as deep as its input nests."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from xrelay.options import CompileError

T = TypeVar("T")
STACK_BYTES = 1 << 29
"""The stack of the thread. Memory is only taken for what is used of it."""
MOST_CALLS = 200_000
"""How many calls may be inside each other: xDSL takes about a dozen for each nested region."""
FLAT_SUFFIXES = frozenset({".onnx", ".so"})
"""Of files that are read without recursion."""


class TooDeepError(CompileError):
    """A program nests deeper than calls may."""


def with_room_for(model: object, function: Callable[[], T]) -> T:
    """
    What `function` returns. If `model` is the path of a text, in which regions and types nest as deep as anyone
    likes, or a module, calls may nest as well: see `with_deep_stack`.

    Raises TooDeepError where that is not enough.
    """
    is_flat = isinstance(model, str | Path) and Path(model).suffix in FLAT_SUFFIXES
    try:
        if is_flat or type(model).__name__ == "ModelProto":
            return function()
        return with_deep_stack(function)
    except RecursionError as error:
        raise TooDeepError(
            f"the program nests too deeply: xDSL needs more than {MOST_CALLS} calls inside each other"
        ) from error


def with_deep_stack(function: Callable[[], T]) -> T:
    """
    What `function` returns where calls may nest deeper than Python usually allows, in a thread of
    its own. What it raises is raised here.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def body() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        try:
            returned.append(function())
        except BaseException as error:  # noqa: BLE001 raised again by the caller's thread
            raised.append(error)

    with _ROOM.taken():
        _run(threading.Thread(target=body))
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


_ROOM = _Room()
