"""Removal of the borders of regions: users of a border's result use its operand instead."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.dialects.core.annotation import CompilerAnnotationOp


@dataclass(frozen=True)
class RemoveBorders(RewritePattern):
    """Makes an operation take its operands from in front of borders, all of them at once."""

    in_front: Callable[[CompilerAnnotationOp], SSAValue | None]
    """The value that takes the place of the result of a border; None for a border that stays."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, CompilerAnnotationOp) and not op.result.uses:
            self.erase(op, rewriter)
            return
        before = op.operands[:]
        operands = [self.source(value) for value in before]
        if all(old is new for old, new in zip(before, operands, strict=True)):
            return
        op.operands = operands
        rewriter.notify_op_modified(op)
        for value, source in dict(zip(before, operands, strict=True)).items():
            if value is not source and isinstance(value.owner, CompilerAnnotationOp):
                self.erase(value.owner, rewriter)

    def source(self, value: SSAValue) -> SSAValue:
        """What an operation takes in the place of an operand."""
        while isinstance(value.owner, CompilerAnnotationOp):
            found = self.in_front(value.owner)
            if found is None:
                break
            if found.name_hint is None:
                found.name_hint = value.name_hint
            value = found
        return value

    def erase(self, border: CompilerAnnotationOp, rewriter: PatternRewriter) -> None:
        """Erases a border that goes, and those in front that only led to it."""
        if self.in_front(border) is None:
            return
        while not border.result.uses:
            before = border.data.owner
            rewriter.erase(border)
            if not isinstance(before, CompilerAnnotationOp):
                break
            border = before
