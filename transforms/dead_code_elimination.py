"""
`dead-code-elimination`: operations whose results nothing uses disappear.

    %0 = relay.exp %x
    %1 = relay.add %x, %x     ──►   %1 = relay.add %x, %x
    return %1                       return %1

Pure operations go, of any dialect, and calls of functions in which everything is pure. A function
that calls itself, or one that is only declared, may not end or do anything: calls of it stay, and so
do reads and writes of references. One sweep from the last operation to the first: what an erased
operation used is judged after it. The bodies of `relay.fused` and `relay.composite` and functions for
other compilers stay as they are.

Source: Relay's DeadCodeElimination. Its `inline_once` has no counterpart where values have names.
"""

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region
from xdsl.traits import IsTerminator, SymbolOpInterface, is_side_effect_free

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass


@dataclass
class Purity:
    """Which operations have no effect, calls of functions included."""

    module: ModuleOp
    functions: dict[str, bool] = field(default_factory=dict[str, bool])
    symbols: Symbols = field(default_factory=Symbols)

    def is_pure(self, op: Operation) -> bool:
        """Whether nobody notices that `op` does not run, when its results are not used."""
        if isinstance(op, func.CallOp):
            return self.is_pure_function(op.callee.string_value())
        if op.has_trait(IsTerminator) or op.has_trait(SymbolOpInterface):
            return False
        if is_side_effect_free(op):
            return True
        calls = [each for each in walk(op) if isinstance(each, func.CallOp)]
        return bool(calls) and all(self.is_pure_inside(each) for each in walk(op))

    def is_pure_inside(self, op: Operation) -> bool:
        """Whether an operation within a body has no effect beside those within itself."""
        if isinstance(op, func.CallOp):
            return self.is_pure_function(op.callee.string_value())
        return bool(op.regions) or op.has_trait(IsTerminator) or is_side_effect_free(op)

    def is_pure_function(self, name: str) -> bool:
        """Whether all of a function's operations are pure; its own calls count as impure."""
        known = self.functions.get(name)
        if known is None:
            self.functions[name] = False
            callee = self.symbols.lookup(self.module, name)
            known = isinstance(callee, func.FuncOp) and bool(callee.body.blocks)
            known = known and all(map(self.is_pure_inside, _inside(callee)))
            self.functions[name] = known
        return known


def _inside(op: Operation | None) -> list[Operation]:
    return [] if op is None else [each for each in walk(op) if each is not op]


@dataclass(frozen=True)
class DeadCodeEliminationPass(RelayPass):
    """Erases what has no effect."""

    name = "dead-code-elimination"

    def rewrite(self, op: ModuleOp) -> None:
        purity, is_kept = Purity(op), Within(keeps_body)
        for region in op.regions:
            self.sweep(region, purity, is_kept)

    def sweep(self, region: Region, purity: Purity, is_kept: Within) -> None:
        """Erases dead operations of a region, the last ones first."""
        for block in reversed(region.blocks):
            for op in reversed(list(block.ops)):
                unused = not any(result.uses for result in op.results)
                if unused and not is_kept(op) and purity.is_pure(op):
                    op.detach()
                    op.erase()
                    continue
                for inner in op.regions:
                    self.sweep(inner, purity, is_kept)
