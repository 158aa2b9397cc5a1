"""The order in which the normal forms of the original give names."""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.dialects.core.functional import ApplyOp
from xrelay.dialects.core.references import RefWriteOp


class EvaluationOrder(Dependencies):
    """
    The order in which the original gives names: what it calls is visited behind the arguments, what is written before the
    reference, and a branch from its end: the second, the first, the condition.
    """

    def used(self, op: Operation) -> Sequence[SSAValue]:
        if isinstance(op, ApplyOp | RefWriteOp):
            return (*op.operands[1:], op.operands[0])
        return super().used(op)

    def direct(self, op: Operation) -> list[Operation]:
        found = super().direct(op)
        if not isinstance(op, scf.IfOp):
            return found
        regions = (op.false_region, op.true_region)
        inside = [each for region in regions for each in found if each.parent_region() is region]
        return [*inside, *(each for each in found if each.parent_op() is not op)]

    def put(self) -> None:
        """Puts the operations of each block in this order."""
        for op in self.visited():
            block = op.parent
            assert block is not None
            last = block.last_op
            if last is not None and op is not last:
                op.detach()
                block.insert_op_before(op, last)
