"""Layouts around operators that compute each element from those at the same place."""

from collections.abc import Sequence

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation

from xrelay.analysis.layouts.inference import (
    Inferred,
    Seen,
    broadcast_like,
    following,
    layout_now,
    moved_axis,
)
from xrelay.dialects.qnn.arithmetic import QnnBinaryOp
from xrelay.dialects.qnn.conversion import QnnRequantizeOp
from xrelay.dialects.qnn.parameters import is_scalar
from xrelay.dialects.shapes import integer, normalize_axis, shape_of
from xrelay.dialects.tensor.layout import Layout, LayoutAxis


def elementwise(op: Operation, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """Any layout, which all results have, too. Operands after the first stay as they are."""
    layout = layout_now(old, new)
    if layout is None:
        return None
    (type_,) = op.result_types
    count = len(type_.types.data) if isinstance(type_, TupleType) else 1
    return Inferred((layout, *[None] * (len(op.operands) - 1)), (layout,) * count)


def broadcast(op: Operation, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """
    Two tensors that broadcast. A layout that is not known is that of the other operand's last axes; the smaller
    operand follows the larger one.
    """
    stated = _broadcast_layouts(op, old)
    if stated is None:
        return None
    lhs, rhs = stated
    if new is None:
        ranks = [len(shape_of(value)) for value in op.operands[:2]]
        return Inferred(stated, (lhs if ranks[0] >= ranks[1] else rhs,))
    now = new[:2]
    if not isinstance(now[0], Layout) or not isinstance(now[1], Layout):
        return None
    large = 0 if len(now[0].names) >= len(now[1].names) else 1
    target = now[large]
    assert isinstance(target, Layout)
    small = broadcast_like(
        stated[1 - large], shape_of(op.operands[1 - large]), stated[large], target
    )
    if small is None:
        return None
    return Inferred((target, small) if large == 0 else (small, target), (target,))


def _broadcast_layouts(op: Operation, old: Sequence[Seen]) -> tuple[Layout, Layout] | None:
    """The layouts of the first two operands in the program."""
    lhs, rhs = old[:2]
    ranks = [len(shape_of(value)) for value in op.operands[:2]]
    if lhs is None and isinstance(rhs, Layout) and ranks[1] >= ranks[0]:
        lhs = rhs.last(ranks[0])
    elif rhs is None and isinstance(lhs, Layout) and ranks[0] >= ranks[1]:
        rhs = lhs.last(ranks[1])
    if not isinstance(lhs, Layout) or not isinstance(rhs, Layout):
        return None
    return lhs, rhs


def quantized_broadcast(
    op: QnnBinaryOp, old: Sequence[Seen], new: Sequence[Seen] | None
) -> Inferred | None:
    """As `broadcast`, with the axes of scales and zero points, which are vectors."""
    found = broadcast(op, old, new)
    if found is None:
        return None
    properties: dict[str, Attribute] = {}
    axes = (
        (op.lhs, op.lhs_scale, op.lhs_zero_point, "lhs_axis", op.lhs_axis),
        (op.rhs, op.rhs_scale, op.rhs_zero_point, "rhs_axis", op.rhs_axis),
    )
    stated = _broadcast_layouts(op, old)
    assert stated is not None
    for before, now, (data, scale, zero_point, name, axis) in zip(
        stated, found.operands, axes, strict=False
    ):
        if before == now or (is_scalar(scale) and is_scalar(zero_point)):
            continue
        assert isinstance(now, Layout)
        place = normalize_axis(axis.value.data, len(shape_of(data)))
        moved = moved_axis(place, before, now)
        if moved is None:
            return None
        properties[name] = integer(moved)
    return Inferred((*found.operands, *[None] * 6), found.results, properties)


@following
def requantize(op: QnnRequantizeOp, before: Layout, layout: Layout) -> Inferred | None:
    """Layouts without blocks; `axis`, that of scales which are vectors, follows."""
    properties: dict[str, Attribute] = {}
    if layout != before:
        layout = Layout(tuple(LayoutAxis(name) for name in layout.names))
        place = normalize_axis(op.axis.value.data, len(shape_of(op.data)))
        moved = moved_axis(place, before, layout)
        if moved is None:
            return None
        properties["axis"] = integer(moved)
    return Inferred((layout, None, None, None, None), (layout,), properties)
