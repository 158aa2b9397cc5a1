"""Operators that a function defines: of ONNX's schemas, or of the model. Their bodies are imported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    TypeProto,
    defs,
)
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.node import Body, Converter, Node
from xrelay.frontends.onnx.tensors import data_type_of
from xrelay.interpreters.arrays import dtype_of


class _Schema(Protocol):
    """What is used of a schema; the stubs of the package lack it."""

    attributes: Mapping[str, Any]
    has_function: bool
    function_opset_versions: Sequence[int]
    has_context_dependent_function: bool
    context_dependent_function_opset_versions: Sequence[int]

    def get_function_with_opset_version(self, version: int) -> bytes: ...

    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes]
    ) -> bytes: ...


FunctionKey: TypeAlias = tuple[str, str, str]
"""The domain, the name and the overload of a function."""


def default_domain(domain: str) -> str:
    """The default operator set has two names."""
    return "" if domain == "ai.onnx" else domain


MOST_OPSET = 2**31 - 1
"""The greatest number of an operator set: ONNX looks schemas up by 32 bits."""


def operator_sets(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """
    The operator sets of a model or function by domain: of several of one domain, the highest counts. Raises
    OnnxImportError for numbers that no operator set has.
    """
    sets: dict[str, int] = {}
    for entry in entries:
        domain = default_domain(entry.domain)
        if abs(entry.version) > MOST_OPSET:
            raise OnnxImportError(
                f"the operator set of domain '{domain}' is {entry.version}, expected at most {MOST_OPSET}"
            )
        sets[domain] = max(entry.version, sets.get(domain, entry.version))
    return sets


def functions_by_key(functions: Iterable[FunctionProto]) -> dict[FunctionKey, FunctionProto]:
    """The functions of a model. Raises OnnxImportError where a call would mean two."""
    found: dict[FunctionKey, FunctionProto] = {}
    for function in functions:
        key = default_domain(function.domain), function.name, function.overload
        if key in found:
            overload = f" and overload '{function.overload}'" if function.overload else ""
            raise OnnxImportError(
                f"two functions have the name '{function.name}'{overload} in domain '{function.domain}'"
            )
        found[key] = function
    return found


def function_body(node: Node) -> Sequence[SSAValue | None]:
    """
    Converts an operator that ONNX defines as a function, as the body in its schema says. A body
    that depends on the types of inputs is asked for with those.
    """
    proto = node.proto
    domain = default_domain(proto.domain)
    schema = cast(_Schema, defs.get_schema(proto.op_type, node.opset, domain))
    if schema.has_function:
        version = _version(schema.function_opset_versions, node.opset)
        content = schema.get_function_with_opset_version(version)
    elif schema.has_context_dependent_function:
        version = _version(schema.context_dependent_function_opset_versions, node.opset)
        content = schema.get_context_dependent_function_with_opset_version(
            version, proto.SerializeToString(), _types(node)
        )
    else:
        raise UnsupportedNode(f"operator set {node.opset} has no function that defines it")
    function = FunctionProto()
    function.ParseFromString(content)
    if all(default_domain(entry.domain) for entry in function.opset_import):
        function.opset_import.add(version=defs.onnx_opset_version())  # Bodies of preview operators.
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type
    }
    return _inlined(function, defaults, node)


def model_function(function: FunctionProto) -> Converter:
    """Converts calls of a function that the model defines."""
    return partial(_inlined, function, {each.name: each for each in function.attribute_proto})


def _version(versions: Sequence[int], opset: int) -> int:
    """The newest body that an operator set has, the oldest one for older sets."""
    return max((version for version in versions if version <= opset), default=min(versions))


def _types(node: Node) -> list[bytes]:
    """The types of the inputs of a node, nothing for absent ones."""
    types: list[bytes] = []
    for index in range(node.input_count):
        type_ = TypeProto()
        value = node.optional(index)
        if value is not None:
            type_.tensor_type.elem_type = data_type_of(dtype_of(node.element_type(value)))
            type_.tensor_type.shape.SetInParent()
            for length in node.shape_of(value):
                dim = type_.tensor_type.shape.dim.add()
                if not is_open(length):
                    dim.dim_value = length
        types.append(type_.SerializeToString())
    return types


def _inlined(
    function: FunctionProto, defaults: Mapping[str, AttributeProto], node: Node
) -> Sequence[SSAValue | None]:
    """The outputs of a call."""
    proto = node.proto
    node.ignore(*(attribute.name for attribute in proto.attribute))
    if len(proto.input) > len(function.input) or len(proto.output) > len(function.output):
        raise OnnxImportError(
            f"it has {len(proto.input)} inputs and {len(proto.output)} outputs, the function that "
            f"defines it {len(function.input)} and {len(function.output)}"
        )
    attributes = {**defaults, **{attribute.name: attribute for attribute in proto.attribute}}
    inputs = {name: node.optional(index) for index, name in enumerate(function.input)}
    absent = {name for name, value in inputs.items() if value is None}
    wanted = [bool(name) for name in proto.output]
    body = Body(
        [_instance(each, attributes, absent) for each in function.node],
        inputs={name: value for name, value in inputs.items() if value is not None},
        outputs=[name for name, used in zip(function.output, wanted, strict=False) if used],
        opsets=operator_sets(function.opset_import),
    )
    results = iter(node.inline(body))
    return [next(results) if used else None for used in wanted]


def _instance(
    node: NodeProto, attributes: Mapping[str, AttributeProto], absent: set[str]
) -> NodeProto:
    """A node of a function in which the attributes of a call, and absent inputs, are filled in."""
    instance = NodeProto()
    instance.CopyFrom(node)
    instance.input[:] = ["" if name in absent else name for name in node.input]
    del instance.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            stated = attributes.get(attribute.ref_attr_name)
            if stated is not None:
                filled = instance.attribute.add()
                filled.CopyFrom(stated)
                filled.name = attribute.name
            continue
        filled = instance.attribute.add()
        filled.CopyFrom(attribute)
        if attribute.type == AttributeProto.GRAPH:
            nodes = [_instance(each, attributes, absent) for each in attribute.g.node]
            del filled.g.node[:]
            filled.g.node.extend(nodes)
    return instance


def captured_names(graph: GraphProto) -> Iterator[str]:
    """The names that a graph inside of a node takes from around it, in order of their use."""
    defined = {value.name for value in graph.input}
    defined.update(tensor.name for tensor in graph.initializer)
    for node in graph.node:
        defined.update(node.output)
    used: dict[str, None] = {}
    for node in graph.node:
        used.update(dict.fromkeys(used_names(node)))
    used.update(dict.fromkeys(value.name for value in graph.output))
    yield from (name for name in used if name and name not in defined)


def used_names(node: NodeProto) -> Iterator[str]:
    """The names that a node uses, with those that graphs in it take from around them."""
    yield from filter(None, node.input)
    for attribute in graph_attributes(node):
        yield from captured_names(attribute.g)


def graph_attribute(node: NodeProto, name: str) -> GraphProto:
    """A graph in a node that has one of that name."""
    return next(each.g for each in graph_attributes(node) if each.name == name)


def graph_attributes(node: NodeProto) -> Iterator[AttributeProto]:
    """The attributes of a node that are graphs."""
    return (each for each in node.attribute if each.type == AttributeProto.GRAPH)
