"""
`reduce-precision`: products compute with fewer bits, and values are kept with them, when a model is compiled for a CPU.

    %0 = relay.nn.dense %x, %w           (f32)        %0 = relay.cast %x to bf16
    %1 = relay.add %0, %b                (f32)        %1 = relay.nn.dense %0, %w {out_dtype = f32}    (%w is bf16)
    %2 = relay.nn.relu %1                (f32)  ──►   %2 = relay.add %1, %b
    %3 = relay.nn.dense %2, %w2          (f32)        %3 = relay.nn.relu %2
                                                      %4 = relay.cast %3 to bf16
                                                      %5 = relay.nn.dense %4, %w2 {out_dtype = f32}

1. `to-mixed-precision` casts the operands of products of f32, by the lists in `transforms/rules/quantize/cpu_precision.py`. Sums
   are those of f32.
2. With `products`, for CPUs that multiply numbers of the type, `store-rounded` sees to it that values are stored once, and
   with fewer bits. Without, only weights have fewer bits: products convert them as they read them.
3. Weights are rounded, once.

Functions take and return what they did. Run it when constants are folded and operators have the form that they are compiled
in, and before `recognize-operators{attention=true}`. Left alone: operators on other types than f32, bodies of `relay.fused` and `relay.composite`.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.quantize.store_rounded import StoreRoundedPass, short_type
from xrelay.transforms.quantize.to_mixed_precision import ToMixedPrecisionPass
from xrelay.transforms.rules.pass_sequence import PassSequence
from xrelay.transforms.rules.quantize.cpu_precision import MOVES


@dataclass(frozen=True)
class ReducePrecisionPass(PassSequence):
    """Lets products compute with fewer bits."""

    name = "reduce-precision"

    dtype: str = "bfloat16"
    """The type: "bfloat16" or "float16"."""

    products: bool = True
    """Whether both operands of products have fewer bits, and values that are stored; or only constants."""

    always: tuple[str, ...] = ()
    """Operators that take operands with fewer bits, whatever the lists say."""

    follow: tuple[str, ...] = ()
    """Operators that do so where their operands have fewer bits anyway."""

    never: tuple[str, ...] = ()
    """Operators that never do."""

    def rewrite(self, op: ModuleOp) -> None:
        short_type(self.dtype)
        super().rewrite(op)

    def steps(self) -> tuple[RelayPass, ...]:
        mixed = ToMixedPrecisionPass(
            self.dtype,
            keep_orig_output_dtype=True,
            accumulation_type="float32",
            original_type="float32",
            constants_only=not self.products,
            rules="cpu",
            always=self.always,
            # What moves elements follows when casts move across it, not by itself.
            follow=tuple(name for name in self.follow if name not in MOVES),
            never=self.never,
        )
        moves = tuple(name for name in MOVES if name not in (*self.always, *self.never))
        stores = (StoreRoundedPass(self.dtype, moves=moves),) if self.products else ()
        return (mixed, *stores, FoldConstantPass(), DeadCodeEliminationPass())
