"""What the stock `xdsl-opt` finds of this package: factories, loaded on first use."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

PASSES = {
    "xrelay.transforms": (
        "annotate-target",
        "apply-fusion-plan",
        "cpu-pipeline",
        "dead-code-elimination",
        "defuse-ops",
        "dynamic-to-static",
        "eliminate-common-subexpr",
        "fold-constant",
        "fold-explicit-padding",
        "fold-scale-axis",
        "fuse-ops",
        "infer-type",
        "inline",
        "inline-compiler-functions",
        "merge-compiler-regions",
        "merge-composite",
        "outline-compiler-functions",
        "outline-default-regions",
        "partition-graph",
        "promote-references",
        "recognize-operators",
        "relay-to-tir",
        "remove-unused-functions",
        "simplify-expr",
        "simplify-fc-transpose",
        "simplify-inference",
        "sink-reshape",
    ),
    "xrelay.transforms.canonical": (
        "canonicalize-cast",
        "canonicalize-matmul",
        "canonicalize-ops",
        "fast-math",
        "flatten-atrous-conv",
        "recognize-bias-add",
        "split-args",
    ),
    "xrelay.transforms.combine": (
        "combine-parallel-batch-matmul",
        "combine-parallel-conv2d",
        "combine-parallel-dense",
    ),
    "xrelay.transforms.extract": ("extract-fused-functions", "extract-intermediate-expr"),
    "xrelay.transforms.functional": (
        "capture-post-dfs-index-in-spans",
        "check-exhaustiveness",
        "data-types-to-tensors",
        "defunctionalization",
        "eta-expand",
        "expand-functions",
        "first-order-gradient",
        "inline-closures",
        "lambda-lift",
        "lazy-gradient-init",
        "merge-tail-calls",
        "outline-closures",
        "partial-eval",
        "recursion-to-loops",
        "to-a-normal-form",
        "to-basic-block-normal-form",
        "to-cps",
        "to-graph-normal-form",
        "to-tail-calls",
        "un-cps",
    ),
    "xrelay.transforms.layout": ("alter-op-layout", "convert-layout", "layout-rewrite"),
    "xrelay.transforms.legalize": (
        "legalize",
        "legalize-convolutions",
        "legalize-layouts",
        "legalize-quantized-conversions",
        "legalize-quantized-products",
        "qnn-legalize",
    ),
    "xrelay.transforms.memory": (
        "annotate-memory-scope",
        "annotate-used-memory",
        "manifest-alloc",
        "manifest-lifetimes",
        "plan-devices",
        "remove-standalone-reshapes",
    ),
    "xrelay.transforms.pipelines": (
        "relay-opt-level-0",
        "relay-opt-level-1",
        "relay-opt-level-2",
        "relay-opt-level-3",
    ),
    "xrelay.transforms.quantize": (
        "fake-quantization-to-integer",
        "narrow-weights",
        "reduce-precision",
        "round-block-data",
        "store-rounded",
        "to-mixed-precision",
        "widen-floats",
    ),
    "xrelay.lowering.llvm": ("convert-kernels-to-llvm",),
    "xrelay.lowering.program": (
        "convert-relay-to-kernels",
        "fuse-composites",
        "select-strategies",
    ),
    "xrelay.placement": ("apply-placement",),
}
"""The passes of each package; the file of a pass has its name."""


def _relay() -> Dialect:
    from xrelay.dialects.relay import Relay

    return Relay


def _relay_text() -> type[Target]:
    from xrelay.frontends.relay_text.target import RelayTextTarget

    return RelayTextTarget


def _loaded(package: str, name: str) -> type[ModulePass]:
    """The class of a pass."""
    module = import_module(f"{package}.{name.replace('-', '_')}")
    class_name = f"{name.replace('-', '')}pass"
    return next(each for key, each in vars(module).items() if key.lower() == class_name)


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    return {
        name: partial(_loaded, package, name) for package, names in PASSES.items() for name in names
    }


XRELAY_UNIVERSE = Universe(
    all_dialects={"relay": _relay},
    all_passes=_passes(),
    all_targets={"relay-text": _relay_text},
)
