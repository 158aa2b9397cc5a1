"""Regions run by ONNX Runtime on the CPU."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.backends.base import Array, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.onnx_engine import OnnxEngine
from xrelay.backends.regions import static_tensors
from xrelay.dialects.core.values import CompositeOp, ConstantOp

SMALL = 64
"""Constants of at most this many elements, such as shapes, stay constants when the engine is asked."""


MOST_BINDINGS = 16
"""How many sets of addresses a region keeps bindings for: workspaces, and arrays that callers use again."""


class OnnxRuntimeBackend(OnnxEngine):
    """Runs what ONNX can express. Inputs and outputs are bound: nothing is copied at the borders."""

    name = "onnxruntime"

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        self.known: dict[tuple[object, ...], str | None] = {}
        """What the engine said of operators, by name, attributes, types and small constants."""

    def runs(self, op: Operation, types: Sequence[Attribute]) -> Support:
        tensors = static_tensors((*types, *op.result_types))
        if isinstance(tensors, No):
            return tensors
        if all(tensor.dtype == np.float32 for tensor in tensors):
            return Yes()
        # For other dtypes some kernels are missing, which only the engine itself knows.
        constants = tuple(each and each.value for each in map(_small_constant, op.operands))
        key = op.name, str(op.properties), tuple(types), op.result_types, constants
        if isinstance(op, CompositeOp) or key not in self.known:
            self.known[key] = self.asked(op)
        problem = self.known[key]
        return Yes() if problem is None else No(problem)

    def asked(self, op: Operation) -> str | None:
        """Why the engine refuses an operator; None when it does not."""
        block = Block()
        copy = op.clone()
        for i, value in enumerate(op.operands):
            known = _small_constant(value)
            if known is not None:
                constant = known.clone()
                block.add_op(constant)
                copy.operands[i] = constant.result
            else:
                copy.operands[i] = block.insert_arg(value.type, len(block.args))
        block.add_ops([copy, func.ReturnOp(*copy.results)])
        type_ = FunctionType.from_lists(block.arg_types, copy.result_types)
        function = func.FuncOp("operator", type_, Region(block))
        try:
            self.session(function, RegionOptions())
        except Exception as error:  # noqa: BLE001 whatever it raises is its answer
            return f"the engine refuses it: {str(error).strip().splitlines()[0]}"
        return None

    def session(self, function: func.FuncOp, options: RegionOptions) -> Any:
        """A session of the engine that runs a region."""
        settings = self.engine.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        # Between its runs other engines need the cores.
        settings.add_session_config_entry("session.force_spinning_stop", "1")
        return self.engine.InferenceSession(
            self.onnx(function, options), settings, ["CPUExecutionProvider"]
        )

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        session = self.session(function, options)
        inputs: list[str] = [each.name for each in session.get_inputs()]
        outputs: list[str] = [each.name for each in session.get_outputs()]

        bindings: dict[tuple[int, ...], Any] = {}

        def run(arrays: Sequence[Array], results: Sequence[Array]) -> None:
            # To bind takes longer than to run something small. Nobody else runs with the same outputs meanwhile.
            addresses = tuple(array.ctypes.data for array in (*arrays, *results))
            binding = bindings.get(addresses)
            if binding is None:
                binding = session.io_binding()
                for bind, names, given in (
                    (binding.bind_input, inputs, arrays),
                    (binding.bind_output, outputs, results),
                ):
                    for name, array in zip(names, given, strict=True):
                        bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
                if len(bindings) >= MOST_BINDINGS:
                    bindings.clear()
                bindings[addresses] = binding
            session.run_with_iobinding(binding)

        return run


def _small_constant(value: SSAValue) -> ConstantOp | None:
    """The constant that a question to the engine has in it."""
    op = value.owner
    if isinstance(op, ConstantOp) and prod(op.result.type.get_shape()) <= SMALL:
        return op
    return None
