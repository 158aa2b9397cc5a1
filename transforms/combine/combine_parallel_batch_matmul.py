"""
`combine-parallel-batch-matmul`: batches of products with the same left operand become one with more
columns.

    %0 = relay.nn.batch_matmul %x, %u           %0 = relay.concatenate (%u, %v)
    %1 = relay.nn.batch_matmul %x, %v     ──►   %1 = relay.nn.batch_matmul %x, %0
                                                %2, %3 = slices of %1

xrelay.transforms.rules.combine_parallel shows the rewrite and says what is left alone. Only products
with transposed right operands (`transpose_b`) are combined, as in Relay.

Source: Relay's CombineParallelBatchMatmul.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.dense import BatchMatmulOp
from xrelay.transforms.rules.combine_parallel import Combiner
from xrelay.transforms.rules.rewriting import has_static_type


@dataclass(frozen=True)
class BatchMatmulCombiner(Combiner):
    """Parallel uses of `relay.nn.batch_matmul`."""

    def accepts(self, op: Operation) -> bool:
        return (
            isinstance(op, BatchMatmulOp)
            and bool(op.transpose_b.value.data)
            and all(has_static_type(value) for value in (op.tensor_a, op.tensor_b, op.result))
        )


@dataclass(frozen=True)
class CombineParallelBatchMatmulPass(RelayPass):
    """Makes one `relay.nn.batch_matmul` of several on the same data."""

    name = "combine-parallel-batch-matmul"

    min_num_branches: int = 3
    """Fewer branches stay."""

    def rewrite(self, op: ModuleOp) -> None:
        BatchMatmulCombiner(self.min_num_branches, weight_axis=1, output_axis=-1).combine(op)
