"""What is in tuples of tensors: in which order, how many, and that finding it out takes little."""

import random
import sys
import tracemalloc
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType, f32
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.limits import DEFAULT_LIMITS
from xrelay.dialects.shapes import (
    field_places,
    leaf_count,
    leaf_type,
    leaf_types,
    tuple_depth,
    types_within,
)
from xrelay.frontends.relay_text import read_relay_text
from xrelay.interpreters.relay import SizeLimit, interpret
from xrelay.lowering.operators.core.values import source_leaf
from xrelay.tools.module_file import TupleTypePrinter
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass


def plain_leaves(type_: Attribute) -> list[Attribute]:
    if not isinstance(type_, TupleType):
        return [type_]
    return [leaf for field in type_.types.data for leaf in plain_leaves(field)]


def plain_depth(type_: Attribute) -> int:
    if not isinstance(type_, TupleType):
        return 0
    return 1 + max(map(plain_depth, type_.types.data), default=0)


def random_type(rng: random.Random, depth: int) -> Attribute:
    if not depth or rng.random() < 0.3:
        return TensorType(f32, [rng.randrange(9)])
    return TupleType([random_type(rng, depth - 1) for _ in range(rng.randrange(4))])


def test_leaves_of_tuples() -> None:
    rng = random.Random(1)
    for _ in range(300):
        type_ = random_type(rng, 4)
        expected = plain_leaves(type_)
        assert list(types_within(type_)) == list(leaf_types(type_)) == expected
        assert leaf_count(type_) == len(expected)
        assert [leaf_type(type_, i) for i in range(len(expected))] == expected
        assert tuple_depth([type_]) == plain_depth(type_)
        if isinstance(type_, TupleType):
            fields = type_.types.data
            counts = [len(plain_leaves(field)) for field in fields]
            assert field_places(type_) == tuple(sum(counts[:i]) for i in range(len(fields) + 1))


def values(count: int) -> list[SSAValue]:
    return list(TestOp(result_types=[TensorType(f32, [2])] * count).results)


def in_each_other(levels: int, fields: Callable[[SSAValue], list[SSAValue]]) -> list[TupleOp]:
    """Tuples, each made of `fields` of the one before."""
    (value,) = values(1)
    ops: list[TupleOp] = []
    for _ in range(levels):
        ops.append(TupleOp(fields(value)))
        value = ops[-1].result
    return ops


def peak_bytes(function: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_tuples_in_tuples_take_memory_for_each_once() -> None:
    (x,) = values(1)
    *_, last = in_each_other(2000, lambda value: [value, x])
    assert leaf_count(last.result.type) == 2001
    *_, last = in_each_other(2000, lambda value: [value, x])
    # All leaves of each level are 16 MB of references.
    assert peak_bytes(lambda: list(types_within(last.result.type))) < 2_000_000


def test_shared_tuples_are_refused() -> None:
    *_, last = in_each_other(100, lambda value: [value, value])
    message = f"a tuple of {2**100} tensors, those in tuples within counted, the limit is 1048576"
    for function in (leaf_count, leaf_types, lambda type_: next(types_within(type_))):
        with pytest.raises(DiagnosticException, match=message):
            function(last.result.type)
    *_, last = in_each_other(20, lambda value: [value, value])
    assert leaf_count(last.result.type) == 2**20


def test_programs_of_shared_tuples_are_refused() -> None:
    lines = "".join(f"%{i + 1} = (%{i}, %{i});\n" for i in range(1, 100))
    module = read_relay_text(
        f"def @main(%x: Tensor[(2), float32]) {{ %1 = (%x, %x);\n{lines}%100 }}"
    )
    with pytest.raises(DiagnosticException, match="tensors, those in tuples within counted"):
        xrelay.compile(module)


def calls(function: Callable[[], Any]) -> int:
    """How many Python and built-in functions are called."""
    count = 0

    def note(*event: Any) -> None:
        nonlocal count
        count += event[1] in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("made_here", [True, False])
def test_fields_of_long_tuples_are_found_without_looking_at_the_others(made_here: bool) -> None:
    def work(count: int) -> int:
        fields = values(count)
        tuple_ = TupleOp(fields).result
        if not made_here:
            (tuple_,) = TestOp(result_types=[tuple_.type]).results
        parts = [TupleGetItemOp(tuple_, i).result for i in range(count)]

        def find() -> None:
            found = [source_leaf((part, 0)) for part in parts]
            assert found == [(fields[i], 0) if made_here else (tuple_, i) for i in range(count)]

        return calls(find)

    assert work(400) < 2.5 * work(200)


def test_equal_tuples_merge_without_looking_at_all_within() -> None:
    def program() -> ModuleOp:
        first, second = (in_each_other(18, lambda value: [value, value]) for _ in range(2))
        x, y = first[0].fields[0], second[0].fields[0]
        y.replace_all_uses_with(x)
        x_op, y_op = x.owner, y.owner
        end = TestOp(operands=[first[-1].result, second[-1].result])
        return ModuleOp([x_op, y_op, *first, *second, end])

    module = program()
    assert peak_bytes(lambda: EliminateCommonSubexprPass().apply(Context(), module)) < 1_000_000
    assert sum(isinstance(op, TupleOp) for op in module.ops) == 18


def test_tuples_in_tuples_are_printed_and_interpreted_without_looking_at_all_within() -> None:
    def program(depth: int) -> ModuleOp:
        packed = "".join(f"let %t{i + 1} = (%t{i},);\n" for i in range(depth))
        back = f"%t{depth}" + ".0" * depth
        return read_relay_text(f"def @main(%t0: Tensor[(2), float32]) {{ {packed} {back} }}")

    def printed(module: ModuleOp) -> str:
        text = StringIO()
        TupleTypePrinter(text).print_op(module)
        return text.getvalue()

    shallow, deep = program(40), program(80)
    assert printed(deep) == str(deep)
    assert calls(lambda: printed(deep)) < 2.5 * calls(lambda: printed(shallow))
    x = np.ones(2, np.float32)
    limit = SizeLimit(DEFAULT_LIMITS)
    assert interpret(deep, [x], listeners=[limit])[0] is x

    def interpreted(module: ModuleOp) -> object:
        return interpret(module, [x], listeners=[limit])

    assert calls(lambda: interpreted(deep)) < 2.5 * calls(lambda: interpreted(shallow))
