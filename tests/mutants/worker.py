"""
Processes that run tests with other code than the files hold.

A process is forked from one that has imported what the tests need of others, so that it starts at once. It tells
which test it runs; the time of a test is limited by the system, whatever the test does.
"""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutants import served
from tests.mutants.recording import Ran, Recorder

MEMORY = 12 * 2**30
"""The bytes that a process may write to; browsers set apart far more addresses than that."""
IMPORTING = 90.0
"""The seconds of processor time for importing a group of test files."""
SPARE, SLOWER = 10.0, 10.0
"""A test may take so many seconds, and so many times what it takes otherwise, of processor time."""
BY_CLOCK = 20.0
"""And so many times that by the clock, as others use the machine as well."""

FINE = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
PASSED, FAILED, CRASHED, TIMEOUT, BUDGET = "passed", "failed", "crashed", "timeout", "budget"
TYPES = "types"
"""No test fails, but pyright finds an error."""
CAUGHT = (FAILED, CRASHED, TIMEOUT)


@dataclass(frozen=True)
class Ending:
    """How tests ended."""

    kind: str
    test: str = ""
    """The test or the file at which they did."""
    detail: str = ""


@dataclass
class Task:
    """Tests that are to be run by one process until one fails."""

    root: Path
    """The top of the tree."""
    stages: Sequence[Mapping[str, float]]
    """Groups of tests in their order, with the seconds that each takes otherwise."""
    codes: Mapping[str, CodeType] = field(default_factory=dict[str, CodeType])
    """What is imported in place of files, by path."""
    blocks: int = 0
    """The number of blocks that the code notes."""
    record: Sequence[str] = ()
    """Tests or files of tests that are all run, whatever fails, to note what they run."""
    budget: float | None = None
    """The seconds of processor time for all of it."""


class Order:
    """A plug-in of pytest that runs some tests in an order, and tells of each."""

    def __init__(self, tests: Mapping[str, float], tell: Callable[[object], None], end: float):
        self.tests = tests
        self.ranks = {name: rank for rank, name in enumerate(tests)}
        self.tell = tell
        self.end = end

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves the tests that were asked for."""
        items[:] = [item for item in items if item.nodeid in self.ranks]
        items.sort(key=lambda item: self.ranks[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Limits the time of a test."""
        if spent() > self.end:
            self.tell(Ending(BUDGET, nodeid))
        limit = SPARE + SLOWER * self.tests[nodeid]
        signal.setitimer(signal.ITIMER_PROF, limit)
        self.tell((nodeid, limit * BY_CLOCK))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tells of a failure."""
        self._reported(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tells of a file that cannot be imported."""
        self._reported(report)

    def pytest_runtest_logfinish(self) -> None:
        """Gives time for what pytest does after a test."""
        signal.setitimer(signal.ITIMER_PROF, IMPORTING)

    def _reported(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.tell(Ending(FAILED, report.nodeid, report.longreprtext[-4000:]))


def spent() -> float:
    """The processor time of this process and of those that it has started, in seconds."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def options(root: Path) -> list[str]:
    """The options of pytest."""
    plugins = [word for name in ("cacheprovider", "xdist") for word in ("-p", f"no:{name}")]
    # Plug-ins that are imported before processes are forked.
    plugins.append("-Wignore::pytest.PytestAssertRewriteWarning")
    return ["-q", "--tb=short", "--color=no", f"--rootdir={root}", *plugins]


def run_stages(task: Task, tell: Callable[[object], None]) -> Ending:
    """Runs groups of tests one after the other, until a test fails."""
    end = float("inf") if task.budget is None else task.budget
    for tests in task.stages:
        order = Order(tests, tell, end)
        signal.setitimer(signal.ITIMER_PROF, IMPORTING)
        tell(("", IMPORTING * BY_CLOCK))
        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        code = pytest.main([*options(task.root), *files], [order])
        if code not in FINE:
            return Ending(FAILED, next(iter(files)), f"pytest ended with {code}")
    return Ending(PASSED)


def run_recorded(task: Task, table: Any, tell: Callable[[object], None]) -> Ran:
    """Runs tests to their end, and gives what each runs."""
    recorder = Recorder(table, spent, tell)
    code = pytest.main([*options(task.root), *task.record], [recorder])
    if code not in (*FINE, pytest.ExitCode.TESTS_FAILED) and not recorder.problems:
        recorder.problems.update(dict.fromkeys(task.record, f"pytest ended with {code}"))
    return recorder.ran()


class Child:
    """A process that does a task."""

    def __init__(self, task: Task, place: Path, others: Iterable["Child"]):
        self.place = place
        served.write(place / "site", task.codes, task.blocks)
        (place / "tmp").mkdir()
        self.current = ""
        self.until = time.monotonic() + IMPORTING * BY_CLOCK
        """When its present test is late by the clock."""
        self.result: Ending | Ran | None = None
        self.connection, remote = Pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                for connection in (self.connection, *(other.connection for other in others)):
                    connection.close()
                self._work(task, remote)
            finally:
                # A mistake of this file.
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(99)
        remote.close()

    def _work(self, task: Task, remote: Connection) -> None:
        os.setsid()
        with (self.place / "log").open("wb") as log, open(os.devnull, "rb") as nothing:
            for stream, number in ((nothing, 0), (log, 1), (log, 2)):
                os.dup2(stream.fileno(), number)
        # What is in the way of these is the parent's.
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(task.root)
        site = str(self.place / "site")
        paths = [site, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        # What wrong code keeps must not be found by anybody else.
        for name in ("TMPDIR", "XDG_CACHE_HOME", "HYPOTHESIS_STORAGE_DIRECTORY"):
            os.environ[name] = str(self.place / "tmp")
        tempfile.tempdir = None
        table = served.serve(task.codes, self.place / "site")

        def tell(message: object) -> None:
            remote.send(message)
            if isinstance(message, Ending | Ran):
                # What tests leave behind goes with the process, at once.
                os._exit(0)

        tell(run_recorded(task, table, tell) if task.record else run_stages(task, tell))

    def listen(self) -> Ending | Ran | None:
        """What it has to tell: a result when it is done, None while it works."""
        while self.connection.poll():
            try:
                told = self.connection.recv()
            except (OSError, EOFError):
                return self._ended()
            if isinstance(told, Ending | Ran):
                self.result = told
            else:
                self.current, seconds = told
                self.until = time.monotonic() + seconds
        if time.monotonic() > self.until:
            self.end()
            return Ending(TIMEOUT, self.current, "by the clock")
        return None

    def _ended(self) -> Ending | Ran:
        _, status = os.waitpid(self.process, 0)
        self._end_others()
        if self.result is not None:
            return self.result
        log = self.log()
        if not os.WIFSIGNALED(status):
            return Ending(CRASHED, self.current, f"exit code {os.WEXITSTATUS(status)}\n{log}")
        if os.WTERMSIG(status) == signal.SIGPROF:
            return Ending(TIMEOUT, self.current, log)
        return Ending(CRASHED, self.current, f"{signal.Signals(os.WTERMSIG(status)).name}\n{log}")

    def log(self) -> str:
        """The end of what it has printed."""
        return (self.place / "log").read_text(errors="replace")[-4000:]

    def end(self) -> None:
        """Ends it, whatever it does."""
        self._end_others()
        with suppress(ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def _end_others(self) -> None:
        """Ends what it has started: it leads a session of its own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)
