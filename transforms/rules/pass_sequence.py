"""Passes that are a list of others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xrelay.analysis.relay_pass import RelayPass


@dataclass(frozen=True)
class PassSequence(RelayPass, ABC):
    """A pass that runs others. Tools that watch passes look at each of these."""

    @abstractmethod
    def steps(self) -> tuple[RelayPass, ...]:
        """The passes in order."""

    def rewrite(self, op: ModuleOp) -> None:
        for step in self.steps():
            step.rewrite(op)


def single_passes(passes: Iterable[ModulePass]) -> tuple[ModulePass, ...]:
    """The passes one by one, those in sequences as well."""
    result: list[ModulePass] = []
    for each in passes:
        result.extend(single_passes(each.steps()) if isinstance(each, PassSequence) else (each,))
    return tuple(result)
