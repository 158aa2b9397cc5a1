"""
The passes that Relay's build runs before it generates code, with the least optimisation level of each.

    build_pipeline(2)   ──►   remove-unused-functions, to-basic-block-normal-form, simplify-inference, fold-constant, …

A pass that the original runs and that is missing here is a line of `steps` when there is one. Missing are: `Legalize` (level
1), whose tables are those of targets; `CombineParallelConv2D`, `CombineParallelDense`, `CombineParallelBatchMatmul` and
`FastMath` (4), which the levels 0 to 3 do not reach; `PlanDevices`, `LabelOps` and `AnnotateMemoryScope`, which only say
where and under which name something is computed; and the rewrites of layouts by tuning records. Of `qnn.Legalize` the
second half is here what it does to products.

NaN, infinities and the signs of zeros stay where they are, as everywhere unless one asks for more. With `unsafe` the steps do what the
original's do, which its records show: `simplify-expr` takes x + 0 for x and joins constants that are added one after the other,
`simplify-inference` and `fold-scale-axis` take statistics and scales that may be infinite.

Source: GetPassPrefix and RelayBuildModule::OptimizeImpl of TVM 0.10, for one target and the graph executor.
"""

from dataclasses import dataclass
from typing import ClassVar

from xrelay.analysis.relay_pass import RelayPass
from xrelay.transforms.canonical.canonicalize_cast import CanonicalizeCastPass
from xrelay.transforms.canonical.canonicalize_ops import CanonicalizeOpsPass
from xrelay.transforms.canonical.flatten_atrous_conv import FlattenAtrousConvPass
from xrelay.transforms.canonical.split_args import SplitArgsPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.functional.to_basic_block_normal_form import ToBasicBlockNormalFormPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.layout.alter_op_layout import AlterOpLayoutPass
from xrelay.transforms.legalize.legalize_quantized_products import LegalizeQuantizedProductsPass
from xrelay.transforms.legalize.qnn_legalize import QnnLegalizePass
from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass
from xrelay.transforms.rules.pass_sequence import PassSequence
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass


def steps(unsafe: bool) -> tuple[tuple[int, RelayPass], ...]:
    """What runs before fusion, from which level on, in order."""
    return (
        (1, RemoveUnusedFunctionsPass()),
        (1, ToBasicBlockNormalFormPass()),
        # The two halves of qnn.Legalize.
        (1, QnnLegalizePass()),
        (1, LegalizeQuantizedProductsPass()),
        (0, SimplifyInferencePass(unsafe=unsafe)),
        # The original means to skip casts to int32, and does not.
        (3, EliminateCommonSubexprPass()),
        (2, FoldConstantPass(fold_qnn=False)),
        # FoldScaleAxis is a sequence, of which each pass has a level.
        (3, FoldScaleAxisPass(unsafe=unsafe)),
        (2, FoldConstantPass(fold_qnn=False)),
        (0, SimplifyExprPass(ignore_signed_zeros=unsafe, reassociate=unsafe)),
        (3, CanonicalizeCastPass()),
        (3, CanonicalizeOpsPass()),
        (0, FlattenAtrousConvPass()),
        (0, InferTypePass()),
        (3, AlterOpLayoutPass(target="llvm")),
        (2, FoldConstantPass(fold_qnn=False)),
        (1, SplitArgsPass()),
        # The original does neither again. What algebra made equal becomes one, so that a second run finds nothing of the kind; and
        # equal operations, and fields of tuples that became what they hold, may be used in other scopes than at first.
        (3, EliminateCommonSubexprPass()),
        (1, ToBasicBlockNormalFormPass()),
    )


def build_pipeline(level: int, unsafe: bool = False) -> tuple[RelayPass, ...]:
    """The passes of a level in order."""
    prefix = (step for least, step in steps(unsafe) if level >= least)
    return (*prefix, FuseOpsPass(opt_level=level), InferTypePass(), InlinePass(), InferTypePass())


@dataclass(frozen=True)
class BuildPass(PassSequence):
    """Runs what TVM's build runs at one level."""

    level: ClassVar[int]

    unsafe: bool = False
    """Do all that the original does, also where NaN, infinities or the signs of zeros do not stay."""

    def steps(self) -> tuple[RelayPass, ...]:
        return build_pipeline(self.level, self.unsafe)
