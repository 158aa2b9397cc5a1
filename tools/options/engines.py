"""The commands about other engines: place, partition and test-backend."""

import argparse
from typing import get_args

from xrelay.placement.methods import METHODS, WARM, Inputs
from xrelay.tools.options.shared import (
    Command,
    add_backend_options,
    add_model_options,
    byte_argument,
)

PLACE_EXAMPLES = """\
examples:
  xrelay place model.onnx --backend onnxruntime,openvino -o plan.json
  xrelay run model.onnx --backend onnxruntime,openvino --placement plan.json
  xrelay place model.onnx --backend onnxruntime --pin nn.conv2d=default --explain
"""

PARTITION_EXAMPLES = """\
examples:
  xrelay partition model.onnx --backend onnxruntime
  xrelay partition model.onnx --backend openvino,onnxruntime --run
  xrelay partition model.onnx --backend openvino:nn.conv2d,nn.bias_add --backend onnxruntime
  xrelay partition model.onnx --backend simulated:npu.toml --json coverage.json
  xrelay partition model.onnx --backend c -o partitioned.mlir
"""

TEST_BACKEND_EXAMPLES = """\
examples:
  xrelay test-backend onnxruntime
  xrelay test-backend c --list             the cases only
  xrelay test-backend c --case conv2d      those with conv2d in their name
"""


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
        type=byte_argument,
        metavar="BYTES",
        help="the most that all regions may keep, constants and results: 500M, 4G",
    )
    _add_search(parser)
    parser.add_argument(
        "--explain",
        nargs="?",
        const="-",
        metavar="FILE.json",
        help="say why, as text or into a file",
    )
    add_backend_options(parser, required=True)
    add_model_options(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    """How plans are looked for and measured."""
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
    parser.add_argument(
        "--inputs",
        choices=get_args(Inputs),
        default=WARM,
        help="what is timed: the same inputs in each run, which caches have then, or others from a pool larger than the "
        "last cache (default warm)",
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
        "--refine",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="let groups of the best plan change engines, by whole runs, for so long (default 0)",
    )
    parser.add_argument(
        "--remeasure",
        type=int,
        default=0,
        metavar="N",
        help="measure parts and borders of plans again, and search anew, up to so many times, when whole runs take more than 10 %% more or "
        "less than their parts say, or 5 %% beside the best single engine (default 0)",
    )
    parser.add_argument(
        "--no-confirm", action="store_true", help="leave out the whole runs that prove the plan"
    )


def _add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="an .onnx, .mlir or .relay file")
    add_backend_options(parser, required=True)
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
    add_model_options(parser)


def _add_test_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("backend", help="its name, or name:argument")
    parser.add_argument("--list", action="store_true", help="list the cases, run none")
    parser.add_argument("--case", metavar="TEXT", default="", help="cases with this in their name")
    parser.add_argument("--threads", type=int, default=1, help="for each region (default 1)")


COMMANDS = {
    "place": Command(
        "find out which engine runs which part of a model the fastest",
        PLACE_EXAMPLES,
        _add_place,
        "place:place_model",
    ),
    "partition": Command(
        "show what backends take of a model, and what keeps them from taking more",
        PARTITION_EXAMPLES,
        _add_partition,
        "partition:partition_model",
    ),
    "test-backend": Command(
        "run the contract tests of a backend",
        TEST_BACKEND_EXAMPLES,
        _add_test_backend,
        "backend_contract:test_backend",
    ),
}
