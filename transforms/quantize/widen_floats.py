"""
`widen-floats`: programs whose tensors have 16 bits compute in f32, for CPUs that have no instructions for less.

    %0 = relay.nn.dense %x, %w           (f16)        %0 = relay.cast %x to f32
    %1 = relay.add %0, %b                (f16)        %1 = relay.nn.dense %0, %w32 {out_dtype = f32}
    %2 = relay.nn.softmax %1             (f16)  ──►   %2 = relay.add %1, %b32
                                                      %3 = relay.nn.softmax %2
                                                      %4 = relay.cast %3 to f16

Values are rounded where the program ends, or hands them to something that keeps its types (calls, loops). Between operators
nothing is, nor where the program casts what it goes on with: results are nearer to those of real numbers than an interpreter's,
which rounds after each operator, and what was infinite in f16 may be finite. Tables and parameters are moved as they are, and
converted behind that. Left alone: bodies of `relay.fused` and `relay.composite`, operators on other floating-point types.

The module gets the attribute `relay.narrow_weights` with the types that it had, for `narrow-weights` and whoever wants to know.

onnxruntime and OpenVINO do the same with ONNX files of f16 on CPUs.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from xrelay.analysis.facts.suggestions import PassOptionError, require_at_least, unknown_choice
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.limits import Limits
from xrelay.dialects.shapes import is_tensor_type, types_within
from xrelay.transforms.fold_constant import ComputingPass
from xrelay.transforms.quantize.narrow_weights import NARROW_WEIGHTS
from xrelay.transforms.quantize.store_rounded import SHORT_TYPES
from xrelay.transforms.quantize.to_mixed_precision import IGNORE, ToMixedPrecisionPass
from xrelay.transforms.rules.quantize.constant_casts import fold_casts


@dataclass(frozen=True)
class WidenFloatsPass(ComputingPass):
    """Computes in f32 what is stored in 16 bits."""

    name = "widen-floats"

    dtypes: tuple[str, ...] = ("float16",)
    """The types that no instruction multiplies: "float16", "bfloat16"."""

    def rewrite(self, op: ModuleOp) -> None:
        require_at_least(0, limit=self.limit)
        for name in self.dtypes:
            if name not in SHORT_TYPES:
                raise PassOptionError(unknown_choice("dtypes", name, SHORT_TYPES))
        found = short_floats(op, self.dtypes)
        for name in found:
            ToMixedPrecisionPass(
                "float32", IGNORE, keep_orig_output_dtype=True, original_type=name, rules="wide"
            ).rewrite(op)
        if found:
            types = [SHORT_TYPES[name] for name in found]
            op.attributes[NARROW_WEIGHTS] = ArrayAttr(types)
            fold_casts(op, types, Limits(max_bytes=self.limit))


def short_floats(module: ModuleOp, dtypes: Iterable[str]) -> list[str]:
    """Those of some types of 16 bits, as Relay calls them, that tensors of a program have."""
    types = {
        value.type
        for op in walk(module)
        for values in (
            op.results,
            *(block.args for region in op.regions for block in region.blocks),
        )
        for value in values
    }
    found = {
        part.element_type for type_ in types for part in types_within(type_) if is_tensor_type(part)
    }
    return [name for name in dtypes if SHORT_TYPES[name] in found]
