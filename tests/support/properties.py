"""
How many examples properties get: a few fixed ones in `make test`, many new ones in `make conformance`,
which runs them with `--hypothesis-profile extensive` (tests/conftest.py).
"""

from hypothesis import settings

DEFAULT = 100
"""Examples of the profile of `make test`, in whose measure tests state theirs."""


def examples(count: int) -> settings:
    """So many examples in `make test`, and in other profiles as many times more as they say."""
    profile = settings()
    return settings(profile, max_examples=max(1, count * profile.max_examples // DEFAULT))
