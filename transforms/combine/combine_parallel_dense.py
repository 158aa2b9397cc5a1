"""
`combine-parallel-dense`: matrix products of the same data become one.

    %0 = relay.nn.dense %x, %u                 %0 = relay.nn.batch_matmul (stack %x, %x), (stack %u, %v)
    %1 = relay.nn.dense %x, %v           ──►   %1 = relay.split %0
                                               %2, %3 = squeeze of %1.0, of %1.1

    with to-batch=false                        %0 = relay.concatenate (%u, %v)
                                               %1 = relay.nn.dense %x, %0
                                               %2, %3 = slices of %1

Three projections of one input, as attention has for queries, keys and values, make one product that
is large enough for all threads; not in batches, it also reads the data once. Products of a batch have
weights of one shape. With `rules=cpu` products of integers stay. xrelay.transforms.rules.combine.stacked and xrelay.transforms.rules.combine.joined say what comes along, and
xrelay.transforms.rules.combine.parallel what is left alone.

Source: Relay's CombineParallelDense.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.shapes import shape_of
from xrelay.transforms.rules.combine.joined import JoiningCombiner
from xrelay.transforms.rules.combine.stacked import StackingCombiner
from xrelay.transforms.rules.rewriting import has_static_type, is_floating
from xrelay.transforms.rules.rule_sets import require_rules


def has_static_types(op: Operation) -> bool:
    """Whether an operation is a `relay.nn.dense` without unknown dimensions."""
    return isinstance(op, DenseOp) and all(map(has_static_type, (*op.operands, op.result)))


@dataclass(frozen=True)
class DenseCombiner(JoiningCombiner):
    """Parallel uses of `relay.nn.dense` that become one."""

    def accepts(self, op: Operation) -> bool:
        # Each branch of integers has scales of its own, and would read wide sums where it writes bytes.
        wanted = self.rules != "cpu" or is_floating(op.results[0])
        return wanted and has_static_types(op)


@dataclass(frozen=True)
class BatchingDenseCombiner(StackingCombiner):
    """Parallel uses of `relay.nn.dense` of matrices that become a batch of products."""

    def accepts(self, op: Operation) -> bool:
        return has_static_types(op) and len(shape_of(op.operands[0])) == 2


@dataclass(frozen=True)
class CombineParallelDensePass(RelayPass):
    """
    Makes one product of several `relay.nn.dense` on the same data.

    A wrong option raises PassOptionError.
    """

    name = "combine-parallel-dense"

    min_num_branches: int = 3
    """Fewer branches stay."""
    to_batch: bool = True
    """Whether it is a `relay.nn.batch_matmul` of stacked weights, or a `relay.nn.dense` with more outputs."""
    rules: str = "relay"
    """`relay` for Relay's rules; without batches, `cpu` for those that leave scalars as they are."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        if self.to_batch:
            BatchingDenseCombiner(self.min_num_branches).combine(op)
            return
        DenseCombiner(
            self.min_num_branches, self.rules, weight_axis=0, output_axis=-1, units="units"
        ).combine(op)
