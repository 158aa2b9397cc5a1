"""
What tests of the meaning of passes have to know of each: a pass without a row takes part as it comes.

`pass_names` gives all passes that make relay programs of relay programs; of each, `specs` gives the variants that are
tried, and the others read its row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.partition.compilers import REGISTRY, Compiler, SupportedOperators
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.tools.universe import XRELAY_UNIVERSE

Options = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class PassRow:
    """What is special about a pass."""

    options: Options = field(default_factory=dict[str, Sequence[Any]])
    """What its options are drawn from. (Signed zeros are ignored only where one asks for it.)"""
    before: tuple[str, ...] = ()
    """What makes programs in which it finds something to do."""
    theme: str = ""
    """What most of the programs are about in which it finds something to do: of all themes, or of `themes`."""
    is_idle: bool = False
    """Whether it finds nothing to do in any program."""
    settles: bool = True
    """Whether it finds nothing to do in what it leaves."""
    keeps_order: bool = True
    """Whether it does not even put operations without effects in another order there."""
    keeps_special: bool = True
    """Whether NaN and infinities stay where they are, unless an option of `unsafe` says that they need not."""
    unsafe: tuple[str, ...] = ("unsafe",)
    """The options, fields of the pass, with which they need not."""
    takes_scopes: bool = True
    """Whether it takes function values, and functions of references."""
    needed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The options with which it finds something to do in programs of the themes."""
    stated: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The options that it always has: results are others without."""
    apart: str = ""
    """Why its programs are not compared."""
    inexact: str = ""
    """Why they are compared after this pass alone, on numbers that say nothing of this."""


FLAG = (False, True)
COMPILERS = ("('first',)", "('second',)", "('first','second')")
"""What `register_compilers` registers."""
RULES = ("'relay'", "'cpu'")

ANNOTATE = ("to-graph-normal-form", 'annotate-target{targets="first","second"}')
REGIONS = (*ANNOTATE, "merge-compiler-regions")
PARTITIONS = (*REGIONS, "partition-graph")

ROWS: Mapping[str, PassRow] = {
    "alter-op-layout": PassRow(
        {"lanes": (4, 8, 16), "float-lanes": (8, 16), "target": ("'cpu'", "'llvm'")}, theme="images"
    ),
    "annotate-memory-scope": PassRow(
        {"default-device": (1, 4), "limit": (5, 10)},
        before=("fuse-ops",),
        theme="textures",
        needed={"default-device": 4},
    ),
    "annotate-target": PassRow({"targets": COMPILERS, "annotate-non-call-ops": FLAG}),
    "apply-fusion-plan": PassRow(apart="needs the file of a plan"),
    "apply-placement": PassRow(apart="needs the file of a plan"),
    "canonicalize-matmul": PassRow(theme="matrices"),
    # It reports what it finds, and rewrites nothing.
    "check-exhaustiveness": PassRow(is_idle=True, theme="functions"),
    "combine-parallel-batch-matmul": PassRow(
        {"min-num-branches": (2, 3), "rules": RULES}, theme="matrices"
    ),
    "combine-parallel-conv2d": PassRow(
        {"min-num-branches": (2, 3), "rules": RULES}, theme="images"
    ),
    "combine-parallel-dense": PassRow(
        {"min-num-branches": (2, 3), "to-batch": FLAG, "rules": RULES},
        theme="matrices",
        needed={"min-num-branches": 2},
    ),
    "convert-kernels-to-llvm": PassRow(apart="is about lowered programs"),
    "convert-relay-to-kernels": PassRow(apart="makes a lowered program"),
    "convert-layout": PassRow(
        {
            "desired-layouts": (
                "('nn.conv2d:NHWC:default',)",
                "('nn.conv2d:NCHW:default','nn.max_pool2d:NHWC','image.resize2d:NHWC')",
                "('nn.conv2d:NCHW2c:OIHW2i2o',)",
                "('nn.conv2d:HWNC:default','nn.avg_pool2d:NHWC','nn.global_avg_pool2d:NHWC')",
            ),
        },
        theme="images",
    ),
    # Of transposed convolutions it takes weights that may be infinite.
    "cpu-pipeline": PassRow({"lanes": (4, 8, 16)}, settles=False, keeps_special=False),
    "dead-code-elimination": PassRow({"ignore-impurity": FLAG, "inline-once": FLAG}),
    "defuse-ops": PassRow({"include-composite": FLAG}, before=("fuse-ops",)),
    "data-types-to-tensors": PassRow(theme="functions"),
    "defunctionalization": PassRow(theme="functions"),
    "merge-tail-calls": PassRow(is_idle=True, theme="functions"),
    "to-tail-calls": PassRow(is_idle=True, theme="functions"),
    "dynamic-to-static": PassRow({"max-bytes": (64, 1 << 20)}, theme="dynamic"),
    "eta-expand": PassRow(
        {"expand-constructor": FLAG, "expand-global-var": FLAG},
        theme="functions",
        needed={"expand-constructor": True, "expand-global-var": True},
    ),
    # Where data types are left, another run expands recursion once more.
    "expand-functions": PassRow(theme="functions", settles=False),
    "extract-fused-functions": PassRow(apart="leaves functions that nothing calls"),
    "extract-intermediate-expr": PassRow(apart="returns something else"),
    "fake-quantization-to-integer": PassRow(
        apart="rounds to integers in between; test_quantize.py bounds how far results move"
    ),
    "first-order-gradient": PassRow(apart="functions return more"),
    "flatten-atrous-conv": PassRow(theme="atrous"),
    "fold-constant": PassRow({"max-bytes": (64, 1 << 20), "fold-qnn": FLAG}),
    "fold-explicit-padding": PassRow(theme="images"),
    "fold-scale-axis": PassRow(
        {
            "directions": ("('forward',)", "('backward',)", "('backward','forward')"),
            "unsafe": FLAG,
            "rules": RULES,
        },
        theme="images",
    ),
    "fuse-composites": PassRow(
        {"target": ("'x86-64'", "'x86-64-v3'", "'x86-64-v4'"), "threads": (1, 2)},
        before=("recognize-operators{composites=true attention=true}",),
        theme="matrices",
        settles=False,
    ),
    "fuse-ops": PassRow(
        {
            "opt-level": (0, 1, 2, 3),
            "max-depth": (1, 2, 5, 256),
            "link-params": FLAG,
            "max-function-args": (0, 2, 5),
            "rules": (*RULES, "'extended'"),
        }
    ),
    "infer-type": PassRow(theme="open types"),
    "inline": PassRow({"calls": FLAG}, before=PARTITIONS),
    "inline-compiler-functions": PassRow(before=PARTITIONS),
    "inline-closures": PassRow(
        {"max-operations": (0, 10, 1000), "primitive": FLAG}, theme="functions"
    ),
    "lambda-lift": PassRow(theme="functions"),
    "layout-rewrite": PassRow(
        {
            "weights": (
                "('nn.dense:NC2n','nn.matmul:NC','nn.batch_matmul:BNC')",
                "('nn.conv2d:OIHW2i2o','nn.conv3d:DHWIO')",
                "('nn.conv2d:HWIO','nn.matmul:CN','nn.batch_matmul:BCN')",
            ),
        },
        before=("fuse-ops",),
    ),
    "lazy-gradient-init": PassRow(
        {"unsafe": FLAG},
        takes_scopes=False,
        inexact="zeros times NaN are zeros with `unsafe`, and -0 plus zeros is -0, as in the original",
    ),
    "legalize": PassRow(theme="images"),
    "legalize-convolutions": PassRow({"unsafe": FLAG}, theme="images"),
    "legalize-layouts": PassRow(theme="images"),
    "legalize-quantized-conversions": PassRow(theme="quantized"),
    "legalize-quantized-products": PassRow({"rules": RULES}, theme="quantized"),
    "manifest-alloc": PassRow({"reuse": FLAG}, before=("fuse-ops",)),
    "manifest-lifetimes": PassRow(before=("to-a-normal-form",)),
    "merge-compiler-regions": PassRow({"speculate": FLAG}, before=ANNOTATE),
    "merge-composite": PassRow({"targets": COMPILERS}),
    # What overflows in f16 is finite in f32.
    "narrow-weights": PassRow(before=("widen-floats",), theme="images", keeps_special=False),
    "outline-compiler-functions": PassRow(before=(*PARTITIONS, "inline")),
    "outline-default-regions": PassRow(before=PARTITIONS),
    # Another run expands recursion once more.
    "partial-eval": PassRow(
        {"max-bytes": (64, 1 << 20), "max-operations": (0, 100_000)}, settles=False
    ),
    "partition-graph": PassRow({"bind-constants": FLAG}, before=REGIONS),
    "plan-devices": PassRow({"default-device": (1, 2)}),
    "qnn-legalize": PassRow(
        {"target": ("'arm'", "'arm-dotprod'", "'cuda'", "'generic'", "'x86'", "'x86-vnni'")},
        theme="quantized",
    ),
    "recognize-bias-add": PassRow(before=("canonicalize-ops",)),
    "recognize-operators": PassRow({"composites": FLAG, "attention": FLAG}, theme="matrices"),
    "reduce-precision": PassRow(
        apart="computes with fewer bits; test_precision.py says how far results move"
    ),
    "relay-opt-level-0": PassRow({"unsafe": FLAG}),
    # The normal form orders constants by operands, and fusion orders the operands of groups.
    "relay-opt-level-1": PassRow({"unsafe": FLAG}, keeps_order=False),
    "relay-opt-level-2": PassRow({"unsafe": FLAG}, keeps_order=False),
    "relay-opt-level-3": PassRow({"unsafe": FLAG}, keeps_order=False),
    "relay-to-tir": PassRow(before=(*PARTITIONS, "inline")),
    "remove-standalone-reshapes": PassRow(before=("fuse-ops",)),
    "outline-closures": PassRow(theme="functions"),
    "recursion-to-loops": PassRow(theme="functions"),
    "remove-unused-functions": PassRow(theme="functions"),
    "round-block-data": PassRow(apart="rounds; test_blocks.py says how far results move"),
    "select-strategies": PassRow(before=("cpu-pipeline", "fuse-ops"), takes_scopes=False),
    "simplify-expr": PassRow({"reassociate": FLAG, "rules": RULES}, unsafe=("reassociate",)),
    "simplify-fc-transpose": PassRow(apart="changes the parameters"),
    "simplify-inference": PassRow({"keep-norms": FLAG, "unsafe": FLAG}, theme="images"),
    "sink-reshape": PassRow(theme="matrices"),
    "split-args": PassRow(
        {"max-function-args": (3, 4, 8)}, theme="joins", needed={"max-function-args": 3}
    ),
    "store-rounded": PassRow(apart="rounds; test_precision.py says how far results move"),
    "to-basic-block-normal-form": PassRow(theme="functions"),
    "to-cps": PassRow(apart="functions take more"),
    # With more bits results are nearer to what they should be.
    "to-mixed-precision": PassRow(
        {"constants-only": FLAG},
        theme="matrices",
        stated={
            "mixed-precision-type": "'float64'",
            "missing-op-mode": 2,
            "keep-orig-output-dtype": True,
        },
    ),
    # Loops are refused by the pass before it.
    "un-cps": PassRow(before=("to-cps",), theme="calls", takes_scopes=False),
    "widen-floats": PassRow(
        {"dtypes": ("('float16',)", "('bfloat16',)", "('float16','bfloat16')")}, keeps_special=False
    ),
}
"""By the name of the pass."""


def row(name: str) -> PassRow:
    """The row of a pass."""
    return ROWS.get(name, PassRow())


def pass_names() -> list[str]:
    """The passes that are tried."""
    return [name for name in XRELAY_UNIVERSE.all_passes if not row(name).apart]


def specs(name: str) -> Iterator[str]:
    """A pass as it comes, and with each value of each option."""
    options = row(name).options
    needed = {"targets": options["targets"][-1]} if "targets" in options else {}
    needed |= row(name).needed
    yield spec_of(name, needed)
    for option, values in options.items():
        for value in values:
            yield spec_of(name, needed | {option: value})


def spec_of(name: str, options: Mapping[str, Any]) -> str:
    """A pass with some options, as on a command line."""
    chosen = {**row(name).stated, **options}
    stated = " ".join(f"{option}={option_text(value)}" for option, value in chosen.items())
    return f"{name}{{{stated}}}"


def option_text(value: Any) -> str:
    """An option's value as a pipeline has it: lists without parentheses, strings in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return re.sub(r"[()]|,(?=\))", "", str(value)).replace("'", '"')


def lowered(module: ModuleOp) -> bool:
    """Sums the other way round, in functions without products, which are left to the compiler."""
    ops = list(module.walk())
    if any(isinstance(op, MultiplyOp) for op in ops):
        return False
    for op in ops:
        if isinstance(op, AddOp):
            op.operands = op.operands[::-1]
    return True


def register_compilers() -> None:
    """
    Two compilers that share some operators, and know some chains as one operator. The first has this project compile
    some of its functions.
    """
    patterns = {
        "first": CompositePattern("first.add_relu", is_op("nn.relu")(wildcard() + wildcard())),
        "second": CompositePattern("second.scale_add", wildcard() * wildcard() + wildcard()),
    }
    operators = {
        "first": "add multiply nn.relu exp tanh reshape transpose nn.conv2d nn.dense sum",
        "second": "add subtract sigmoid tanh nn.softmax concatenate split reshape strided_slice",
    }
    for name, pattern in patterns.items():
        supported = SupportedOperators(frozenset(operators[name].split()))
        hook = lowered if name == "first" else None
        REGISTRY.register(Compiler(name, supported, (pattern,), lower=hook))
