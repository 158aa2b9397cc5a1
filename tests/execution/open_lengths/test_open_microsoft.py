"""Operators of com.microsoft whose lengths are open: one program serves all lengths, and computes what onnxruntime does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from onnx import ValueInfoProto, helper, numpy_helper
from open_shapes.code import check as check_between_pages
from open_shapes.code import open_code

from tests.execution.open_lengths.cases import (
    Case,
    Make,
    below,
    check,
    counts,
    leading,
    reals,
    sizes,
)
from xrelay.interpreters.arrays import Array
from xrelay.options import CompileOptions


@dataclass(frozen=True)
class Written:
    """A node of com.microsoft: the shapes of its inputs, None for absent ones, and how they are made."""

    op: str
    shapes: Sequence[tuple[str | int, ...] | None]
    attributes: Mapping[str, int]
    inputs: Mapping[int, Make]
    outputs: int = 1


STATES = ("b", "s", 8)
TOKENS = sizes("b s t past keys", (2, 5, 7, 3, 8), (3, 9, 4, 20, 29), (4, 16, 16, 16, 32))
GROUPED: Sequence[tuple[str | int, ...]] = (
    *((1, "s", 64), (1, "s", 32), (1, "s", 32), (1, 2, "past", 16), (1, 2, "past", 16)),
    *((1,), (), (99, 8), (99, 8)),
)
PLACES: Mapping[int, Make] = {
    5: lambda random, sizes, shape: np.full(shape, sizes["keys"] - 1, np.int32),
    6: lambda random, sizes, shape: np.full(shape, sizes["keys"], np.int32),
}
MICROSOFT: dict[str, Written] = {
    "heads of one product": Written("Attention", [STATES, (8, 24), (24,)], {"num_heads": 2}, {}),
    "a mask of tokens": Written(
        "Attention", [STATES, (8, 24), (24,), ("b", "s")], {"num_heads": 2}, {3: leading}
    ),
    "numbers of tokens": Written(
        "Attention", [STATES, (8, 24), (24,), ("b",)], {"num_heads": 2}, {3: counts("s")}
    ),
    "a past": Written(
        "Attention",
        [STATES, (8, 24), (24,), None, (2, "b", 2, "past", 4)],
        {"num_heads": 2, "unidirectional": 1},
        {},
        2,
    ),
    "heads": Written(
        "MultiHeadAttention",
        [STATES, ("b", "t", 8), ("b", "t", 8), (24,), ("b", "t")],
        {"num_heads": 2},
        {4: leading},
    ),
    "heads with a past": Written(
        "MultiHeadAttention",
        [
            *(STATES, STATES, STATES, None, None, (1, 2, "s", "keys")),
            *(("b", 2, "past", 4), ("b", 2, "past", 4)),
        ],
        {"num_heads": 2},
        {},
        3,
    ),
    "groups": Written(
        "GroupQueryAttention",
        GROUPED,
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
        PLACES,
        3,
    ),
    "groups, near keys": Written(
        "GroupQueryAttention",
        GROUPED,
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 3},
        PLACES,
        3,
    ),
    "angles": Written(
        "RotaryEmbedding", [("b", 2, "s", 8), (1,), (60, 4), (60, 4)], {}, {1: below(9)}
    ),
    "embeddings": Written(
        "EmbedLayerNormalization",
        [("b", "s"), ("b", "s"), (5, 8), (64, 8), (2, 8), (8,), (8,), ("b", "s")],
        {},
        {0: below(5, np.int32), 1: below(2, np.int32), 7: leading},
        2,
    ),
}


def written_case(written: Written) -> Case:
    """A model of one node, the reals of which that have no open length are constants."""
    random, made = np.random.default_rng(0), dict[str, Make]()
    names, inputs, constants = list[str](), list[ValueInfoProto](), list[Array]()
    for index, shape in enumerate(written.shapes):
        names.append("" if shape is None else f"in{index}")
        if shape is None:
            continue
        make = written.inputs.get(index, reals)
        lengths = [each for each in shape if isinstance(each, int)]
        if make is reals and len(lengths) == len(shape):
            constants.append(numpy_helper.from_array(reals(random, {}, lengths), names[-1]))
            continue
        made[names[-1]] = make
        dtype = make(random, TOKENS[0], [2] * len(shape)).dtype
        code = helper.np_dtype_to_tensor_dtype(dtype)
        inputs.append(helper.make_tensor_value_info(names[-1], code, shape))
    outputs = [f"out{i}" for i in range(written.outputs)]
    node = helper.make_node(
        written.op, names, outputs, domain="com.microsoft", **written.attributes
    )
    results = [ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "graph", inputs, results, constants)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return Case(helper.make_model(graph, opset_imports=domains, ir_version=9), made, TOKENS)


@pytest.mark.parametrize("name", MICROSOFT)
def test_one_program_serves_all_lengths_of_com_microsoft(name: str) -> None:
    check(written_case(MICROSOFT[name]))


@pytest.mark.parametrize("first", [1, 7, 64])
@pytest.mark.parametrize("threads", [1, 2])
def test_weights_of_four_bits_in_blocks(first: int, threads: int) -> None:
    """One program from a decoder's step to a prompt, between pages that fault on access."""
    random = np.random.default_rng(2)
    constants = [
        numpy_helper.from_array(random.integers(0, 256, (40, 3, 8), np.uint8), "q"),
        numpy_helper.from_array(random.uniform(0, 0.1, 120).astype(np.float32), "s"),
    ]
    node = helper.make_node(
        *("MatMulNBits", ["x", "q", "s"], ["y"]),
        domain="com.microsoft",
        K=48,
        N=40,
        bits=4,
        block_size=16,
    )
    x, y = (
        helper.make_tensor_value_info(name, 1, ["n", size]) for name, size in (("x", 48), ("y", 40))
    )
    graph = helper.make_graph([node], "graph", [x], [y], constants)
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=domains, ir_version=10)
    code = open_code(model, {"n": first}, CompileOptions(threads=threads))
    for n in (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100):
        check_between_pages(model, code, {"n": n}, 1e-4)
