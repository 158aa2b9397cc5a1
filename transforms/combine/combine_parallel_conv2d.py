"""
`combine-parallel-conv2d`: convolutions of the same image become one with more output channels.

    %0 = relay.nn.conv2d %x, %u                %0 = relay.concatenate (%u, %v)
    %1 = relay.nn.conv2d %x, %v          ──►   %1 = relay.nn.conv2d %x, %0
                                               %2, %3 = slices of %1

Kernels of the same size with the same strides, padding and dilation, as Inception modules have.
xrelay.transforms.rules.combine.joined says what comes along, and xrelay.transforms.rules.combine.parallel what is
left alone. Grouped convolutions stay, and those of blocks, whose channels the original miscounts.

Source: Relay's CombineParallelConv2D.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.transforms.rules.combine.joined import JoiningCombiner
from xrelay.transforms.rules.rewriting import has_static_type
from xrelay.transforms.rules.rule_sets import require_rules


@dataclass(frozen=True)
class Conv2DCombiner(JoiningCombiner):
    """Parallel uses of `relay.nn.conv2d` in layouts with certain axes of outputs."""

    def accepts(self, op: Operation) -> bool:
        return (
            isinstance(op, Conv2DOp)
            and output_axes(op) == (self.weight_axis, self.output_axis)
            and op.groups.value.data == 1
            and not any(layout.blocks for layout in op.layouts)
            and not op.multiplies_depth
            and all(has_static_type(value) for value in (op.data, op.weight, op.result))
        )


def output_axes(op: Conv2DOp) -> tuple[int, int]:
    """The axes of the weight and of the result that lie along the output channels."""
    _, kernels, results = op.layouts
    return kernels.index("O"), results.index("C")


@dataclass(frozen=True)
class CombineParallelConv2DPass(RelayPass):
    """
    Makes one `relay.nn.conv2d` of several on the same data.

    A wrong option raises PassOptionError.
    """

    name = "combine-parallel-conv2d"

    min_num_branches: int = 3
    """Fewer branches stay."""
    rules: str = "relay"
    """`relay` for Relay's rules, `cpu` for those that leave scalars as they are."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        require_at_least(1, min_num_branches=self.min_num_branches)
        convolutions = (each for each in walk(op) if isinstance(each, Conv2DOp))
        for weight_axis, output_axis in dict.fromkeys(map(output_axes, convolutions)):
            Conv2DCombiner(
                self.min_num_branches, self.rules, weight_axis, output_axis, "channels"
            ).combine(op)
