"""Passes that are a list of others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class PassSequence(ModulePass, ABC):
    """A pass that runs others. Tools that watch passes look at each of these."""

    @abstractmethod
    def steps(self) -> tuple[ModulePass, ...]:
        """The passes in order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for step in self.steps():
            step.apply(ctx, op)


def flattened(passes: Iterable[ModulePass]) -> tuple[ModulePass, ...]:
    """The passes one by one, those in sequences as well."""
    result: list[ModulePass] = []
    for each in passes:
        result.extend(flattened(each.steps()) if isinstance(each, PassSequence) else (each,))
    return tuple(result)
