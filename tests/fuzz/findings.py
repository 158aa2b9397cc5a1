"""What the cases of a fuzzer have shown: counts, and of each finding the smallest input."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.fuzzer import Fuzzer
from tests.fuzz.pool import Pool
from tests.fuzz.worker import ACCEPTED, REFUSED, Case, Made, Verdict, payload_of


@dataclass
class Finding:
    """Cases with one signature."""

    verdict: Verdict
    case: Case
    """The first of them."""
    payload: bytes
    """The smallest input."""
    count: int = 1
    repeats: bool = True
    """Whether the input alone shows it again in a new process."""


@dataclass
class Report:
    """How the cases of a fuzzer have ended."""

    fuzzer: Fuzzer
    ends: Counter[str] = field(default_factory=Counter[str])
    """The number of cases by kind of verdict."""
    refusals: Counter[str] = field(default_factory=Counter[str])
    """The number of refused cases by class of the diagnostic."""
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    """By signature."""
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many have ended."""
        return self.ends.total()

    @property
    def accepted(self) -> int:
        """How many did what they are for."""
        return self.ends[ACCEPTED]

    @property
    def refused(self) -> int:
        """How many ended with a diagnostic."""
        return self.ends[REFUSED]

    def add(self, case: Case, verdict: Verdict) -> bool:
        """Notes how a case ended, and says whether that is a new finding."""
        self.ends[verdict.kind] += 1
        if verdict.kind == REFUSED:
            self.refusals[verdict.place] += 1
        if not verdict.is_finding:
            return False
        payload = payload_of(self.fuzzer, case)
        finding = self.findings.get(verdict.signature)
        if finding is None:
            self.findings[verdict.signature] = Finding(verdict, case, payload)
            return True
        finding.count += 1
        if len(payload) < len(finding.payload):
            finding.payload, finding.verdict, finding.case = payload, verdict, case
        return False


def minimise(finding: Finding, pool: Pool, seconds: float) -> None:
    """Makes the input of a finding smaller as long as it shows the same, for so long."""
    signature = finding.verdict.signature
    finding.repeats = pool.run_one(finding.payload).signature == signature
    if not finding.repeats:
        return
    end = time.monotonic() + seconds
    reductions = pool.fuzzer.reductions(finding.payload)
    shows: bool | None = None
    while time.monotonic() < end:
        try:
            payload = next(reductions) if shows is None else reductions.send(shows)
        except StopIteration:
            return
        verdict = pool.run_one(payload)
        shows = verdict.signature == signature
        if shows and len(payload) <= len(finding.payload):
            finding.payload, finding.verdict = payload, verdict


def write(report: Report, folder: Path) -> Iterator[Path]:
    """Writes all findings."""
    for signature, finding in report.findings.items():
        yield write_one(report.fuzzer, signature, finding, folder)


def write_one(fuzzer: Fuzzer, signature: str, finding: Finding, folder: Path) -> Path:
    """Writes the input of a finding and, beside it, what it is and how to see it again."""
    place = folder / fuzzer.name
    place.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(signature.encode()).hexdigest()[:12]
    path = place / f"{digest}{fuzzer.suffix}"
    path.write_bytes(finding.payload)
    path.with_suffix(".txt").write_text(_description(finding, path, fuzzer.name))
    return path


def _description(finding: Finding, path: Path, name: str) -> str:
    case = finding.case
    made = (
        f"found with --fuzzer {name} --seed {case.seed}, case {case.number}"
        if isinstance(case, Made)
        else "found by replaying"
    )
    again = (
        f"python -m tests.fuzz --replay {path}"
        if finding.repeats
        else "the input alone does not show it in a new process"
    )
    return (
        f"{finding.verdict.signature}\n{finding.count} cases, {made}\n{again}\n\n"
        f"{finding.verdict.detail}\n"
    )
