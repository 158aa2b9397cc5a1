"""What all tests share: they compile anew, and leave nothing in the user's cache."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings
from properties import DEFAULT

settings.register_profile("test", derandomize=True, deadline=None, max_examples=DEFAULT)
settings.register_profile("extensive", deadline=None, max_examples=20 * DEFAULT)
settings.load_profile("test")


@pytest.fixture(scope="session", autouse=True)
def no_cache() -> Iterator[None]:
    """Switches the cache of compiled models off, in child processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XRELAY_CACHE_SIZE", "0")
        yield


def pytest_collection_finish() -> None:
    """
    What is imported and collected stays: the garbage collector need not look through it again and
    again, which would take a quarter of the time of tests that compile.
    """
    gc.collect()
    gc.freeze()
