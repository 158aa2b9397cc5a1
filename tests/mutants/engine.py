"""Runs the tests that can notice a change, for many changes at once."""

import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from types import CodeType
from typing import Self

from tests.mutants.blocks import noting_code
from tests.mutants.coverage import Coverage, batches, file_of
from tests.mutants.mutant import Equivalent, Mutant
from tests.mutants.project import Project
from tests.mutants.recording import Ran
from tests.mutants.selection import Selector
from tests.mutants.worker import CAUGHT, PASSED, Child, Ending, Task

EQUIVALENT, SURVIVED = "equivalent", "survived"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    ending: Ending
    test: str = ""
    """The test that noticed it."""
    tests: int = 0
    """How many tests can notice it."""
    reason: str = ""
    """Why it is equivalent."""

    @property
    def is_caught(self) -> bool:
        """Whether a test noticed."""
        return self.ending.kind in CAUGHT


Steps = Generator[Task, Ending | Ran, None]
"""What is to be run one after the other; each is told how the one before ended."""


class Pool:
    """Several processes, each of which does one task."""

    def __init__(self, jobs: int):
        self.jobs = jobs
        self.folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.busy: dict[Child, Steps] = {}
        self.started = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in list(self.busy):
            child.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, work: Iterable[Steps], tick: Callable[[], None] = lambda: None) -> None:
        """Does all the work, and calls `tick` now and then."""
        left = iter(work)
        more = True
        while more or self.busy:
            while more and len(self.busy) < self.jobs:
                steps = next(left, None)
                more = steps is not None
                if steps is not None:
                    self._go_on(steps, None)
            wait([child.connection for child in self.busy], 0.2)
            for child, steps in list(self.busy.items()):
                told = child.listen()
                if told is not None:
                    del self.busy[child]
                    child.connection.close()
                    shutil.rmtree(child.place, ignore_errors=True)
                    self._go_on(steps, told)
            tick()

    def _go_on(self, steps: Steps, told: Ending | Ran | None) -> None:
        with suppress(StopIteration):
            task = next(steps) if told is None else steps.send(told)
            self.started += 1
            self.busy[Child(task, self.folder / str(self.started), self.busy)] = steps


@dataclass
class Engine:
    """Examines mutants of a project."""

    project: Project
    selector: Selector
    equivalents: Sequence[Equivalent]
    told: Callable[[Verdict], None]
    budget: float | None = None
    """The seconds of processor time for a mutant."""
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """By the identity of the mutant."""
    unreliable: set[str] = field(default_factory=set[str])
    """The tests that fail without a change."""

    def run(self, drawn: Sequence[Mutant], pool: Pool, tick: Callable[[], None]) -> None:
        """
        Examines mutants. Then the tests that caught them are run without a change: where one fails, the mutants that
        it caught are examined again without it.
        """
        left = list(drawn)
        trusted: set[str] = set()
        while left:
            pool.run(map(self.examine, left), tick)
            caught_by = {each.test for each in self.verdicts.values() if each.is_caught}
            pool.run(map(self.check, shares(caught_by - trusted, pool.jobs)), tick)
            trusted |= caught_by
            left = [each.mutant for each in self.verdicts.values() if each.test in self.unreliable]

    def examine(self, mutant: Mutant) -> Steps:
        """Finds out what becomes of a mutant."""
        for each in self.equivalents:
            if each.is_of(mutant):
                self.tell(Verdict(mutant, Ending(EQUIVALENT), reason=each.reason))
                return
        stages = [
            {name: each for name, each in stage.items() if name not in self.unreliable}
            for stage in self.selector.stages(mutant)
        ]
        codes = {str(self.project.root / mutant.source.path): self.code(mutant)}
        stages = [stage for stage in stages if stage]
        ending: Ending | Ran = Ending(PASSED)
        if stages:
            ending = yield Task(self.project.root, stages, codes, budget=self.budget)
        assert isinstance(ending, Ending)
        if ending.kind == PASSED:
            ending = Ending(SURVIVED)
        self.tell(Verdict(mutant, ending, noticing(stages, ending), sum(map(len, stages))))

    def tell(self, verdict: Verdict) -> None:
        """Passes a verdict on."""
        self.verdicts[verdict.mutant.identity] = verdict
        self.told(verdict)

    def check(self, tests: Sequence[str]) -> Steps:
        """Runs tests without a change."""
        ran = yield Task(self.project.root, (), record=tests)
        ended = ran.tests if isinstance(ran, Ran) else {}
        self.unreliable.update(
            test for test in tests if test not in ended or ended[test].outcome != "passed"
        )

    def code(self, mutant: Mutant) -> CodeType:
        """The code of the changed file."""
        path = str(self.project.root / mutant.source.path)
        return compile(mutant.data, path, "exec", dont_inherit=True)


def noticing(stages: Iterable[Iterable[str]], ending: Ending) -> str:
    """The test that noticed something; of a file that cannot be imported, the first."""
    if ending.kind not in CAUGHT:
        return ""
    tests = [name for stage in stages for name in stage]
    if ending.test in tests:
        return ending.test
    return next((test for test in tests if file_of(test) == file_of(ending.test)), "")


def shares(tests: Iterable[str], count: int) -> list[list[str]]:
    """Tests in as many lists, those of a file together."""
    ordered = sorted(filter(None, tests))
    size = -(-len(ordered) // count)
    return [ordered[first : first + size] for first in range(0, len(ordered), max(size, 1))]


def record(
    project: Project,
    coverage: Coverage,
    files: Sequence[str],
    pool: Pool,
    told: Callable[[Sequence[str]], None],
) -> None:
    """Notes what the tests of some files run."""
    if not files:
        return
    codes = {
        str(project.root / source.path): noting_code(
            source, coverage.number, str(project.root / source.path)
        )
        for source in project.sources
    }

    def steps(together: Sequence[str]) -> Steps:
        ran = yield Task(project.root, (), codes, len(coverage.numbers), together)
        if isinstance(ran, Ending):
            problem = f"{ran.kind}: {ran.test}\n{ran.detail}"
            ran = Ran({}, b"", dict.fromkeys(together, problem))
        coverage.store(project.root, together, ran)
        told(together)

    pool.run(map(steps, batches(files)))
