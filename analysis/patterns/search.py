"""
The search behind matching: how the ways in which a pattern describes a value are tried.

The search binds the nodes of a pattern to values and takes back what led nowhere. A node whose parts
occur nowhere else is *self-contained*: in which way it matches makes no difference to other nodes. Of
those the search keeps the first way, once for each value, so that swapped operands do not multiply.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from xrelay.analysis.patterns.checks import same_value, value_text
from xrelay.analysis.patterns.language import Pattern

Ways: TypeAlias = Iterator[None]
"""One item for each way in which a pattern matches, while what it binds is bound."""


@dataclass(frozen=True)
class Mismatch:
    """Why a pattern does not describe a value."""

    pattern: Pattern
    """The node that failed."""
    value: SSAValue
    reason: str

    @property
    def op(self) -> Operation | None:
        """The operation that the node was compared with; None for parameters."""
        owner = self.value.owner
        return owner if isinstance(owner, Operation) else None

    def __str__(self) -> str:
        return f"{self.pattern} does not describe {value_text(self.value)}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """Whether a self-contained node describes a value, apart from what is bound elsewhere."""

    bindings: Sequence[tuple[Pattern, SSAValue]] | None
    """What the first way binds, the node itself last; None when there is no way."""
    ops: Sequence[Operation]
    furthest: Mismatch | None
    progress: int
    """How much the node had bound where it came furthest and failed."""


@dataclass
class Search(ABC):
    """The search for ways in which a pattern describes a value."""

    self_contained: frozenset[Pattern] = frozenset()
    bindings: dict[Pattern, SSAValue] = field(default_factory=dict[Pattern, SSAValue])
    ops: list[Operation] = field(default_factory=list[Operation])
    furthest: Mismatch | None = None
    progress: int = -1
    """How much was bound where the match that came furthest failed."""
    outcomes: dict[tuple[Pattern, SSAValue], Outcome] = field(
        default_factory=dict[tuple[Pattern, SSAValue], Outcome]
    )
    """Of self-contained nodes."""

    def match(self, pattern: Pattern, value: SSAValue) -> Ways:
        """The ways in which `value` is as described, given what is bound."""
        known = self.bindings.get(pattern)
        if known is not None:
            if same_value(known, value):
                yield
            else:
                self.fail(pattern, value, f"it stands for {value_text(known)} already")
            return
        if pattern not in self.self_contained:
            for _ in self.ways(pattern, value):
                self.bindings[pattern] = value
                yield
                del self.bindings[pattern]
            return
        bound, named = len(self.bindings), len(self.ops)
        outcome = self.outcomes.get((pattern, value))
        if outcome is None:
            before = self.furthest, self.progress
            self.furthest, self.progress = None, -1
            matches = False
            for _ in self.ways(pattern, value):
                self.bindings[pattern] = value
                matches = True
                break
            # The way is left as it is: what it bound is taken back here.
            outcome = Outcome(
                self.taken_back(bound) if matches else None,
                self.ops[named:],
                self.furthest,
                self.progress - bound - named,
            )
            del self.ops[named:]
            self.outcomes[pattern, value] = outcome
            self.furthest, self.progress = before
        if bound + named + outcome.progress > self.progress and outcome.furthest is not None:
            self.progress, self.furthest = bound + named + outcome.progress, outcome.furthest
        if outcome.bindings is not None:
            self.bindings.update(outcome.bindings)
            self.ops.extend(outcome.ops)
            yield
            self.taken_back(bound)
            del self.ops[named:]

    def describes(self, pattern: Pattern, value: SSAValue) -> bool:
        """Whether there is a way, which is not taken, and whose failures are none of the match."""
        bound, named, before = len(self.bindings), len(self.ops), (self.furthest, self.progress)
        found = any(True for _ in self.match(pattern, value))
        self.taken_back(bound)
        del self.ops[named:]
        self.furthest, self.progress = before
        return found

    def taken_back(self, count: int) -> list[tuple[Pattern, SSAValue]]:
        """Unbinds all but the first `count` nodes. Returns these nodes in order, with their values."""
        items: list[tuple[Pattern, SSAValue]] = []
        while len(self.bindings) > count:
            items.append(self.bindings.popitem())
        return items[::-1]

    def fail(self, pattern: Pattern, value: SSAValue, reason: str) -> None:
        """Remembers why a node does not match, if no other came further."""
        progress = len(self.bindings) + len(self.ops)
        if progress > self.progress:
            self.progress, self.furthest = progress, Mismatch(pattern, value, reason)

    def check(self, holds: bool, pattern: Pattern, value: SSAValue, reason: str) -> Ways:
        """One way when a condition holds."""
        if holds:
            yield
        else:
            self.fail(pattern, value, reason)

    @abstractmethod
    def ways(self, pattern: Pattern, value: SSAValue) -> Ways:
        """The ways in which `value` is as described, for a node that stands for nothing yet."""

    def naming(self, op: Operation) -> Ways:
        """Counts an operation among those of the match."""
        self.ops.append(op)
        yield
        self.ops.pop()

    def all(self, patterns: Sequence[Pattern], values: Sequence[SSAValue]) -> Ways:
        """The ways in which each of some values is as its pattern describes."""
        if not patterns:
            yield
            return
        for _ in self.match(patterns[0], values[0]):
            yield from self.all(patterns[1:], values[1:])
