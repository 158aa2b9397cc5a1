"""Steps of optimisers: the domain ai.onnx.preview.training."""

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import EqualOp, LessOp, PowerOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import CastOp, SqrtOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import Arithmetic
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node

Step = Callable[["_Formulas", SSAValue, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""The new tensors for the rate, the count of updates, and the tensors: the parameter, its gradient, and what is accumulated."""


class _Formulas(Arithmetic):
    """Formulas with the attributes of a node."""

    def real(self, name: str, default: float = 0.0) -> float:
        """An attribute."""
        return self.node.real(name, default)

    def root(self, value: SSAValue) -> SSAValue:
        """The square root."""
        return self.node.emit(SqrtOp(value))

    def regularized(self, x: SSAValue, gradient: SSAValue) -> SSAValue:
        """The gradient with that of the norm of the parameter."""
        return self.add(self.multiply(x, self.real("norm_coefficient")), gradient)


def _adagrad(
    a: _Formulas, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    x, gradient, squares = tensors
    number = a.node.emit(CastOp(count, a.node.element_type(rate)))
    decay = a.add(a.multiply(number, a.real("decay_factor")), 1)
    gradient = a.regularized(x, gradient)
    squares = a.add(squares, a.multiply(gradient, gradient))
    divisor = a.add(a.root(squares), a.real("epsilon"))
    change = a.divide(a.multiply(a.divide(rate, decay), gradient), divisor)
    return a.subtract(x, change), squares


def _momentum(
    a: _Formulas, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    x, gradient, momentum = tensors
    mode, alpha, beta = a.node.string("mode", ""), a.real("alpha"), a.real("beta")
    if mode not in ("standard", "nesterov"):
        raise OnnxImportError(f'\'mode\' is "{mode}", accepted are "standard" and "nesterov"')
    gradient = a.regularized(x, gradient)
    later = a.node.emit(LessOp(a.node.scalar(0, count), count))
    factor = a.node.emit(WhereOp(later, a.node.scalar(beta, x), a.node.scalar(1, x)))
    momentum = a.add(a.multiply(momentum, alpha), a.multiply(factor, gradient))
    step = momentum if mode == "standard" else a.add(gradient, a.multiply(momentum, alpha))
    return a.subtract(x, a.multiply(rate, step)), momentum


def _adam(
    a: _Formulas, rate: SSAValue, count: SSAValue, tensors: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    x, gradient, means, squares = tensors
    alpha, beta = a.real("alpha", 0.9), a.real("beta", 0.999)
    gradient = a.regularized(x, gradient)
    means = a.add(a.multiply(means, alpha), a.multiply(gradient, 1 - alpha))
    squares = a.add(a.multiply(squares, beta), a.multiply(a.multiply(gradient, gradient), 1 - beta))
    number = a.node.emit(CastOp(count, a.node.element_type(rate)))
    shares = (
        a.add(a.multiply(a.node.emit(PowerOp(a.node.scalar(each, rate), number)), -1), 1)
        for each in (beta, alpha)
    )
    correction = a.divide(a.root(next(shares)), next(shares))
    first = a.node.emit(EqualOp(count, a.node.scalar(0, count)))
    adjusted = a.node.emit(WhereOp(first, rate, a.multiply(rate, correction)))
    divisor = a.add(a.root(squares), a.real("epsilon", 1e-6))
    moved = a.subtract(x, a.divide(a.multiply(adjusted, means), divisor))
    return a.multiply(moved, 1 - a.real("norm_coefficient_post")), means, squares


def _steps(step: Step, kinds: int) -> Converter:
    """
    Converts an optimiser with `kinds` tensors for each parameter. Inputs are the rate, the count of updates, and all tensors of
    a kind after the other; outputs are all new tensors of a kind after the other.
    """

    def convert(node: Node) -> Sequence[SSAValue]:
        count = (node.input_count - 2) // kinds
        if count < 1 or node.input_count != 2 + kinds * count:
            raise OnnxImportError(
                f"it has {node.input_count} inputs, expected two and {kinds} for each parameter"
            )
        rate, updates = node.input_as_scalar(0), node.input_as_scalar(1)
        found = [
            step(
                _Formulas(node),
                rate,
                updates,
                [node.input(2 + kind * count + number) for kind in range(kinds)],
            )
            for number in range(count)
        ]
        return [each for kind in zip(*found, strict=True) for each in kind]

    return convert


CONVERTERS: ConverterTable = {
    "Adagrad": {1: _steps(_adagrad, 3)},
    "Adam": {1: _steps(_adam, 4)},
    "Momentum": {1: _steps(_momentum, 3)},
}
