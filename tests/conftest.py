"""What all tests share: they compile anew, leave nothing in the user's cache, and belong to tiers."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings
from tiers import DEFAULT, in_random_order, quick_tests, slow_first

settings.register_profile("test", derandomize=True, deadline=None, max_examples=DEFAULT)
settings.register_profile("extensive", deadline=None, max_examples=20 * DEFAULT)
settings.load_profile("test")


@pytest.fixture(scope="session", autouse=True)
def no_cache() -> Iterator[None]:
    """Switches the cache of compiled models off, in child processes too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XRELAY_CACHE_SIZE", "0")
        yield


@pytest.fixture(autouse=True)
def samples_of_its_own(request: pytest.FixtureRequest) -> None:
    """
    Each test draws the same samples, whichever ran before it on this worker: data by the order of
    tests would reach the corners where a peer is wrong (Softplus of more than 88) now and then.
    """
    samples = getattr(request.module, "SAMPLES", None)
    if hasattr(samples, "restart"):  # tests/unit/backends has a table of that name.
        samples.restart(request.node.nodeid)


def pytest_collection_finish() -> None:
    """
    What is imported and collected stays: the garbage collector need not look through it again and
    again, which would take a quarter of the time of tests that compile. What tests keep for others
    it looks through less often than Python has it do.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--random-order`."""
    parser.addoption(
        "--random-order",
        metavar="SEED",
        help="shuffle the files, and the tests in each: no test may depend on another",
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Says which order it was, so that one can have it again. `-q` hides what stands in front."""
    seed = config.getoption("random_order")
    if seed is not None:
        terminalreporter.write_line(f"in random order: --random-order {seed}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of `make quick`, before pytest selects by marks, and puts all in order."""
    for item in quick_tests(items):
        item.add_marker("quick")
    seed = config.getoption("random_order")
    items[:] = slow_first(items) if seed is None else in_random_order(items, seed)
