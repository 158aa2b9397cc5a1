"""Programs for many lengths in tests: their code at some lengths, and models whose lengths are open."""

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto, numpy_helper, parser
from raw_calls import RawCode

from xrelay.compiler import compile_code, read_model
from xrelay.dialects.lengths import Scope
from xrelay.interpreters.arrays import Array
from xrelay.options import CompileOptions
from xrelay.runtime.code import ModelCode


def model_of(text: str, **shapes: Sequence[int]) -> ModelProto:
    """An ONNX model in its text format, with seeded random weights of some shapes."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>{text}')
    random = np.random.default_rng(len(text))
    for name, shape in shapes.items():
        weights = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(numpy_helper.from_array(weights.astype(np.float32), name))
    return model


def open_code(model: ModelProto, lengths: Mapping[str, int], options: CompileOptions) -> ModelCode:
    """The code for many lengths, compiled at some, of a model whose open dimensions all have names."""
    scope = Scope()
    symbols = {name: scope.symbol(name, length) for name, length in lengths.items()}
    shapes = {
        value.name: [
            symbols[dim.dim_param] if dim.dim_param else dim.dim_value
            for dim in value.type.tensor_type.shape.dim
        ]
        for value in model.graph.input
    }
    module, name = read_model(model, shapes)
    return compile_code(module, name, options, scope=scope)


def at_shapes(code: ModelCode, arrays: Sequence[Array]) -> tuple[RawCode, list[Array]] | None:
    """The code at the shapes of inputs, and what it takes then; None where it does not serve them."""
    assert code.signature.lengths is not None
    known = code.signature.lengths.at([array.shape for array in arrays])
    if known is None:
        return None
    raw = RawCode(code)
    raw.signature = code.signature.at(known)
    return raw, [*arrays, np.array(known.table, np.int64)]
