"""
`combine-parallel-batch-matmul`: batches of products with the same left operand become one with more
columns.

    %0 = relay.nn.batch_matmul %x, %u {transpose_b}         %0 = relay.concatenate (%u, %v) {axis = 1}
    %1 = relay.nn.batch_matmul %x, %v {transpose_b}   ──►   %1 = relay.nn.batch_matmul %x, %0 {transpose_b}
                                                            %2, %3 = slices of %1

xrelay.transforms.rules.combine.joined says what comes along, and xrelay.transforms.rules.combine.parallel what is left
alone. Only products with transposed right operands (`transpose_b`) are combined, as in Relay.

Source: Relay's CombineParallelBatchMatmul, which puts operands of any shape together.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.transforms.rules.combine.joined import JoiningCombiner
from xrelay.transforms.rules.rewriting import has_static_type
from xrelay.transforms.rules.rule_sets import require_rules


@dataclass(frozen=True)
class BatchMatmulCombiner(JoiningCombiner):
    """Parallel uses of `relay.nn.batch_matmul`."""

    def accepts(self, op: Operation) -> bool:
        return (
            isinstance(op, BatchMatmulOp)
            and (self.rules == "cpu" or not op.transpose_a.value.data)
            and bool(op.transpose_b.value.data)
            and all(has_static_type(value) for value in (op.tensor_a, op.tensor_b, op.result))
        )

    def stated_axis(self, axis: int) -> int:
        return -1


@dataclass(frozen=True)
class CombineParallelBatchMatmulPass(RelayPass):
    """
    Makes one `relay.nn.batch_matmul` of several on the same data.

    A wrong option raises PassOptionError.
    """

    name = "combine-parallel-batch-matmul"

    min_num_branches: int = 3
    """Fewer branches stay."""
    rules: str = "relay"
    """`relay` for Relay's rules, `cpu` for those that leave scalars as they are."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        BatchMatmulCombiner(
            self.min_num_branches, self.rules, weight_axis=1, output_axis=-1
        ).combine(op)
