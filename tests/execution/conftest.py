"""What the execution tests share: new graphs, and the targets whose code runs here."""

from collections.abc import Callable

import pytest
from graphs import Graph
from vector_functions import targets_here

from xrelay.lowering.emit.target import TARGETS


@pytest.fixture
def graph() -> Graph:
    """A new graph."""
    return Graph()


@pytest.fixture
def new_graph() -> Callable[[int], Graph]:
    """Makes graphs from seeds."""
    return Graph


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each named target whose code this machine can run."""
    if request.param not in targets_here():
        pytest.skip(f"this processor cannot run code for {request.param}")
    return request.param
