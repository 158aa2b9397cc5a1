"""The reference: regions run by the NumPy interpreter, which knows every operator. Slow, and right."""

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from xrelay.backends.base import Array, Backend, CompiledRegion, No, RegionOptions, Support, Yes
from xrelay.backends.regions import nested
from xrelay.dialects.base import RelayOp
from xrelay.interpreters.arrays import arrays_in
from xrelay.interpreters.relay import interpret, interpreted_operators


class NumpyBackend(Backend):
    """Runs every operator of the dialect."""

    name = "numpy"

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        if type(op) not in interpreted_operators():
            return No("the interpreter does not know it")
        undefined = op.undefined() if isinstance(op, RelayOp) else None
        return Yes() if undefined is None else No(undefined)

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        module = ModuleOp([function.clone()])
        name, types = function.sym_name.data, function.function_type.inputs.data

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
            results = arrays_in(interpret(module, nested(inputs, types), name))
            for output, result in zip(outputs, results, strict=True):
                output[...] = result

        return run
