"""Rules made of other rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.sub_graph import ONE_RESULT, Limits
from xrelay.placement.rules.candidate import OWN, Candidate, Pool, dotted
from xrelay.placement.rules.combiners import Combiner
from xrelay.placement.rules.rule import Rule, listed

MOST_CANDIDATES = 4000
"""How many candidates `Combine` makes at most: the small ones come first."""


def _wrapped(each: Candidate, rule: str, attributes: Mapping[str, str | int]) -> Candidate:
    return Candidate(rule, each.part.wrapped(attributes), each.engine)


@dataclass(frozen=True)
class Composite(Rule):
    """The candidates of a rule, each one operator of the engine by the name of the composite."""

    name: str
    rule: Rule

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found = self.rule.candidates(graph, engine)
        name = {"Composite": self.name}
        return [_wrapped(each, dotted(self.name, each.rule), name) for each in found]

    def __str__(self) -> str:
        return listed("Composite", [self.name, self.rule])


@dataclass(frozen=True)
class Primitive(Rule):
    """The candidates of a rule, each a function of its engine, or a kernel of own code."""

    rule: Rule

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        attributes: dict[str, str | int] = {"Primitive": 1}
        if engine != OWN:
            attributes["Compiler"] = engine
        found = self.rule.candidates(graph, engine)
        return [_wrapped(each, each.rule, attributes) for each in found]

    def __str__(self) -> str:
        return listed("Primitive", [self.rule])


@dataclass(frozen=True)
class Union(Rule):
    """The candidates of several rules."""

    rules: tuple[Rule, ...]

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found = (each for rule in self.rules for each in rule.candidates(graph, engine))
        return list(dict.fromkeys(found))

    def __str__(self) -> str:
        return listed("Union", self.rules)


@dataclass(frozen=True)
class OnlyValid(Rule):
    """The candidates of a rule that may become functions."""

    rule: Rule
    limits: Limits = ONE_RESULT

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found = self.rule.candidates(graph, engine)
        return [each for each in found if each.part.problem(self.limits) is None]

    def __str__(self) -> str:
        return listed("OnlyValid", [self.rule, self.limits])


@dataclass(frozen=True)
class Combine(Rule):
    """
    The candidates of a rule, and all that combiners make of them and of what they made, to the fixed point or
    to `most` candidates.
    """

    rule: Rule
    combiners: tuple[Combiner, ...]
    max_depth: int = 0
    """The most nodes on a way through what combiners of two join; 0 is no limit."""
    most: int = MOST_CANDIDATES

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        pool = Pool(self.rule.candidates(graph, engine))
        while pool.add(
            (
                each
                for combiner in self.combiners
                for each in combiner.combined(graph, pool, self.max_depth)
            ),
            max(self.most, len(pool.candidates)),
        ):
            pass
        return pool.candidates

    def __str__(self) -> str:
        return listed("Combine", [self.rule, *self.combiners, f"depth={self.max_depth}"])
