"""Loops of a known number of rounds, round after round."""

from collections.abc import Sequence

import numpy as np
from onnx import ValueInfoProto
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.frontends.onnx.errors import DependsOnData
from xrelay.frontends.onnx.importer.core.loop_inputs import goes_on, loop_parts, scan_parts, single
from xrelay.frontends.onnx.importer.emitting import joined
from xrelay.frontends.onnx.importer.node import Node
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.interpreters.arrays import dtype_of

MAX_ROUNDS = 1024
"""Loops of more rounds are not unrolled."""

MAX_OPERATIONS = 2**17
"""Unrolling ends when an import has made more operations."""


def unrolled_loop(node: Node) -> Sequence[SSAValue]:
    """
    Loop with a known number of rounds: the outputs are the carried values after the last round, and
    those that each round adds, joined along a new first axis. The condition must be known after
    each round.
    """
    limit = int(single(node, 0, "M")) if node.has_input(0) else None
    carries_on = bool(single(node, 1, "cond")) if node.has_input(1) else True
    body, carried = loop_parts(node)
    added: list[list[SSAValue]] = [[] for _ in body.output[1 + len(carried) :]]
    rounds = 0
    condition = node.constant(np.array(carries_on))
    while carries_on and (limit is None or rounds < limit):
        require_few(node, rounds + 1)
        before = node.operation_count
        number = node.constant(np.array(rounds, np.int64))
        condition, *results = node.inline_graph(body, [number, condition, *carried])
        carried = results[: len(carried)]
        for parts, part in zip(added, results[len(carried) :], strict=True):
            parts.append(node.emit(ExpandDimsOp(part, 0)))
        rounds += 1
        if rounds == 1 and limit is not None and goes_on(body, node.known_around):
            require_small(node.operation_count - before, limit)
        if limit is None or rounds < limit:
            known = node.known_value(condition)
            if known is None:
                raise DependsOnData(f"its condition is not a constant after round {rounds}")
            carries_on = bool(known.item())
    if not rounds:
        return [*carried, *nothing_added(node, body.output[1 + len(carried) :])]
    return [*carried, *(joined(node, parts, 0) for parts in added)]


def nothing_added(node: Node, outputs: Sequence[ValueInfoProto]) -> list[SSAValue]:
    """
    What no round adds: as many tensors without rows, which have the lengths that the body states, and 0 for those that it leaves
    open.

    Raises DependsOnData for shapes that it does not state.
    """
    found: list[SSAValue] = []
    for output in outputs:
        tensor = output.type.tensor_type
        if not tensor.HasField("shape"):
            raise DependsOnData("it makes no round, and the shape of what rounds add is not known")
        dtype = dtype_of(element_type_of(tensor.elem_type, f"output '{output.name}'"))
        lengths = [max(dim.dim_value, 0) for dim in tensor.shape.dim]
        found.append(node.filled(np.zeros((), dtype), (0, *lengths)))
    return found


def unrolled_scan(node: Node) -> Sequence[SSAValue]:
    """Scan over axes of known length: one round for each slice, from the start or the end."""
    parts = scan_parts(node)
    body, rounds, carried = parts.body, parts.rounds, parts.states
    require_few(node, rounds)
    added: list[list[SSAValue]] = [[] for _ in parts.outputs]
    for number in range(rounds):
        require_few(node, rounds)
        before = node.operation_count
        slices = [
            element(node, value, axis, rounds - 1 - number if backwards else number)
            for value, axis, backwards in parts.inputs
        ]
        outputs = node.inline_graph(body, [*carried, *slices])
        if number == 0:
            require_small(node.operation_count - before, rounds)
        carried = outputs[: len(carried)]
        for rows, part in zip(added, outputs[len(carried) :], strict=True):
            rows.append(part)
    collected: list[SSAValue] = []
    for rows, (axis, backwards) in zip(added, parts.outputs, strict=True):
        axis = normalize_axis(axis, len(node.shape_of(rows[0])) + 1)
        rows = [node.emit(ExpandDimsOp(row, axis)) for row in rows]
        collected.append(joined(node, rows[::-1] if backwards else rows, axis))
    return [*carried, *collected]


def require_few(node: Node, rounds: int) -> None:
    """Refuses loops that would become too large."""
    if rounds > MAX_ROUNDS:
        raise DependsOnData(f"it makes more than {MAX_ROUNDS} rounds, and loops are unrolled")
    if node.operation_count > MAX_OPERATIONS:
        raise DependsOnData(
            f"loops are unrolled, which makes more than {MAX_OPERATIONS} operations"
        )


def require_small(operations: int, rounds: int) -> None:
    """Refuses a loop that would become too large, by what its first round made, inner loops included."""
    if operations * rounds > MAX_OPERATIONS:
        raise DependsOnData(
            f"loops are unrolled, and its {rounds} rounds of {operations} operations make "
            f"{operations * rounds}, more than {MAX_OPERATIONS}"
        )


def element(node: Node, value: SSAValue, axis: int, position: int) -> SSAValue:
    """The slice at a position of an axis, without the axis."""
    part = StridedSliceOp(value, [position], [position + 1], axes=[axis])
    return node.emit(SqueezeOp(node.emit(part), (axis,)))
