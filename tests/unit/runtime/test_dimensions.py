"""The functions of a library that takes dimensions find out what the run time in Python finds out."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import larger, polynomial, smaller, symbol
from xrelay.runtime.dimensions.functions import functions_ir
from xrelay.runtime.dimensions.interface import OpenInterface
from xrelay.runtime.host import host
from xrelay.runtime.lengths import OpenLengths, Polynomial
from xrelay.runtime.llvm import emit_object, linked
from xrelay.runtime.machine import Address, Machine
from xrelay.runtime.object_file import load_code
from xrelay.runtime.signature import OpenTensor, Signature, TensorSpec


def computed(random: Random, a: int, b: int) -> int:
    """A size that is computed from two lengths, with decisions on the way."""
    value = a
    for _ in range(random.randint(1, 6)):
        other = random.choice([a, b, random.randint(1, 70), a * b])
        match random.randint(0, 6):
            case 0:
                value = value + other
            case 1:
                value = value * other
            case 2:
                value = value - other
            case 3:
                value = value // random.choice([random.randint(1, 9), a, b + 1])
            case 4:
                value = smaller(value, other)
            case 5:
                value = larger(value, other)
            case _:
                value = value if value % random.randint(2, 9) == 0 else value + 1
    return larger(value, 0)


def interface(*sizes: Callable[[int, int], int], at: tuple[int, int]) -> OpenInterface:
    """A model `m` of a program for each size, which is that of its workspace and of its output."""
    programs: list[Signature] = []
    for size in sizes:
        scope = Scope()
        a, b = symbol(scope, "a", at[0]), symbol(scope, "b", at[1])
        found = polynomial(size(a, b))
        symbols = (((0,), 1),), (((1,), 1),)
        bounds = [scope.atoms[i].bounds for i in range(2)]
        lengths = OpenLengths(
            ("a", "b"),
            ((0, 0), (0, 1)),
            tuple((int(low), int(high)) for low, high in bounds),
            tuple((each.operation, each.left, each.right) for each in scope.atoms[2:]),
            tuple((each.value, each.relation) for each in scope.conditions()),
            (found, *symbols),
            (symbols,),
            ((found,),),
            found,
        )  # fmt: skip
        spec = TensorSpec("y", (1,), np.dtype(np.float32))
        inputs = (TensorSpec("x", at, np.dtype(np.float32)),)
        programs.append(Signature("m", inputs, (spec,), 0, 0, "here", (), lengths=lengths))
    given = (OpenTensor("x", ("a", "b"), np.dtype(np.float32)),)
    outputs = (OpenTensor("y", ("c",), np.dtype(np.float32)),)
    return OpenInterface("m", given, outputs, {}, tuple(programs))


@dataclass(frozen=True)
class Native:
    """Functions, and what keeps their machine code."""

    workspace: Callable[[int, int], int]
    output: Callable[[int, int, int], int]
    code: Address


def functions(model: OpenInterface) -> Native:
    """The functions of its library that compute sizes, as machine code. What they do not need does nothing."""
    machine = Machine(host().triple, "", "")
    types = "ptr %a, ptr %b, ptr %c, ptr %d"
    stubs = [
        f"define void @m_program_{i}_step_all({types}, i64 %e, i64 %f, ptr %g) {{\n  ret void\n}}\n"
        for i in range(len(model.programs))
    ]
    stubs.append(f"define void @m_programs_run({types}) {{\n  ret void\n}}\n")
    module = linked([functions_ir(model, machine.triple), "".join(stubs)], ())
    address = load_code(emit_object(module, machine), machine)
    long = ctypes.c_int64
    return Native(
        ctypes.CFUNCTYPE(long, long, long)(address("m_workspace_bytes")),
        ctypes.CFUNCTYPE(long, long, long, long)(address("m_output_bytes")),
        address,
    )


LARGE = (2**31 - 1, 2**31, 2**32 + 3, 2**62, 2**63 - 1, -1, -(2**63), 0, 1)
lengths = st.integers(2, 60)
any_length = st.one_of(lengths, st.sampled_from(LARGE))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    lengths,
    lengths,
    st.lists(st.tuples(any_length, any_length), min_size=3, max_size=9),
)
def test_sizes_are_those_of_the_run_time(
    seed: int, a: int, b: int, others: list[tuple[int, int]]
) -> None:
    def size(number: int) -> Callable[[int, int], int]:
        return lambda a, b: computed(Random(seed + number), a, b)

    model = interface(size(0), size(1), at=(a, b))
    native = functions(model)
    for first, second in ((a, b), *others):
        known = [
            program.lengths and program.lengths.at([(first, second)]) for program in model.programs
        ]
        served = next((each for each in known if each is not None), None)
        wanted = -1 if served is None else served.workspace_bytes
        found = native.workspace(first, second)
        # Code of 64 bits refuses sums that it cannot compute, whatever comes of them.
        if max(first, second) < 2**20 or found != -1:
            assert found == wanted
            # An output of more than 2**62 bytes is none.
            assert native.output(0, first, second) in (4 * wanted if wanted >= 0 else -1, -1)
        assert native.output(1, first, second) == -1
        if wanted == -1:
            assert found == -1


@pytest.mark.parametrize("lengths", [(2**31 - 1, 2**31 - 1), (2**31 - 1, 2)])
def test_products_that_overflow(lengths: tuple[int, int]) -> None:
    model = interface(lambda a, b: a * b * a * b, at=(2, 3))
    native = functions(model)
    assert native.workspace(5, 7) == 1225
    product = lengths[0] ** 2 * lengths[1] ** 2
    assert native.workspace(*lengths) == (product if product < 2**62 else -1)


def test_no_program_serves_a_workspace_of_less_than_nothing() -> None:
    """Whatever its outputs are."""
    whole = interface(lambda a, b: a - b, at=(9, 3))
    (program,) = whole.programs
    assert program.lengths is not None
    lengths = replace(program.lengths, outputs=((symbol_of(1),),), guards=())
    native = functions(replace(whole, programs=(replace(program, lengths=lengths),)))
    for first, second, size in ((9, 3, 6), (5, 5, 0), (5, 7, -1), (2, 9, -1)):
        assert native.workspace(first, second) == size
        assert native.output(0, first, second) == (-1 if size < 0 else 4 * second)


def symbol_of(number: int) -> Polynomial:
    """A length as it is."""
    return (((number,), 1),)
