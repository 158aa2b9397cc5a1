"""
`extract-fused-functions`: the functions that fusion makes of a program, each once.

    func.func @main(%x: T) -> R                  func.func @fused_exp_tanh(%p0: T) -> R attributes {Primitive = 1}
      %0 = relay.exp %x                            %0 = relay.exp %p0
      %1 = relay.tanh %0                  ──►      %1 = relay.tanh %0
      %2 = relay.exp %1                            return %1
      …                                          …
      return %3

Operators are simplified as in `simplify-inference` and fused as in `fuse-ops{opt-level=3}` before. What the program
states as `relay.fused` already is among the functions. They come from the entry function and those that it calls, in the order of the
program, and equal ones, names of values aside, are one. Nothing else stays but the definitions of data types: tuning and
measuring see what there is to compile. A module of such functions alone stays as it is.

Source: Relay's ExtractFusedFunctions, which names them by their hash.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.constants import number_of
from xrelay.analysis.facts.names import fused_name, unused_name
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp, FusedOp
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.rules.called_bodies import PRIMITIVE, RESHAPE_ONLY
from xrelay.transforms.simplify_inference import SimplifyInferencePass


@dataclass(frozen=True)
class ExtractFusedFunctionsPass(RelayPass):
    """
    Leaves the functions that operators are fused to.

    A module without an entry function raises DiagnosticException.
    """

    name = "extract-fused-functions"

    def rewrite(self, op: ModuleOp) -> None:
        stated = [each for each in op.ops if isinstance(each, func.FuncOp)]
        if stated and all(has_flag(each, (PRIMITIVE,)) for each in stated):
            return
        for each in (SimplifyInferencePass(), FuseOpsPass(opt_level=3)):
            each.rewrite(op)
        functions = list(fused_functions(op))
        for each in tuple(op.body.ops):
            if isinstance(each, func.FuncOp):
                Rewriter.erase_op(each, safe_erase=False)
        op.body.block.add_ops(functions)


def fused_functions(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The functions of the `relay.fused` that a run of the entry function comes to, each once, as new ones."""
    graph = CallGraph.of_module(module)
    needed = graph.reachable([entry_function(module).sym_name.data])
    alike: dict[Hashable, list[func.FuncOp]] = {}
    used: set[str] = set()
    for name, function in graph.functions.items():
        for op in walk(function) if name in needed else ():
            if not isinstance(op, FusedOp):
                continue
            text = fused_name(op.operators)
            found = _function_of(op, text)
            others = alike.setdefault(_sketch(found), [])
            if any(map(found.is_structurally_equivalent, others)):
                continue
            others.append(found.clone())
            found.sym_name = StringAttr(unused_name(text, used))
            used.add(found.sym_name.data)
            yield found


def _sketch(function: func.FuncOp) -> Hashable:
    """What is the same for equal functions, and for few others: those with other large constants."""
    ops = [
        (op.name, *sorted(op.properties.items()))
        for op in walk(function.body)
        if not isinstance(op, ConstantOp) or number_of(op.result) is not None
    ]
    return function.function_type, tuple(ops)


def _function_of(op: FusedOp, name: str) -> func.FuncOp:
    """A function of the module that computes what `op` does."""
    block = Block(arg_types=op.block.arg_types)
    mapping: dict[SSAValue, SSAValue] = {}
    for old, new in zip(op.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
        mapping[old] = new
    block.add_ops([each.clone(mapping) for each in op.operators])
    block.add_op(func.ReturnOp(mapping[op.yielded]))
    type_ = FunctionType.from_lists(block.arg_types, [op.yielded.type])
    function = func.FuncOp(name, type_, Region(block))
    one = IntegerAttr(1, i32)
    function.attributes |= {**op.attributes, PRIMITIVE: one}
    if op.reshape_only is not None:
        function.attributes[RESHAPE_ONLY] = one
    function.location = op.location
    return function
