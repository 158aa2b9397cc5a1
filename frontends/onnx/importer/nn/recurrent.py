"""
RNN, GRU and LSTM over sequences of a known length: one product for the inputs of all steps, and the
steps one after the other, in a loop where they are many.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import AddOp, LessOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reorder import ReverseSequenceOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import SplitOp, StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, LeakyReluOp, ReluOp, SigmoidOp, TanhOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.core.looping import as_tensor, index, repeated
from xrelay.frontends.onnx.importer.core.unrolling import MAX_ROUNDS, element
from xrelay.frontends.onnx.importer.emitting import fields, joined, require_range, reshaped
from xrelay.frontends.onnx.importer.nn.activation import (
    clipped_line,
    exponential_below_zero,
    plus,
    smooth_relu,
    softened_sign,
    thresholded,
    times,
)
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node

MOST_UNROLLED = 16
"""More steps stay a loop: its code is compiled once."""

Activation = Callable[[SSAValue], SSAValue]


@dataclass(frozen=True)
class Cell:
    """What one step computes in one direction, but for the product with the input."""

    node: Node
    weights: Sequence[SSAValue]
    """Those of the state, [gates * hidden size, hidden size], of some gates each."""
    biases: Sequence[SSAValue]
    """What is added to the products with these weights; none at all, or one for each."""
    peepholes: Sequence[SSAValue]
    activations: Sequence[Activation]
    clip: float | None

    def of_state(self, index: int, state: SSAValue) -> SSAValue:
        """The product of weights and the state, [batch, gates * hidden size], plus the bias."""
        product = self.node.emit(DenseOp(state, self.weights[index]))
        if not self.biases:
            return product
        return self.node.emit(BiasAddOp(product, self.biases[index]))

    def activate(self, index: int, value: SSAValue) -> SSAValue:
        """An activation function of a value, which is clipped first."""
        if self.clip is not None:
            value = self.node.emit(ClipOp(value, -self.clip, self.clip))
        return self.activations[index](value)

    def split(self, value: SSAValue, count: int) -> list[SSAValue]:
        """Equal parts of a value, one for each gate."""
        return fields(self.node, self.node.emit(SplitOp(value, count, axis=1)), count)

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs"""
        return self.node.emit(AddOp(lhs, rhs))

    def multiply(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs * rhs"""
        return self.node.emit(MultiplyOp(lhs, rhs))

    def rest(self, value: SSAValue) -> SSAValue:
        """1 - value"""
        return self.node.emit(SubtractOp(self.node.scalar(1, value), value))


Step = Callable[[Cell, SSAValue, Sequence[SSAValue]], list[SSAValue]]
"""The new states, of which the first is Y, from the product with the input and the states before."""


def rnn_step(cell: Cell, given: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """RNN: f(x W' + h R' + b)."""
    return [cell.activate(0, cell.add(given, cell.of_state(0, states[0])))]


def gru_step(cell: Cell, given: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """GRU: (1 - z) * h' + z * h, with the gates z (update) and r (reset)."""
    (state,) = states
    update, reset, hidden = cell.split(given, 3)
    of_update, of_reset = cell.split(cell.of_state(0, state), 2)
    update = cell.activate(0, cell.add(update, of_update))
    reset = cell.activate(0, cell.add(reset, of_reset))
    if cell.node.flag("linear_before_reset"):
        of_hidden = cell.multiply(reset, cell.of_state(1, state))
    else:
        of_hidden = cell.of_state(1, cell.multiply(reset, state))
    hidden = cell.activate(1, cell.add(hidden, of_hidden))
    return [cell.add(cell.multiply(cell.rest(update), hidden), cell.multiply(update, state))]


def lstm_step(cell: Cell, given: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """LSTM: the cell f * c + i * c' and the state o * h(cell), with gates i, o and f."""
    state, memory = states
    sums = cell.add(given, cell.of_state(0, state))
    enter, leave, forget, new = cell.split(sums, 4)
    if cell.peepholes:
        enter = cell.add(enter, cell.multiply(cell.peepholes[0], memory))
        forget = cell.add(forget, cell.multiply(cell.peepholes[2], memory))
    enter = cell.activate(0, enter)
    coupled = cell.node.flag("input_forget")
    forget = cell.rest(enter) if coupled else cell.activate(0, forget)
    new = cell.activate(1, new)
    memory = cell.add(cell.multiply(forget, memory), cell.multiply(enter, new))
    if cell.peepholes:
        leave = cell.add(leave, cell.multiply(cell.peepholes[1], memory))
    leave = cell.activate(0, leave)
    return [cell.multiply(leave, cell.activations[2](memory)), memory]


@dataclass(frozen=True)
class Sequences:
    """The input of a recurrent network, [length, batch, width], and what it starts from."""

    node: Node
    data: SSAValue
    initial: Sequence[SSAValue | None]
    """The states before the first step, [directions, batch, size]."""
    size: int
    """Of a state."""
    batch_first: bool

    @staticmethod
    def of(node: Node, gates: int, directions: int, states: int) -> "Sequences":
        """
        The operands of a node whose states have so many gates.

        Raises OnnxImportError for operands whose shapes do not fit.
        """
        batch_first = node.flag("layout")
        data = node.shaped(0, "X", (None, None, None))
        length, batch, width = node.shape_of(data)
        if batch_first:
            length, batch = batch, length
        size = node.shape_of(node.shaped(2, "R", (None,) * 3))[2]
        stated = node.integer("hidden_size", size)
        if stated != size:
            raise OnnxImportError(f"'hidden_size' is {stated}, input 2 ('R') says {size}")
        state = (batch, directions, size) if batch_first else (directions, batch, size)
        for place, name, shape in (
            (1, "W", (directions, gates * size, width)),
            (2, "R", (directions, gates * size, size)),
            (3, "B", (directions, 2 * gates * size)),
            (4, "sequence_lens", (batch,)),
            (5, "initial_h", state),
            (6, "initial_c", state),
            (7, "P", (directions, 3 * size)),
        ):
            if node.has_input(place):
                node.shaped(place, name, shape)
        initial = [node.optional(place) for place in range(5, 5 + states)]
        if batch_first:
            data = node.emit(TransposeOp(data, (1, 0, 2)))
            initial = [
                None if value is None else node.emit(TransposeOp(value, (1, 0, 2)))
                for value in initial
            ]
        return Sequences(node, data, initial, size, batch_first)

    def start(self, direction: int) -> list[SSAValue]:
        """The states of a direction before its first step, [batch, size]."""
        zeros = (self.node.shape_of(self.data)[1], self.size)
        return [
            self.node.zeros(zeros, self.data)
            if value is None
            else pick(self.node, value, direction)
            for value in self.initial
        ]

    def results(
        self, whole: Sequence[SSAValue], last: Sequence[Sequence[SSAValue]]
    ) -> list[SSAValue]:
        """The results of the node from those of each direction: of all steps, and of the last one."""
        results = [joined(self.node, list(each), 0) for each in zip(*last, strict=True)]
        if self.batch_first:
            results = [self.node.emit(TransposeOp(each, (1, 0, 2))) for each in results]
        result = joined(self.node, whole, 1)
        if self.batch_first:
            result = self.node.emit(TransposeOp(result, (2, 0, 1, 3)))
        return [result, *results]


def recurrent(
    step: Step, cuts: Sequence[int], defaults: Sequence[str], states: int = 1
) -> Converter:
    """
    Converts a recurrent network of some activations and states; `cuts` are the numbers of gates
    whose weights of the state are used together.
    """

    def convert(node: Node) -> list[SSAValue]:
        node.ignore("output_sequence", "linear_before_reset", "input_forget")
        backwards = _DIRECTIONS.get(node.string("direction", "forward"))
        if backwards is None:
            raise OnnxImportError(f"'direction' is \"{node.string('direction', '')}\"")
        given = Sequences.of(node, sum(cuts), len(backwards), states)
        lengths = _lengths(node, node.shape_of(given.data)[0])
        functions = _activations(node, defaults, len(backwards))
        whole: list[SSAValue] = []
        last: list[list[SSAValue]] = []
        for number, (reverse, activations) in enumerate(zip(backwards, functions, strict=True)):
            cell, bias = _cell(node, number, cuts, activations)
            turn = lengths if reverse else None
            start = given.start(number)
            product = _of_input(node, _turned(node, given.data, turn), number, bias)
            direction = Direction(cell, step, product, lengths, reverse and lengths is None)
            stacked, final = direction.run(start)
            whole.append(node.emit(ExpandDimsOp(_turned(node, stacked, turn), 1)))
            last.append([node.emit(ExpandDimsOp(each, 0)) for each in final])
        return given.results(whole, last)

    return convert


def _of_input(node: Node, data: SSAValue, direction: int, bias: SSAValue | None) -> SSAValue:
    """The product of the input of all steps and the weights of a direction: [length, batch, gates * size]."""
    length, batch, width = node.shape_of(data)
    flat = reshaped(node, data, (length * batch, width))
    product = node.emit(DenseOp(flat, pick(node, node.input(1), direction)))
    if bias is not None:
        product = node.emit(BiasAddOp(product, bias))
    return reshaped(node, product, (length, batch, node.shape_of(product)[1]))


def _cell(
    node: Node, number: int, cuts: Sequence[int], activations: Sequence[Activation]
) -> tuple[Cell, SSAValue | None]:
    """What one direction computes in a step, and the bias of the input."""
    recurrence = pick(node, node.input(2), number)
    size = node.shape_of(recurrence)[1]
    bias = pick(node, node.input(3), number) if node.has_input(3) else None
    ends = [sum(cuts[: i + 1]) * size for i in range(len(cuts))]
    pieces = list(zip([0, *ends], ends, strict=False))
    biases: list[SSAValue] = []
    if bias is not None:
        biases = [part(node, bias, ends[-1] + begin, ends[-1] + end) for begin, end in pieces]
        bias = part(node, bias, 0, ends[-1])
    peepholes: list[SSAValue] = []
    if node.has_input(7):
        vectors = pick(node, node.input(7), number)
        peepholes = [part(node, vectors, i * size, (i + 1) * size) for i in range(3)]
    weights = [part(node, recurrence, begin, end) for begin, end in pieces]
    clip = node.real("clip", 0.0) if node.has_attribute("clip") else None
    return Cell(node, weights, biases, peepholes, activations, clip), bias


def _turned(node: Node, value: SSAValue, lengths: SSAValue | None) -> SSAValue:
    """Sequences of some lengths in reverse order; as they are without lengths."""
    if lengths is None:
        return value
    return node.emit(ReverseSequenceOp(value, lengths, seq_axis=0, batch_axis=1))


@dataclass(frozen=True)
class Direction:
    """The steps of one direction over the products with the input, [length, batch, gates * size]."""

    cell: Cell
    step: Step
    product: SSAValue
    lengths: SSAValue | None
    """Of the sequences of the batch, where not all are whole."""
    backwards: bool

    def run(self, states: list[SSAValue]) -> tuple[SSAValue, list[SSAValue]]:
        """The outputs of all steps, [length, batch, size], and the states after the last step."""
        node, length = self.cell.node, self.cell.node.shape_of(self.product)[0]
        if is_open(length) or length > (MAX_ROUNDS if node.unrolls else MOST_UNROLLED):
            *last, rows = repeated(
                node, index(node, length), states, length, [self.backwards], self._round
            )
            return rows, last
        if length == 0:
            return node.zeros((0, *node.shape_of(states[0])), states[0]), states
        outputs: list[SSAValue] = []
        for place in range(length)[:: -1 if self.backwards else 1]:
            given = element(node, self.product, 0, place)
            output, states = self._after(given, states, node.constant(np.array(place)))
            outputs.append(node.emit(ExpandDimsOp(output, 0)))
        return joined(node, outputs[:: -1 if self.backwards else 1], 0), states

    def _round(self, count: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
        """The states after a step of a loop, and its output."""
        node = self.cell.node
        if self.backwards:
            last = index(node, node.shape_of(self.product)[0] - 1)
            count = node.add(arith.SubiOp(last, count))
        place = as_tensor(node, node.add(arith.IndexCastOp(count, i64)))
        given = node.emit(TakeOp(self.product, place, axis=0))
        output, states = self._after(given, states, place)
        return [*states, output]

    def _after(
        self, given: SSAValue, states: Sequence[SSAValue], place: SSAValue
    ) -> tuple[SSAValue, list[SSAValue]]:
        """The output and the states after a step. After the end of a sequence states stay, and outputs are 0."""
        node, new = self.cell.node, self.step(self.cell, given, states)
        if self.lengths is None:
            return new[0], new
        runs = node.emit(ExpandDimsOp(node.emit(LessOp(place, self.lengths)), 1))
        kept = [
            node.emit(WhereOp(runs, after, before))
            for after, before in zip(new, states, strict=True)
        ]
        return node.emit(WhereOp(runs, new[0], node.scalar(0, new[0]))), kept


_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Whether each direction goes backwards."""


def _lengths(node: Node, length: int) -> SSAValue | None:
    """The lengths of the sequences of a batch, None where all are whole."""
    if not node.has_input(4):
        return None
    require_range(node, 4, "sequence_lens", 0, length)
    known = node.known_value(node.input(4))
    if known is not None and bool((known == length).all()):
        return None
    return node.emit(CastOp(node.input(4), i64))


def pick(node: Node, value: SSAValue, number: int) -> SSAValue:
    """A slice along the first axis, without it: what belongs to one direction."""
    known = node.known_value(value)
    return element(node, value, 0, number) if known is None else node.constant(known[number])


def part(node: Node, value: SSAValue, begin: int, end: int) -> SSAValue:
    """Rows of a matrix, or elements of a vector."""
    known = node.known_value(value)
    if known is not None:
        return node.constant(known[begin:end])
    if (begin, end) == (0, node.shape_of(value)[0]):
        return value
    return node.emit(StridedSliceOp(value, [begin], [end], axes=[0]))


def _activations(
    node: Node, defaults: Sequence[str], directions: int
) -> Iterator[list[Activation]]:
    """The activation functions of each direction; those that have parameters consume them."""
    names = node.strings("activations") or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        raise OnnxImportError(
            f"'activations' is {names}, expected {len(defaults) * directions} names"
        )
    alphas = iter(node.reals("activation_alpha") or [])
    betas = iter(node.reals("activation_beta") or [])
    functions: list[Activation] = []
    for name in names:
        entry = _ACTIVATIONS.get(name.lower())
        if entry is None:
            raise UnsupportedNode(f'the activation function "{name}" is not supported')
        function, default_alpha, default_beta = entry
        alpha = 0.0 if default_alpha is None else next(alphas, default_alpha)
        beta = 0.0 if default_beta is None else next(betas, default_beta)
        functions.append(_bound(node, function, alpha, beta))
    for first in range(0, len(names), len(defaults)):
        yield functions[first : first + len(defaults)]


Parametric = Callable[[Node, SSAValue, float, float], SSAValue]


def _bound(node: Node, function: Parametric, alpha: float, beta: float) -> Activation:
    return lambda value: function(node, value, alpha, beta)


def _scaled_tanh(node: Node, value: SSAValue, alpha: float, beta: float) -> SSAValue:
    return times(node, node.emit(TanhOp(times(node, value, beta))), alpha)


_ACTIVATIONS: dict[str, tuple[Parametric, float | None, float | None]] = {
    "affine": (lambda n, x, a, b: plus(n, times(n, x, a), b), 1.0, 0.0),
    "elu": (lambda n, x, a, b: exponential_below_zero(n, x, a), 1.0, None),
    "hardsigmoid": (clipped_line, 0.2, 0.5),
    "leakyrelu": (lambda n, x, a, b: n.emit(LeakyReluOp(x, a)), 0.01, None),
    "relu": (lambda n, x, a, b: n.emit(ReluOp(x)), None, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "sigmoid": (lambda n, x, a, b: n.emit(SigmoidOp(x)), None, None),
    "softplus": (lambda n, x, a, b: smooth_relu(n, x), None, None),
    "softsign": (lambda n, x, a, b: softened_sign(n, x), None, None),
    "tanh": (lambda n, x, a, b: n.emit(TanhOp(x)), None, None),
    "thresholdedrelu": (lambda n, x, a, b: thresholded(n, x, a), 1.0, None),
}
"""Functions of a value, alpha and beta, with the defaults of those that they have."""

CONVERTERS: ConverterTable = {
    "GRU": {7: recurrent(gru_step, (2, 1), ("Sigmoid", "Tanh"))},
    "LSTM": {7: recurrent(lstm_step, (4,), ("Sigmoid", "Tanh", "Tanh"), states=2)},
    "RNN": {7: recurrent(rnn_step, (1,), ("Tanh",))},
}
