"""Regions run by OpenVINO on the CPU."""

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.backends.base import Array, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.onnx_engine import OnnxEngine
from xrelay.backends.regions import static_tensors
from xrelay.dialects.tensor.reduce import MeanOp

EXACT_DTYPES = frozenset({"bool", "float16", "float32", "int32"})
INDICES = "int64"


class OpenVinoBackend(OnnxEngine):
    """Runs what ONNX can express, in f32. Inputs and outputs share the memory of the arrays."""

    name = "openvino"
    # The maximum of NaN and 0 is 0 there.
    special_numbers = False

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        self.core: Any = self.engine.Core()

    def runs(self, op: Operation, types: Sequence[Attribute]) -> Support:
        results, operands = static_tensors(op.result_types), static_tensors(types)
        if isinstance(results, No):
            return results
        if isinstance(operands, No):
            return operands
        # Indices may be i64. The engine computes f64 in f32 and i64 in i32, and small integers
        # saturate where they should wrap around.
        given, made = ({tensor.dtype.name for tensor in each} for each in (operands, results))
        known = EXACT_DTYPES if INDICES in made else {*EXACT_DTYPES, INDICES}
        for dtype in sorted((given | made) - known):
            return No(f"{dtype} is not computed as such by the engine")
        if isinstance(op, MeanOp) and "int32" in given:
            return No("the engine rounds the mean of integers down, not towards zero")
        return Yes()

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        settings = {
            "INFERENCE_NUM_THREADS": options.threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        model = self.core.read_model(self.onnx(function, options))
        compiled = self.core.compile_model(model, "CPU", settings)
        idle = deque[Any]()
        """Requests that no run uses."""
        tensor = self.engine.Tensor

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            try:
                request = idle.pop()
            except IndexError:
                request = compiled.create_infer_request()
            try:
                for i, array in enumerate(inputs):
                    request.set_input_tensor(i, tensor(_writable(array), shared_memory=True))
                for i, array in enumerate(outputs):
                    request.set_output_tensor(i, tensor(array, shared_memory=True))
                request.infer()
            finally:
                idle.append(request)

        return run


def _writable(array: Array) -> Array:
    """The same memory as an array that may be written to: the engine shares no others, but only reads."""
    if not array.size:
        return array.copy()
    if array.flags.writeable:
        return array
    place = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    return np.ctypeslib.as_array(place).view(array.dtype).reshape(array.shape)
