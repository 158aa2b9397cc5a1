"""Candidates: parts of a graph that an engine could run as one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.placement.graph.sub_graph import SubGraph, union

HOST = "host"
"""The engine of what needs no kernel: parameters, tuples and the like."""
OWN = DEFAULT
"""The engine of what this project's own code runs."""


@dataclass(frozen=True)
class Candidate:
    """A part of a graph for an engine. Two that differ in the rule only are equal."""

    rule: str = field(compare=False)
    """The rule that made it; names of nested rules are joined by dots."""
    part: SubGraph
    engine: str

    @property
    def inside(self) -> int:
        """The set of its nodes."""
        return self.part.inside

    def __str__(self) -> str:
        return f"{self.rule}: {self.part} on {self.engine}"


def dotted(outer: str, inner: str) -> str:
    """The name of a rule within another one."""
    return inner if inner == outer or inner.startswith(f"{outer}.") else f"{outer}.{inner}"


def united(rule: str, candidates: Iterable[Candidate]) -> Candidate:
    """One candidate of several of one engine that share no node."""
    listed = list(candidates)
    return Candidate(rule, union([each.part for each in listed]), listed[0].engine)


@dataclass
class Pool:
    """Candidates that grow round by round."""

    candidates: list[Candidate]
    first_new: int = 0
    """Those from here on are new in this round."""
    known: dict[Candidate, None] = field(default_factory=dict[Candidate, None])

    def __post_init__(self) -> None:
        self.known = dict.fromkeys(self.candidates)
        self.candidates = list(self.known)

    def is_new(self, *places: int) -> bool:
        """Whether one of some candidates is new."""
        return any(place >= self.first_new for place in places)

    def add(self, found: Iterable[Candidate], most: int) -> bool:
        """Adds candidates and begins a round, in which these are new. Returns whether there are any."""
        fresh: list[Candidate] = []
        for each in found:
            if len(self.known) >= most:
                break
            if each not in self.known:
                self.known[each] = None
                fresh.append(each)
        self.first_new = len(self.candidates)
        self.candidates.extend(fresh)
        return bool(fresh)

    def __iter__(self) -> Iterator[tuple[int, Candidate]]:
        return enumerate(self.candidates)
