"""
What the rules of operators say of layouts, and arithmetic on layouts that they share.

A rule is asked twice: first in which layouts the operator sees its operands as the program stands, then what
becomes of it when these lie in other layouts.

Source: TVM's `FInferCorrectLayout`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any, TypeAlias

from xdsl.ir import Attribute

from xrelay.dialects.lengths import certainly
from xrelay.dialects.tensor.layout import Layout, LayoutAxis

Known: TypeAlias = Layout | None
"""The layout of a tensor, None where it is not known."""
Seen: TypeAlias = Known | tuple[Known, ...]
"""The layout of an operand, or those of the fields of a tuple."""


@dataclass(frozen=True)
class Inferred:
    """The layouts around an operator."""

    operands: tuple[Seen, ...]
    """What it needs of each operand; None leaves an operand as the program states it."""
    results: tuple[Known, ...]
    """The layout of the result, or of each field when that is a tuple."""
    properties: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Its properties in these layouts, as far as they follow them."""


Rule: TypeAlias = Callable[[Any, Sequence[Seen], Sequence[Seen] | None], Inferred | None]
"""
The layouts around an operator, by those of its operands in the program and, when they were changed, those that
they have now. None when they do not follow: the operator then takes its operands as the program states them.
"""


def layout_now(old: Sequence[Seen], new: Sequence[Seen] | None) -> Known:
    """The layout of the first operand."""
    found = (old if new is None else new)[0]
    return None if isinstance(found, tuple) else found


def following(rule: Callable[[Any, Layout, Layout], Inferred | None]) -> Rule:
    """
    The rule of an operator that follows its first operand, by the layout that this has in the program and the one
    that it has now. Where one of them is not known it does not follow.
    """

    def by_first_operand(
        op: Any, old: Sequence[Seen], new: Sequence[Seen] | None
    ) -> Inferred | None:
        before, layout = layout_now(old, None), layout_now(old, new)
        return None if before is None or layout is None else rule(op, before, layout)

    return by_first_operand


def stating(rule: Callable[[Any], Inferred | None]) -> Rule:
    """The rule of an operator whose properties state the layouts, whatever those of its operands are."""
    return lambda op, old, new: rule(op)


def refines(old: Layout, new: Layout) -> bool:
    """Whether `new` has the axes of `old` in some order, and its blocks, and perhaps more of them."""
    blocks = new.blocks
    return sorted(old.names) == sorted(new.names) and all(
        blocks.get(name) == length for name, length in old.blocks.items()
    )


def moved_axis(axis: int, old: Layout, new: Layout) -> int | None:
    """
    Where an axis of a tensor in the layout `old` stands in `new`; None when `new` splits it, or has not all axes
    of `old`.
    """
    moved = old.axes[axis]
    if not refines(old, new) or old.blocks.get(moved.name) != new.blocks.get(moved.name):
        return None
    return new.find(moved.name, block=moved.block is not None)


def transformed_like(layout: Layout, old: Layout, new: Layout) -> Layout | None:
    """
    `layout` changed as `old` is to `new`, for tensors that broadcast: their last axes belong together, whatever
    they are called. With W of "NW" in the place of C, what makes NC1c of NC makes NW1w of it.

    None when the axes do not correspond.

    Source: TVM's `TryTransformLike`.
    """
    large, small = (old, layout) if len(old.axes) > len(layout.axes) else (layout, old)
    tail = large.last(len(small.axes))
    rest = large.axes[: len(large.axes) - len(small.axes)]
    if {axis.name for axis in rest} & {axis.name for axis in tail.axes}:
        return None
    if not layout.axes:
        return layout
    names: dict[str, str] = {}
    for mine, other in zip(reversed(layout.axes), reversed(old.axes), strict=False):
        if mine.block != other.block or names.setdefault(other.name, mine.name) != mine.name:
            return None
    if len(set(names.values())) < len(names):
        return None
    used = {axis.name for axis in layout.axes}
    for axis in reversed(old.axes):
        if axis.name not in names:
            free = (letter for letter in axis.name + ascii_uppercase if letter not in used)
            names[axis.name] = next(free)
            used.add(names[axis.name])
    if not {axis.name for axis in new.axes} <= names.keys():
        return None
    return Layout(tuple(LayoutAxis(names[axis.name], axis.block) for axis in new.axes))


def broadcast_blocks(layout: Layout, old: Layout, shape: Sequence[int]) -> Layout:
    """
    `layout` for a tensor of `shape` in the layout `old`, with blocks of 1 for axes that it repeats: those of length
    1, and those that it has not.

    Source: TVM's `AdjustSubordinateFactors`.
    """

    def fitted(axis: LayoutAxis) -> LayoutAxis:
        if axis.block is None or old.find(axis.name, block=True) is not None:
            return axis
        place = old.find(axis.name)
        return LayoutAxis(axis.name, 1) if place is None or certainly(shape[place], 1) else axis

    return Layout(tuple(map(fitted, layout.axes)))


def broadcast_like(layout: Layout, shape: Sequence[int], old: Layout, new: Layout) -> Layout | None:
    """
    The layout for a tensor of `shape` in `layout` that broadcasts to one in the layout `old`, when this comes to lie
    in `new`. None when their axes do not correspond.
    """
    found = transformed_like(layout, old, new)
    return None if found is None else broadcast_blocks(found, layout, shape)
