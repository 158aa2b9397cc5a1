"""What a rule is: a description of the parts of a graph that an engine could run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xrelay.backends.base import PartitionRule
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.rules.candidate import Candidate


class Rule(PartitionRule, ABC):
    """A rule. Its text shows the rules that it is made of: its name alone where there are none."""

    @abstractmethod
    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        """All candidates, which may overlap, for an engine. Each is there once."""

    def __str__(self) -> str:
        return type(self).__name__


def listed(name: str, parts: Sequence[object]) -> str:
    """The text of a rule that has parts."""
    return f"{name}({', '.join(map(str, parts))})"
