"""
`split-args`: joins of many tensors become joins of joins.

    %0 = relay.tuple %a, %b, %c, %d, %e               %0 = relay.concatenate (%a, %b, %c), and stop_fusion of it
    %1 = relay.concatenate %0 {axis = 0}      ──►     %1 = relay.concatenate (%d, %e), and stop_fusion of it
                                                      %2 = relay.concatenate (%0, %1)

(`max-function-args=4`.) With `max-function-args` = n a kernel takes at most n addresses, one of which is that of its result: joins of n or more
fields become joins of at most n - 1, on as many levels as it takes. `relay.annotation.stop_fusion` keeps fusion from putting
them together again.

What stays: joins of fewer fields, tuples whose fields are not known, bodies of `relay.fused` and `relay.composite` and
functions for other compilers. The pass does nothing unless `max-function-args` is given; `fuse-ops` has a limit of its
own for other operators.

Source: Relay's SplitArgs, which has one level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.transforms.rules.rewriting import Emitter, apply_rule

LEAST = 3
"""The least `max-function-args`: two operands and a result."""


@dataclass(frozen=True)
class SplitConcatenation(RewritePattern):
    """Joins at most `limit` fields at a time."""

    limit: int

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ConcatenateOp):
            apply_rule(self.joined, op, rewriter)

    def joined(self, op: ConcatenateOp, emit: Emitter) -> SSAValue | None:
        """concatenate(many) ──► concatenate(concatenate(some), …)"""
        fields = op.data.owner
        if not isinstance(fields, TupleOp) or len(fields.fields) <= self.limit:
            return None
        values: Sequence[SSAValue] = fields.fields
        while len(values) > self.limit:
            values = [
                emit(StopFusionOp(self._join(values[start : start + self.limit], op, emit)))
                for start in range(0, len(values), self.limit)
            ]
        return self._join(values, op, emit)

    def _join(self, values: Sequence[SSAValue], op: ConcatenateOp, emit: Emitter) -> SSAValue:
        return emit(ConcatenateOp(emit(TupleOp(values)), axis=op.axis.value.data))


@dataclass(frozen=True)
class SplitArgsPass(RelayPass):
    """Limits the operands of joins."""

    name = "split-args"

    max_function_args: int = -1
    """How many addresses a kernel takes, that of its result among them; without a limit if it is negative."""

    def rewrite(self, op: ModuleOp) -> None:
        if self.max_function_args < 0:
            return
        require_at_least(LEAST, max_function_args=self.max_function_args)
        pattern = SplitConcatenation(self.max_function_args - 1)
        PatternWalker(Outside(keeps_body, pattern), apply_recursively=False).rewrite_module(op)
