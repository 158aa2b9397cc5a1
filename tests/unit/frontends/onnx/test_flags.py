"""
Attributes that are 0 or 1, in all operators that are imported, by the schemas of ONNX and of onnxruntime; the operator
sets that converters are for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from onnx import AttributeProto, ModelProto, TensorProto, defs, helper
from onnx_models import untyped
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_state

from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.converters import CONVERTERS, DOMAINS
from xrelay.frontends.onnx.importer.flags import FLAGS

NUMBERS = frozenset(
    (
        *("accuracy_level", "axis", "batch_axis", "batch_dims", "bits", "block_size", "blocksize"),
        *("chunk_size", "dtype", "end", "group", "hidden_size", "ignore_index", "k", "K"),
        *("kv_cache_bit_width", "kv_num_heads", "left_window_size", "local_window_size"),
        *("mask_index_type", "max_gram_length", "max_skip_count", "min_gram_length", "N"),
        *("num_groups", "num_heads", "num_outputs", "num_scan_inputs", "offset_group", "opset"),
        *("output_datatype", "output_dtype", "output_height", "output_width", "p", "precision"),
        *("q_num_heads", "qk_matmul_output_mode", "qk_output", "right_window_size"),
        *("rotary_embedding_dim", "sample_size", "sampling_ratio", "seed", "size"),
        *("softmax_precision", "start", "stash_type", "time_axis", "to", "value_int"),
        # -1 is a default, 2 stands for an engine, and other numbers than 0 mean 1.
        *("smooth_softmax", "weight_prepacked", "is_test"),
    )
)
"""Integers that are lengths, places, types, modes."""


class Operator(NamedTuple):
    """A version of an operator that is imported."""

    domain: str
    name: str
    opset: int
    least_inputs: int
    attributes: Mapping[str, Any]

    def flags(self) -> list[str]:
        return [name for name in self.integers() if name in FLAGS]

    def integers(self) -> list[str]:
        kind = AttributeProto.AttributeType.Name(AttributeProto.INT)
        return sorted(
            name for name, each in self.attributes.items() if str(each.type).endswith(f".{kind}")
        )


def operators() -> Iterator[Operator]:
    """What the schemas say of the operators that have converters, in all operator sets."""
    schemas: list[Any] = defs.get_all_schemas_with_history()
    schemas += [
        each
        for each in onnxruntime_state.get_all_operator_schema()
        if each.domain == "com.microsoft"
    ]
    for each in schemas:
        versions = DOMAINS.get(each.domain, {}).get(each.name, {})
        if any(since <= each.since_version for since in versions):
            yield Operator(
                *(each.domain, each.name, each.since_version, each.min_input), each.attributes
            )


OPERATORS = sorted(operators(), key=lambda each: each[:3])


def test_every_integer_is_a_flag_or_not():
    names = {name for each in OPERATORS for name in each.integers()}
    assert not FLAGS & NUMBERS
    assert names - FLAGS - NUMBERS == set()
    assert NUMBERS - names == set()


VALUES = {"INT": 1, "INTS": [1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "a", "STRINGS": ["a"]}


def model(operator: Operator, flag: str, number: int) -> ModelProto:
    """A node with the attributes that it must have, and the flag."""
    stated = {
        name: VALUES[str(each.type).rsplit(".", 1)[-1]]
        for name, each in operator.attributes.items()
        if each.required
    }
    inputs = [
        helper.make_tensor_value_info(f"x{index}", TensorProto.FLOAT, [1, 1, 1])
        for index in range(operator.least_inputs)
    ]
    node = helper.make_node(
        operator.name, [each.name for each in inputs], ["y"], "the_node", domain=operator.domain,
        **{**stated, flag: number},
    )  # fmt: skip
    graph = helper.make_graph([node], "g", inputs, [untyped("y")])
    sets = {"": 20, operator.domain: operator.opset}
    return helper.make_model(
        graph, ir_version=10, opset_imports=[helper.make_opsetid(*each) for each in sets.items()]
    )


def test_all_flags_are_0_or_1():
    found = [(each, flag) for each in OPERATORS for flag in each.flags()]
    assert len({flag for _, flag in found}) > 40
    for operator, flag in found:
        for number in (-1, 2):
            message = (
                f"'the_node' .{operator.name}.: attribute '{flag}' is {number}, expected 0 or 1"
            )
            with pytest.raises(OnnxImportError, match=message):
                import_model(model(operator, flag, number))


def test_converters_begin_at_versions_of_the_operator():
    """`since` numbers that no version of the operator has would be mistakes."""
    versions: dict[str, set[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, set()).add(schema.since_version)
    # onnxruntime writes this one, without a domain, before ONNX had RMSNormalization.
    versions["SimplifiedLayerNormalization"] = {1}
    for op, converters in CONVERTERS.items():
        assert set(converters) <= versions[op], op
