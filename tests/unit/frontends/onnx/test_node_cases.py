"""The interpreter on the tests of single operators that come with onnx."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from mutations import MUTATIONS
from onnx import ModelProto, TensorProto, defs, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx_models import Array, one_node, with_constants

from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.converters import CONVERTERS
from xrelay.frontends.onnx.importer.core import sequences
from xrelay.frontends.onnx.importer.refusals import REFUSED
from xrelay.interpreters.relay import interpret
from xrelay.runtime.signature import restored, stored

REFUSALS = {
    r"equal_string\w*": "elements of type STRING",
    "scan_sum": "since operator set 9",
}
"""What is refused though its operator is imported: the message by the name of the case."""

RANDOM = r"bernoulli(_double|_seed)?|training_dropout(_default)?(_mask)?"
"""Cases whose numbers are NumPy's."""

WITHOUT_CASES = {
    *("GlobalLpPool", "MaxRoiPool", "SimplifiedLayerNormalization"),
    *sequences.CONVERTERS,
    *("Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
}
"""Imported operators that onnx has no case for; other tests have."""


def cases() -> Iterator[tuple[str, ModelProto, list[Array], list[Array], float]]:
    """Name, model, inputs, outputs and relative tolerance of the cases of one node."""
    with warnings.catch_warnings():
        # Making them computes with infinities and the like.
        warnings.simplefilter("ignore")
        loaded = load_model_tests(kind="node")
    for case in loaded:
        ports = (*case.model.graph.input, *case.model.graph.output)
        # Sequences are those of test_sequences.py.
        if any(value.type.WhichOneof("value") != "tensor_type" for value in ports):
            continue
        if case.name.endswith("_expanded") or len(case.model.graph.node) != 1:
            continue
        for inputs, outputs in case.data_sets:
            arrays = [[_array(value) for value in side] for side in (inputs, outputs)]
            yield case.name.removeprefix("test_"), case.model, *arrays, case.rtol


def _array(value: Any) -> Array:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value)


def difference(results: tuple[Array, ...], wanted: list[Array], tolerance: float) -> str | None:
    """What is wrong with some results."""
    for result, expected in zip(results, wanted, strict=True):
        if (result.dtype, result.shape) != (expected.dtype, expected.shape):
            return f"{result.dtype}{result.shape}, not {expected.dtype}{expected.shape}"
        if expected.dtype.kind in "iub":
            equal = np.array_equal(result, expected)
        else:
            # Numbers of 16 bits are rounded at other places.
            ulp = {"float16": 2e-3, "bfloat16": 2e-2}.get(expected.dtype.name, tolerance)
            pair = result.astype(np.float64), expected.astype(np.float64)
            equal = np.allclose(*pair, ulp, max(ulp / 10, 1e-6), equal_nan=True)
        if not equal:
            return f"{result}, not {expected}"
    return None


def outcome(
    name: str, model: ModelProto, inputs: list[Array], outputs: list[Array], tolerance: float
) -> str | None:
    """What is wrong with a case; refusals that are expected are right."""
    (node,) = model.graph.node
    expected = next((text for key, text in REFUSALS.items() if re.fullmatch(key, name)), None)
    if node.op_type in REFUSED:
        expected = re.escape(REFUSED[node.op_type]) + "|type STRING"
    try:
        _, module, given = with_constants(model, inputs)
    except OnnxImportError as error:
        if expected is not None and re.search(expected, str(error)):
            return None
        return f"it is refused: {error}"
    if expected is not None:
        return "it is not refused"
    if re.fullmatch(RANDOM, name):
        results = interpret(module, given)
        same = [
            (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            for result, wanted in zip(results, outputs, strict=True)
        ]
        return None if all(same) else "it has another type"
    with np.errstate(all="ignore"):
        results = interpret(module, [stored(array) for array in given])
        found = tuple(
            restored(result, wanted.dtype) for result, wanted in zip(results, outputs, strict=True)
        )
        return difference(found, outputs, tolerance)


@pytest.mark.slow
def test_cases_of_onnx():
    """Together, because making the cases takes longer than running them."""
    wrong: list[str] = []
    tested: set[str] = set()
    for name, *case in cases():
        (node,) = case[0].graph.node
        if node.domain not in ("", "ai.onnx"):
            continue
        problem = outcome(name, *case)
        if problem is None:
            tested.add(node.op_type)
        else:
            wrong.append(f"{name}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert set(CONVERTERS) - tested <= WITHOUT_CASES


def nodes_to_mutate() -> Iterator[ModelProto]:
    """A model of each imported operator, with the constants that they need."""
    counts: Counter[str] = Counter()
    for _, model, inputs, *_ in cases():
        (node,) = model.graph.node
        if node.op_type not in CONVERTERS or counts[node.op_type]:
            continue
        try:
            changed, _, _ = with_constants(model, inputs)
        except OnnxImportError:
            continue
        counts[node.op_type] += 1
        changed.graph.node[0].name = "the_node"
        constants = {tensor.name for tensor in changed.graph.initializer}
        kept = [value for value in changed.graph.input if value.name not in constants]
        del changed.graph.input[:]
        changed.graph.input.extend(kept)
        yield changed
    assert set(CONVERTERS) - set(counts) <= WITHOUT_CASES


@pytest.mark.slow
def test_malformed_nodes_are_imported_or_refused_by_name():
    """No other exception, and nothing large is made of what a node asks for."""
    imported = refused = 0
    for number, model in enumerate(nodes_to_mutate()):
        random = Random(number)
        for mutation in MUTATIONS * 2:
            mutant = ModelProto()
            mutant.CopyFrom(model)
            mutation(mutant, random)
            try:
                import_model(mutant).verify()
                imported += 1
            except OnnxImportError as error:
                assert re.search("the_node|input '|output '|one more", str(error)), error
                refused += 1
    assert min(imported, refused) > 300


def test_every_operator_is_imported_or_refused_with_a_reason():
    known = {schema.name for schema in defs.get_all_schemas() if schema.domain == ""}
    assert known - set(CONVERTERS) == set(REFUSED)


@pytest.mark.parametrize("op", ["StringSplit", "StringConcat", "ImageDecoder"])
def test_reasons_are_told(op: str):
    with pytest.raises(OnnxImportError, match=re.escape(REFUSED[op])):
        import_model(one_node(op, [np.zeros((2, 2), np.float32)], opset=11))
