"""
`annotate-target`: marks what each compiler is to take with `compiler_begin` and `compiler_end`.

    %0 = relay.nn.relu %x    ──►    %b = relay.annotation.compiler_begin %x compiler "dnnl"
                                    %0 = relay.nn.relu %b
                                    %e = relay.annotation.compiler_end %0 compiler "dnnl"

`xrelay.analysis.partition.annotation` decides, the patterns carry it out. Every operator is a region of its own
afterwards; `merge-compiler-regions` follows. Annotating for one compiler after the other is the same as
for both, the first one preferred, and annotating again changes nothing.

Leaves alone: functions with `Compiler`, `Extern` or `SkipOptimization`, and the bodies of `relay.fused`
and `relay.composite`.

Source: Relay's AnnotateTarget, which puts operands that were annotated before in front of others.
"""

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, has_flag
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.annotation import AnnotationPlan, OperandAnnotation, plan_annotation
from xrelay.analysis.partition.compilers import DEFAULT, Targets
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.annotation import CompilerBeginOp, CompilerEndOp
from xrelay.transforms.rules.rewriting import erase_unused


@dataclass(frozen=True)
class AnnotateOperands(RewritePattern):
    """Inserts the ends and begins in front of a user."""

    operands: dict[Operation, list[OperandAnnotation]]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op not in self.operands:
            return
        operands = list(op.operands)
        for annotation in self.operands[op]:
            value = operands[annotation.index]
            if isinstance(border := value.owner, CompilerBeginOp):
                if annotation.end is None and border.compiler.data == annotation.begin:
                    continue
                value = border.data  # One for `default`, which is redone.
            for compiler, kind in (
                (annotation.end, CompilerEndOp),
                (annotation.begin, CompilerBeginOp),
            ):
                if compiler is not None:
                    border = kind(value, compiler)
                    border.location = op.location
                    border.result.name_hint = value.name_hint
                    rewriter.insert(border)
                    value = border.result
            operands[annotation.index] = value
        replaced = op.operands[:]
        # All at once: each change of one operand is a pass over all of them.
        op.operands = operands
        rewriter.notify_op_modified(op)
        erase_unused(replaced, rewriter)


def annotate(function: func.FuncOp, plan: AnnotationPlan) -> None:
    """Carries out the annotations of a function."""
    pattern = AnnotateOperands(plan.operands)
    PatternWalker(pattern, apply_recursively=False).rewrite_region(function.body)
    for end, compiler in plan.ends.items():
        end.compiler = StringAttr(compiler)


@dataclass(frozen=True)
class AnnotateTargetPass(RelayPass):
    """
    Marks the regions of compilers.

    A wrong option raises PassOptionError.
    """

    name = "annotate-target"

    targets: tuple[str, ...] = ()
    """The compilers, the preferred one first. One of which nothing is known takes nothing but its composites."""
    annotate_non_call_ops: bool = True
    """Whether tuples, projections and references are in regions too."""
    operators: tuple[str, ...] = ()
    """
    Which operators compilers support, as `compiler:operator`, with operands of any type. Compilers
    without an entry are asked through `xrelay.analysis.partition.compilers.REGISTRY`.
    """

    def rewrite(self, op: ModuleOp) -> None:
        if not self.targets or not all(self.targets) or DEFAULT in self.targets:
            raise PassOptionError(
                f"'targets' is {', '.join(self.targets) or 'empty'}, expected names of compilers "
                f"other than {DEFAULT}"
            )
        targets = Targets.of(self.targets, self.operators)
        effects = Effects()
        for function in walk(op):
            if isinstance(function, func.FuncOp) and not has_flag(function, SKIPPED_FUNCTIONS):
                plan = plan_annotation(
                    function, targets, effects, non_call_ops=self.annotate_non_call_ops
                )
                annotate(function, plan)
