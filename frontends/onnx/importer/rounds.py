"""Loops whose rounds are runs of a model: the nodes of one round, under names that nothing else in the model has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from xrelay.frontends.onnx.importer.bounded import Kind, Values
from xrelay.frontends.onnx.importer.branches import insert
from xrelay.frontends.onnx.tensors import loaded_tensor
from xrelay.runtime.staged import Added, Carried, Loop, Sliced


@dataclass(frozen=True)
class Round:
    """One round of a loop."""

    nodes: Sequence[NodeProto]
    outputs: Sequence[ValueInfoProto]
    kinds: dict[str, Kind]
    """What is known of the inputs of a round, and of what the loop computes."""
    loop: Loop


def round_of(node: NodeProto, values: Values, base_dir: Path | None) -> Round | None:
    """One round of a Loop or Scan that the importer knows to be right; None where a type is not stated."""
    body = next(each.g for each in node.attribute if each.name == "body")
    graph = GraphProto()
    results = [values.unused(output.name) for output in body.output]
    new = insert(graph, body, results, values.unused)
    inputs = [new[each.name] for each in body.input]
    given, named = list(node.input), list(node.output) + [""] * len(results)
    count = going = goes_on = limit = condition = ""
    scanned: list[str] = []
    if node.op_type == "Loop":
        limit, condition = [*given, "", ""][:2]
        (count, going), (goes_on, *results) = inputs[:2], results
        given, inputs = given[2:], inputs[2:]
        stated = body.output[1:]
    else:
        states = len(given) - next(a.i for a in node.attribute if a.name == "num_scan_inputs")
        given, scanned = given[:states], given[states:]
        stated = body.output
    states = len(given)
    carried = tuple(map(Carried, given, inputs, results, named))
    axes, directions = (
        _integers(node, f"scan_input_{each}", len(scanned)) for each in ("axes", "directions")
    )
    sliced = tuple(map(Sliced, scanned, inputs[states:], axes, map(bool, directions)))
    axes, directions = (
        _integers(node, f"scan_output_{each}", len(results) - states)
        for each in ("axes", "directions")
    )
    added = tuple(map(Added, results[states:], named[states:], axes, map(bool, directions)))
    kinds: dict[str, Kind] = {}
    if count:
        kinds |= {count: (TensorProto.INT64, []), going: (TensorProto.BOOL, [])}
    for each in carried:
        code, dims = values.kind(each.given)
        kinds[each.before] = kinds[each.result] = code, [""] * len(dims)
    for each in sliced:
        code, dims = values.kind(each.given)
        kinds[each.name] = code, [""] * (len(dims) - 1)
    for each, output in zip(added, stated[states:], strict=True):
        type_ = output.type.tensor_type
        if not each.result:
            continue
        if not type_.elem_type or not type_.HasField("shape"):
            return None
        kinds[each.result] = type_.elem_type, [""] * (len(type_.shape.dim) + 1)
    kinds.pop("", None)
    if goes_on:
        results = [goes_on, *results]
    return Round(
        [*_constants(graph, base_dir), *graph.node],
        [_port(*each) for each in zip(body.output, results, strict=True)],
        kinds,
        Loop(limit, condition, count, going, goes_on, carried, sliced, added),
    )


def _port(output: ValueInfoProto, name: str) -> ValueInfoProto:
    """An output of a body under another name."""
    made = ValueInfoProto()
    made.CopyFrom(output)
    made.name = name
    return made


def _constants(graph: GraphProto, base_dir: Path | None) -> list[NodeProto]:
    """The initializers of a graph as nodes."""
    dense = [
        helper.make_node("Constant", [], [each.name], value=loaded_tensor(each, base_dir))
        for each in graph.initializer
    ]
    sparse = [
        helper.make_node("Constant", [], [each.values.name], sparse_value=each)
        for each in graph.sparse_initializer
    ]
    return dense + sparse


def _integers(node: NodeProto, name: str, count: int) -> Sequence[int]:
    """An attribute of a Scan: a number for each of some tensors, 0 by default."""
    return next(
        (each.ints for each in node.attribute if each.name == name and each.ints), [0] * count
    )
