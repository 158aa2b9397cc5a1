"""What all tests share: they compile anew, and leave nothing in the user's cache."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_cache() -> Iterator[None]:
    """Switches the cache of compiled models off, in child processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XRELAY_CACHE_SIZE", "0")
        yield
