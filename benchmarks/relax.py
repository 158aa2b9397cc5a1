"""The graphs of `benchmarks.fusion` as Relax programs of the package `apache-tvm`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.fusion_graphs import Steps

PATTERNS = {
    "exp": 0,
    "tanh": 0,
    "add": 0,
    "concatenate": 2,
    "softmax": 4,
    "dense": 4,
    "product": 4,
    "layer_norm": 4,
}
"""The values of `op_pattern` (TVM's OpPatternKind)."""
SIDE = 8


def relax_fusion(steps: Steps) -> Callable[[], object]:
    """
    Relax's FuseOps on a graph. Every step is a call of a PrimFunc with a pattern kind, which is what
    that pass looks at, and what LegalizeOps and AnnotateTIROpPattern leave. The bodies do not count
    and only copy their first operand.
    """
    te: Any = import_module("tvm.te")
    relax: Any = import_module("tvm.relax")
    matrix = relax.TensorType((SIDE, SIDE), "float32")
    builder = relax.BlockBuilder()
    functions: dict[tuple[str, int], Any] = {}

    def function(name: str, arity: int) -> Any:
        if (name, arity) not in functions:
            inputs = [te.placeholder((SIDE, SIDE), name=f"x{i}") for i in range(arity)]
            data = inputs[0]
            result = te.compute((SIDE, SIDE), lambda i, j: data[i, j])
            body = te.create_prim_func([*inputs, result])
            body = body.with_attr("op_pattern", PATTERNS[name])
            functions[name, arity] = builder.add_func(body, name)
        return functions[name, arity]

    data = relax.Var("x", matrix)
    with builder.function("main", [data]):
        with builder.dataflow():
            values = [data]
            for name, operands in steps:
                arguments = [values[number] for number in operands]
                call = relax.call_tir(function(name, len(operands)), arguments, matrix)
                values.append(builder.emit(call))
            result = builder.emit_output(values[-1])
        builder.emit_func_output(result)
    module = builder.get()
    fuse = relax.transform.FuseOps(fuse_opt_level=2)
    return lambda: fuse(module)
