"""
`simplify-fc-transpose`: weights that are transposed parameters become parameters that are transposed already.

    func.func @main(%x, %w: tensor<32x64xf32>)     func.func @main(%x, %w.T: tensor<64x32xf32>)
      %0 = relay.transpose %w {axes = [1, 0]}  ──►   %1 = relay.nn.dense %x, %w.T
      %1 = relay.nn.dense %x, %0

Whoever calls the function has to pass transposed weights, which are computed once instead of in each call: of
a parameter `w` that of the name `w.T`, behind all other parameters. Where the function needs `w` itself,
too, it keeps it. All users of such a transpose take the new parameter, a dense or not.

Leaves alone: constants, which `fold-constant` transposes; functions that others use, whose calls would have to
change (`inline` comes before), and those for other compilers.

Source: Relay's SimplifyFCTranspose and `search_fc_transpose`. That takes the names from outside, and has a
new parameter for each use of a weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.names import unused_name
from xrelay.analysis.facts.ports import input_names
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.model_names import ONNX_NAME
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.transform import TransposeOp

Transposes = dict[BlockArgument, list[TransposeOp]]
"""The transposes of parameters."""


def transposed_weights(function: func.FuncOp) -> Transposes:
    """The parameters of which a dense takes the transpose as its weight, in the order of their use."""
    found: Transposes = {}
    for op in walk(function):
        transpose = op.weight.owner if isinstance(op, DenseOp) else None
        if not isinstance(transpose, TransposeOp) or transpose.permutation != (1, 0):
            continue
        weight = transpose.data
        if not isinstance(weight, BlockArgument) or weight.owner is not function.body.blocks[0]:
            continue
        known = found.setdefault(weight, [])
        if transpose not in known:
            known.append(transpose)
    return found


def pass_transposed(function: func.FuncOp, found: Transposes) -> None:
    """Makes parameters of the transposes of others, which disappear when nothing else uses them."""
    block = function.body.blocks[0]
    names = dict(zip(block.args, input_names(function), strict=True))
    attributes = _attributes(function)
    for weight, transposes in found.items():
        new = block.insert_arg(transposes[0].result.type, len(block.args))
        stated = ONNX_NAME in attributes[weight.index].data
        hint = weight.name_hint if stated else names[weight]
        new.name_hint = hint and f"{hint}.T"
        name = unused_name(f"{names[weight]}.T", names.values())
        attributes.append(DictionaryAttr({ONNX_NAME: StringAttr(name)} if stated else {}))
        for transpose in transposes:
            Rewriter.replace_op(transpose, [], [new])
        if not weight.uses:
            del attributes[weight.index]
            block.erase_arg(weight)
    function.arg_attrs = ArrayAttr(attributes) if any(each.data for each in attributes) else None
    function.update_function_type()


def _attributes(function: func.FuncOp) -> list[DictionaryAttr]:
    """Those of each parameter."""
    stated: Sequence[DictionaryAttr] = function.arg_attrs.data if function.arg_attrs else ()
    count = len(function.body.blocks[0].args)
    return [*stated, *[DictionaryAttr({})] * (count - len(stated))][:count]


@dataclass(frozen=True)
class SimplifyFcTransposePass(RelayPass):
    """
    Has transposed weights passed as parameters.

    A name that is not that of such a weight raises PassOptionError.
    """

    name = "simplify-fc-transpose"

    weights: tuple[str, ...] = ()
    """The names of the parameters to pass transposed; all when none is named."""

    def rewrite(self, op: ModuleOp) -> None:
        graph = CallGraph.of_module(op)
        used = {name for names in graph.uses.values() for name in names} | graph.used_elsewhere
        missing = dict.fromkeys(self.weights)
        seen: dict[str, None] = {}
        for name, function in graph.functions.items():
            if name in used or function.is_declaration or keeps_body(function):
                continue
            names = dict(zip(function.body.blocks[0].args, input_names(function), strict=True))
            found = transposed_weights(function)
            seen.update((names[weight], None) for weight in found)
            if self.weights:
                found = {each: found[each] for each in found if names[each] in self.weights}
            for weight in found:
                missing.pop(names[weight], None)
            pass_transposed(function, found)
        for name in missing:
            raise PassOptionError(
                f"'weights' has '{name}', the parameters of which a dense takes "
                f"the transpose are {', '.join(seen) or 'none'}"
            )
