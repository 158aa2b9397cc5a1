"""The commands of one model: run, compile, explain, view and tune."""

import argparse

from xrelay.tools.options.shared import (
    Command,
    add_backend_options,
    add_fusion_options,
    add_model_options,
)

RUN_EXAMPLES = """\
examples:
  xrelay run resnet50.onnx --seed 1
  xrelay run model.onnx --shape x=1,3,224,224 --verify
  xrelay run model.onnx --shape batch=4
  xrelay run model.onnx --threads 2 --profile --trace trace.json
  xrelay run model.onnx --precision bf16 --compare model.onnx     what that changes
  xrelay run model.so --input x=image.npy --output-dir results
"""

COMPILE_EXAMPLES = """\
examples:
  xrelay compile model.onnx -o model.so      shared library, model.h beside it
  xrelay compile model.onnx --shape seq=1,512 -o model.so    for many lengths, which its functions take
  xrelay compile model.onnx -o model.o       object file, model.h beside it
  xrelay compile model.onnx -o model.ll      LLVM IR, weights in model.ll.weights
  xrelay compile model.onnx -o model.mlir    relay, weights in model.mlir.weights.npz
  xrelay compile model.relay -o model.onnx   ONNX, weights in it
"""

EXPLAIN_EXAMPLES = """\
examples:
  xrelay explain model.onnx
  xrelay explain model.mlir --opt-level 0 --limit 10
  xrelay explain model.onnx --why conv1 relu1           the rule between two nodes
  xrelay explain model.onnx --what-if nn.softmax=injective
  xrelay explain model.onnx --strategies --threads 2
  xrelay explain model.onnx --memory --chart memory.svg
  xrelay explain model.onnx --operators                 calls and multiply-adds of each operator
  xrelay explain model.onnx --precision bf16 --types    what is computed in bf16, and why
"""

VIEW_EXAMPLES = """\
examples:
  xrelay view model.onnx -o graph.html               a page: before and after fusion, rules, kinds
  xrelay view model.onnx -o graph.html --strategies  with what computes each kernel
  xrelay run model.onnx --profile --trace trace.json
  xrelay view model.onnx -o graph.html --profile trace.json
  xrelay view model.mlir -o graph.svg --fused        a picture of the kernels; also .dot
  xrelay place model.onnx --backend onnxruntime -o plan.json --explain why.json
  xrelay view model.onnx -o graph.html --placement plan.json
"""

TUNE_EXAMPLES = """\
examples:
  xrelay tune model.onnx -o tuning.json --threads 2
  xrelay tune model.onnx -o tuning.json --threads 2 --seconds 60    go on, for a minute
  xrelay run model.onnx --threads 2 --tuning tuning.json
"""


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file, or a saved .so")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="an input array (repeatable); others are random",
    )
    parser.add_argument("--output-dir", metavar="DIR", help="write every output as DIR/NAME.npy")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default 0)")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="compare with the NumPy interpreter; exit code 1 when an output differs by more "
        "than 1e-3 of its largest value (of 16 bits: than two roundings)",
    )
    parser.add_argument(
        "--interpret",
        action="store_true",
        help="run in NumPy instead, also what has no machine code (control flow, data types, …)",
    )
    parser.add_argument(
        "--compare",
        metavar="MODEL",
        help="run this model too, on the same inputs and in the precision that it is stored in, and say how far "
        "the outputs are from its outputs",
    )
    parser.add_argument("--json", metavar="FILE", help="with --compare: write the report as data")
    parser.add_argument(
        "--profile", action="store_true", help="print the time of every step, slowest first"
    )
    parser.add_argument(
        "--trace", metavar="FILE", help="with --profile: write a trace for chrome://tracing"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="compile anew, and leave nothing on disk"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="say what the cache does, on standard error"
    )
    add_backend_options(parser, required=False)
    parser.add_argument(
        "--placement",
        default="priority",
        metavar="PLAN.json",
        help="with --backend: a plan of `xrelay place`, `measured` to make one now, or `priority` (default): "
        "the first backend that supports an operator has it",
    )
    add_model_options(parser)


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="a .mlir, .onnx, .ll, .o or .so file"
    )
    parser.add_argument(
        "--emit-after",
        metavar="PASS",
        help="for .mlir: the program after import, simplify-inference, fold-constant, fuse-ops "
        "(default), convert-relay-to-kernels or convert-kernels-to-llvm; for .onnx: after import "
        "(default) or another pass that leaves relay",
    )
    parser.add_argument(
        "--external-data",
        action="store_true",
        help="for .onnx: write the weights into a file beside it, as models of over 2 GiB need",
    )
    add_model_options(parser)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    add_fusion_options(parser)
    parser.add_argument("--limit", type=int, metavar="N", help="print the first N groups only")
    parser.add_argument(
        "--why",
        nargs=2,
        metavar=("A", "B"),
        help="say which rule keeps two operations apart: names of values or ONNX nodes, or "
        "#NUMBER, in a function @F: as @F:NAME",
    )
    parser.add_argument(
        "--what-if",
        action="append",
        default=[],
        metavar="OP=KIND",
        help="show what changes when an operator (nn.softmax) or one value's has another kind: "
        "elemwise, broadcast, injective, comm_reduce, out_ewise_fusable, opaque (repeatable)",
    )
    parser.add_argument(
        "--plan-json", metavar="FILE", help="write the plan, for `apply-fusion-plan` and tools"
    )
    views = parser.add_mutually_exclusive_group()
    views.add_argument(
        "--strategies",
        action="store_true",
        help="show what computes each operator and what else could, with estimated times",
    )
    views.add_argument("--memory", action="store_true", help="show where tensors lie, and when")
    views.add_argument(
        "--operators",
        action="store_true",
        help="show how often each operator is called, and its multiply-adds",
    )
    views.add_argument(
        "--types",
        action="store_true",
        help="show in which element types each operator computes, and which list of --precision says so",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="with --strategies, --memory, --operators or --types: write it as data too",
    )
    parser.add_argument(
        "--chart",
        metavar="FILE",
        help="with --memory: draw the plan, as .svg or .png (needs matplotlib)",
    )
    add_model_options(parser)


def _add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="an .html, .svg or .dot file"
    )
    add_fusion_options(parser)
    parser.add_argument(
        "--fused", action="store_true", help="for .svg and .dot: a node for each kernel"
    )
    parser.add_argument(
        "--strategies", action="store_true", help="with what computes each kernel, and what could"
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        help="with the times of a trace that `xrelay run --profile --trace FILE` wrote, of the "
        "same model with the same options",
    )
    parser.add_argument(
        "--placement",
        metavar="FILE",
        help="with the engines of a plan of `xrelay place`: the colours of operators, costs, and why they are not "
        "elsewhere (`xrelay place --explain`)",
    )
    add_model_options(parser)


def _add_tune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the tuning records; what is in the file already is not measured again",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="begin no measurement after so many seconds"
    )
    add_model_options(parser, tuned=False)


COMMANDS = {
    "run": Command("compile a model and run it", RUN_EXAMPLES, _add_run, "run_model:run_model"),
    "compile": Command(
        "write a model as relay, ONNX, LLVM IR or machine code",
        COMPILE_EXAMPLES,
        _add_compile,
        "compile_model:compile_file",
    ),
    "explain": Command(
        "show what is fused, and the rule behind each border",
        EXPLAIN_EXAMPLES,
        _add_explain,
        "explain.command:explain_model",
    ),
    "view": Command(
        "draw a model, what is fused, and the rule behind each border",
        VIEW_EXAMPLES,
        _add_view,
        "view.command:view_model",
    ),
    "tune": Command(
        "measure implementations, and write tuning records",
        TUNE_EXAMPLES,
        _add_tune,
        "tune:tune_model",
    ),
}
