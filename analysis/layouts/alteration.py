"""
What targets want of operators: the layouts in which they begin, from where layouts go on through a program.

    def in_nhwc(op: RelayOp) -> Altered | None:
        return Altered(Conv2DOp, op.properties | {"data_layout": string("NHWC"), "kernel_layout": string("HWIO")})

    TARGETS.register("vendor", lambda lanes: {Conv2DOp: in_nhwc})

A target is known by its name. Whoever has one registers it; `llvm` is there.

Source: Relay's operator attribute `FTVMAlterOpLayout`.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute

from xrelay.analysis.facts.suggestions import PassOptionError, did_you_mean
from xrelay.analysis.layouts.inference import Seen
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.conv.packed import ContribConv2DNCHWcOp, ContribDepthwiseConv2DNCHWcOp
from xrelay.dialects.shapes import string


@dataclass(frozen=True)
class Altered:
    """
    What becomes of an operator that begins: another operator on its operands, which takes them in the layouts that
    its properties state.
    """

    op_type: type[RelayOp]
    properties: Mapping[str, Attribute]
    operands: tuple[Seen, ...] | None = None
    """The layouts of its operands, where the properties do not state them."""


Alteration: TypeAlias = Callable[[RelayOp], Altered | None]
"""What becomes of an operator; None when it does not begin."""
Hooks: TypeAlias = Mapping[type[RelayOp], Alteration]
"""What a target wants, by operator."""


def _divisor(count: int, most: int) -> int:
    """The largest divisor that is not more than `most`."""
    return next(size for size in range(most, 0, -1) if count % size == 0)


def packed_convolutions(lanes: int) -> Hooks:
    """
    Images and weights in blocks of at most `lanes` channels, in as large ones as divide their number.

    Source: TVM's `conv2d_alter_layout` for x86, with the sizes that it has without records of tuning.
    """

    def packed(op: RelayOp) -> Altered | None:
        if not isinstance(op, Conv2DOp) or not op.is_plain or op.out_layout.data:
            return None
        if op.data_layout.data != op.IMAGE_LAYOUT:
            return None
        channels = op.data.type.get_shape()[1]
        outputs, taken, *_ = op.weight.type.get_shape()
        groups = op.groups.value.data
        if DYNAMIC_INDEX in (channels, outputs, taken):
            return None
        if groups == channels == outputs and groups > 1:
            block = _divisor(outputs, lanes)
            layouts = f"NCHW{block}c", f"OIHW1i{block}o", f"NCHW{block}c"
            return _in_layouts(op, ContribDepthwiseConv2DNCHWcOp, *layouts)
        outer = _divisor(outputs // groups, lanes)
        inner = _divisor(taken, outer)
        layouts = f"NCHW{inner}c", f"OIHW{inner}i{outer}o", f"NCHW{outer}c"
        return _in_layouts(op, ContribConv2DNCHWcOp, *layouts)

    return {Conv2DOp: packed}


def _in_layouts(
    op: Conv2DOp, op_type: type[RelayOp], images: str, weights: str, results: str
) -> Altered:
    stated = {"data_layout": images, "kernel_layout": weights, "out_layout": results}
    return Altered(op_type, op.properties | {name: string(text) for name, text in stated.items()})


@dataclass
class LayoutTargets:
    """The targets that are known by name: their hooks for vectors of some elements of f32."""

    targets: dict[str, Callable[[int], Hooks]] = field(
        default_factory=dict[str, Callable[[int], Hooks]]
    )

    def register(self, name: str, hooks: Callable[[int], Hooks]) -> None:
        """Adds a target, in the place of one of the same name."""
        self.targets[name] = hooks

    @contextmanager
    def using(self, name: str, hooks: Callable[[int], Hooks]) -> Generator[None]:
        """Knows one more target for a while."""
        before = dict(self.targets)
        self.register(name, hooks)
        try:
            yield
        finally:
            self.targets = before

    def alteration(self, name: str, lanes: int) -> Alteration:
        """What a target wants. Raises PassOptionError for a name that is not known."""
        if name not in self.targets:
            raise PassOptionError(
                f"'target' is {name!r}, known are cpu, {', '.join(sorted(self.targets))}"
                f"{did_you_mean(name, ('cpu', *self.targets))}"
            )
        hooks = self.targets[name](lanes)

        def alter(op: RelayOp) -> Altered | None:
            hook = hooks.get(type(op))
            return None if hook is None else hook(op)

        return alter


TARGETS = LayoutTargets({"llvm": packed_convolutions})
"""The targets of this process."""
