"""Regions run by ONNX Runtime on the CPU."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Attribute, Operation

from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    No,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.frontends.onnx.exporter import export_model, reason_not_exported


class OnnxRuntimeBackend(Backend):
    """Runs what ONNX can express. Inputs and outputs are bound: nothing is copied at the borders."""

    name = "onnxruntime"

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        try:
            self.engine: Any = import_module("onnxruntime")
        except ImportError as error:
            raise BackendError(
                "backend 'onnxruntime' needs the package onnxruntime, which is not installed"
            ) from error

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        reason = reason_not_exported(op)
        return Yes() if reason is None else No(reason)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        settings = self.engine.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        # Between its runs other engines need the cores.
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        model = export_model(function).SerializeToString()
        session = self.engine.InferenceSession(model, settings, ["CPUExecutionProvider"])
        inputs: list[str] = [each.name for each in session.get_inputs()]
        outputs: list[str] = [each.name for each in session.get_outputs()]

        def run(arrays: Sequence[Array], results: Sequence[Array]) -> None:
            binding = session.io_binding()
            for name, array in zip(inputs, arrays, strict=True):
                where = array.dtype.type, array.shape, array.ctypes.data
                binding.bind_input(name, "cpu", 0, *where)
            for name, array in zip(outputs, results, strict=True):
                where = array.dtype.type, array.shape, array.ctypes.data
                binding.bind_output(name, "cpu", 0, *where)
            session.run_with_iobinding(binding)

        return run
