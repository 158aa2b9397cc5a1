"""What the execution tests share: new graphs, and the targets whose code runs here."""

from collections.abc import Callable

import pytest
from graphs import Graph
from tiers import out_of_turn
from vector_functions import REGISTER_FILES, targets_here

from xrelay.lowering.emit.target import TARGETS


@pytest.fixture
def graph() -> Graph:
    """A new graph."""
    return Graph()


@pytest.fixture
def new_graph() -> Callable[[int], Graph]:
    """Makes graphs from seeds."""
    return Graph


@pytest.fixture(params=REGISTER_FILES)
def target(request: pytest.FixtureRequest) -> str:
    """Each named target without dot products whose code this machine can run."""
    return runnable(request.param)


@pytest.fixture(params=TARGETS)
def any_target(request: pytest.FixtureRequest) -> str:
    """Each named target whose code this machine can run."""
    return runnable(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Targets take turns where a test says so; all of them are for `make conformance`."""
    for item in out_of_turn(items, targets_here()):
        item.add_marker("extensive")


def runnable(target: str) -> str:
    """The target; a test of one whose code this machine cannot run is skipped."""
    if target not in targets_here(TARGETS):
        pytest.skip(f"this processor cannot run code for {target}")
    return target
