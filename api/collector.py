"""Pausing Python's cyclic garbage collector while a compiler builds its data structures."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """
    No cyclic garbage collection meanwhile. Building IR makes objects by the hundred thousand that
    stay alive; the collector would look through all of them over and over, which takes as long as
    building them. Also usable as a decorator.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
