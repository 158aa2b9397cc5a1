"""
`layout-rewrite`: weights in the layouts that kernels were tuned for.

    fuse-ops,layout-rewrite{weights="nn.dense:NC16n"},defuse-ops,fold-constant,fuse-ops

    %0 = relay.fused %x, %w {                      %0 = relay.fused %x, %w {
      %1 = relay.nn.dense %x, %w                     %1 = relay.layout_transform %w       NC → NC16n
      relay.yield %1                    ──►          %2 = relay.nn.contrib_dense_pack %x, %1
    }                                                relay.yield %2
                                                   }

What a kernel reads is known when operators are fused, so weights are transformed there; without kernels again
constants absorb the transforms, and are all that is left of them when operators are fused once more.

`weights` names operators and the layout of their weight: that of O, I and the axes of windows for convolutions, with
blocks or not (`nn.conv2d:OIHW4i16o`), rows in blocks for `nn.dense`, which becomes
`relay.nn.contrib_dense_pack`, and NC or CN (BNC or BCN) for `nn.matmul` (`nn.batch_matmul`), which
`transpose_b` states. Images and results stay.

`nn.conv2d:winograd4` and `nn.conv3d:winograd4` are Winograd's convolutions in tiles of 4 outputs along each axis, from 2 to 8:
the weight is transformed by `relay.nn.contrib_conv2d_winograd_weight_transform`, which the constant absorbs as
well. Those of floating point with strides, dilation and groups of 1 and square filters of 3 to 7 taps become such; another
entry is for the rest. Results round differently, and what is NaN or infinite makes all of its tile NaN.

Leaves alone: what is in no `relay.fused`, and in one whose strategies are chosen; weights that are no
constants, which would be transformed in each run, and those whose axes are no multiple of a block; composites and functions
for other compilers. Transformed weights of Winograd's convolutions have one layout only.

Source: Relay's AutoSchedulerLayoutRewrite and MetaScheduleLayoutRewrite, which ask the records of tuning.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.scopes import Within, belongs_to_backend
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.layouts.alteration import Altered
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv3DOp
from xrelay.dialects.conv.winograd import TILE_SIZES
from xrelay.dialects.core.values import ConstantOp, FusedOp
from xrelay.dialects.nn.dense import BatchMatmulOp, ContribDensePackOp, DenseOp, MatmulOp
from xrelay.dialects.shapes import boolean, integer, string
from xrelay.dialects.tensor.layout import Layout, layout_of
from xrelay.transforms.rules.relayout import Relayout
from xrelay.transforms.rules.rewriting import Emitter
from xrelay.transforms.rules.winograd_weights import in_two_steps


def _convolution(op: RelayOp, layout: Layout) -> Altered | None:
    return Altered(type(op), op.properties | {"kernel_layout": string(str(layout))})


def _dense(op: RelayOp, layout: Layout) -> Altered | None:
    assert isinstance(op, DenseOp)
    if op.data.type.get_num_dims() != 2 or not layout.blocks:
        return None
    units = integer(op.weight.type.get_shape()[0])
    return Altered(ContribDensePackOp, op.properties | {"units": units}, (None, layout))


def _product(op: RelayOp, layout: Layout) -> Altered | None:
    transposed = layout.axes[-1].name == "C"
    return Altered(type(op), op.properties | {"transpose_b": boolean(transposed)})


@dataclass(frozen=True)
class Rewritable:
    """The layouts that the weight of an operator may have."""

    axes: str
    example: str
    alter: Callable[[RelayOp, Layout], Altered | None]
    splits: str = ""
    """The axes that may be in blocks."""
    order: str = ""
    """The axes that stand first."""

    def parse(self, entry: str, text: str) -> Layout:
        """The layout of an entry. Raises PassOptionError for one that the weight cannot have."""
        try:
            layout = layout_of(string(text), "layout", self.axes, self.splits)
        except VerifyException as error:
            raise _refusal(entry, f"where {error}") from error
        if not str(layout).startswith(self.order):
            raise _refusal(entry, f"expected a layout like {self.example}")
        return layout


def _refusal(entry: str, expected: str) -> PassOptionError:
    return PassOptionError(f"'weights' has {entry!r}, {expected}")


REWRITABLE: Mapping[type[RelayOp], Rewritable] = {
    BatchMatmulOp: Rewritable("BNC", "BNC", _product, order="B"),
    Conv2DOp: Rewritable("OIHW", "OIHW4i16o", _convolution, splits="OI"),
    Conv3DOp: Rewritable("OIDHW", "OIDHW4i16o", _convolution, splits="OI"),
    DenseOp: Rewritable("NC", "NC16n", _dense, splits="N", order="NC"),
    MatmulOp: Rewritable("NC", "NC", _product),
}
"""The operators that `weights` may name."""


WINOGRAD = "winograd"
"""What stands in front of the size of a tile."""
CONVOLUTIONS = (Conv2DOp, Conv3DOp)
"""The operators that have Winograd's convolution."""


def _tile(entry: str, text: str) -> int:
    """The size of a tile in an entry. Raises PassOptionError for one that there is not."""
    number = text.removeprefix(WINOGRAD)
    if not number.isdecimal() or int(number) not in TILE_SIZES:
        raise _refusal(entry, f"expected {WINOGRAD}{TILE_SIZES[0]} to {WINOGRAD}{TILE_SIZES[-1]}")
    return int(number)


class WeightLayouts:
    """What becomes of operators whose weights are constants."""

    def __init__(self, entries: Sequence[str]):
        known = {op.name.removeprefix("relay."): op for op in REWRITABLE}
        self.layouts: dict[type[RelayOp], Layout] = {}
        self.tiles: dict[type[RelayOp], int] = {}
        """The outputs of a tile, where convolutions are those of Winograd."""
        for entry in entries:
            name, _, layout = entry.removeprefix("relay.").partition(":")
            if name not in known:
                raise _refusal(entry, f"expected one of {', '.join(known)} and a layout")
            if layout.startswith(WINOGRAD) and known[name] in CONVOLUTIONS:
                self.tiles[known[name]] = _tile(entry, layout)
                continue
            self.layouts[known[name]] = REWRITABLE[known[name]].parse(entry, layout)

    def __call__(self, op: RelayOp) -> Altered | None:
        layout = self.layouts.get(type(op))
        if layout is None or not _is_constant(op.operands[1]):
            return None
        return REWRITABLE[type(op)].alter(op, layout)

    def make_tiles(self, op: Operation) -> bool:
        """Puts one of Winograd's convolutions in the place of an operator that becomes one. Returns whether it did."""
        if not isinstance(op, CONVOLUTIONS) or type(op) not in self.tiles:
            return False
        emit = Emitter()
        value = in_two_steps(op, self.tiles[type(op)], emit) if _is_constant(op.weight) else None
        if value is not None:
            Rewriter.replace_op(op, emit.located(op), [value])
        return value is not None


def _is_constant(value: SSAValue) -> bool:
    """Whether a value in the body of a `relay.fused` is a constant, or stands for one."""
    if isinstance(value, BlockArgument):
        kernel = value.owner.parent_op()
        if not isinstance(kernel, FusedOp):
            return False
        value = kernel.args[value.index]
    return isinstance(value.owner, ConstantOp)


def _is_open(op: Operation) -> bool:
    """Whether an operation is a kernel whose strategies are not chosen."""
    return isinstance(op, FusedOp) and op.strategies is None


@dataclass(frozen=True)
class LayoutRewritePass(RelayPass):
    """Transforms constant weights where operators are fused."""

    name = "layout-rewrite"

    weights: tuple[str, ...] = ()
    """Operators and the layouts of their weights: `nn.conv2d:OIHW4i16o`, `nn.dense:NC16n`."""

    def rewrite(self, op: ModuleOp) -> None:
        alter = WeightLayouts(self.weights)
        in_kernel, in_other = Within(_is_open), Within(belongs_to_backend)
        ops = [each for each in walk(op) if in_kernel(each) and not in_other(each)]
        left = [each for each in ops if not alter.make_tiles(each)]
        Relayout(alter).rewrite(left)
