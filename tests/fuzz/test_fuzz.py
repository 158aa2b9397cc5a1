"""The fuzzers' own machinery, every input that once showed a fault, and a few new ones of each kind."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from onnx.helper import make_node
from rich.console import Console
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz import findings
from tests.fuzz.__main__ import fuzz
from tests.fuzz.findings import Report
from tests.fuzz.fuzzer import Difference, Fuzzer, bytes_of, case_random, without_parts
from tests.fuzz.onnx.exceptions import documented_elements
from tests.fuzz.onnx.values import Array
from tests.fuzz.pool import Pool
from tests.fuzz.registry import FUZZERS, fuzzer
from tests.fuzz.roundings import Range
from tests.fuzz.worker import Case, Made, Verdict

SEEDS = Path(__file__).parent / "seeds"


class Trap(Fuzzer):
    """Does what a letter of its input says."""

    name: ClassVar[str] = "trap"
    suffix: ClassVar[str] = ".trap"
    seconds: ClassVar[float] = 0.3
    megabytes: ClassVar[int] = 512

    def generate(self, random: Random) -> bytes:
        return random.choice("accept refuse").encode() * random.randint(1, 30)

    def check(self, payload: bytes, folder: Path) -> None:
        assert not list(folder.iterdir())
        (folder / "left").mkdir()
        if b"A" in payload:
            os.abort()
        if b"K" in payload:
            os.kill(os.getpid(), signal.SIGKILL)
        if b"I" in payload:
            os.kill(os.getpid(), signal.SIGTERM)
        if b"H" in payload:
            while True:
                pass
        if b"S" in payload:
            time.sleep(1000)
        if b"M" in payload:
            bytearray(2**30)
        if b"T" in payload:
            raise KeyError("of the trap")
        if b"D" in payload:
            raise Difference("1 is not 2")
        if b"r" in payload:
            raise DiagnosticException("it is refused")
        if b"E" in payload:
            raise DiagnosticException("")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(Trap(), 2) as pool:
        yield pool


@pytest.mark.parametrize(
    ("letter", "signature"),
    [
        ("a", "accepted: "),
        ("r", "refused: DiagnosticException"),
        ("A", "crash: SIGABRT in ?"),
        ("K", "crash: SIGKILL in ?"),
        ("H", "hang: test_fuzz.py"),
        ("S", "hang: ?"),
        ("M", "memory: test_fuzz.py:check"),
        ("T", "traceback: KeyError in test_fuzz.py:check"),
        ("D", "difference: 1 is not 2"),
        ("E", "traceback: empty DiagnosticException in test_fuzz.py:check"),
    ],
)
def test_ends_of_a_case(pool: Pool, letter: str, signature: str) -> None:
    verdict = pool.run_one(letter.encode())
    assert verdict.signature == signature
    assert verdict.is_finding == (letter not in "ar")
    assert pool.run_one(b"a").signature == "accepted: ", "the pool goes on"


def test_others_of_a_batch_go_on(pool: Pool) -> None:
    ends: dict[Case, Verdict] = {}
    cases = [f"{'AKMTr'[number % 5]}{number}".encode() for number in range(50)]
    pool.run(cases, lambda case, verdict: ends.update({case: verdict}))
    assert set(ends) == set(cases)
    assert {case[:1]: ends[case].kind for case in cases} == {
        b"A": "crash",
        b"K": "crash",
        b"M": "memory",
        b"T": "traceback",
        b"r": "refused",
    }


def test_findings_are_grouped_made_smaller_and_written(pool: Pool, tmp_path: Path) -> None:
    report = Report(pool.fuzzer)
    cases = [b"aaaa\nbTbb\ncc", b"dddddTd", b"AT\nT\nA" * 5, b"aaa", b"rrr"]
    pool.run(cases, report.add)
    assert (report.cases, report.accepted, report.refused) == (5, 1, 1)
    assert {name: each.count for name, each in report.findings.items()} == {
        "traceback: KeyError in test_fuzz.py:check": 2,
        "crash: SIGABRT in ?": 1,
    }
    for finding in report.findings.values():
        findings.minimise(finding, pool, 30)
    paths = list(findings.write(report, tmp_path))
    assert sorted(path.read_bytes() for path in paths) == [b"A", b"T"]
    for path in paths:
        assert f"--replay {path}" in path.with_suffix(".txt").read_text()


def test_an_interrupt_is_no_finding() -> None:
    told: list[Verdict] = []
    with Pool(Trap(), 1) as pool, pytest.raises(KeyboardInterrupt):
        pool.run([b"a", b"I", b"a"], lambda _, verdict: told.append(verdict))
    assert [verdict.signature for verdict in told] == ["accepted: "]


def test_findings_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.__main__.FINDINGS", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        fuzz(Report(Trap()), iter([b"Taa", b"Ta", b"I"]), 3, None, 1, Console(quiet=True))
    assert [path.read_bytes() for path in (tmp_path / "trap").glob("*.trap")] == [b"Taa"]


def test_a_case_can_be_made_again() -> None:
    trap = Trap()
    made = [trap.generate(case_random("trap", 3, number)) for number in range(20)]
    assert made == [trap.generate(case_random("trap", 3, number)) for number in range(20)]
    assert len(set(made)) > 10


def test_reductions_find_the_least() -> None:
    wanted = {ord("x"), ord("z")}
    reductions = without_parts(b"a-x-b-y-z" * 3, bytes_of)
    shows: bool | None = None
    while True:
        try:
            payload = next(reductions) if shows is None else reductions.send(shows)
        except StopIteration as end:
            assert sorted(end.value) == sorted(wanted)
            return
        shows = wanted <= set(payload)


BIG = 2**60
INF, NAN = np.inf, np.nan
RANGES: tuple[tuple[str, list[list[float]], list[float], list[bool]], ...] = (
    ("int64", [[BIG, 0, 5]], [BIG + 1, 0, 6], [False, True, False]),
    ("int64", [[BIG, 0, 5], [BIG + 1, 3, 5]], [BIG + 3, -6, 4], [True, True, False]),
    ("uint64", [[2**64 - 1, 1], [2**64 - 2, 1]], [2**64 - 4, 2], [True, False]),
    ("bool", [[0, 0, 1], [0, 1, 1]], [1, 1, 0], [False, True, False]),
    ("float32", [[1.0, 1.0], [2.0, 1.0]], [3.5, 1.5], [True, False]),
    # A run that overflows at an element says that it may be large, with the same sign, and no more.
    ("float32", [[1e38] * 5, [INF] * 5], [INF, 2e38, 1.0, -INF, NAN], [True, True, False, False, False]),
    ("float32", [[-1e38, 1.0], [-INF, 1.0]], [-2e38, 9.0], [True, False]),
    ("float32", [[INF, NAN], [INF, NAN]], [1.0, 1.0], [False, False]),
    ("float32", [[1.0, INF], [NAN, 1.0]], [NAN, 2.0], [True, True]),
)  # fmt: skip


def test_what_roundings_explain() -> None:
    for dtype, (first, *others), found, inside in RANGES:
        spanned = Range(np.array(first, dtype))
        for run in others:
            spanned.add(np.array(run, dtype))
        assert spanned.has(np.array(found, dtype)).tolist() == inside, (dtype, first, others, found)


def test_elements_that_may_differ() -> None:
    """Those that the operator computes from what the exception is about, and no others."""

    def where(kind: str, data: Array, **attributes: Any) -> Any:
        node = make_node(kind, ["x"], ["y"], **attributes)
        return np.broadcast_to(documented_elements(node, {"x": data}), data.shape).tolist()

    rows = np.array([[1.0, 1.0], [1.0, 2.0], [NAN, 0.0]])
    assert where("MeanVarianceNormalization", rows, axes=[1]) == [
        [True] * 2,
        [False] * 2,
        [True] * 2,
    ]
    assert where("MeanVarianceNormalization", rows[:2], axes=[0]) == [[True, False]] * 2
    assert where("MeanVarianceNormalization", rows[:0], axes=[0]) == []
    channels = np.array([0.0, 1.0, 9.0, 0.0]).reshape(1, 4, 1)
    behind = [False, True, True, True]
    both = np.concatenate([channels, np.ones_like(channels)], axis=2)
    assert where("LRN", both, size=3) == [[[each, False] for each in behind]]
    assert where("Relu", rows) == [[False] * 2] * 3
    numbers = np.array([NAN, np.inf, -129.5, -128.5, 127.5, 128.0])
    assert where("Cast", numbers, to=TensorProto.INT8) == [True, True, True, False, False, True]
    assert where("Cast", numbers, to=TensorProto.INT64) == [True, True, *[False] * 4]
    assert where("Cast", numbers, to=TensorProto.FLOAT16) == [False] * 6
    assert where("CastLike", numbers[:3]) == [True, True, False]


READERS = ("mlir", "onnx-bytes", "relay-text")
"""Fuzzers whose inputs are files as users have them."""


def require_anything_read(pool: Pool) -> None:
    """Bytes and texts that look like nothing at all are refused, too."""

    @settings(derandomize=True, max_examples=40, deadline=None, database=None)
    @given(st.binary() | st.text().map(str.encode))
    def is_read(payload: bytes) -> None:
        verdict = pool.run_one(payload)
        assert not verdict.is_finding, f"{verdict.signature}\n{verdict.detail}"

    is_read()


@pytest.mark.slow
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzzer(name: str) -> None:
    """What was found once stays mended, and a few cases find nothing new."""
    each = fuzzer(name)
    each.prepare()
    found, told = findings_told()
    with Pool(each, 1) as pool:
        pool.run(seeds(SEEDS / name), told)
        pool.run([Made(0, number) for number in range(each.quick)], told)
        if name in READERS:
            require_anything_read(pool)
    assert not found, "\n".join(found)


@pytest.mark.extensive
@pytest.mark.parametrize("name", sorted(path.parent.name for path in SEEDS.glob("*/slow")))
def test_slow_seeds(name: str) -> None:
    """Those whose check takes half a second or more stay mended."""
    found, told = findings_told()
    with Pool(fuzzer(name), 1) as pool:
        pool.run(seeds(SEEDS / name / "slow"), told)
    assert not found, "\n".join(found)


def seeds(folder: Path) -> list[bytes]:
    """The inputs in a folder, of which there is one at least where there is a folder."""
    found = [path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file()]
    assert found or not folder.exists()
    return found


def findings_told() -> tuple[list[str], Callable[[object, Verdict], None]]:
    """Findings, and what is told them."""
    found: list[str] = []

    def told(case: object, verdict: Verdict) -> None:
        if verdict.is_finding:
            found.append(f"{case!r}: {verdict.signature}\n{verdict.detail}")

    return found, told
