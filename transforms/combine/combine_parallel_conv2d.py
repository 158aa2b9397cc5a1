"""
`combine-parallel-conv2d`: convolutions of the same image become one with more output channels.

    %0 = relay.nn.conv2d %x, %u           %0 = relay.concatenate (%u, %v)
    %1 = relay.nn.conv2d %x, %v     ──►   %1 = relay.nn.conv2d %x, %0
                                          %2, %3 = slices of %1

Kernels of the same size with the same strides, padding and dilation, as Inception modules have.
Grouped convolutions, and layouts other than NCHW, stay. xrelay.transforms.rules.combine_parallel shows the
rewrite and says what else is left alone.

Source: Relay's CombineParallelConv2D.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.tensor.layout import IMAGE
from xrelay.transforms.rules.combine_parallel import Combiner
from xrelay.transforms.rules.rewriting import has_static_type


@dataclass(frozen=True)
class Conv2DCombiner(Combiner):
    """Parallel uses of `relay.nn.conv2d`."""

    def accepts(self, op: Operation) -> bool:
        return (
            isinstance(op, Conv2DOp)
            and op.groups.value.data == 1
            and {op.data_layout.data, op.out_layout.data} <= {IMAGE, ""}
            and op.is_plain
            and all(has_static_type(value) for value in (op.data, op.weight, op.result))
        )


@dataclass(frozen=True)
class CombineParallelConv2DPass(RelayPass):
    """Makes one `relay.nn.conv2d` of several on the same data."""

    name = "combine-parallel-conv2d"

    min_num_branches: int = 3
    """Fewer branches stay."""

    def rewrite(self, op: ModuleOp) -> None:
        Conv2DCombiner(self.min_num_branches, weight_axis=0, output_axis=1).combine(op)
