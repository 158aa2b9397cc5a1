"""Einstein sums in NumPy."""

from string import ascii_letters

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls

from xrelay.dialects.tensor import einsum
from xrelay.dialects.tensor.einsum import parse_equation
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.numerics import narrow, quiet, widen


@register_impls
class EinsumFunctions(InterpreterFunctions):
    """The operator of `xrelay.dialects.tensor.einsum`."""

    @impl(einsum.EinsumOp)
    @quiet
    def run_einsum(
        self, interpreter: Interpreter, op: einsum.EinsumOp, args: PythonValues
    ) -> PythonValues:
        fields: tuple[Array, ...] = args[0]
        equation = parse_equation(op.equation.data, [field.ndim for field in fields])
        lengths = equation.lengths([field.shape for field in fields])
        letters = dict(zip(lengths, ascii_letters, strict=False))

        def term(labels: tuple[str, ...]) -> str:
            return "".join(letters[label] for label in labels)

        # All lengths agree before NumPy looks at them.
        operands = [
            np.broadcast_to(widen(field), [lengths[label] for label in labels])
            for field, labels in zip(fields, equation.inputs, strict=True)
        ]
        text = f"{','.join(map(term, equation.inputs))}->{term(equation.output)}"
        result = np.asarray(np.einsum(text, *operands))
        return (narrow(result, fields[0].dtype),)
