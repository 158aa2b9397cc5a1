"""What Loop and Scan say about their rounds."""

from dataclasses import dataclass

from onnx import GraphProto, numpy_helper
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import normalize_axis
from xrelay.frontends.onnx.errors import DependsOnData, OnnxImportError
from xrelay.frontends.onnx.importer.node import Node


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


def single(node: Node, index: int, what: str) -> int:
    """The number in a constant input, which may be a length that is known when the program runs only."""
    array = node.known(index, what)
    if array.size != 1:
        raise OnnxImportError(f"input {index} ('{what}') has {array.size} elements, expected one")
    number = array.item()
    return number if is_open(number) else int(number)


def _per_value(node: Node, name: str, count: int) -> list[int]:
    """An attribute with one integer for each of some values, 0 by default."""
    numbers = node.integers(name)
    if numbers is not None and len(numbers) != count:
        raise OnnxImportError(f"'{name}' is {numbers}, expected {count} numbers")
    return numbers or [0] * count


def goes_on(body: GraphProto) -> bool:
    """Whether the condition that a body computes is the one that it is given, or the constant true."""
    sources = {output: node for node in body.node for output in node.output}
    name = body.output[0].name if body.output else ""
    source = sources.pop(name, None)
    # Each source is looked at once: in a damaged model they can go in a circle.
    while source is not None and source.op_type == "Identity" and source.input:
        name = source.input[0]
        source = sources.pop(name, None)
    if len(body.input) > 1 and name == body.input[1].name:
        return True
    tensors = [each for each in body.initializer if each.name == name]
    if source is not None and source.op_type == "Constant":
        tensors = [each.t for each in source.attribute if each.name == "value"]
    return any(bool(numpy_helper.to_array(each).all()) for each in tensors)
