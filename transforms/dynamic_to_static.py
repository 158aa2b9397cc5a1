"""
`dynamic-to-static`: operators whose shapes turn out to be known become those with fixed shapes.

    %s = relay.shape_of %y : (tensor<8x3xf32>) -> tensor<2xi32>
    %r = relay.dyn.reshape %x, %s : … -> tensor<?x?xf32>
        ──►   %r = relay.reshape %x newshape [8, 3] : (tensor<2x3x4xf32>) -> tensor<8x3xf32>

One way through the module does it: types are inferred as `infer-type` does, what depends on constants
and known shapes only is computed as `fold-constant` does, also where its stated type leaves dimensions
open, and a `relay.dyn.*` operator whose shape operands have become constants is replaced, so that the
operators after it know their shapes.

Of a `scf.if` whose condition turns out to be a constant, the branch that is taken stays. What makes no sense in a branch, for the
shapes that turn out, becomes `relay.fail`; elsewhere it is refused.

Leaves alone: operators whose shape operands are not known, and modules without any such operator and
without any `scf.if` that gives an unknown dimension.

Source: Relay's DynamicToStatic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.constants import constant_numbers
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.shapes import is_dynamic
from xrelay.transforms.fold_constant import FoldingPass, FoldOperator, folding, taken_branch
from xrelay.transforms.infer_type import TypeInference
from xrelay.transforms.rules.loop_types import LOOPS, carries_open
from xrelay.transforms.rules.rewriting import replace_and_tidy


class ShapeResolution(TypeInference):
    """Type inference that also computes shapes and fixes the operators that take them."""

    def __init__(self, module: ModuleOp, fold: FoldOperator):
        super().__init__(module, fails=True)
        fold = replace(fold, retype=partial(self.refine, says="its constant gives"))
        self.fold = folding(fold)

    def result_types(self, op: Operation) -> Sequence[Attribute] | None:
        branch = taken_branch(op)
        if branch is None or branch.last_op is None:
            return super().result_types(op)
        return branch.last_op.operand_types

    def settle(self, op: Operation) -> None:
        super().settle(op)
        if op.parent is None:
            return  # It makes no sense in a branch, and has gone.
        rewriter = PatternRewriter(op)
        if not isinstance(op, DynamicOp):
            self.fold.match_and_rewrite(op, rewriter)
            return
        numbers = [constant_numbers(value) for value in op.deciding]
        known = [each for each in numbers if each is not None]
        if len(known) < len(numbers):
            return
        try:
            static = op.specialised(op.kept, known)
        except VerifyException as error:
            raise PassFailedException(f"{operation_text(op)}: {error}") from error
        static.location = op.location
        replace_and_tidy(op, static, None, rewriter)


@dataclass(frozen=True)
class DynamicToStaticPass(FoldingPass):
    """Replaces `relay.dyn.*` operators whose shape operands are known."""

    name = "dynamic-to-static"

    def rewrite(self, op: ModuleOp) -> None:
        fold = FoldOperator(self.evaluator())
        if any(isinstance(each, DynamicOp) or _leaves_open(each) for each in walk(op)):
            ShapeResolution(op, fold).run()


def _leaves_open(op: Operation) -> bool:
    """Whether branches give different shapes, or a loop or a cast states less than what there is."""
    if isinstance(op, LOOPS):
        return carries_open(op)
    return isinstance(op, scf.IfOp | tensor.CastOp) and any(map(is_dynamic, op.result_types))
