"""Running code that recurses as deep as its input nests."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STACK_BYTES = 1 << 29
"""The stack of the thread. Memory is only taken for what is used of it."""
MOST_CALLS = 100_000
"""How many calls may be inside each other: xDSL's verifier takes four for each nested region."""


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

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    try:
        sys.setrecursionlimit(max(limit, MOST_CALLS))
        thread = threading.Thread(target=body)
        _run_thread(thread)
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if raised:
        raise raised[0]
    return returned[0]


def _run_thread(thread: threading.Thread) -> None:
    """Runs a thread to its end. Ctrl-C, which only the main thread hears of, ends both."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        thread.start()
        # Not while it starts: then nobody would end it.
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        thread.join()
    except KeyboardInterrupt:
        # It may be writing files, which it removes then. Threads are silent about this exception.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
        )
        thread.join()
        raise
