"""What the stock `xdsl-opt` finds of this package: factories, loaded on first use."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target


def _relay() -> Dialect:
    from xrelay.dialects.relay import Relay

    return Relay


def _canonicalize_ops() -> type[ModulePass]:
    from xrelay.transforms.canonical.canonicalize_ops import CanonicalizeOpsPass

    return CanonicalizeOpsPass


def _recognize_bias_add() -> type[ModulePass]:
    from xrelay.transforms.canonical.recognize_bias_add import RecognizeBiasAddPass

    return RecognizeBiasAddPass


def _fast_math() -> type[ModulePass]:
    from xrelay.transforms.canonical.fast_math import FastMathPass

    return FastMathPass


def _flatten_atrous_conv() -> type[ModulePass]:
    from xrelay.transforms.canonical.flatten_atrous_conv import FlattenAtrousConvPass

    return FlattenAtrousConvPass


def _eta_expand() -> type[ModulePass]:
    from xrelay.transforms.functional.eta_expand import EtaExpandPass

    return EtaExpandPass


def _to_a_normal_form() -> type[ModulePass]:
    from xrelay.transforms.functional.to_a_normal_form import ToANormalFormPass

    return ToANormalFormPass


def _to_basic_block_normal_form() -> type[ModulePass]:
    from xrelay.transforms.functional.to_basic_block_normal_form import ToBasicBlockNormalFormPass

    return ToBasicBlockNormalFormPass


def _split_args() -> type[ModulePass]:
    from xrelay.transforms.canonical.split_args import SplitArgsPass

    return SplitArgsPass


def _annotate_used_memory() -> type[ModulePass]:
    from xrelay.transforms.memory.annotate_used_memory import AnnotateUsedMemoryPass

    return AnnotateUsedMemoryPass


def _alter_op_layout() -> type[ModulePass]:
    from xrelay.transforms.alter_op_layout import AlterOpLayoutPass

    return AlterOpLayoutPass


def _apply_fusion_plan() -> type[ModulePass]:
    from xrelay.transforms.apply_fusion_plan import ApplyFusionPlanPass

    return ApplyFusionPlanPass


def _annotate_target() -> type[ModulePass]:
    from xrelay.transforms.annotate_target import AnnotateTargetPass

    return AnnotateTargetPass


def _canonicalize_matmul() -> type[ModulePass]:
    from xrelay.transforms.canonicalize_matmul import CanonicalizeMatmulPass

    return CanonicalizeMatmulPass


def _combine_parallel_batch_matmul() -> type[ModulePass]:
    from xrelay.transforms.combine_parallel_batch_matmul import CombineParallelBatchMatmulPass

    return CombineParallelBatchMatmulPass


def _combine_parallel_conv2d() -> type[ModulePass]:
    from xrelay.transforms.combine_parallel_conv2d import CombineParallelConv2DPass

    return CombineParallelConv2DPass


def _combine_parallel_dense() -> type[ModulePass]:
    from xrelay.transforms.combine_parallel_dense import CombineParallelDensePass

    return CombineParallelDensePass


def _convert_kernels_to_llvm() -> type[ModulePass]:
    from xrelay.lowering.llvm.convert_kernels_to_llvm import ConvertKernelsToLLVMPass

    return ConvertKernelsToLLVMPass


def _convert_relay_to_kernels() -> type[ModulePass]:
    from xrelay.lowering.program.convert_relay_to_kernels import ConvertRelayToKernelsPass

    return ConvertRelayToKernelsPass


def _cpu_pipeline() -> type[ModulePass]:
    from xrelay.transforms.cpu_pipeline import CpuPipelinePass

    return CpuPipelinePass


def _dead_code_elimination() -> type[ModulePass]:
    from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass

    return DeadCodeEliminationPass


def _defuse_ops() -> type[ModulePass]:
    from xrelay.transforms.defuse_ops import DefuseOpsPass

    return DefuseOpsPass


def _dynamic_to_static() -> type[ModulePass]:
    from xrelay.transforms.dynamic_to_static import DynamicToStaticPass

    return DynamicToStaticPass


def _eliminate_common_subexpr() -> type[ModulePass]:
    from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass

    return EliminateCommonSubexprPass


def _fold_constant() -> type[ModulePass]:
    from xrelay.transforms.fold_constant import FoldConstantPass

    return FoldConstantPass


def _fold_explicit_padding() -> type[ModulePass]:
    from xrelay.transforms.fold_explicit_padding import FoldExplicitPaddingPass

    return FoldExplicitPaddingPass


def _fold_scale_axis() -> type[ModulePass]:
    from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass

    return FoldScaleAxisPass


def _fuse_composites() -> type[ModulePass]:
    from xrelay.lowering.program.fuse_composites import FuseCompositesPass

    return FuseCompositesPass


def _fuse_ops() -> type[ModulePass]:
    from xrelay.transforms.fuse_ops import FuseOpsPass

    return FuseOpsPass


def _infer_type() -> type[ModulePass]:
    from xrelay.transforms.infer_type import InferTypePass

    return InferTypePass


def _inline() -> type[ModulePass]:
    from xrelay.transforms.inline import InlinePass

    return InlinePass


def _inline_compiler_functions() -> type[ModulePass]:
    from xrelay.transforms.inline_compiler_functions import InlineCompilerFunctionsPass

    return InlineCompilerFunctionsPass


def _legalize() -> type[ModulePass]:
    from xrelay.transforms.legalize import LegalizePass

    return LegalizePass


def _legalize_convolutions() -> type[ModulePass]:
    from xrelay.transforms.legalize_convolutions import LegalizeConvolutionsPass

    return LegalizeConvolutionsPass


def _legalize_layouts() -> type[ModulePass]:
    from xrelay.transforms.legalize_layouts import LegalizeLayoutsPass

    return LegalizeLayoutsPass


def _legalize_quantized_products() -> type[ModulePass]:
    from xrelay.transforms.legalize_quantized_products import LegalizeQuantizedProductsPass

    return LegalizeQuantizedProductsPass


def _merge_compiler_regions() -> type[ModulePass]:
    from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass

    return MergeCompilerRegionsPass


def _merge_composite() -> type[ModulePass]:
    from xrelay.transforms.merge_composite import MergeCompositePass

    return MergeCompositePass


def _outline_compiler_functions() -> type[ModulePass]:
    from xrelay.transforms.outline_compiler_functions import OutlineCompilerFunctionsPass

    return OutlineCompilerFunctionsPass


def _partition_graph() -> type[ModulePass]:
    from xrelay.transforms.partition_graph import PartitionGraphPass

    return PartitionGraphPass


def _outline_default_regions() -> type[ModulePass]:
    from xrelay.transforms.outline_default_regions import OutlineDefaultRegionsPass

    return OutlineDefaultRegionsPass


def _recognize_operators() -> type[ModulePass]:
    from xrelay.transforms.recognize_operators import RecognizeOperatorsPass

    return RecognizeOperatorsPass


def _promote_references() -> type[ModulePass]:
    from xrelay.transforms.promote_references import PromoteReferencesPass

    return PromoteReferencesPass


def _remove_unused_functions() -> type[ModulePass]:
    from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass

    return RemoveUnusedFunctionsPass


def _select_strategies() -> type[ModulePass]:
    from xrelay.lowering.program.select_strategies import SelectStrategiesPass

    return SelectStrategiesPass


def _simplify_expr() -> type[ModulePass]:
    from xrelay.transforms.simplify_expr import SimplifyExprPass

    return SimplifyExprPass


def _simplify_inference() -> type[ModulePass]:
    from xrelay.transforms.simplify_inference import SimplifyInferencePass

    return SimplifyInferencePass


def _sink_reshape() -> type[ModulePass]:
    from xrelay.transforms.sink_reshape import SinkReshapePass

    return SinkReshapePass


def _to_graph_normal_form() -> type[ModulePass]:
    from xrelay.transforms.to_graph_normal_form import ToGraphNormalFormPass

    return ToGraphNormalFormPass


def _relay_text() -> type[Target]:
    from xrelay.frontends.relay_text.target import RelayTextTarget

    return RelayTextTarget


XRELAY_UNIVERSE = Universe(
    all_dialects={"relay": _relay},
    all_passes={
        "canonicalize-ops": _canonicalize_ops,
        "recognize-bias-add": _recognize_bias_add,
        "fast-math": _fast_math,
        "flatten-atrous-conv": _flatten_atrous_conv,
        "eta-expand": _eta_expand,
        "to-a-normal-form": _to_a_normal_form,
        "to-basic-block-normal-form": _to_basic_block_normal_form,
        "split-args": _split_args,
        "annotate-used-memory": _annotate_used_memory,
        "alter-op-layout": _alter_op_layout,
        "apply-fusion-plan": _apply_fusion_plan,
        "annotate-target": _annotate_target,
        "canonicalize-matmul": _canonicalize_matmul,
        "combine-parallel-batch-matmul": _combine_parallel_batch_matmul,
        "combine-parallel-conv2d": _combine_parallel_conv2d,
        "combine-parallel-dense": _combine_parallel_dense,
        "convert-kernels-to-llvm": _convert_kernels_to_llvm,
        "convert-relay-to-kernels": _convert_relay_to_kernels,
        "cpu-pipeline": _cpu_pipeline,
        "dead-code-elimination": _dead_code_elimination,
        "defuse-ops": _defuse_ops,
        "dynamic-to-static": _dynamic_to_static,
        "eliminate-common-subexpr": _eliminate_common_subexpr,
        "fold-constant": _fold_constant,
        "fold-explicit-padding": _fold_explicit_padding,
        "fold-scale-axis": _fold_scale_axis,
        "fuse-composites": _fuse_composites,
        "fuse-ops": _fuse_ops,
        "infer-type": _infer_type,
        "inline": _inline,
        "inline-compiler-functions": _inline_compiler_functions,
        "legalize": _legalize,
        "legalize-convolutions": _legalize_convolutions,
        "legalize-layouts": _legalize_layouts,
        "legalize-quantized-products": _legalize_quantized_products,
        "merge-compiler-regions": _merge_compiler_regions,
        "merge-composite": _merge_composite,
        "outline-compiler-functions": _outline_compiler_functions,
        "partition-graph": _partition_graph,
        "outline-default-regions": _outline_default_regions,
        "recognize-operators": _recognize_operators,
        "promote-references": _promote_references,
        "remove-unused-functions": _remove_unused_functions,
        "select-strategies": _select_strategies,
        "simplify-expr": _simplify_expr,
        "simplify-inference": _simplify_inference,
        "sink-reshape": _sink_reshape,
        "to-graph-normal-form": _to_graph_normal_form,
    },
    all_targets={"relay-text": _relay_text},
)
