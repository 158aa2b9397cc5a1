"""What each test runs, as a plug-in of pytest notes it."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

Wrapper = Generator[None, object, object]
"""What stands around a step of pytest."""
PATIENCE = 3600.0
"""The seconds by the clock that a test may take while it is watched."""


@dataclass(frozen=True)
class Noted:
    """One test."""

    outcome: str
    """`passed`, `failed` or `skipped`."""
    seconds: float
    """Processor time."""
    blocks: bytes
    """The blocks that it runs: a bit each, as `numpy.packbits` packs them."""


@dataclass(frozen=True)
class Ran:
    """The tests of some files."""

    tests: dict[str, Noted]
    imports: bytes
    """The blocks that run when modules are imported, packed as well."""
    problems: dict[str, str] = field(default_factory=dict[str, str])
    """Why files have no tests."""


@dataclass(eq=False)
class Recorder:
    """
    Notes what runs from one test to the next. A test runs also what the fixtures that it shares with others ran,
    and what importing its file ran.
    """

    table: Any
    """The blocks that run now, and behind them those that importing ran: a byte each."""
    spent: Callable[[], float]
    """Tells the processor time."""
    tell: Callable[[object], None]
    """Takes the name of each test that starts, and the seconds that it may take by the clock."""
    tests: dict[str, Noted] = field(default_factory=dict[str, Noted])
    problems: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.half = len(self.table) // 2
        self.shared: dict[Any, bytes] = {}
        """The blocks that fixtures of more than one test ran."""
        self.imported = bytes(self.half)
        self.outcome = "passed"

    def _take(self) -> bytes:
        """The blocks that have run since the last call."""
        taken = self.table[: self.half]
        self.table[: self.half] = bytes(self.half)
        return taken

    def pytest_collection_finish(self) -> None:
        """Keeps what importing the tests ran."""
        self.imported = self._take()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keeps why a file cannot be imported."""
        if report.failed:
            self.problems[report.nodeid] = report.longreprtext[-2000:]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Wrapper:
        """Keeps apart what fixtures run that other tests use as well."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._take()
        try:
            return (yield)
        finally:
            self.shared[fixturedef] = self._take()
            self.table[: self.half] = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Wrapper:
        """Notes one test."""
        self.outcome = "passed"
        self.tell((item.nodeid, PATIENCE))
        self._take()
        start = self.spent()
        result = yield
        seconds = self.spent() - start
        names = getattr(item, "fixturenames", ())
        used = [
            ran
            for fixture, ran in self.shared.items()
            if fixture.argname in names and item.nodeid.startswith(fixture.baseid)
        ]
        ran = either([self._take(), self.imported, *used])
        self.tests[item.nodeid] = Noted(self.outcome, seconds, packed(ran))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps how a test ends."""
        if self.outcome != "failed" and report.outcome != "passed":
            self.outcome = report.outcome

    def ran(self) -> Ran:
        """All that was noted."""
        return Ran(self.tests, packed(self.table[self.half :]), self.problems)


def either(tables: list[bytes]) -> bytes:
    """The blocks of any of several tables."""
    ran = 0
    for table in tables:
        ran |= int.from_bytes(table)
    return ran.to_bytes(len(tables[0]))


def packed(table: bytes) -> bytes:
    """A bit for each byte."""
    return np.packbits(np.frombuffer(table, np.uint8)).tobytes()
