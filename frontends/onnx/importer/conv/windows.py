"""The attributes that convolution and pooling share, of windows over images."""

from collections.abc import Sequence
from dataclasses import dataclass

from xrelay.frontends.onnx.errors import UnsupportedNode
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.importer.sizes import MAX_ELEMENTS


@dataclass(frozen=True)
class Window:
    """Where windows lie on an image, on each of its spatial axes."""

    auto_pad: str
    pads: list[int] | None
    strides: list[int]
    dilations: list[int]

    @staticmethod
    def of(node: Node, axes: int = 2) -> "Window":
        """Reads the attributes; those of images with another number of `axes` are refused."""
        window = Window(
            node.string("auto_pad", "NOTSET"),
            node.integers("pads"),
            node.integers("strides") or [1] * axes,
            node.integers("dilations") or [1] * axes,
        )
        for name, numbers, expected, least in (
            ("pads", window.pads or [0] * 2 * axes, 2 * axes, 0),
            ("strides", window.strides, axes, 1),
            ("dilations", window.dilations, axes, 1),
        ):
            if len(numbers) != expected:
                raise UnsupportedNode(f"'{name}' is {numbers}: expected {expected} numbers")
            if min(numbers, default=least) < least or max(numbers, default=0) > MAX_ELEMENTS:
                raise UnsupportedNode(
                    f"'{name}' is {numbers}, accepted range is [{least}, {MAX_ELEMENTS}]"
                )
        if window.auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
            raise UnsupportedNode(f"'auto_pad' is \"{window.auto_pad}\"")
        return window

    def padding(self, image: Sequence[int], kernel: Sequence[int]) -> list[int]:
        """What is added before the first element of each axis, then after the last ones."""
        if self.auto_pad == "NOTSET":
            return self.pads or [0] * 2 * len(image)
        if self.auto_pad == "VALID":
            return [0] * 2 * len(image)
        totals: list[int] = []
        for size, taps, stride, dilation in zip(
            image, kernel, self.strides, self.dilations, strict=True
        ):
            count = -(-size // stride)
            totals.append(max((count - 1) * stride + (taps - 1) * dilation + 1 - size, 0))
        return halves(totals, more_at_end=self.auto_pad == "SAME_UPPER")


def halves(totals: Sequence[int], *, more_at_end: bool) -> list[int]:
    """Paddings divided: those before the axes, then those after them. Odd ones have one more."""
    small = [total // 2 for total in totals]
    large = [total - total // 2 for total in totals]
    return small + large if more_at_end else large + small
