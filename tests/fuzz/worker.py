"""
A process that runs cases one after the other and tells how each ended.

It is forked from a process that has imported everything. It limits its own processor time for each
case, and its memory; what kills it is found out by the pool, which replaces it.
"""

import faulthandler
import gc
import os
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, TypeAlias

from tests.fuzz.fuzzer import Difference, Fuzzer, case_random

ROOT = Path(__file__).parents[2]
TESTS = Path(__file__).parents[1]

ACCEPTED, REFUSED = "accepted", "refused"
CRASH, HANG, MEMORY, TRACEBACK, DIFFERENCE = "crash", "hang", "memory", "traceback", "difference"

INTERRUPTED = 98
"""The exit code of a process that was asked to end: so is the command, and its case is no finding."""


@dataclass(frozen=True)
class Verdict:
    """How a case ended."""

    kind: str
    """ACCEPTED, REFUSED, or one of the findings."""
    place: str = ""
    """What tells findings of a kind apart; of a refusal, the class of the diagnostic."""
    detail: str = ""
    """What a reader needs to understand a finding."""

    @property
    def is_finding(self) -> bool:
        """Whether somebody has to look at it."""
        return self.kind not in (ACCEPTED, REFUSED)

    @property
    def signature(self) -> str:
        """The same for cases with the same cause, as far as one can tell."""
        return f"{self.kind}: {self.place}"


@dataclass(frozen=True)
class Made:
    """The case that a fuzzer makes from a seed and a number."""

    seed: int
    number: int


Case: TypeAlias = Made | bytes
"""A case to be made, or an input that is there already."""


def payload_of(fuzzer: Fuzzer, case: Case) -> bytes:
    """The input of a case."""
    if isinstance(case, bytes):
        return case
    return fuzzer.generate(case_random(fuzzer.name, case.seed, case.number))


class Hang(BaseException):
    """The processor time of a case has run out. No handler of exceptions takes it for an error."""


def work(fuzzer: Fuzzer, connection: Connection, log: Path, folder: Path) -> NoReturn:
    """
    Runs the cases that come through the connection, each of which is a list, and answers with one
    verdict each, until there are no more. What is printed goes to the log.
    """
    _own_process(log)
    _limit_memory(fuzzer.megabytes)
    signal.signal(signal.SIGPROF, _out_of_time)
    gc.freeze()
    warnings.simplefilter("error")
    try:
        while True:
            for case in connection.recv():
                os.ftruncate(2, 0)
                verdict = _run(fuzzer, case, folder)
                connection.send(verdict)
                if verdict.kind in (HANG, MEMORY):
                    # What was interrupted anywhere is in no state to go on with.
                    os._exit(0)
                for left in folder.iterdir():
                    _remove(left)
    except EOFError:
        os._exit(0)


def _own_process(log: Path) -> None:
    """Cuts the ties to the terminal, and has stacks of crashes printed to the log."""
    os.setsid()
    signal.signal(signal.SIGINT, _interrupted)
    signal.signal(signal.SIGTERM, _interrupted)
    handle = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (handle, 1), (handle, 2)):
        os.dup2(source, target)
    faulthandler.enable(2, all_threads=False)
    # The pool asks where a case hangs before it ends it.
    faulthandler.register(signal.SIGUSR1, 2, all_threads=True)


def _limit_memory(megabytes: int) -> None:
    """Lets the process take so much more address space than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _out_of_time(signum: int, frame: FrameType | None) -> None:
    raise Hang


def _interrupted(signum: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def _run(fuzzer: Fuzzer, case: Case, folder: Path) -> Verdict:
    """Runs a case."""
    attempt = _Attempt(fuzzer)
    with attempt:
        fuzzer.check(payload_of(fuzzer, case), folder)
    return attempt.verdict


class _Attempt:
    """A block that takes limited time, and whose exceptions, of any kind, are verdicts."""

    verdict = Verdict(ACCEPTED)

    def __init__(self, fuzzer: Fuzzer):
        self.fuzzer = fuzzer

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, self.fuzzer.seconds)

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if error is not None:
            self.verdict = self._verdict(error)
        return True

    def _verdict(self, error: BaseException) -> Verdict:
        """What an exception says."""
        text = shortened("".join(traceback.format_exception(error)))
        place = _innermost(error)
        match error:
            case Hang():
                # Where time runs out varies: only the file tells hangs apart.
                text = f"more than {self.fuzzer.seconds:g} s of processor time\n{text}"
                return Verdict(HANG, place.partition(":")[0], text)
            case MemoryError():
                return Verdict(MEMORY, place, text)
            case Difference():
                first = str(error).partition("\n")[0]
                return Verdict(DIFFERENCE, first[:200], shortened(str(error)))
            case _ if not isinstance(error, self.fuzzer.refusals):
                return Verdict(TRACEBACK, f"{type(error).__name__} in {place}", text)
            case _ if not str(error).strip():
                return Verdict(TRACEBACK, f"empty {type(error).__name__} in {place}", text)
            case _:
                return Verdict(REFUSED, type(error).__name__)


def shortened(text: str) -> str:
    """A text without the middle of a long one: the pipes between processes hold so much."""
    return text if len(text) <= 6000 else f"{text[:2000]}\n…\n{text[-4000:]}"


def _innermost(error: BaseException) -> str:
    """
    The innermost function of this project in a traceback, or of anything if there is none. Of an
    endless recursion, the function of this project that is there most often.
    """
    frames = [
        (frame.f_code.co_filename, frame.f_code.co_name)
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__
    ]
    own = [place for name, function in frames if (place := own_place(name, function))]
    if not own:
        name, function = frames[-1] if frames else ("?", "?")
        return f"{Path(name).name}:{function}"
    if isinstance(error, RecursionError):
        return Counter(own).most_common(1)[0][0]
    return own[-1]


def own_place(name: str, function: str) -> str | None:
    """How a function of this project is called in signatures; None for others' and for tests."""
    path = Path(name)
    others = path.is_relative_to(TESTS) or path.is_relative_to(sys.prefix)
    if not path.is_relative_to(ROOT) or others or "site-packages" in name:
        return None
    return f"{path.relative_to(ROOT)}:{function}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
