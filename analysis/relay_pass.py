"""
What all passes on relay programs share: values are defined before they are used.

Tools of this project check what comes in; the stock `xdsl-opt` does not, and a pass that meets operators which
use each other would rewrite them for ever or lose them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xrelay.analysis.facts.dominance import check_dominance


@dataclass(frozen=True)
class RelayPass(ModulePass, ABC):
    """
    A pass that rewrites a relay program.

    A value that is used before it is defined raises DominanceError, before anything changes.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_dominance(op)
        self.rewrite(op)

    @abstractmethod
    def rewrite(self, op: ModuleOp) -> None:
        """Rewrites a program whose values are defined before they are used."""
