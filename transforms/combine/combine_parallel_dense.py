"""
`combine-parallel-dense`: matrix products of the same data become one with more columns.

    %0 = relay.nn.dense %x, %u            %0 = relay.concatenate (%u, %v, %w)
    %1 = relay.nn.dense %x, %v      ──►   %1 = relay.nn.dense %x, %0
    %2 = relay.nn.dense %x, %w            %2, %3, %4 = slices of %1

Three projections of one input, as attention has for queries, keys and values, read the data once and
make one product that is large enough for all threads. xrelay.transforms.rules.combine_parallel shows the
rewrite and says what is left alone.

Source: Relay's CombineParallelDense with `to_batch=False`.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.dense import DenseOp
from xrelay.transforms.rules.combine_parallel import Combiner
from xrelay.transforms.rules.rewriting import has_static_type


@dataclass(frozen=True)
class DenseCombiner(Combiner):
    """Parallel uses of `relay.nn.dense`."""

    def accepts(self, op: Operation) -> bool:
        return isinstance(op, DenseOp) and all(
            has_static_type(value) for value in (op.data, op.weight, op.result)
        )


@dataclass(frozen=True)
class CombineParallelDensePass(RelayPass):
    """Makes one `relay.nn.dense` of several on the same data."""

    name = "combine-parallel-dense"

    min_num_branches: int = 3
    """Fewer branches stay."""

    def rewrite(self, op: ModuleOp) -> None:
        DenseCombiner(self.min_num_branches, weight_axis=0, output_axis=-1).combine(op)
