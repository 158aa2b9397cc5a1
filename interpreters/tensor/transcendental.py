"""The elementary functions of `xrelay.dialects.tensor.transcendental` in NumPy."""

from collections.abc import Callable

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import transcendental
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import elementwise
from xrelay.interpreters.tensor.unary import error_function


def _in_double(function: np.ufunc) -> Callable[[Array], Array]:
    """NumPy's float32 versions are some units of the last place less exact than its float64's."""

    def run(x: Array) -> Array:
        return np.asarray(function(x.astype(np.float64))).astype(x.dtype)

    return run


@register_impls
class TranscendentalFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.transcendental`."""

    run_acos = elementwise(transcendental.AcosOp, _in_double(np.arccos))
    run_acosh = elementwise(transcendental.AcoshOp, _in_double(np.arccosh))
    run_asin = elementwise(transcendental.AsinOp, _in_double(np.arcsin))
    run_asinh = elementwise(transcendental.AsinhOp, _in_double(np.arcsinh))
    run_atan = elementwise(transcendental.AtanOp, _in_double(np.arctan))
    run_atanh = elementwise(transcendental.AtanhOp, _in_double(np.arctanh))
    run_cosh = elementwise(transcendental.CoshOp, _in_double(np.cosh))
    run_fast_erf = elementwise(transcendental.FastErfOp, error_function)
    run_fast_exp = elementwise(transcendental.FastExpOp, np.exp)
    run_fast_tanh = elementwise(transcendental.FastTanhOp, np.tanh)
    run_log10 = elementwise(transcendental.Log10Op, _in_double(np.log10))
    run_log2 = elementwise(transcendental.Log2Op, _in_double(np.log2))
    run_sinh = elementwise(transcendental.SinhOp, _in_double(np.sinh))
    run_tan = elementwise(transcendental.TanOp, _in_double(np.tan))
