"""Functions of `xrelay.lowering.math.elementary` as machine code over arrays."""

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from llvmlite import binding
from xdsl.backend.llvm.convert import convert_module as llvm_module
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr, f32, f64, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Block, Region, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.tensor import transcendental, unary
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.target import TARGETS, Target
from xrelay.lowering.llvm.to_llvm import PUBLIC_ATTRIBUTE, convert_module
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math import inverse as vector_math_inverse
from xrelay.lowering.math import trigonometry as vector_math_trigonometry
from xrelay.runtime.host import host

Function = Callable[..., SSAValue]
"""Code of a function: of a kernel builder and values."""


FUNCTIONS: dict[str, Function] = {
    "exp": vector_math.exp,
    "log": vector_math.natural_log,
    "tanh": vector_math.tanh,
    "erf": vector_math.erf,
    "sigmoid": vector_math.sigmoid,
    "sqrt": vector_math.sqrt,
    "rsqrt": vector_math.rsqrt,
    "sin": vector_math_trigonometry.sin,
    "cos": vector_math_trigonometry.cos,
    "acos": vector_math_inverse.acos,
    "acosh": vector_math_inverse.acosh,
    "asin": vector_math_inverse.asin,
    "asinh": vector_math_inverse.asinh,
    "atan": vector_math_inverse.atan,
    "atanh": vector_math_inverse.atanh,
    "cosh": vector_math_inverse.cosh,
    "sinh": vector_math_inverse.sinh,
    "tan": vector_math_inverse.tan,
    "log2": vector_math_inverse.log2,
    "log10": vector_math_inverse.log10,
}
"""Those of one argument."""

OPERATORS: dict[str, type[RelayOp]] = {
    "exp": unary.ExpOp,
    "log": unary.LogOp,
    "tanh": unary.TanhOp,
    "erf": unary.ErfOp,
    "sigmoid": unary.SigmoidOp,
    "sqrt": unary.SqrtOp,
    "rsqrt": unary.RsqrtOp,
    "sin": unary.SinOp,
    "cos": unary.CosOp,
    "acos": transcendental.AcosOp,
    "acosh": transcendental.AcoshOp,
    "asin": transcendental.AsinOp,
    "asinh": transcendental.AsinhOp,
    "atan": transcendental.AtanOp,
    "atanh": transcendental.AtanhOp,
    "cosh": transcendental.CoshOp,
    "sinh": transcendental.SinhOp,
    "tan": transcendental.TanOp,
    "log2": transcendental.Log2Op,
    "log10": transcendental.Log10Op,
}
"""The operators that compute them."""


REGISTER_FILES = {
    name: target for name, target in TARGETS.items() if not (target.vnni or target.bf16_dot)
}
"""The targets without dot products: the others differ from one of them in nothing else."""


def targets_here(targets: Mapping[str, Target] = REGISTER_FILES) -> list[str]:
    """Those of some named targets whose code this processor can run."""
    features = host().features
    return [
        name
        for name, target in targets.items()
        if all(features.get(feature, False) for feature in target.required)
    ]


def llvm_ir(function: Function, arity: int, dtype: Any, target: Target, lanes: int) -> str:
    """A function `kernel(pointers to operands, pointer to results, number of vectors)`."""
    kind = element(f32 if np.dtype(dtype) == np.float32 else f64)
    block = Block(arg_types=[LLVMPointerType()] * (arity + 1) + [i64])
    b = KernelBuilder(block, target)
    *operands, results, count = block.args
    with b.loop(0, b.mul(count, lanes), lanes) as i:
        values = [b.load(pointer, i, kind, lanes) for pointer in operands]
        b.store(results, i, kind, function(b, *values))
    b.insert(func.ReturnOp())
    kernel = func.FuncOp("kernel", FunctionType.from_lists(block.arg_types, []), Region(block))
    kernel.attributes[PUBLIC_ATTRIBUTE] = UnitAttr()
    module = ModuleOp([kernel])
    module.verify()
    convert_module(module, target.triple)
    module.verify()
    return str(llvm_module(module, fallback_target_triple=target.triple))


def target_machine(target: Target) -> binding.TargetMachine:
    """LLVM's code generator, as models use it."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(target.triple)
    return machine.create_target_machine(cpu=target.cpu, features=target.features, opt=2)


def compiled(
    function: Function, arity: int, dtype: Any, target: str, lanes: int
) -> Callable[..., Any]:
    """The function on arrays whose length is a multiple of `lanes`."""
    cpu = TARGETS[target]
    module = binding.parse_assembly(llvm_ir(function, arity, dtype, cpu, lanes))
    module.verify()
    engine = binding.create_mcjit_compiler(module, target_machine(cpu))
    engine.finalize_object()
    types = [ctypes.c_void_p] * (arity + 1) + [ctypes.c_int64]
    call = ctypes.CFUNCTYPE(None, *types)(engine.get_function_address("kernel"))

    def run(*arrays: Any, out: Any = None) -> Any:
        arrays = tuple(np.ascontiguousarray(array, dtype) for array in arrays)
        result = np.empty_like(arrays[0]) if out is None else out
        assert arrays[0].size % lanes == 0 and engine is not None
        call(*(a.ctypes.data for a in arrays), result.ctypes.data, arrays[0].size // lanes)
        return result

    return run
