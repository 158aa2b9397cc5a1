"""
`cpu-pipeline`: what happens to a relay module before `fuse-ops`, when it is compiled for a CPU.

    %w = relay.constant dense<0.5> : tensor<16x16x1x1xf32>
    %s = relay.constant dense<2.0> : tensor<16xf32>
    %t = relay.constant dense<0.0> : tensor<16xf32>
    %0 = relay.nn.conv2d %x, %w
    %1 = relay.nn.batch_norm %0, %s, %t, %s, %s {epsilon = 0.0}
    %2 = relay.tuple_get_item %1[0]
    %3 = relay.nn.relu %2
    return %3
                      │
                      ▼
    %0 = relay.constant dense<0.707106769> : tensor<16x16x1x1xf32>
    %1 = relay.nn.conv2d %x, %0
    %2 = relay.constant dense<-2.82842708> : tensor<16x1x1xf32>
    %3 = relay.add %1, %2
    %4 = relay.nn.relu %3
    return %4

NaN, infinities and the signs of zeros stay where they are, but for weights of transposed convolutions that are infinite, which
give NaN at the borders, and constants that are combined round and overflow differently (`reassociate`).

`cpu_pipeline` lists the passes in order, each with the reason why it stands where it does; the pass of
the same name runs them. docs/cpu-pipeline.md shows what becomes of a convolution network and of
a transformer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.canonical.canonicalize_matmul import CanonicalizeMatmulPass
from xrelay.transforms.combine.combine_parallel_dense import CombineParallelDensePass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fold_explicit_padding import FoldExplicitPaddingPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.functional.expand_functions import ExpandFunctionsPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass
from xrelay.transforms.legalize.legalize import LegalizePass
from xrelay.transforms.legalize.legalize_convolutions import LegalizeConvolutionsPass
from xrelay.transforms.legalize.legalize_layouts import LegalizeLayoutsPass
from xrelay.transforms.legalize.legalize_quantized_conversions import (
    LegalizeQuantizedConversionsPass,
)
from xrelay.transforms.legalize.legalize_quantized_products import LegalizeQuantizedProductsPass
from xrelay.transforms.quantize.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from xrelay.transforms.quantize.narrow_weights import NarrowWeightsPass
from xrelay.transforms.quantize.widen_floats import WidenFloatsPass
from xrelay.transforms.recognize_operators import RecognizeOperatorsPass
from xrelay.transforms.rules.pass_sequence import PassSequence
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass
from xrelay.transforms.sink_reshape import SinkReshapePass

WIDENED = ("float16",)
"""No CPU that is known here multiplies these and sums in f32."""


def cpu_pipeline(
    lanes: int = 16,
    rounding: Sequence[RelayPass] = (),
    byte_lanes: int = 0,
    float_lanes: int = 0,
    widened: Sequence[str] = WIDENED,
) -> tuple[RelayPass, ...]:
    """
    The passes in order, for a CPU whose vectors hold `lanes` elements of f32, and whose products take `byte_lanes`
    bytes or `float_lanes` floats of an image at once; 0 where that is for vectors. Those of `rounding`, which let
    products compute with fewer bits, look into attention, too. Programs of the types `widened` compute in f32.
    """
    # 16. Images get blocks of channels: weights and epilogues have their final form.
    layouts = AlterOpLayoutPass(lanes, byte_lanes, float_lanes)
    return (
        *_operators_with_kernels(widened),
        *_algebra(),
        layouts,
        *rounding,
        # 17. Weights that were widened at the beginning have 16 bits again, if those before have not rounded them.
        NarrowWeightsPass(),
        *_composites(),
    )


def _operators_with_kernels(widened: Sequence[str]) -> tuple[RelayPass, ...]:
    """Programs of known shapes, whose operators have kernels."""
    return (
        # `let` of Relay programs only names values; patterns of several operators look through none.
        ToGraphNormalFormPass(),
        # Code is generated for one function and those that call themselves, without functions as values.
        ExpandFunctionsPass(strict=True),
        # Code is generated for known shapes.
        DynamicToStaticPass(),
        # 1. Nothing later looks at what has no effect (unused statistics, masks of dropout).
        DeadCodeEliminationPass(),
        # What the CPU does not multiply is f32 from here on. Before anything is computed that would be rounded.
        WidenFloatsPass(dtypes=tuple(widened)),
        # 2. Batch normalisation becomes a scale and a shift, to be folded into convolutions. Layer,
        #    instance and group normalisation have kernels of their own.
        SimplifyInferencePass(keep_norms=True),
        # 3. Operators without kernels become ones with kernels: images get the layouts that kernels are
        #    written for, convolutions in one dimension and transposed ones become conv2d, whatever their
        #    weights, as there is no other code for them. Weights are computed with the others.
        LegalizeLayoutsPass(),
        LegalizePass(),
        LegalizeConvolutionsPass(unsafe=True),
        # What operators compute of dequantised tensors they compute of integers; products of quantised
        # tensors become products of bytes. Before weights are computed, which would be numbers then. In
        # other layouts, and transposed, they are products of integers that the passes before know.
        FoldConstantPass(fold_qnn=False),
        FakeQuantizationToIntegerPass(rules="cpu"),
        LegalizeQuantizedProductsPass(rules="cpu"),
        LegalizeLayoutsPass(),
        LegalizeConvolutionsPass(),
    )


def _algebra() -> tuple[RelayPass, ...]:
    """Less arithmetic, and more of it beside what it can be computed with."""
    return (
        # 4. Normalisations and softmax that the exporter wrote out become those operators. Before
        #    algebra, which would change their spelling.
        RecognizeOperatorsPass(),
        # 5. Products with constant matrices become dense, whose weights can be laid out in advance.
        CanonicalizeMatmulPass(),
        # 6. Scales and shifts, transposed weights, … are computed: the next passes look for constants.
        FoldConstantPass(),
        # 7. Reshapes and transposes merge, divisions become products, constants move together.
        SimplifyExprPass(reassociate=True, rules="cpu"),
        # 8. Reshapes leave the way between dense and its bias and activation, so that these fuse.
        SinkReshapePass(),
        # 9. Pads become padding of convolutions and pooling.
        FoldExplicitPaddingPass(),
        # 10. Scales, those of batch normalisation above all, move into weights. After 7 and 8, which
        #    bring them next to each other and to the dense.
        FoldScaleAxisPass(constant_weights=True, rules="cpu"),
        # 11. The scaled weights are computed.
        FoldConstantPass(),
        # 12. What is left of biases and shifts is added once.
        SimplifyExprPass(reassociate=True, rules="cpu"),
        # 13. The reshapes that 8 made for each user of a value, masks and index arithmetic become one.
        EliminateCommonSubexprPass(),
        # 14. Now that they have one operand, projections of one input (queries, keys and values) become
        #     one product.
        CombineParallelDensePass(to_batch=False, rules="cpu"),
        # 15. The concatenated weights are computed.
        FoldConstantPass(),
        # Conversions of quantised tensors become arithmetic. After algebra, which would round it otherwise;
        # what follows only moves.
        LegalizeQuantizedConversionsPass(),
        SinkReshapePass(),
        SimplifyExprPass(rules="cpu"),
    )


def _composites() -> tuple[RelayPass, ...]:
    """What nothing may look into afterwards."""
    return (
        # 18. Attention becomes a composite, for which there is a kernel. After everything that looks
        #    into it.
        RecognizeOperatorsPass(attention=True),
        # 19. Nothing unused is compiled.
        DeadCodeEliminationPass(),
    )


@dataclass(frozen=True)
class CpuPipelinePass(PassSequence):
    """Prepares a module for code generation."""

    name = "cpu-pipeline"

    lanes: int = 16
    """Elements of f32 in a vector: 16 for AVX-512, 8 for AVX2, 4 for 128-bit vectors."""

    byte_lanes: int = 0
    """Bytes of an image that products take at once: 64 for AMX; 0 where vectors sum them."""

    float_lanes: int = 0
    """Floats that they take at once, when they are rounded: 32 for AMX and bf16; 0 likewise."""

    widened: tuple[str, ...] = WIDENED
    """The types that the CPU does not multiply, which become f32: "float16", and "bfloat16" without AVX-512 BF16."""

    def steps(self) -> tuple[RelayPass, ...]:
        return cpu_pipeline(self.lanes, (), self.byte_lanes, self.float_lanes, self.widened)
