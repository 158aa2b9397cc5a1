"""Running code that recurses as deep as its input nests."""

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
        try:
            returned.append(function())
        except BaseException as error:  # noqa: BLE001 raised again by the caller's thread
            raised.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    try:
        sys.setrecursionlimit(max(limit, MOST_CALLS))
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if raised:
        raise raised[0]
    return returned[0]
