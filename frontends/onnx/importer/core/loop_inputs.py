"""What Loop and Scan say about their rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from onnx import GraphProto, NodeProto, TensorProto, numpy_helper
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import normalize_axis
from xrelay.frontends.onnx.errors import DependsOnData, OnnxImportError
from xrelay.frontends.onnx.importer.node import Node
from xrelay.interpreters.arrays import Array


@dataclass(frozen=True)
class ScanParts:
    """A Scan."""

    body: GraphProto
    rounds: int
    states: list[SSAValue]
    inputs: list[tuple[SSAValue, int, int]]
    """The tensors whose slices the rounds get: the axis, and whether backwards."""
    outputs: list[tuple[int, int]]
    """Of what rounds add, the axis and whether backwards."""


def scan_parts(node: Node) -> ScanParts:
    """
    The parts of a Scan.

    Raises OnnxImportError for numbers that do not fit each other, DependsOnData for no rounds.
    """
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
        raise DependsOnData("it makes no round, and the shape of what rounds add is not known")
    return ScanParts(
        body,
        rounds,
        carried,
        list(zip(scanned, axes, input_directions, strict=True)),
        list(zip(output_axes, output_directions, strict=True)),
    )


def loop_parts(node: Node) -> tuple[GraphProto, list[SSAValue]]:
    """
    The body of a Loop, and what it carries first.

    Raises OnnxImportError for a body with too few outputs.
    """
    body = node.graph("body")
    initial = [node.input(index) for index in range(2, node.input_count)]
    if len(body.output) < 1 + len(initial):
        raise OnnxImportError(
            f"its body has {len(body.output)} outputs, expected {1 + len(initial)} or more"
        )
    return body, initial


def single(node: Node, index: int, what: str) -> int:
    """The number in a constant input, which may be a length that is known when the program runs only."""
    number = node.known_number(index, what)
    return number if is_open(number) else int(number)


def _per_value(node: Node, name: str, count: int) -> list[int]:
    """An attribute with one integer for each of some values, 0 by default."""
    numbers = node.integers(name)
    if numbers is not None and len(numbers) != count:
        raise OnnxImportError(f"'{name}' is {numbers}, expected {count} numbers")
    return numbers or [0] * count


def goes_on(body: GraphProto, known_around: Callable[[str], Array | None]) -> bool:
    """
    Whether the condition that a body computes is true where the one that it is given is, whatever else it computes.
    `known_around` tells what is known of values around it, by their names.
    """
    if not body.output:
        return False
    inputs = {each.name for each in body.input}
    known = {each.name: _is_true(each) for each in body.initializer}
    if len(body.input) > 1:
        known[body.input[1].name] = True

    def is_true(name: str) -> bool | None:
        """Whether a number is not 0, None where that is not known."""
        if name not in known and name not in inputs:
            around = known_around(name)
            known[name] = None if around is None or around.size != 1 else bool(around.item())
        return known.get(name)

    computed = {name for each in body.node for name in each.output}
    known |= dict.fromkeys(computed)
    for each in body.node:  # In their order, which a damaged model does not have.
        if len(each.output) == 1:
            known[each.output[0]] = _computed_truth(each, is_true)
    return is_true(body.output[0].name) is True


def _computed_truth(proto: NodeProto, is_true: Callable[[str], bool | None]) -> bool | None:
    """Whether the number that a node computes is not 0, None where that is not known."""
    if proto.op_type == "Constant" and len(proto.attribute) == 1:
        (attribute,) = proto.attribute
        if attribute.name == "value_int":
            return bool(attribute.i)
        return _is_true(attribute.t) if attribute.name == "value" else None
    if proto.op_type not in ("Identity", "Cast", "Not", "And", "Or"):
        return None
    if proto.op_type == "Cast" and all(each.i != TensorProto.BOOL for each in proto.attribute):
        return None  # 0.3 as a whole number is 0.
    operands = [is_true(name) for name in proto.input]
    match proto.op_type, operands:
        case "Identity" | "Cast", [operand]:
            return operand
        case "Not", [bool() as operand]:
            return not operand
        case "And", [bool() as first, bool() as second]:
            return first and second
        case "Or", [first, second]:
            return True if first or second else None
        case _:
            return None


def _is_true(tensor: TensorProto) -> bool | None:
    """Whether the one element of a tensor is not 0."""
    if prod(tensor.dims) != 1 or tensor.data_location == TensorProto.EXTERNAL:
        return None
    return bool(numpy_helper.to_array(tensor).any())
