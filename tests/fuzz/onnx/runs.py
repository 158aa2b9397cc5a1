"""A few of the damaged ONNX models that are imported nevertheless: compiled, run, and compared."""

from functools import partial
from math import prod
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz.fuzzer import Difference
from tests.fuzz.meaning import noisy_leaves, results_of
from tests.fuzz.pass_pipelines import random_inputs
from tests.fuzz.roundings import unexplained
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import compile_code
from xrelay.dialects.shapes import leaf_types
from xrelay.options import CompileOptions
from xrelay.runtime.model import Model

COMPILED = 50
"""One in so many is compiled and run."""
COMPARED = 4
"""One in so many of these is compared with the interpreter."""
MOST_OPERATIONS = 60
MOST_ELEMENTS = 1 << 14
"""Of all tensors together: others take too long."""


def run_some(module: ModuleOp, payload: bytes) -> None:
    """
    Compiles and runs a small program for one in `COMPILED` inputs; the input says whether for this.

    Raises Difference when the result is another one than the interpreter's.
    """
    chosen = crc32(payload)
    if chosen % COMPILED == 0 and is_small(module):
        run_compiled(module, compared=chosen // COMPILED % COMPARED == 0)


def is_small(module: ModuleOp) -> bool:
    """Whether a program takes little time."""
    types = [result.type for op in module.walk() for result in op.results]
    types += entry_function(module).function_type.inputs
    elements = sum(prod(each.get_shape()) for type_ in types for each in leaf_types(type_))
    return len(types) <= MOST_OPERATIONS and elements <= MOST_ELEMENTS


def run_compiled(module: ModuleOp, *, compared: bool) -> None:
    """Compiles a program and runs it once. Raises Difference when it is compared and differs."""
    try:
        code = compile_code(module.clone(), "model", CompileOptions())
    except DiagnosticException:
        return
    model = Model.from_code(code)
    inputs = next(random_inputs(module))
    names = [each.name for each in model.signature.inputs]
    outputs = model.run(dict(zip(names, inputs, strict=True))).values()
    if not compared:
        return
    expected = results_of(module, inputs)
    # Narrow numbers are codes in programs.
    found = [
        array if array.dtype == wanted.dtype else array.view(wanted.dtype)
        for array, wanted in zip(outputs, expected, strict=True)
    ]
    run = partial(noisy_leaves, module, inputs)
    for number, mask in unexplained(found, expected, run):
        place = tuple(np.argwhere(mask)[0].tolist())
        raise Difference(
            f"compiled code differs from the interpreter\nresult {number} at {list(place)}: "
            f"{found[number][place]!r}, expected {expected[number][place]!r}\n{module}"
        )
