"""
Models of one ONNX operator that the templates of the fuzzer draw, of the operator sets in which it is imported.

No engine runs them: ONNX's inference of types says which nodes are legal, so that they are the same everywhere.
"""

from collections.abc import Collection, Iterator, Mapping
from random import Random
from unittest.mock import patch

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError, infer_shapes

from tests.fuzz.onnx import growth as growths
from tests.fuzz.onnx.growth import WITHOUT_SCHEMA, Growth, Tensor, Unfit, schema_of
from tests.fuzz.onnx.oracle import IR_VERSION, NoOracle, node_model
from tests.fuzz.onnx.templates import TEMPLATES
from tests.fuzz.onnx.values import Array
from xrelay.frontends.onnx.importer.converters import CONVERTERS, NEWEST_OPSET

OLDEST_OPSET = 7
"""Older operator sets have other rules of broadcasting."""
MODELS = 4
"""Of each operator in each of its operator sets."""
ATTEMPTS = 12


def operator_sets(op: str) -> list[int]:
    """The first and the last one of each range that a converter is for."""
    starts = sorted(CONVERTERS[op])
    ends = [*(start - 1 for start in starts[1:]), NEWEST_OPSET]
    found = [each for pair in zip(starts, ends, strict=True) for each in pair]
    return [
        each for each in dict.fromkeys(max(each, OLDEST_OPSET) for each in found) if has(op, each)
    ]


def has(op: str, opset: int) -> bool:
    """Whether an operator set has an operator."""
    try:
        return op in WITHOUT_SCHEMA or bool(schema_of(op, opset))
    except Unfit:
        return False


def inferred(
    node: NodeProto, feeds: Mapping[str, Array], opset: int, constants: Collection[str]
) -> list[Array]:
    """
    Zeros of the types that a node's results have, lengths that depend on data being 1.

    Raises NoOracle when it is not legal.
    """
    if node.op_type in WITHOUT_SCHEMA:
        return [feeds[node.input[0]] for _ in node.output]
    try:
        model = infer_shapes(node_model(node, feeds, opset, constants), True, True, True)
    except (InferenceError, ValidationError) as error:
        raise NoOracle(str(error)) from error
    types = [value.type.tensor_type for value in model.graph.output]
    return [
        np.zeros(
            [each.dim_value if each.HasField("dim_value") else 1 for each in type_.shape.dim],
            helper.tensor_dtype_to_np_dtype(type_.elem_type or 1),
        )
        for type_ in types
    ]


def value_info(tensor: Tensor) -> ValueInfoProto:
    """The type of a tensor."""
    code = helper.np_dtype_to_tensor_dtype(tensor.dtype)
    return helper.make_tensor_value_info(tensor.name, code, tensor.shape)


def model_of(growth: Growth) -> ModelProto:
    """A model that returns the results of the last node, with the inputs that are used."""
    used = {name for node in growth.nodes for name in node.input}
    used |= {each.name for node in growth.nodes for each in growth.captured(node)}
    graph = helper.make_graph(
        growth.nodes,
        "graph",
        [value_info(tensor) for tensor in growth.inputs if tensor.name in used],
        [ValueInfoProto(name=name) for name in growth.nodes[-1].output],
        [numpy_helper.from_array(tensor.array, tensor.name) for tensor in growth.constants],
    )
    opsets = [helper.make_opsetid("", growth.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def drawn(op: str, opset: int, number: int) -> ModelProto | None:
    """A model of an operator; None when the attempts fail."""
    random = Random(f"{op} {opset} {number}")
    for _ in range(ATTEMPTS):
        growth = Growth(random, opset)
        growth.start(2)
        if growth.try_template(TEMPLATES[op], op):
            return model_of(growth)
    return None


def given(node: NodeProto, opset: int) -> str:
    """The inputs, attributes and results that a node has: by name, where the operator sets of ONNX have the node."""
    inputs = list(node.input)
    names = [f"#{place}" for place in range(len(inputs))]
    if node.op_type not in WITHOUT_SCHEMA and not node.domain:
        formal = [each.name for each in schema_of(node.op_type, opset).inputs]
        names[: len(formal)] = formal[: len(inputs)]
    present = [name for name, value in zip(names, inputs, strict=True) if value]
    attributes = sorted(each.name for each in node.attribute)
    results = [f"result {place}" for place, name in enumerate(node.output) if name and place]
    return ", ".join([*present, *attributes, *results])


def models() -> Iterator[tuple[str, ModelProto]]:
    """All that are drawn, each with what its last node has."""
    with patch.object(growths, "run_node", inferred):
        for op in TEMPLATES:
            for opset in operator_sets(op):
                for number in range(MODELS):
                    model = drawn(op, opset, number)
                    if model is not None:
                        has_ = given(model.graph.node[-1], opset)
                        yield f"{op} of operator set {opset}, {number} ({has_})", model
