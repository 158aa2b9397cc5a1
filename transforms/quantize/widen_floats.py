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

The module gets the attribute `relay.narrow_weights` with the types that it had, for `narrow-weights`.

onnxruntime and OpenVINO do the same with ONNX files of f16 on CPUs.
"""

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import PassOptionError, unknown_choice
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import is_tensor_type, types_within
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.fold_constant import FoldingPass, FoldOperator
from xrelay.transforms.quantize.narrow_weights import NARROW_WEIGHTS
from xrelay.transforms.quantize.store_rounded import SHORT_TYPES
from xrelay.transforms.quantize.to_mixed_precision import IGNORE, ToMixedPrecisionPass


@dataclass(frozen=True)
class WidenFloatsPass(FoldingPass):
    """Computes in f32 what is stored in 16 bits."""

    name = "widen-floats"

    dtypes: tuple[str, ...] = ("float16",)
    """The types that no instruction multiplies: "float16", "bfloat16"."""

    def rewrite(self, op: ModuleOp) -> None:
        for name in self.dtypes:
            if name not in SHORT_TYPES:
                raise PassOptionError(unknown_choice("dtypes", name, SHORT_TYPES))
        evaluator, floats = self.evaluator(), floats_in(op)
        found = [name for name in self.dtypes if SHORT_TYPES[name] in floats]
        for name in found:
            ToMixedPrecisionPass(
                "float32", IGNORE, keep_orig_output_dtype=True, original_type=name, rules="wide"
            ).rewrite(op)
        if not found:
            return
        op.attributes[NARROW_WEIGHTS] = ArrayAttr(SHORT_TYPES[name] for name in found)
        # Not what else is computed of constants: it may be far larger than they are.
        types, is_kept = {SHORT_TYPES[name] for name in found}, Within(keeps_body)
        fold = FoldOperator(replace(evaluator, max_bytes=self.limit))
        for each in list(walk(op)):
            if (
                isinstance(each, CastOp)
                and isinstance(each.data.owner, ConstantOp)
                and each.data.type.element_type in types
                and not is_kept(each)
            ):
                fold.match_and_rewrite(each, PatternRewriter(each))


def floats_in(module: ModuleOp) -> set[Attribute]:
    """The element types of the tensors of a program."""
    types = {type_ for op in walk(module) for type_ in op.result_types}
    return {
        part.element_type for type_ in types for part in types_within(type_) if is_tensor_type(part)
    }
