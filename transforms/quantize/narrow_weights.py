"""
`narrow-weights`: constants that products take have 16 bits in memory, where that loses nothing.

    %w = relay.constant dense<0.5> : (f32)               %w = relay.constant dense<0.5> : (f16)
    %0 = relay.nn.dense %x, %w                    ──►    %0 = relay.nn.dense %x, %w {out_dtype = f32}

The attribute `relay.narrow_weights` of the module, an array, says which types they may have; `widen-floats` sets it. Products
convert such weights when they read them, or before many tiles do. Left alone: constants that are not exactly numbers
of a type, as those that a scale was folded into, those whose bytes did not come with the text, and bodies of `relay.fused` and
`relay.composite`.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, f32
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.quantize.store_rounded import SHORT_TYPES
from xrelay.transforms.quantize.to_mixed_precision import ToMixedPrecisionPass
from xrelay.transforms.rules.quantize.constant_casts import fold_casts

NARROW_WEIGHTS = "relay.narrow_weights"
"""The attribute of a module with the types that weights may have."""


@dataclass(frozen=True)
class NarrowWeightsPass(RelayPass):
    """Gives weights of products fewer bits that are exact in these."""

    name = "narrow-weights"

    def rewrite(self, op: ModuleOp) -> None:
        types = op.attributes.get(NARROW_WEIGHTS)
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
        fold_casts(op, (f32,))
