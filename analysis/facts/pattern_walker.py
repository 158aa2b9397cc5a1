"""What applies rewrite patterns to a program, in time linear in its size however deep regions nest."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from xrelay.analysis.facts.scopes import Within
from xrelay.analysis.facts.walking import walk


@dataclass(eq=False, repr=False)
class PatternWalker(PatternRewriteWalker):
    """xDSL's walker, in the same order, with a walk that does not pay for the depth of each operation."""

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        # The worklist is a stack.
        within = walk(op, reverse=not self.walk_reverse, region_first=not self.walk_regions_first)
        for each in within:
            self._worklist.push(each)

    def _handle_operation_removal(self, op: Operation) -> None:
        if self.apply_recursively:
            self._add_operands_to_worklist(op.operands)
        for each in walk(op):
            self._worklist.remove(each)


class Outside(RewritePattern):
    """A pattern for the operations that are not within one for which a condition holds."""

    def __init__(self, condition: Callable[[Operation], bool], pattern: RewritePattern):
        self.is_within = Within(condition)
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not self.is_within(op):
            self.pattern.match_and_rewrite(op, rewriter)
