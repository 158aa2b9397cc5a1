"""Code for many lengths, run between pages that fault on access, beside onnxruntime."""

import types
from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime
from guard_pages import guarded_run
from onnx import ModelProto, helper
from raw_calls import RawCode

from xrelay.compiler import compile_code, read_model
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import symbol
from xrelay.interpreters.arrays import Array
from xrelay.options import CompileOptions
from xrelay.runtime.code import ModelCode


def open_code(
    model: ModelProto,
    lengths: Mapping[str, int],
    options: CompileOptions,
    ranges: Mapping[str, tuple[int, int]] = types.MappingProxyType({}),
) -> ModelCode:
    """The code for many lengths, compiled at some, of a model whose open dimensions all have names."""
    scope = Scope()
    symbols = {
        name: symbol(scope, name, length, ranges.get(name)) for name, length in lengths.items()
    }
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


def inputs_at(model: ModelProto, lengths: Mapping[str, int]) -> dict[str, Array]:
    """Random inputs of some lengths."""
    random = np.random.default_rng(sum(lengths.values()))
    given: dict[str, Array] = {}
    for value in model.graph.input:
        type_ = value.type.tensor_type
        shape = [lengths.get(dim.dim_param, dim.dim_value) for dim in type_.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(type_.elem_type)
        if kind in (np.uint8, np.int8):
            bounds = np.iinfo(kind)
            array = random.integers(bounds.min, bounds.max, shape, kind, endpoint=True)
        else:
            array = random.standard_normal(shape).astype(kind)
        given[value.name] = array
    return given


def check(
    model: ModelProto, code: ModelCode, lengths: Mapping[str, int], tolerance: float = 1e-5
) -> None:
    """The code computes what onnxruntime does at some lengths, between pages that fault on access."""
    given = inputs_at(model, lengths)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    served = at_shapes(code, list(given.values()))
    assert served is not None, f"{lengths} needs a program of its own"
    raw, taken = served
    for at_end in (True, False):
        found = guarded_run(raw, taken, code.signature.threads, at_end=at_end)
        for spec, one, other in zip(code.signature.outputs, found, wanted, strict=True):
            each = one.view(other.dtype).reshape(other.shape)
            if other.dtype.kind in "iu":
                np.testing.assert_array_equal(each, other, str(spec))
            else:
                np.testing.assert_allclose(each, other, 1e-4, tolerance, err_msg=str(spec))
