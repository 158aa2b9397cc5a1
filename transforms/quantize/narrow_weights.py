"""
`narrow-weights`: constant weights of products have 16 bits in memory, where that loses nothing.

    relay.narrow_weights = [f16]                         %w = relay.constant dense<0.5> : (f16)
    %w = relay.constant dense<0.5> : (f32)        ──►    %0 = relay.nn.dense %x, %w {out_dtype = f32}
    %0 = relay.nn.dense %x, %w

The attribute of the module says which types they may have; it is removed. `widen-floats` sets it. Products convert such weights
as they read them, which takes no longer. Left alone: weights that are not exactly numbers of the type, as those that a
scale was folded into, and bodies of `relay.fused` and `relay.composite`.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.quantize.store_rounded import SHORT_TYPES
from xrelay.transforms.quantize.to_mixed_precision import ToMixedPrecisionPass

NARROW_WEIGHTS = "relay.narrow_weights"
"""The attribute of a module with the types that weights may have."""


@dataclass(frozen=True)
class NarrowWeightsPass(RelayPass):
    """Gives weights of products fewer bits that are exact in these."""

    name = "narrow-weights"

    def rewrite(self, op: ModuleOp) -> None:
        types = op.attributes.pop(NARROW_WEIGHTS, None)
        if not isa(types, ArrayAttr[Attribute]):
            return
        for name in (name for name, type_ in SHORT_TYPES.items() if type_ in types):
            ToMixedPrecisionPass(
                name,
                keep_orig_output_dtype=True,
                accumulation_type="float32",
                original_type="float32",
                constants_only=True,
                exact_constants=True,
                rules="cpu",
            ).rewrite(op)
        for each in (FoldConstantPass(), DeadCodeEliminationPass()):
            each.rewrite(op)
