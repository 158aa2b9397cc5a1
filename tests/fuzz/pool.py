"""Keeps worker processes busy, watches them, and replaces those that die."""

import os
import re
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Self

from tests.fuzz.fuzzer import Fuzzer
from tests.fuzz.worker import CRASH, HANG, INTERRUPTED, Case, Verdict, own_place, shortened, work

BATCH = 16
"""Cases that a worker is given at once."""
LIFE = 4000
"""Cases after which a worker is replaced: what it has kept meanwhile goes with it."""
PATIENCE = 8
"""How many times its processor time a case may take by the clock."""

SHARED_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files are written that nobody keeps; None for the usual place."""


class Worker:
    """A process of the pool."""

    def __init__(self, fuzzer: Fuzzer, place: Path, others: Sequence["Worker"]):
        self.fuzzer = fuzzer
        self.waiting: deque[Case] = deque()
        """The cases that it has been given and has not told about. It is at the first."""
        self.since = time.monotonic()
        """When it began with that, at the latest."""
        self.done = 0
        self.ticks, self.moved = 0, self.since
        """Its processor time, and when that was seen to grow."""
        self.place = place
        (place / "work").mkdir(parents=True)
        self.log = place / "log"
        self.connection, remote = Pipe()
        self.process = os.fork()
        if self.process == 0:
            self._in_child(remote, [self.connection, *(other.connection for other in others)])
        remote.close()

    def _in_child(self, remote: Connection, inherited: Sequence[Connection]) -> None:
        try:
            for connection in inherited:
                connection.close()
            work(self.fuzzer, remote, self.log, self.place / "work")
        finally:
            os._exit(99)

    def give(self, cases: Sequence[Case]) -> None:
        """Gives it something to do."""
        if not self.waiting:
            self.since = time.monotonic()
        self.waiting.extend(cases)
        with suppress(BrokenPipeError):
            self.connection.send(list(cases))

    def verdicts(self) -> Iterator[tuple[Case, Verdict]]:
        """What it has told since; raises EOFError when it has ended."""
        while self.connection.poll():
            try:
                verdict = self.connection.recv()
            except (OSError, EOFError):
                raise EOFError from None
            self.since = time.monotonic()
            self.done += 1
            yield self.waiting.popleft(), verdict

    def is_late(self) -> bool:
        """Whether it takes too long for its case, or waits for what does not come."""
        if not self.waiting:
            return False
        now = time.monotonic()
        ticks = processor_ticks(self.process)
        if ticks != self.ticks:
            self.ticks, self.moved = ticks, now
        waited = now - max(self.moved, self.since)
        return now - self.since > self.fuzzer.seconds * PATIENCE or waited > self.fuzzer.idle

    def ended(self) -> Verdict | None:
        """
        Why it has ended. None when it did so by itself, after a verdict.

        Raises KeyboardInterrupt when it was asked to end.
        """
        _, status = os.waitpid(self.process, 0)
        self.kill_children()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == INTERRUPTED:
            raise KeyboardInterrupt
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return None
        how = (
            signal.Signals(os.WTERMSIG(status)).name
            if os.WIFSIGNALED(status)
            else f"exit code {os.WEXITSTATUS(status)}"
        )
        log = self.printed()
        return Verdict(CRASH, f"{how} in {logged_place(log)}", log)

    def stopped(self) -> Verdict:
        """Ends a process that is late, and says where it was."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGUSR1)
            time.sleep(0.3)
        self.end()
        log = f"nothing for {time.monotonic() - self.since:.0f} s\n{self.printed()}"
        return Verdict(HANG, logged_place(log).partition(":")[0], log)

    def end(self) -> None:
        """Ends the process, whatever it does."""
        self.kill_children()
        with suppress(ChildProcessError):
            if os.waitpid(self.process, os.WNOHANG) == (0, 0):
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)

    def kill_children(self) -> None:
        """Ends what the process has started: it leads a session of its own."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)

    def printed(self) -> str:
        """What it has printed during its last case."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return shortened(text)

    def close(self) -> None:
        """Leaves nothing behind."""
        self.connection.close()
        shutil.rmtree(self.place, ignore_errors=True)


_FRAME = re.compile(r'File "([^"]+)", line \d+ in (\S+)')
"""A line of a stack that `faulthandler` prints, innermost first."""


def logged_place(log: str) -> str:
    """The innermost function of this project in the stacks that a worker has printed."""
    for name, function in _FRAME.findall(log):
        if place := own_place(name, function):
            return place
    return "?"


def processor_ticks(process: int) -> int:
    """The processor time of a process, in the system's units; 0 when it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


class Pool:
    """Several workers for the cases of one fuzzer."""

    def __init__(self, fuzzer: Fuzzer, jobs: int):
        self.fuzzer = fuzzer
        self.jobs = jobs
        self.folder = Path(tempfile.mkdtemp(prefix="xrelay-fuzz-", dir=SHARED_MEMORY))
        self.workers: list[Worker] = []
        self.started = 0
        self.again: deque[Case] = deque()
        """Cases that were given to a worker that died before it came to them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self.workers):
            self._drop(worker)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self,
        cases: Iterable[Case],
        told: Callable[[Case, Verdict], None],
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Runs cases until there are no more or `is_over`, and passes on how each ended."""
        left = iter(cases)
        while True:
            for worker in list(self.workers):
                if worker.done >= LIFE and not worker.waiting:
                    self._drop(worker)
            if not is_over():
                self._feed(left)
            if not any(worker.waiting for worker in self.workers):
                return
            self._listen(told)

    def run_one(self, payload: bytes) -> Verdict:
        """How one input ends."""
        found: list[Verdict] = []
        self.run([payload], lambda _, verdict: found.append(verdict))
        return found[0]

    def _feed(self, left: Iterator[Case]) -> None:
        """Gives batches to the workers that have little to do."""
        for number in range(self.jobs):
            worker = self.workers[number] if number < len(self.workers) else None
            if worker and (worker.done >= LIFE or len(worker.waiting) >= BATCH // 2):
                continue
            batch = [self.again.popleft() for _ in range(min(BATCH, len(self.again)))]
            batch.extend(islice(left, BATCH - len(batch)))
            if not batch:
                return
            (worker or self._start()).give(batch)

    def _start(self) -> Worker:
        self.started += 1
        worker = Worker(self.fuzzer, self.folder / str(self.started), self.workers)
        self.workers.append(worker)
        return worker

    def _drop(self, worker: Worker) -> None:
        worker.end()
        worker.close()
        self.workers.remove(worker)

    def _listen(self, told: Callable[[Case, Verdict], None]) -> None:
        """Hears what the workers tell, and replaces those that have died or hang."""
        wait([worker.connection for worker in self.workers], 0.1)
        for worker in list(self.workers):
            try:
                for case, verdict in worker.verdicts():
                    told(case, verdict)
                if not worker.is_late():
                    continue
                end = worker.stopped()
            except EOFError:
                end = worker.ended()
            # The first case that it has not told about is the one that ended it; others go on.
            if end is not None and worker.waiting:
                told(worker.waiting.popleft(), end)
            self.again.extend(worker.waiting)
            self._drop(worker)
