"""Branches whose condition is known, and loops of a known number of rounds, which are unrolled."""

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.node import ConverterTable, Node

MAX_ROUNDS = 1024
"""Loops of more rounds are not unrolled."""

MAX_OPERATIONS = 2**17
"""Unrolling ends when an import has made more operations."""


def branch(node: Node) -> Sequence[SSAValue]:
    """If whose condition is known while importing: one branch is imported."""
    then_branch, else_branch = node.graph("then_branch"), node.graph("else_branch")
    condition = node.known(0, "cond")
    if condition.size != 1:
        raise OnnxImportError(f"input 0 ('cond') has {condition.size} elements, expected one")
    return node.inline_graph(then_branch if condition.item() else else_branch, [])


def loop(node: Node) -> Sequence[SSAValue]:
    """
    Loop with a known number of rounds: the outputs are the carried values after the last round, and
    those that each round adds, joined along a new first axis. The condition must be known after
    each round.
    """
    body = node.graph("body")
    limit = _single(node, 0, "M") if node.has_input(0) else None
    carries_on = bool(_single(node, 1, "cond")) if node.has_input(1) else True
    carried = [node.input(index) for index in range(2, node.input_count)]
    if len(body.output) < 1 + len(carried):
        raise OnnxImportError(
            f"its body has {len(body.output)} outputs, expected {1 + len(carried)} or more"
        )
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
        if rounds == 1 and limit is not None and goes_on(body):
            require_small(node, node.operation_count - before, limit)
        if limit is None or rounds < limit:
            known = node.known_value(condition)
            if known is None:
                raise UnsupportedNode(f"its condition is not a constant after round {rounds}")
            carries_on = bool(known.item())
    if added and not rounds:
        raise UnsupportedNode("it makes no round, and the shape of what rounds add is not known")
    return [*carried, *(joined(node, parts, 0) for parts in added)]


def scan(node: Node) -> Sequence[SSAValue]:
    """Scan over axes of known length: one round for each slice, from the start or the end."""
    body, count = node.graph("body"), node.integer("num_scan_inputs")
    states = node.input_count - count
    results = len(body.output) - states
    if count < 1 or states < 0 or results < 0:
        raise OnnxImportError(
            f"'num_scan_inputs' is {count}, it has {node.input_count} inputs and its body "
            f"{len(body.output)} outputs"
        )
    input_axes = _per_value(node, "scan_input_axes", count)
    input_directions = _per_value(node, "scan_input_directions", count)
    output_axes = _per_value(node, "scan_output_axes", results)
    output_directions = _per_value(node, "scan_output_directions", results)
    carried = [node.input(index) for index in range(states)]
    scanned = [node.input(index) for index in range(states, node.input_count)]
    shapes = [node.shape_of(value) for value in scanned]
    axes = [
        normalize_axis(axis, len(shape)) for axis, shape in zip(input_axes, shapes, strict=True)
    ]
    lengths = {shape[axis] for axis, shape in zip(axes, shapes, strict=True)}
    if len(lengths) != 1:
        raise OnnxImportError(f"the scanned axes have the lengths {sorted(lengths)}")
    (rounds,) = lengths
    if not rounds:
        raise UnsupportedNode("it makes no round, and the shape of what rounds add is not known")
    require_few(node, rounds)
    added: list[list[SSAValue]] = [[] for _ in range(results)]
    for number in range(rounds):
        require_few(node, rounds)
        before = node.operation_count
        slices = [
            element(node, value, axis, rounds - 1 - number if backwards else number)
            for value, axis, backwards in zip(scanned, axes, input_directions, strict=True)
        ]
        outputs = node.inline_graph(body, [*carried, *slices])
        if number == 0:
            require_small(node, node.operation_count - before, rounds)
        carried = outputs[:states]
        for parts, part in zip(added, outputs[states:], strict=True):
            parts.append(part)
    collected: list[SSAValue] = []
    for parts, axis, backwards in zip(added, output_axes, output_directions, strict=True):
        axis = normalize_axis(axis, len(node.shape_of(parts[0])) + 1)
        parts = [node.emit(ExpandDimsOp(part, axis)) for part in parts]
        collected.append(joined(node, parts[::-1] if backwards else parts, axis))
    return [*carried, *collected]


def _single(node: Node, index: int, what: str) -> int:
    array = node.known(index, what)
    if array.size != 1:
        raise OnnxImportError(f"input {index} ('{what}') has {array.size} elements, expected one")
    return int(array.item())


def _per_value(node: Node, name: str, count: int) -> list[int]:
    """An attribute with one integer for each of some values, 0 by default."""
    numbers = node.integers(name)
    if numbers is not None and len(numbers) != count:
        raise OnnxImportError(f"'{name}' is {numbers}, expected {count} numbers")
    return numbers or [0] * count


def require_few(node: Node, rounds: int) -> None:
    """Refuses loops that would become too large."""
    if rounds > MAX_ROUNDS:
        raise UnsupportedNode(f"it makes more than {MAX_ROUNDS} rounds, and loops are unrolled")
    if node.operation_count > MAX_OPERATIONS:
        raise UnsupportedNode(
            f"loops are unrolled, which makes more than {MAX_OPERATIONS} operations"
        )


def require_small(node: Node, operations: int, rounds: int) -> None:
    """Refuses a loop that would become too large, by what its first round made, inner loops included."""
    if operations * rounds > MAX_OPERATIONS:
        raise UnsupportedNode(
            f"loops are unrolled, and its {rounds} rounds of {operations} operations make "
            f"{operations * rounds}, more than {MAX_OPERATIONS}"
        )


def goes_on(body: GraphProto) -> bool:
    """Whether the condition that a body computes is the one that it is given, or a constant."""
    sources = {output: node for node in body.node for output in node.output}
    name = body.output[0].name
    while name in sources and sources[name].op_type == "Identity":
        name = sources[name].input[0]
    return name not in sources or sources[name].op_type == "Constant"


def element(node: Node, value: SSAValue, axis: int, position: int) -> SSAValue:
    """The slice at a position of an axis, without the axis."""
    part = StridedSliceOp(value, [position], [position + 1], axes=[axis])
    return node.emit(SqueezeOp(node.emit(part), (axis,)))


def joined(node: Node, parts: Sequence[SSAValue], axis: int) -> SSAValue:
    """Values one after the other along an axis."""
    if len(parts) == 1:
        return parts[0]
    return node.emit(ConcatenateOp(node.emit(TupleOp(parts)), axis=axis))


CONVERTERS: ConverterTable = {
    "If": {1: branch},
    "Loop": {1: loop},
    "Scan": {9: scan},
}
