"""What the stock `xdsl-opt` finds of this package: factories, loaded on first use."""

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe


def _relay() -> Dialect:
    from xrelay.dialects.relay import Relay

    return Relay


def _convert_kernels_to_llvm() -> type[ModulePass]:
    from xrelay.lowering.convert_kernels_to_llvm import ConvertKernelsToLLVMPass

    return ConvertKernelsToLLVMPass


def _convert_relay_to_kernels() -> type[ModulePass]:
    from xrelay.lowering.convert_relay_to_kernels import ConvertRelayToKernelsPass

    return ConvertRelayToKernelsPass


def _defuse_ops() -> type[ModulePass]:
    from xrelay.transforms.defuse_ops import DefuseOpsPass

    return DefuseOpsPass


def _fold_constant() -> type[ModulePass]:
    from xrelay.transforms.fold_constant import FoldConstantPass

    return FoldConstantPass


def _fuse_ops() -> type[ModulePass]:
    from xrelay.transforms.fuse_ops import FuseOpsPass

    return FuseOpsPass


def _simplify_inference() -> type[ModulePass]:
    from xrelay.transforms.simplify_inference import SimplifyInferencePass

    return SimplifyInferencePass


XRELAY_UNIVERSE = Universe(
    all_dialects={"relay": _relay},
    all_passes={
        "convert-kernels-to-llvm": _convert_kernels_to_llvm,
        "convert-relay-to-kernels": _convert_relay_to_kernels,
        "defuse-ops": _defuse_ops,
        "fold-constant": _fold_constant,
        "fuse-ops": _fuse_ops,
        "simplify-inference": _simplify_inference,
    },
    all_targets={},
)
