"""Einstein sums in NumPy."""

from string import ascii_letters

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import einsum
from xrelay.dialects.tensor.einsum import parse_equation
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import narrow, widen


@register_impls
class EinsumFunctions(InterpreterFunctions):
    """The operator of `xrelay.dialects.tensor.einsum`."""

    @meaning
    def run_einsum(self, op: einsum.EinsumOp, fields: tuple[Array, ...]) -> Array:
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
        return narrow(result, fields[0].dtype)
