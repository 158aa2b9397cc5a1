"""
`canonicalize-ops`: biases are added by `relay.add`.

    %0 = relay.nn.bias_add %x, %bias {axis = 1}
                                        ──►   %b = relay.expand_dims %bias {axis = 1, num_newaxis = 2}
                                              %0 = relay.add %x, %b

Where the bias belongs to the last axis it needs no new axes. Passes that know broadcasting then need not know
`relay.nn.bias_add`: `fold-scale-axis`, layouts. Bodies of `relay.fused` and `relay.composite`, and functions for other
compilers, change as well, as in Relay; kernels whose strategies are stated stay. `recognize-bias-add` is the way back.

Run it before passes on layouts, and after those that match tables of patterns with `nn.bias_add`.

Source: Relay's CanonicalizeOps.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import is_decided
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.transforms.rules.emitting import along_axis
from xrelay.transforms.rules.rewriting import ApplyRule, Emitter


def added_bias(op: BiasAddOp, emit: Emitter) -> SSAValue:
    """bias_add(x, b) ──► x + b, with axes of length 1 behind those of b"""
    rank = op.data.type.get_num_dims()
    return emit(AddOp(op.data, along_axis(emit, op.bias, op.channel_axis, rank)))


@dataclass(frozen=True)
class CanonicalizeOpsPass(RelayPass):
    """Spells `relay.nn.bias_add` as `relay.expand_dims` and `relay.add`."""

    name = "canonicalize-ops"

    def rewrite(self, op: ModuleOp) -> None:
        pattern = ApplyRule(BiasAddOp, added_bias)
        PatternWalker(Outside(is_decided, pattern)).rewrite_module(op)
