"""Tensors that share memory: which do and which must not, and that the results stay right."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from graphs import Graph
from raw_calls import RawCode
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import build, kernel_options
from xrelay.dialects.conv import conv
from xrelay.dialects.core import references
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, reshape, transform, unary
from xrelay.lowering.emit.format import NO_HALO
from xrelay.lowering.program.program import PlacedTensor, Program, lower_function
from xrelay.options import CompileOptions

LANES = {"x86-64": 4, "x86-64-v3": 8, "x86-64-v4": 16}


def check(g: Graph, target: str = "x86-64") -> Program:
    """
    The program of a graph in which every operator, or `relay.fused`, is a kernel. Compares what it
    computes, on one thread and on two, with the interpreter.
    """
    options = CompileOptions(2, target)
    program = lower_function(entry_function(g.module()), kernel_options(options))
    code, expected = RawCode(build(program, "test", options)), g.expected()
    for team in (1, 2):
        problems = g.problems(expected, code.run(g.inputs, team))
        assert not problems, problems
    return program


def related(program: Program, relation: str) -> list[PlacedTensor]:
    """The tensors of the workspace in a relation to what lies there before."""
    return [
        tensor
        for buffer in program.buffers
        for tensor in buffer.tensors
        if tensor.relation == relation
    ]


# -- in place -----------------------------------------------------------------------------------------

Build: TypeAlias = Callable[[Graph, SSAValue], SSAValue]
IN_PLACE: dict[str, Build] = {}
NOT_IN_PLACE: dict[str, Build] = {}


def in_place(build: Build) -> Build:
    IN_PLACE[build.__name__] = build
    return build


def not_in_place(build: Build) -> Build:
    NOT_IN_PLACE[build.__name__] = build
    return build


@in_place
def unary_operator(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(unary.NegativeOp(x))


@in_place
def operand_read_twice_at_the_same_place(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(binary.MultiplyOp(x, x))


@in_place
def other_operand_is_broadcast(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(binary.AddOp(g.input(g.numbers("float32", 1, 7)), x))


@in_place
def chain_of_operators(g: Graph, x: SSAValue) -> SSAValue:
    row = g.input(g.small("float32", 7))

    def body(g: Graph, x: SSAValue, row: SSAValue) -> SSAValue:
        return g.op(unary.ReluOp(g.op(binary.AddOp(x, g.op(unary.NegativeOp(row))))))

    return g.fused([x, row], body)


@in_place
def reshaped_operand(g: Graph, x: SSAValue) -> SSAValue:
    flat = g.op(reshape.ReshapeOp(x, [35]))
    return g.op(reshape.ReshapeOp(g.op(unary.NegativeOp(flat)), [5, 7]))


@not_in_place
def operand_used_later(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(dense.DenseOp(g.op(unary.NegativeOp(x)), x))


@not_in_place
def operand_returned(g: Graph, x: SSAValue) -> SSAValue:
    g.returns(x, 8)
    return g.op(unary.NegativeOp(x))


@not_in_place
def operand_is_an_input(g: Graph, x: SSAValue) -> SSAValue:
    del x
    return g.op(unary.NegativeOp(g.input(g.small("float32", 5, 7))))


@not_in_place
def operand_is_a_constant(g: Graph, x: SSAValue) -> SSAValue:
    del x
    return g.op(unary.NegativeOp(g.constant(g.small("float32", 5, 7))))


@not_in_place
def operand_is_a_cell(g: Graph, x: SSAValue) -> SSAValue:
    cell = g.op(references.RefCreateOp(x))
    value = g.op(references.RefReadOp(cell))
    g.op(references.RefWriteOp(cell, g.op(unary.NegativeOp(value))))
    return g.op(references.RefReadOp(cell))


@not_in_place
def operand_is_broadcast(g: Graph, x: SSAValue) -> SSAValue:
    row = g.op(norm.SoftmaxOp(g.input(g.small("float32", 1, 7))))
    return g.op(binary.AddOp(row, g.input(g.small("float32", 5, 7))))


@not_in_place
def operand_read_at_other_places_too(g: Graph, x: SSAValue) -> SSAValue:
    def body(g: Graph, x: SSAValue) -> SSAValue:
        return g.op(binary.AddOp(x, g.op(transform.StridedSliceOp(x, [6], [-8], [-1], axes=[1]))))

    return g.fused([x], body)


@not_in_place
def operand_read_reshaped_too(g: Graph, x: SSAValue) -> SSAValue:
    square = g.op(norm.SoftmaxOp(g.input(g.small("float32", 1, 6))))
    column = g.op(reshape.ReshapeOp(square, [6, 1]))

    def body(g: Graph, row: SSAValue, column: SSAValue) -> SSAValue:
        return g.op(binary.AddOp(row, g.op(transform.TransposeOp(column))))

    return g.fused([square, column], body)


@not_in_place
def transposed_operand(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(transform.TransposeOp(x))


@not_in_place
def other_dtype(g: Graph, x: SSAValue) -> SSAValue:
    whole = g.op(unary.CastOp(x, i32))
    return g.op(unary.CastOp(whole, f32))


@not_in_place
def operator_with_loops_of_its_own(g: Graph, x: SSAValue) -> SSAValue:
    return g.op(norm.SoftmaxOp(x))


def surrounded(build: Build) -> Graph:
    """A graph that computes an operand and, from the result of `build`, an output."""
    g = Graph()
    x = g.op(norm.SoftmaxOp(g.input(g.small("float32", 5, 7))))
    g.show(norm.SoftmaxOp(build(g, x)), 16)
    return g


@pytest.mark.parametrize("name", IN_PLACE)
def test_results_take_the_place_of_operands(name: str) -> None:
    assert len(related(check(surrounded(IN_PLACE[name])), "in place")) == 1


@pytest.mark.parametrize("name", NOT_IN_PLACE)
def test_operands_that_are_needed_stay(name: str) -> None:
    assert related(check(surrounded(NOT_IN_PLACE[name])), "in place") == []


def test_in_place_steps_chain(graph: Graph) -> None:
    x = graph.op(norm.SoftmaxOp(graph.input(graph.small("float32", 5, 7))))
    for _ in range(4):
        x = graph.op(unary.NegativeOp(x))
    graph.show(norm.SoftmaxOp(x), 16)
    program = check(graph)
    assert len(related(program, "in place")) == 4
    assert len([buffer for buffer in program.buffers if buffer.tensors]) == 1


def test_the_last_reader_of_any_alias_may_overwrite(graph: Graph) -> None:
    """What replaced a tensor is read later: it must not be replaced in turn before."""
    x = graph.op(norm.SoftmaxOp(graph.input(graph.small("float32", 5, 7))))
    y = graph.op(unary.NegativeOp(x))
    z = graph.op(unary.NegativeOp(y))
    graph.show(norm.SoftmaxOp(graph.op(binary.MultiplyOp(y, z))), 16)
    relations = [tensor.step for tensor in related(check(graph), "in place")]
    assert relations == [1, 3]


# -- concatenations -----------------------------------------------------------------------------------


def softmaxes(g: Graph, *shapes: Sequence[int]) -> list[SSAValue]:
    """Tensors that kernels compute."""
    return [g.op(norm.SoftmaxOp(g.input(g.small("float32", *shape)))) for shape in shapes]


def concatenated(g: Graph, fields: Sequence[SSAValue], axis: int) -> SSAValue:
    return g.op(transform.ConcatenateOp(g.op(core.TupleOp(list(fields))), axis=axis))


def names(program: Program) -> list[str]:
    return [step.name for step in program.steps]


@pytest.mark.parametrize("axis, other", [(0, (4, 7)), (1, (1, 4, 7)), (2, (1, 1, 3))])
def test_fields_are_computed_into_the_concatenation(axis: int, other: tuple[int, ...]) -> None:
    g = Graph()
    shapes = [(*other[:axis], length, *other[axis + 1 :]) for length in (2, 5, 1)]
    whole = concatenated(g, softmaxes(g, *shapes), axis)
    g.show(norm.SoftmaxOp(whole), 16)
    program = check(g)
    assert len(program.steps) == 4
    size = 4 * int(np.prod(other)) // other[axis]
    parts = related(program, "part")
    assert [part.offset for part in parts] == [0, 2 * size, 7 * size]


def test_nested_concatenations_are_one_buffer(graph: Graph) -> None:
    a, b, c = softmaxes(graph, (1, 2, 7), (1, 3, 7), (1, 4, 7))
    inner = concatenated(graph, [a, b], 1)
    graph.returns(graph.op(unary.ExpOp(inner)), 8)
    outer = concatenated(graph, [c, inner], 1)
    graph.show(norm.SoftmaxOp(outer), 16)
    program = check(graph)
    assert len(program.steps) == 5
    (buffer,) = [buffer for buffer in program.buffers if len(buffer.tensors) > 1]
    assert {str(tensor.type): tensor.offset // 28 for tensor in buffer.tensors} == {
        "tensor<1x9x7xf32>": 0,
        "tensor<1x4x7xf32>": 0,
        "tensor<1x5x7xf32>": 4,
        "tensor<1x2x7xf32>": 4,
        "tensor<1x3x7xf32>": 6,
    }


def test_an_output_is_computed_piece_by_piece(graph: Graph) -> None:
    graph.returns(concatenated(graph, softmaxes(graph, (2, 7), (3, 7)), 0), 8)
    program = check(graph)
    assert len(program.steps) == 2
    assert not any(buffer.tensors for buffer in program.buffers)


def test_what_kernels_do_not_compute_is_copied(graph: Graph) -> None:
    (a,) = softmaxes(graph, (2, 7))
    given = graph.input(graph.small("float32", 3, 7))
    known = graph.constant(graph.small("float32", 1, 7))
    whole = concatenated(graph, [given, a, known, a], 0)
    graph.show(norm.SoftmaxOp(whole), 16)
    program = check(graph)
    assert names(program) == ["fused_nn_softmax", *["copy"] * 3, "fused_nn_softmax_1"]
    assert len(related(program, "part")) == 1


def test_a_field_of_two_concatenations_is_copied_into_one(graph: Graph) -> None:
    a, b, c = softmaxes(graph, (2, 7), (3, 7), (4, 7))
    graph.show(norm.SoftmaxOp(concatenated(graph, [a, c], 0)), 16)
    graph.show(norm.SoftmaxOp(concatenated(graph, [b, a], 0)), 16)
    program = check(graph)
    assert names(program).count("copy") == 1
    assert len(related(program, "part")) == 3


def test_fields_that_all_belong_elsewhere_need_a_kernel(graph: Graph) -> None:
    a, b = softmaxes(graph, (2, 7), (3, 7))
    graph.show(norm.SoftmaxOp(concatenated(graph, [a, b], 0)), 16)
    graph.show(norm.SoftmaxOp(concatenated(graph, [b, a], 0)), 16)
    assert names(check(graph)).count("fused_concatenate") == 1


def test_a_field_that_is_an_output_is_copied(graph: Graph) -> None:
    a, b = softmaxes(graph, (2, 7), (3, 7))
    graph.returns(a, 8)
    graph.show(norm.SoftmaxOp(concatenated(graph, [a, b], 0)), 16)
    assert names(check(graph)).count("copy") == 1


def test_a_field_may_be_seen_in_another_shape(graph: Graph) -> None:
    (a, b) = softmaxes(graph, (14,), (3, 7))
    a = graph.op(reshape.ReshapeOp(a, [2, 7]))
    graph.show(norm.SoftmaxOp(concatenated(graph, [a, b], 0)), 16)
    assert len(check(graph).steps) == 3


@pytest.mark.parametrize("shape", [(2, 3, 5), (0, 3, 5)])
def test_pieces_apart_and_empty_ones_need_a_kernel(shape: tuple[int, ...]) -> None:
    g = Graph()
    g.show(unary.ExpOp(concatenated(g, softmaxes(g, shape, shape), 1)), 16)
    program = check(g)
    assert "fused_concatenate" in names(program)
    assert related(program, "part") == []


def test_only_what_merely_concatenates_is_joined(graph: Graph) -> None:
    def body(g: Graph, a: SSAValue, b: SSAValue) -> SSAValue:
        return g.op(unary.ExpOp(concatenated(g, [a, b], 0)))

    graph.show(norm.SoftmaxOp(graph.fused(softmaxes(graph, (2, 7), (3, 7)), body)), 16)
    assert related(check(graph), "part") == []


def test_a_part_is_not_overwritten_while_the_whole_is_needed(graph: Graph) -> None:
    a, b = softmaxes(graph, (2, 7), (3, 7))
    whole = concatenated(graph, [a, b], 0)
    graph.show(unary.NegativeOp(graph.op(unary.ExpOp(a))), 8)
    graph.show(norm.SoftmaxOp(whole), 16)
    assert related(check(graph), "in place") == []


def test_the_whole_is_overwritten_by_its_last_reader(graph: Graph) -> None:
    whole = concatenated(graph, softmaxes(graph, (2, 7), (3, 7)), 0)
    graph.show(norm.SoftmaxOp(graph.op(unary.NegativeOp(whole))), 16)
    program = check(graph)
    assert len(related(program, "in place")) == 1
    assert len([buffer for buffer in program.buffers if buffer.tensors]) == 1


# -- halos --------------------------------------------------------------------------------------------


def pooled(g: Graph, blocks: int, lanes: int) -> SSAValue:
    image = g.input(g.small("float32", 1, blocks, 6, 5, lanes))
    return g.op(pool.MaxPool2DOp(image, (2, 2), layout=f"NCHW{lanes}c"))


def convolved(g: Graph, image: SSAValue, channels: int, taps: int, lanes: int) -> SSAValue:
    weight = g.constant(g.small("float32", lanes, channels, taps, taps))
    padding = (taps // 2, taps // 2)
    return g.op(conv.Conv2DOp(image, weight, padding=padding, data_layout=f"NCHW{lanes}c"))


@pytest.mark.in_turn
def test_parts_have_the_halo_of_the_whole(graph: Graph, target: str) -> None:
    lanes = LANES[target]
    fields = [pooled(graph, 2, lanes), pooled(graph, 1, lanes)]
    whole = concatenated(graph, fields, 1)
    graph.returns(convolved(graph, whole, 3 * lanes, 3, lanes), 0)
    graph.show(unary.NegativeOp(fields[0]))
    program = check(graph, target)
    parts = related(program, "part")
    assert len(parts) == 2
    assert all(part.format.halo != NO_HALO for part in parts)
    assert "fused_concatenate" not in names(program)


@pytest.mark.in_turn
def test_a_field_that_wants_a_halo_of_its_own_stays_apart(graph: Graph, target: str) -> None:
    lanes = LANES[target]
    fields = [pooled(graph, 2, lanes), pooled(graph, 1, lanes)]
    graph.returns(convolved(graph, fields[0], 2 * lanes, 3, lanes), 0)
    graph.returns(convolved(graph, concatenated(graph, fields, 1), 3 * lanes, 1, lanes), 0)
    program = check(graph, target)
    assert related(program, "part") == []
    assert "fused_concatenate" in names(program)


@pytest.mark.in_turn
def test_fields_from_elsewhere_get_their_halo_from_a_kernel(graph: Graph, target: str) -> None:
    lanes = LANES[target]
    given = graph.input(graph.small("float32", 1, 1, 5, 4, lanes))
    whole = concatenated(graph, [pooled(graph, 2, lanes), given], 1)
    graph.returns(convolved(graph, whole, 3 * lanes, 3, lanes), 0)
    assert "fused_concatenate" in names(check(graph, target))


def test_nothing_lies_between_constants(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved is the same each time, and nothing that was in memory before."""

    def used_memory(size: int, what: str) -> np.ndarray:
        return np.full(size, 0xA5, np.uint8)

    monkeypatch.setattr("xrelay.memory.aligned_bytes", used_memory)
    for array in (np.arange(5, dtype=np.float32), np.ones(3, np.int8)):
        x = graph.input(array)
        graph.show(binary.AddOp(x, graph.constant(array)))
    constants = graph.code("x86-64").constants
    assert constants.size == 128
    assert 0xA5 not in constants
