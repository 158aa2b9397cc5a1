"""`xrelay`: run, compile, explain, tune and cache models from the command line; list operators and passes."""

import argparse
import sys
from collections.abc import Callable, Sequence

from xrelay.dialects.limits import DEFAULT_LIMITS
from xrelay.placement.methods import METHODS
from xrelay.runtime.sizes import byte_count
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, check_words, run_command
from xrelay.tools.interruption import until_interrupted
from xrelay.tools.parser import Parser

EXAMPLES = """\
examples:
  xrelay run resnet50.onnx                              seeded random inputs
  xrelay run model.onnx --input x=image.npy --output-dir results
  xrelay compile model.onnx -o model.so                 shared library and C header
  xrelay compile model.onnx -o fused.mlir --emit-after fuse-ops
  xrelay explain model.onnx --limit 5                   what is fused, and what stops fusion
  xrelay view model.onnx -o graph.html                  the same as a picture to look around in
  xrelay tune model.onnx -o tuning.json                 measure what computes it fastest here
  xrelay cache --clear                                  forget compiled models
  xrelay partition model.onnx --backend onnxruntime     what a backend takes, and what blocks it
  xrelay place model.onnx --backend onnxruntime         which part runs fastest where
  xrelay ops                                            the operators, and what is done with each
  xrelay passes fuse-ops                                what a pass does, and its options

exit codes: 0 fine, 1 wrong result or failed compile, 2 bad usage or input
"""

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
  xrelay compile model.onnx -o model.o       object file, model.h beside it
  xrelay compile model.onnx -o model.ll      LLVM IR, weights in model.ll.weights
  xrelay compile model.onnx -o model.mlir    relay, weights in model.mlir.weights.npz
  xrelay compile model.relay -o model.onnx   ONNX, weights in it
"""

CACHE_EXAMPLES = """\
examples:
  xrelay cache             the folder and what it holds
  xrelay cache --clear     remove all entries

XRELAY_CACHE_DIR is the folder, XRELAY_CACHE_SIZE what it may take (4G by default, 0 for no cache).
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

PARTITION_EXAMPLES = """\
examples:
  xrelay partition model.onnx --backend onnxruntime
  xrelay partition model.onnx --backend openvino,onnxruntime --run
  xrelay partition model.onnx --backend openvino:nn.conv2d,nn.bias_add --backend onnxruntime
  xrelay partition model.onnx --backend simulated:npu.toml --json coverage.json
  xrelay partition model.onnx --backend c -o partitioned.mlir
"""

PLACE_EXAMPLES = """\
examples:
  xrelay place model.onnx --backend onnxruntime,openvino -o plan.json
  xrelay run model.onnx --backend onnxruntime,openvino --placement plan.json
  xrelay place model.onnx --backend onnxruntime --pin nn.conv2d=default --explain
"""

TEST_BACKEND_EXAMPLES = """\
examples:
  xrelay test-backend onnxruntime
  xrelay test-backend c --list             the cases only
  xrelay test-backend c --case conv2d      those with conv2d in their name
"""

VIEW_EXAMPLES = """\
examples:
  xrelay view model.onnx -o graph.html               a page: before and after fusion, rules, kinds
  xrelay view model.onnx -o graph.html --strategies  with what computes each kernel
  xrelay run model.onnx --profile --trace trace.json
  xrelay view model.onnx -o graph.html --profile trace.json
  xrelay view model.mlir -o graph.svg --fused        a picture of the kernels; also .dot
"""

OPS_EXAMPLES = """\
examples:
  xrelay ops                      all operators of the dialect
  xrelay ops nn.conv2d 'dyn.*'    those with these names
  xrelay ops --unsupported        those that the code generator cannot compute, and why
  xrelay ops --markdown           the page docs/operators.md
"""

PASSES_EXAMPLES = """\
examples:
  xrelay passes                   all passes, and how they agree with TVM's
  xrelay passes fuse-ops 'to-*' programs before and after, options and more of those with these names
  xrelay passes --markdown        the page docs/passes.md
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
    _add_backend_options(parser, required=False)
    parser.add_argument(
        "--placement",
        default="priority",
        metavar="PLAN.json",
        help="with --backend: a plan of `xrelay place`, `measured` to make one now, or `priority` (default): "
        "the first backend that supports an operator has it",
    )
    _add_model_options(parser)


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
    _add_model_options(parser)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    _add_fusion_options(parser)
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
    _add_model_options(parser)


def _add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="an .html, .svg or .dot file"
    )
    _add_fusion_options(parser)
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
    _add_model_options(parser)


def _add_fusion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--opt-level", type=int, default=2, help="of fuse-ops (default 2)")
    parser.add_argument("--max-depth", type=int, default=256, help="of fuse-ops (default 256)")
    parser.add_argument(
        "--rules",
        default="cpu",
        help="of fuse-ops: relay, or with more rules cpu (default, what the compiler does) and extended",
    )
    parser.add_argument(
        "--max-function-args",
        type=int,
        default=0,
        metavar="N",
        help="of fuse-ops: parameters and results of a function (default 0: any number)",
    )
    parser.add_argument(
        "--no-simplify",
        action="store_true",
        help="fuse the program as it is, without the passes that prepare it",
    )


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
    _add_model_options(parser, tuned=False)


def _add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    _add_backend_options(parser, required=True)
    parser.add_argument(
        "--run",
        action="store_true",
        help="compile all regions, run the model on random inputs, show the time of each region "
        "and how far the outputs are from those of xrelay's own code",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default 0)")
    parser.add_argument("--limit", type=int, metavar="N", help="print the first N rows of tables")
    parser.add_argument("--json", metavar="FILE", help="write the report as data too")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the partitioned .mlir")
    _add_model_options(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    parser.add_argument("-o", "--output", metavar="PLAN.json", help="write the plan")
    parser.add_argument(
        "--program",
        metavar="FILE.mlir",
        help="write the program that the plan is for, for `apply-placement`",
    )
    parser.add_argument(
        "--pin",
        action="append",
        default=[],
        metavar="OP=ENGINE",
        help="give an operator (nn.conv2d) or a node to an engine; own code is `default` (repeatable)",
    )
    parser.add_argument(
        "--memory",
        type=int,
        metavar="BYTES",
        help="the most that all regions may keep: constants and results",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="exact",
        help="how plans are searched for (default exact)",
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="N", help="for the search (default 60)"
    )
    parser.add_argument(
        "--measure-seconds",
        type=float,
        default=300.0,
        metavar="N",
        help="for measurements (default 300)",
    )
    parser.add_argument("--database", metavar="FILE", help="where measurements are kept")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes that measure (default 1)"
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="look at the largest candidates only: quick, and may lose the best plan",
    )
    parser.add_argument(
        "--pareto", action="store_true", help="show what less memory costs, and less time takes"
    )
    parser.add_argument(
        "--no-confirm", action="store_true", help="leave out the whole runs that prove the plan"
    )
    parser.add_argument(
        "--explain",
        nargs="?",
        const="-",
        metavar="FILE.json",
        help="say why, as text or into a file",
    )
    _add_backend_options(parser, required=True)
    _add_model_options(parser)


def _add_test_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("backend", help="its name, or name:argument")
    parser.add_argument("--list", action="store_true", help="list the cases, run none")
    parser.add_argument("--case", metavar="TEXT", default="", help="cases with this in their name")
    parser.add_argument("--threads", type=int, default=1, help="for each region (default 1)")


def _add_backend_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        required=required,
        metavar="NAME[,NAME…][:ARGUMENT]",
        help="engines that run what they support, the preferred one first (repeatable); what "
        "follows a colon, as in openvino:nn.conv2d,nn.bias_add, belongs to the last of them",
    )
    parser.add_argument(
        "--fallback",
        action="store_true",
        help="run regions that a backend fails at on xrelay's own code, and say so",
    )


def _add_cache(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument(
        "--info", action="store_true", help="show the folder and its entries (the default)"
    )
    actions.add_argument("--clear", action="store_true", help="remove all entries")


def _add_model_options(parser: argparse.ArgumentParser, *, tuned: bool = True) -> None:
    _add_shape_option(parser)
    parser.add_argument(
        "--target",
        default="native",
        help="the CPU: native (default), x86-64, x86-64-v3, x86-64-v4, or with dot products "
        "x86-64-v3-vnni, x86-64-v4-vnni, x86-64-v4-bf16",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="threads that run the model together (default 1)"
    )
    parser.add_argument(
        "--no-winograd",
        action="store_true",
        help="convolve by the definition: fewer rounding errors, more time",
    )
    parser.add_argument(
        "--precision",
        default="f32",
        help="what products of f32 are computed in: f32 (default), bf16 or f16",
    )
    parser.add_argument(
        "--precision-rules",
        metavar="FILE",
        help="a TOML or JSON file that names operators which --precision treats otherwise",
    )
    if tuned:
        parser.add_argument(
            "--tuning",
            metavar="FILE",
            help="choose implementations by what `xrelay tune` measured",
        )
    else:
        parser.set_defaults(tuning=None)
    parser.add_argument(
        "--max-nodes",
        type=int,
        default=DEFAULT_LIMITS.max_nodes,
        metavar="N",
        help="refuse models of more operations, calls and loops expanded (default %(default)s)",
    )
    parser.add_argument(
        "--max-bytes",
        type=_bytes,
        default=DEFAULT_LIMITS.max_bytes,
        metavar="N",
        help="refuse models of more bytes of constants and workspace: 500M, 4G (default 1T)",
    )


def _bytes(text: str) -> int:
    """The value of an option that is a number of bytes."""
    count = byte_count(text)
    if count is None:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of bytes, such as 5000, 500M or 4G"
        )
    return count


def _add_ops(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only these operators: names or patterns"
    )
    parser.add_argument(
        "--unsupported",
        action="store_true",
        help="only those that the code generator cannot compute",
    )
    parser.add_argument("--markdown", action="store_true", help="print docs/operators.md")


def _add_passes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="all about these passes: names or patterns"
    )
    parser.add_argument("--markdown", action="store_true", help="print docs/passes.md")


def _add_shape_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1,3,224,224",
        help="fix the shape of an input, or as in batch=4 a dimension that the model names (repeatable)",
    )


COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "run": ("compile a model and run it", RUN_EXAMPLES, _add_run),
    "compile": (
        "write a model as relay, ONNX, LLVM IR or machine code",
        COMPILE_EXAMPLES,
        _add_compile,
    ),
    "explain": (
        "show what is fused, and the rule behind each border",
        EXPLAIN_EXAMPLES,
        _add_explain,
    ),
    "view": (
        "draw a model, what is fused, and the rule behind each border",
        VIEW_EXAMPLES,
        _add_view,
    ),
    "tune": ("measure implementations, and write tuning records", TUNE_EXAMPLES, _add_tune),
    "place": (
        "find out which engine runs which part of a model the fastest",
        PLACE_EXAMPLES,
        _add_place,
    ),
    "partition": (
        "show what backends take of a model, and what keeps them from taking more",
        PARTITION_EXAMPLES,
        _add_partition,
    ),
    "test-backend": (
        "run the contract tests of a backend",
        TEST_BACKEND_EXAMPLES,
        _add_test_backend,
    ),
    "cache": ("show or clear the compiled models on disk", CACHE_EXAMPLES, _add_cache),
    "ops": ("list the operators, and what is done with each", OPS_EXAMPLES, _add_ops),
    "passes": ("list the passes, or say all about some", PASSES_EXAMPLES, _add_passes),
}


class VersionAction(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"xrelay {version('xrelay')}")
        parser.exit()


def build_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="xrelay",
        description="Neural networks through xDSL: from ONNX to running machine code.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction, help="show the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (text, examples, add_arguments) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_arguments(command)
    return parser


def run(args: argparse.Namespace) -> int:
    """Runs the command that was asked for. Loads what it needs only then."""
    match args.command:
        case "run":
            from xrelay.tools.run_model import run_model

            return run_model(args)
        case "compile":
            from xrelay.tools.compile_model import compile_file

            return compile_file(args)
        case "view":
            from xrelay.tools.view.command import view_model

            return view_model(args)
        case "tune":
            from xrelay.tools.tune import tune_model

            return tune_model(args)
        case "cache":
            from xrelay.tools.cache import show_cache

            return show_cache(args)
        case "place":
            from xrelay.tools.place import place_model

            return place_model(args)
        case "partition":
            from xrelay.tools.partition import partition_model

            return partition_model(args)
        case "test-backend":
            from xrelay.tools.test_backend import test_backend

            return test_backend(args)
        case "ops":
            from xrelay.tools.ops import show_operators

            return show_operators(args)
        case "passes":
            from xrelay.tools.passes import show_passes

            return show_passes(args)
        case _:
            from xrelay.tools.explain.command import explain_model

            return explain_model(args)


def run_deep(args: argparse.Namespace) -> int:
    """`run`, with room for programs, in which regions nest as deep as anyone likes."""
    if getattr(args, "model", None) is None:
        return run(args)
    from xrelay.deep import TooDeepError, with_room

    try:
        return with_room(lambda: run(args))
    except TooDeepError as error:
        raise CommandFailed(str(error), FAILED) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command `xrelay`."""

    def command() -> int:
        args = build_parser().parse(argv)

        def chosen() -> int:
            check_words(argv)
            if getattr(args, "model", None) == "":
                raise CommandFailed("the path of the model is empty", BAD_INPUT)
            return run_deep(args)

        return run_command(f"xrelay {args.command}", chosen)

    return run_command("xrelay", command)


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
