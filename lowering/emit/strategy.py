"""
Strategies: how the operators that are more than one element at a time become loops.

An operator has a list of implementations. Each says which sites it refuses and why, has a priority
level (`plevel`) and, where several of one level compete, an estimate of its cost. An implementation
emits its loops into the kernel and hands every finished piece of the result to a *sink*, which runs
the rest of the group on it while it is in registers.

    implementations ──► refused, with the reason
                    └─► candidates ──► with a tuning record: the fastest that was measured
                                   └─► without: the highest level, the lowest estimate

`select-strategies` writes what is chosen into the program, where everything else reads it.

Source: Relay's `OpStrategy`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import blake2b
from math import inf, prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.lengths import hint, likely
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.format import NO_SPACING, Spacing
from xrelay.lowering.emit.group import body_digest
from xrelay.lowering.emit.likely import has_lengths, with_numbers
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position
from xrelay.lowering.emit.target import NATIVE, Target
from xrelay.lowering.emit.tuning import NO_RECORDS, TuningRecords

Sink: TypeAlias = Callable[[Position, SSAValue], None]
"""Takes finished elements of the operator's result. Elements may be handed over twice, with the
same value."""


@dataclass(frozen=True)
class Site:
    """An operator where it stands: what the choice of an implementation depends on."""

    op: Operation
    target: Target
    threads: int = 1
    constants: frozenset[SSAValue] = frozenset()
    """The operands that are known at compile time."""
    excluded: frozenset[str] = frozenset()
    """Names of implementations that must not be used."""
    records: TuningRecords = NO_RECORDS
    """What was measured."""
    of_open: Operation | None = None
    """The operator with its open lengths, where `op` is a copy at likely ones."""

    @property
    def actual(self) -> Operation:
        """The operator with the lengths that it has, which may be open."""
        return self.of_open or self.op

    @property
    def likely(self) -> "Site":
        """The site at likely lengths: what is chosen by it must serve all lengths."""
        return self._at(likely)

    @property
    def first(self) -> "Site":
        """The site at the lengths of the first call."""
        return self._at(hint)

    def _at(self, number_of: Callable[[int], int]) -> "Site":
        if not has_lengths(self.op):
            return self
        op, operands = with_numbers(self.op, number_of)
        constants = frozenset(operands[each] for each in self.constants)
        return replace(self, op=op, constants=constants, of_open=self.op)

    @property
    def key(self) -> str:
        """
        Equal for sites whose records serve each other: the operator with its types and attributes,
        which operands are constant, the target and the number of threads.
        """
        op = self.op
        operands = ", ".join(
            f"constant {value.type}" if value in self.constants else str(value.type)
            for value in op.operands
        )
        results = ", ".join(str(value.type) for value in op.results)
        attributes = ", ".join(f"{name} = {attr}" for name, attr in sorted(op.properties.items()))
        if isinstance(op, CompositeOp):
            attributes += f", body = {body_digest(op)}"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return (
            f"{op.name}({operands}) -> ({results}) {{{attributes}}} "
            f"on {_target_name(self.target)}, {threads}"
        )

    @property
    def measured(self) -> Mapping[str, float]:
        """The records of this site: seconds by name of the implementation."""
        if not self.records.measured:
            return {}  # A key takes time to write.
        return self.records.measured.get(self.key, {})


def _target_name(target: Target) -> str:
    """A named target, or the processor that `native` stands for and its features."""
    if target.name != NATIVE:
        return target.name
    features = blake2b(target.features.encode(), digest_size=4).hexdigest()
    return f"{target.cpu}-{features}"


def unless(holds: bool, reason: str) -> str | None:
    """The reason, unless something holds. Chains with `or` to the first refusal."""
    return None if holds else reason


@dataclass(frozen=True)
class Implementation:
    """One way to compute an operator."""

    name: str
    emit: Callable[[KernelContext, Operation, Sink], None]
    """Makes its code. Results without elements need none, and it is not asked for any."""
    plevel: int = 10
    refusal: Callable[[Site], str | None] = lambda _: None
    """Why it cannot compute a site; None where it can."""
    cost: Callable[[Site], float] | None = None
    """Estimated seconds on one core; compared among implementations of the same level."""
    spacing: Callable[[Site], Spacing] = lambda _: NO_SPACING
    """What it wants between the elements of its first operand."""
    parameters: Callable[[Site, Parameters], None] = lambda _, parameters: None
    """Asks for the numbers that its loops are made with; `emit` finds them in its context."""


Strategy: TypeAlias = tuple[Implementation, ...]


@dataclass(frozen=True)
class Candidate:
    """An implementation that can compute a site, and how long it is known to take."""

    implementation: Implementation
    cost: float | None
    """Estimated seconds on one core; None where there is no estimate."""
    measured: float | None = None
    """Seconds in the tuning records; None where there is no record."""


@dataclass(frozen=True)
class Refusal:
    """An implementation that cannot compute a site, and why."""

    implementation: Implementation
    reason: str


class Basis(Enum):
    """What decides between candidates."""

    ONLY = "the only one that can"
    RECORD = "fastest measured"
    LEVEL = "highest level"
    COST = "lowest estimate"
    STATED = "stated by the program"


@dataclass(frozen=True)
class Selection:
    """The outcome of a choice."""

    site: Site
    candidates: tuple[Candidate, ...]
    """The implementations that can compute the site, best first; at least one."""
    refusals: tuple[Refusal, ...] = ()
    is_stated: bool = False
    """Whether the program says what to use, and that is not the best."""

    @property
    def chosen(self) -> Implementation:
        """The implementation to use."""
        return self.candidates[0].implementation

    @property
    def basis(self) -> Basis:
        """Why the first candidate is the best."""
        first, *others = self.candidates
        if not others:
            return Basis.ONLY
        if self.is_stated:
            return Basis.STATED
        if first.measured is not None:
            return Basis.RECORD
        same_level = any(
            other.implementation.plevel == first.implementation.plevel for other in others
        )
        return Basis.COST if same_level else Basis.LEVEL

    def using(self, implementation: Implementation) -> "Selection":
        """The same with another candidate in use."""
        if implementation is self.chosen:
            return self
        (used,) = (each for each in self.candidates if each.implementation is implementation)
        others = (each for each in self.candidates if each is not used)
        return replace(self, candidates=(used, *others), is_stated=True)


def select(strategy: Strategy, site: Site) -> Selection:
    """
    Of the implementations that do not refuse the site, those with a tuning record compete by what
    was measured. Without any record, those of the highest level compete by their estimates: where
    lengths are open, by the geometric mean of those at likely lengths and at the ones of the first
    call. The first among equals is used.

    Raises DiagnosticException when all refuse.
    """
    judged = [(each, refusal_of(each, site)) for each in strategy]
    usable = [each for each, reason in judged if reason is None]
    refusals = [Refusal(each, reason) for each, reason in judged if reason is not None]
    if not usable:
        reasons = "; ".join(f"{each.implementation.name}: {each.reason}" for each in refusals)
        raise DiagnosticException(f"no implementation of {site.op.name} can be used ({reasons})")
    at_likely = site.likely
    sites = [at_likely]
    if at_likely is not site and len(usable) > 1:
        first = site.first
        # What would be no choice for the lengths of the first call has no estimate for them.
        if all(refusal_of(each, first) is None for each in usable):
            sites.append(first)
    measured = at_likely.measured
    candidates = [
        Candidate(each, _estimate(each, sites), measured.get(each.name)) for each in usable
    ]
    candidates.sort(key=_rank)
    return Selection(site, tuple(candidates), tuple(refusals))


def _estimate(implementation: Implementation, sites: Sequence[Site]) -> float | None:
    """The geometric mean of the costs at some sites, where there are estimates."""
    cost = implementation.cost
    if cost is None:
        return None
    if sites[0].of_open is None:
        return cost(sites[0])
    if refusal_of(implementation, sites[0]) is not None:
        return inf  # Likely lengths would not take it: it is for others.
    return prod(cost(site) ** (1 / len(sites)) for site in sites)


def refusal_of(implementation: Implementation, site: Site) -> str | None:
    """Why an implementation is not used for a site, whatever the others cost."""
    if implementation.name in site.excluded:
        return "excluded by an option"
    return implementation.refusal(site)


def _rank(candidate: Candidate) -> tuple[bool, float, int, float]:
    """Measured candidates first, by their seconds; the others by level and estimate."""
    return (
        candidate.measured is None,
        candidate.measured or 0.0,
        -candidate.implementation.plevel,
        candidate.cost or 0.0,
    )
