"""
`convert-layout`: networks in the layouts that somebody else prefers.

    convert-layout{desired-layouts="nn.conv2d:NHWC:default"}

    %0 = relay.nn.conv2d %x, %w        %0 = relay.layout_transform %x   NCHW → NHWC
    %1 = relay.nn.relu %0       ──►    %1 = relay.layout_transform %w   OIHW → HWIO
                                       %2 = relay.nn.conv2d %0, %1      data_layout NHWC, kernel_layout HWIO
                                       %3 = relay.nn.relu %2
                                       %4 = relay.layout_transform %3   NHWC → NCHW

`desired-layouts` names operators and the layouts of their operands: of images and weights for convolutions,
where `default` is the usual layout of weights beside that of images (for NHWC it is HWIO, and HWOI where every channel is
a group), and of images for pooling and resizing. `nn.conv2d` with images NCHW{x}c becomes
`relay.nn.contrib_conv2d_NCHWc`, and stays where the channels are no multiple of the blocks. What lies between these
operators follows them (`xrelay.transforms.rules.relayout`), and layouts are changed back at the ends.

Run `canonicalize-ops` before it, as `relay.nn.bias_add` does not follow, and `fold-constant` after it, which
transforms constants. Without `desired-layouts`, nothing changes; when all is in these layouts, operands of
lower rank still get the axes of length 1 that broadcasting gives them. Floating-point sums are
of the same products, in another order.

Leaves alone: bodies of `relay.fused` and `relay.composite`, and functions for other compilers.

Source: Relay's ConvertLayout, and its LayoutConfig for `skip`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.suggestions import PassOptionError, require_at_least
from xrelay.analysis.layouts.alteration import Altered
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import Conv2DOp, Conv2DTransposeOp, Conv3DOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.packed import ContribConv2DNCHWcOp
from xrelay.dialects.image.resize import Resize1DOp, Resize2DOp
from xrelay.dialects.nn.correlation import DeformableConv2DOp
from xrelay.dialects.pool.pool import AvgPool2DOp, GlobalAvgPool2DOp, GlobalMaxPool2DOp, MaxPool2DOp
from xrelay.dialects.qnn.products import QnnConv2DOp, QnnConv2DTransposeOp
from xrelay.dialects.shapes import is_tensor_type, string
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.vision.regions import RoiAlignOp, RoiPoolOp
from xrelay.transforms.rules.relayout import Relayout, operations_outside_kernels

DEFAULT = "default"
"""The layout of weights that is usual beside that of images."""
BLOCKED = re.compile(r"NCHW\d+c")
"""The layouts of images that `relay.nn.contrib_conv2d_NCHWc` takes."""


@dataclass(frozen=True)
class Convertible:
    """The layouts that `desired-layouts` gives an operator."""

    properties: tuple[tuple[str, ...], ...] = (("data_layout",), ("kernel_layout",))
    """For each of these layouts, the properties that state it."""
    axes: tuple[str, ...] = ("NCHW", "OIHW")
    """The axes of each; DEFAULT where there is no choice."""
    weights: dict[str, str] = field(default_factory=dict[str, str])
    """The usual layout of weights for each of images."""
    depthwise: dict[str, str] = field(default_factory=dict[str, str])
    """Another one where every channel is a group."""

    def parse(self, name: str, entry: str, layouts: Sequence[str]) -> tuple[str, ...]:
        """The layouts of an entry. Raises PassOptionError for those that the operator has not."""
        if len(layouts) != len(self.axes):
            example = ":".join((name, self.axes[0], *[DEFAULT] * (len(self.axes) - 1)))
            raise _refusal(entry, f"expected {len(self.axes)} of its layouts, as in {example!r}")
        for layout, axes in zip(layouts, self.axes, strict=True):
            if axes == DEFAULT:
                if layout != DEFAULT:
                    raise _refusal(entry, f"expected {DEFAULT!r} in the place of {layout!r}")
            elif layout != DEFAULT or axes is self.axes[0]:
                _require_axes(entry, layout, axes)
        if layouts[1:] == [DEFAULT] and self.weights and layouts[0] not in self.weights:
            known = ", ".join(self.weights)
            raise _refusal(
                entry, f"{DEFAULT!r} is known for images in {known}; state the layout of weights"
            )
        return tuple(layouts)

    def desired(self, op: RelayOp, layouts: Sequence[str]) -> dict[str, Attribute]:
        """The properties that state some layouts, one of which may be DEFAULT."""
        images, *weights = layouts
        if weights == [DEFAULT] and self.weights:
            usual = self.weights | (self.depthwise if _is_depthwise(op) else {})
            weights = [usual[images]]
        chosen = zip(self.properties, (images, *weights), strict=True)
        return {name: string(layout) for names, layout in chosen for name in names}


def _refusal(entry: str, expected: str) -> PassOptionError:
    return PassOptionError(f"'desired-layouts' has {entry!r}, {expected}")


def _require_axes(entry: str, text: str, axes: str) -> None:
    try:
        layout = Layout.parse(text, "layout")
    except VerifyException as error:
        raise _refusal(entry, f"where {error}") from error
    if sorted(layout.names) != sorted(axes):
        raise _refusal(entry, f"expected the axes of {axes} in the place of {text!r}")


def _is_depthwise(op: RelayOp) -> bool:
    """Whether every channel of a convolution is a group with one filter."""
    if not isinstance(op, Conv2DOp | QnnConv2DOp):
        return False
    images = Layout.parse(op.data_layout.data, "data_layout")
    results = Layout.parse(op.out_layout.data, "out_layout") if op.out_layout.data else images
    channels = images.lengths(op.data.type.get_shape())["C"]
    assert is_tensor_type(op.results[0].type)
    outputs = results.lengths(op.results[0].type.get_shape())["C"]
    return op.groups.value.data == channels == outputs


IMAGES = {"NCHW": "OIHW", "NHWC": "HWIO"}
DEPTHWISE = {"NHWC": "HWOI"}
TRANSPOSED = Convertible(weights={"NCHW": "IOHW", "NHWC": "HWIO"})
POOL = Convertible((("layout", "out_layout"),), ("NCHW",))
REGIONS = Convertible((("layout",), ()), ("NCHW", DEFAULT))

CONVERTIBLE: Mapping[type[RelayOp], Convertible] = {
    AvgPool2DOp: POOL,
    Conv2DBackwardWeightOp: Convertible(
        (("data_layout", "kernel_layout"), ("out_layout",)), weights=IMAGES
    ),
    Conv2DOp: Convertible(weights=IMAGES | {"HWNC": "HWOI"}, depthwise=DEPTHWISE),
    Conv2DTransposeOp: TRANSPOSED,
    Conv3DOp: Convertible(axes=("NCDHW", "OIDHW"), weights={"NCDHW": "OIDHW", "NDHWC": "DHWIO"}),
    DeformableConv2DOp: Convertible(weights=IMAGES),
    GlobalAvgPool2DOp: POOL,
    GlobalMaxPool2DOp: POOL,
    MaxPool2DOp: POOL,
    QnnConv2DOp: Convertible(weights=IMAGES, depthwise=DEPTHWISE),
    QnnConv2DTransposeOp: TRANSPOSED,
    Resize1DOp: Convertible((("layout",),), ("NCW",)),
    Resize2DOp: Convertible((("layout",),), ("NCHW",)),
    RoiAlignOp: REGIONS,
    RoiPoolOp: REGIONS,
}
"""The operators that `desired-layouts` may name."""
SKIPPED = (Conv2DOp, DeformableConv2DOp)
"""The operators that `skip` counts."""


class DesiredLayouts:
    """What becomes of operators that begin: those named, in the layouts that are desired."""

    def __init__(self, entries: Sequence[str], skip: Sequence[int]):
        known = {op.name.removeprefix("relay."): op for op in CONVERTIBLE}
        self.layouts: dict[type[RelayOp], tuple[str, ...]] = {}
        for entry in entries:
            name, *layouts = entry.removeprefix("relay.").split(":")
            if name not in known:
                raise _refusal(entry, f"expected one of {', '.join(known)} and its layouts")
            if known[name] in self.layouts:
                raise _refusal(
                    entry, f"expected one entry for {name}, whose layouts are stated before"
                )
            self.layouts[known[name]] = CONVERTIBLE[known[name]].parse(name, entry, layouts)
        self.skip = frozenset(skip)
        self.count = 0

    def __call__(self, op: RelayOp) -> Altered | None:
        layouts = self.layouts.get(type(op))
        if layouts is None:
            return None
        if isinstance(op, SKIPPED):
            self.count += 1
            if self.count - 1 in self.skip:
                return None
        properties = op.properties | CONVERTIBLE[type(op)].desired(op, layouts)
        blocked = isinstance(op, Conv2DOp) and BLOCKED.fullmatch(layouts[0])
        return Altered(ContribConv2DNCHWcOp if blocked else type(op), properties)


@dataclass(frozen=True)
class ConvertLayoutPass(RelayPass):
    """Brings operators, and what lies between them, into desired layouts."""

    name = "convert-layout"

    desired_layouts: tuple[str, ...] = ()
    """Operators and their layouts: `nn.conv2d:NHWC:default`, `nn.max_pool2d:NHWC`."""
    skip: tuple[int, ...] = ()
    """Which of the `nn.conv2d` and `nn.deformable_conv2d` that are named stay, counted from 0 as they stand."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(0, skip=min(self.skip, default=0))
        if self.desired_layouts:
            alter = DesiredLayouts(self.desired_layouts, self.skip)
            Relayout(alter).rewrite(operations_outside_kernels(op))
