"""
Nodes whose results have sizes that depend on data, as nodes whose results have the bounds of these sizes, beside a count.

The former are of ONNX's operator set, the latter of the domain `xrelay.stages`, which only models have that are cut.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Protocol, TypeAlias

from onnx import NodeProto, TensorProto, helper

from xrelay.runtime.signature import Dimension
from xrelay.runtime.staged import Part

DOMAIN = "xrelay.stages"

Kind: TypeAlias = tuple[int, list[Dimension]]
"""The code of an element type, and dimensions: equal names are equal lengths."""


@dataclass
class Bounded:
    """What a node becomes."""

    first: NodeProto
    """In the first model."""
    results: dict[str, Kind]
    """What the second model may take of that, as parts of those sizes that were counted."""
    parts: dict[str, Part]
    """Those of the results that have a bound."""
    second: list[NodeProto] = field(default_factory=list[NodeProto])
    """What makes the results of the node of those, in the second model."""


class Values(Protocol):
    """The values of a model."""

    def unused(self, beginning: str) -> str:
        """A name that is not in use yet."""
        ...

    def kind(self, name: str) -> Kind:
        """The element type and the dimensions of a tensor."""
        ...


def _bounded(node: NodeProto, outputs: Sequence[str]) -> NodeProto:
    """The node in the first model, with the same inputs and attributes."""
    made = helper.make_node(node.op_type, node.input, outputs, name=node.name, domain=DOMAIN)
    made.attribute.extend(node.attribute)
    return made


def _non_zero(node: NodeProto, values: Values) -> Bounded:
    result = node.output[0]
    rows, count, wide = (values.unused(f"{result}.{each}") for each in ("rows", "count", "wide"))
    rank = len(values.kind(node.input[0])[1])
    return Bounded(
        _bounded(node, [rows, count]),
        {rows: (TensorProto.INT32, [count, rank]), count: (TensorProto.INT32, [1])},
        {rows: Part(count)},
        [
            helper.make_node("Cast", [rows], [wide], name=node.name, to=TensorProto.INT64),
            helper.make_node("Transpose", [wide], [result], name=node.name, perm=[1, 0]),
        ],
    )


def _compress(node: NodeProto, values: Values) -> Bounded:
    result, data = node.output[0], node.input[0]
    places, count = (values.unused(f"{result}.{each}") for each in ("places", "count"))
    axis = next((each.i for each in node.attribute if each.name == "axis"), None)
    after: list[NodeProto] = []
    if axis is None:
        flat, shape = (values.unused(f"{result}.{each}") for each in ("flat", "shape"))
        row = helper.make_tensor("", TensorProto.INT64, [1], [-1])
        after.append(helper.make_node("Constant", [], [shape], value=row))
        after.append(helper.make_node("Reshape", [data, shape], [flat], name=node.name))
        data, axis = flat, 0
    after.append(helper.make_node("Gather", [data, places], [result], name=node.name, axis=axis))
    return Bounded(
        _bounded(node, [places, count]),
        {places: (TensorProto.INT32, [count]), count: (TensorProto.INT32, [1])},
        {places: Part(count)},
        after,
    )


def _unique(node: NodeProto, values: Values) -> Bounded:
    code, dims = values.kind(node.input[0])
    axis = next((each.i for each in node.attribute if each.name == "axis"), None)
    outputs = [*node.output, *[""] * (4 - len(node.output))]
    count = values.unused(f"{next(filter(None, outputs))}.count")
    found: list[Dimension] = [count]
    if axis is None:
        length: Dimension = _product(dims)
        place = 0
    else:
        place = axis % len(dims)
        length = dims[place]
        found = [*dims[:place], count, *dims[place + 1 :]]
    kinds: list[Kind] = [
        (code, found),
        (TensorProto.INT64, [count]),
        (TensorProto.INT64, [length]),
        (TensorProto.INT64, [count]),
    ]
    results: dict[str, Kind] = dict(zip(outputs, kinds, strict=True))
    results.pop("", None)
    parts = {
        output: Part(count, 0 if index else place)
        for index, output in enumerate(outputs)
        if output and index != 2
    }
    results[count] = TensorProto.INT32, [1]
    return Bounded(_bounded(node, [*outputs, count]), results, parts)


def _product(dims: Sequence[Dimension]) -> Dimension:
    """How many elements there are, where that is known."""
    known = [dim for dim in dims if isinstance(dim, int)]
    return prod(known) if len(known) == len(dims) else ""


def _non_max_suppression(node: NodeProto, values: Values) -> Bounded:
    result = node.output[0]
    count = values.unused(f"{result}.count")
    return Bounded(
        _bounded(node, [result, count]),
        {result: (TensorProto.INT64, [count, 3]), count: (TensorProto.INT64, [1])},
        {result: Part(count)},
    )


BOUNDED: Mapping[str, Callable[[NodeProto, Values], Bounded]] = {
    "Compress": _compress,
    "NonMaxSuppression": _non_max_suppression,
    "NonZero": _non_zero,
    "Unique": _unique,
}
