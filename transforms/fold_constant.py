"""
`fold-constant`: operators whose operands are constants are computed once, by the interpreter.
So are shapes that types state (`relay.shape_of`, `relay.ndarray_size`), and of a `scf.if` whose
condition is a constant the branch that is taken stays.

    %0 = relay.constant dense<4.0> : tensor<f32>
    %1 = relay.sqrt %0 : (tensor<f32>) -> tensor<f32>   ──►   %1 = relay.constant dense<2.0> : tensor<f32>

What is on a device (`relay.on_device`) stays there: operators see the constant behind it, and it stays
around a folded one.

Leaves alone: copies between devices, dead code, operators without operands (`relay.zeros` is smaller than
its elements), `nn.dropout` (which is random while a model is trained; `simplify-inference` removes it), operators
with side effects, the bodies of `relay.fused` and `relay.composite`, functions for other compilers, constants
whose bytes did not come with the text, results of which the stated type leaves dimensions open (`infer-type` fills
them in), results over `max-bytes` that are larger than what they are computed from, and results over 2 GiB. What is
larger than `limit` fails the pass. Sizes are those of types that are inferred from the numbers in the operands too
(`relay.arange`, `relay.dyn.*`), before anything is computed.

Source: Relay's FoldConstant.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from xrelay.analysis.facts.dependencies import operations_for
from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import AnnotationOp
from xrelay.dialects.core.device import DeviceOp, OnDeviceOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.nn.norm import DropoutOp
from xrelay.dialects.shapes import is_addressable, same_type, shape_of
from xrelay.dialects.tensor.like import NdarraySizeOp, ShapeOfOp
from xrelay.interpreters.constants import constant_ops, constant_value
from xrelay.transforms.rules.evaluating import Evaluator, known_scalar
from xrelay.transforms.rules.rewriting import has_static_type, replace_and_tidy

FOLDED_BYTES = 1 << 20
"""Results up to this size are folded, however small the operands are."""


@dataclass(frozen=True)
class FoldOperator(RewritePattern):
    """An operator on constants becomes a constant, or a tuple of constants."""

    evaluator: Evaluator
    fold_qnn: bool = True
    """Whether operators on quantised tensors are folded, too."""
    retype: Callable[[SSAValue, Attribute, Operation], None] | None = None
    """
    Gives a result the type of its constant, which knows more dimensions, and its users one that they can
    take. Without it such a result stays: not every user takes another type than the stated one.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, RelayOp) or not op.operands or not is_side_effect_free(op):
            return
        if isinstance(op, TupleOp | AnnotationOp | DeviceOp | DropoutOp):
            return
        if not self.fold_qnn and op.name.startswith("relay.qnn."):
            return
        if isinstance(op, ShapeOfOp | NdarraySizeOp) and has_static_type(op.data):
            # What is asked is part of the type, whatever the elements are.
            if not is_addressable(op.data.type):
                return
            (data,) = op.operands
            shape = np.broadcast_to(np.zeros((), np.int8), shape_of(data))
            (result,) = self.evaluator.interpreter.run_op(op, (shape,))
            self._replace(op, result, rewriter)
            return
        if isinstance(op, TupleGetItemOp) and field_of_tuple(op, rewriter):
            return
        values = [constant_value(operand) for operand in op.operands]
        if any(value is None for value in values):
            return
        if isinstance(op, LetOp):
            rewriter.replace(op, (), (op.value,))  # On its device, if it has one.
            return
        result = self.evaluator.result(op, values)
        if result is not None:
            self._replace(op, result, rewriter)

    def _replace(self, op: Operation, result: Any, rewriter: PatternRewriter) -> None:
        new = constant_ops(result)
        (known,) = new[-1].result_types
        if known != op.results[0].type:
            if self.retype is None:
                return
            self.retype(op.results[0], known, op)
        for constant in new:
            constant.location = op.location
        replace_and_tidy(op, new, None, rewriter)


def field_of_tuple(op: TupleGetItemOp, rewriter: PatternRewriter) -> bool:
    """Replaces a field of a tuple that is made here by its value, on the devices of the tuple."""
    devices: list[OnDeviceOp] = []
    source = op.tuple_value.owner
    while isinstance(source, OnDeviceOp):
        devices.append(source)
        source = source.body.owner
    if not isinstance(source, TupleOp):
        return False
    value = source.fields[op.index.value.data]
    if not same_type(value.type, op.result.type):
        return False  # The tuple states more dimensions, or fewer, than its fields have.
    for device in reversed(devices):
        wrapped = OnDeviceOp.create(
            operands=[value],
            result_types=[value.type],
            properties=dict(device.properties),
            location=device.location,
        )
        rewriter.insert(wrapped)
        value = wrapped.result
    replace_and_tidy(op, (), (value,), rewriter)
    return True


class FoldBranch(RewritePattern):
    """A conditional whose condition is a constant becomes the branch that is taken."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        branch = taken_branch(op)
        if branch is None:
            return
        end = branch.last_op
        assert isinstance(op, scf.IfOp)
        assert isinstance(end, scf.YieldOp)
        values = end.operands
        if [value.type for value in values] != list(op.result_types):
            return  # Others use the result as what either branch could give.
        rewriter.erase(end)
        rewriter.inline_block(branch, InsertPoint.before(op))
        replace_and_tidy(op, (), values, rewriter)


def folding(fold: FoldOperator) -> RewritePattern:
    """Folds operators, and conditionals."""
    return GreedyRewritePatternApplier([fold, FoldBranch()], dce_enabled=False)


def taken_branch(op: Operation) -> Block | None:
    """The branch that a `scf.if` takes when its condition is a constant; None when it is not."""
    if not isinstance(op, scf.IfOp):
        return None
    known = known_scalar(op.cond)
    if known is None:
        return None
    region = op.true_region if known else op.false_region
    return region.blocks.first


def fold_constant_expr(value: SSAValue, *, fold_qnn: bool = True) -> SSAValue:
    """
    Computes, in the program, what a value needs and constants decide. Returns what stands in its place then:
    the result of a `relay.constant` where all of it is known.

    Source: Relay's FoldConstantExpr.
    """
    op = value.owner
    if isinstance(op, Block):
        return value
    user = TupleOp([value])
    Rewriter.insert_op(user, InsertPoint.after(op))
    pattern = folding(FoldOperator(Evaluator(FOLDED_BYTES), fold_qnn))
    is_open = True
    while is_open:
        is_open = False
        for each in operations_for(user, lambda operand: True):
            if each is user or each.parent is None:
                continue
            # The branch that is taken stands here now, and was not looked at.
            may_open, rewriter = isinstance(each, scf.IfOp), PatternRewriter(each)
            pattern.match_and_rewrite(each, rewriter)
            is_open |= may_open and rewriter.has_done_action
    result = user.fields[0]
    Rewriter.erase_op(user)
    return result


@dataclass(frozen=True)
class ComputingPass(RelayPass):
    """A pass that computes constants."""

    limit: int = DEFAULT_LIMITS.max_bytes
    """The pass fails rather than compute a constant of more bytes."""


@dataclass(frozen=True)
class FoldingPass(ComputingPass):
    """A pass that computes what depends on constants only."""

    max_bytes: int = FOLDED_BYTES
    """Results up to this size are always folded, larger ones if their operands are as large."""

    def evaluator(self) -> Evaluator:
        """What computes constants within these bounds."""
        require_at_least(0, max_bytes=self.max_bytes, limit=self.limit)
        return Evaluator(self.max_bytes, Limits(max_bytes=self.limit))


@dataclass(frozen=True)
class FoldConstantPass(FoldingPass):
    """Computes what depends on constants only."""

    name = "fold-constant"

    fold_qnn: bool = True
    """Whether operators on quantised tensors are folded, too. (The original's default is not to.)"""

    def rewrite(self, op: ModuleOp) -> None:
        pattern = folding(FoldOperator(self.evaluator(), self.fold_qnn))
        PatternWalker(Outside(keeps_body, pattern), apply_recursively=False).rewrite_module(op)
