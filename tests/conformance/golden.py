"""
Recorded passes of TVM v0.10.0, compared with the project's.

    python tests/conformance/golden.py FILE… [--roundtrip] [--pass NAME …] [--jobs N] [-v]

A FILE (`.jsonl` or `.jsonl.xz`) has one record a line: {"pass", "source", "options", "before",
"after"}, where the last two are modules in Relay text; blank lines are skipped. A record agrees when the project's pass makes
of `before` what `after` is, up to names of values. With --roundtrip a record agrees when both
modules are the same after they were printed and read again.

Prints a line for each record that does not agree, with its source, for each pass `PASS: N of M agree`
and last `N of M agree`. The exit code is 0 only when all agree. Records in exceptions.toml, where
the original is wrong, are counted apart, and so are passes that the project does not have: the exit
code is 1 when such a pass is named with --pass, or when nothing else is in the files. It is 2 for files that are damaged, of which
`FILE:LINE: what is wrong` is said on standard error, and for --pass of which there are no records.
"""

import argparse
import json
import lzma
import sys
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from isomorphism import difference
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xrelay.analysis.compilers import REGISTRY, Compiler
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.combine_parallel_batch_matmul import CombineParallelBatchMatmulPass
from xrelay.transforms.combine_parallel_conv2d import CombineParallelConv2DPass
from xrelay.transforms.combine_parallel_dense import CombineParallelDensePass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fold_explicit_padding import FoldExplicitPaddingPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.partition_graph import PartitionGraphPass
from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass
from xrelay.transforms.to_graph_normal_form import ToGraphNormalFormPass

EXCEPTIONS = Path(__file__).parent / "exceptions.toml"
CHUNK = 40
"""Records that a process takes at a time."""
BAD_INPUT = 2
"""Exit code for damaged files and wrong arguments, as argparse has it."""

Options = dict[str, Any]


# The original's tests register this hook for the compiler of this name.
REGISTRY.register(
    Compiler("test_target", optimize=lambda module: FoldConstantPass().apply(Context(), module))
)


def _annotate_target(options: Options) -> list[ModulePass]:
    operators = [f"{t}:{name}" for t, names in options["target_ops"].items() for name in names]
    non_call_ops = options["annotate_non_call_ops"]
    return [AnnotateTargetPass(tuple(options["targets"]), non_call_ops, tuple(operators))]


PASSES: dict[str, Callable[[Options], list[ModulePass]]] = {
    "AnnotateTarget": _annotate_target,
    "BackwardFoldScaleAxis": lambda _: [FoldScaleAxisPass(directions=("backward",))],
    "CombineParallelBatchMatmul": lambda o: [CombineParallelBatchMatmulPass(o["min_num_branches"])],
    "CombineParallelConv2D": lambda o: [CombineParallelConv2DPass(o["min_num_branches"])],
    "CombineParallelDense": lambda o: [CombineParallelDensePass(o["min_num_branches"])],
    "DeadCodeElimination": lambda _: [DeadCodeEliminationPass()],
    "DefuseOps": lambda _: [DefuseOpsPass()],
    "DynamicToStatic": lambda _: [DynamicToStaticPass()],
    "EliminateCommonSubexpr": lambda _: [EliminateCommonSubexprPass()],
    "FoldConstant": lambda o: [FoldConstantPass(fold_qnn=o["fold_qnn"])],
    "FoldExplicitPadding": lambda _: [FoldExplicitPaddingPass()],
    "FoldScaleAxis": lambda _: [FoldScaleAxisPass(), FoldConstantPass()],
    "ForwardFoldScaleAxis": lambda _: [FoldScaleAxisPass(directions=("forward",))],
    "FuseOps": lambda o: [FuseOpsPass(o["fuse_opt_level"], o["max_depth"], o["link_params"])],
    "InferType": lambda _: [InferTypePass()],
    "Inline": lambda _: [InlinePass()],
    "MergeCompilerRegions": lambda _: [MergeCompilerRegionsPass()],
    "PartitionGraph": lambda o: [PartitionGraphPass(o["mod_name"], o["bind_constants"])],
    "RemoveUnusedFunctions": lambda o: [
        RemoveUnusedFunctionsPass(tuple(o["entry_functions"] or ("main",)))
    ],
    "SimplifyExpr": lambda _: [SimplifyExprPass()],
    "SimplifyInference": lambda _: [SimplifyInferencePass()],
    "ToGraphNormalForm": lambda _: [ToGraphNormalFormPass()],
}
"""What the project runs for a recorded pass and its options."""


class BadInput(Exception):
    """A file or a record in it is damaged; the message says where."""


class Line(NamedTuple):
    """A line of a file, which should be a record."""

    place: str
    """`FILE:LINE`, counted from 1."""
    text: str

    def record(self) -> dict[str, Any]:
        """The record; raises BadInput when it is none."""
        try:
            found: object = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self.place}: not JSON: {error}") from error
        if not isinstance(found, dict):
            raise BadInput(f"{self.place}: a record is a {_kind(found)}, expected an object")
        record = cast(dict[str, Any], found)
        for key, expected in FIELDS.items():
            if key not in record:
                raise BadInput(f"{self.place}: the record has no '{key}'")
            if not isinstance(record[key], expected):
                raise BadInput(
                    f"{self.place}: '{key}' is a {_kind(record[key])}, "
                    f"expected a {JSON_KINDS[expected]}"
                )
        return record


FIELDS: dict[str, type] = {"pass": str, "source": str, "options": dict, "before": str, "after": str}
"""What a record must have."""
JSON_KINDS: dict[type, str] = {
    dict: "object",
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _kind(value: object) -> str:
    return JSON_KINDS[type(value)]


@dataclass
class Outcome:
    """What became of one record; `problem` is None when it agrees."""

    name: str
    source: str
    problem: str | None = None
    missing: bool = False
    """Whether the project does not have the pass."""
    excused: str | None = None
    """The reason in exceptions.toml."""


@dataclass
class Check:
    """What to do with each record."""

    roundtrip: bool
    only: frozenset[str]
    exceptions: dict[tuple[str, str], str] = field(default_factory=dict)

    def outcome(self, line: Line) -> Outcome | None:
        """
        The outcome of a record; None when it is not one of those asked for. Raises BadInput when
        the line is no record.
        """
        record = line.record()
        name, source = record["pass"], record["source"]
        if self.only and name not in self.only:
            return None
        found = Outcome(name, source, excused=self.exceptions.get((name, source)))
        if not self.roundtrip and name not in PASSES:
            found.missing = True
            return found
        try:
            found.problem = (
                _roundtrip(record) if self.roundtrip else _difference(record, line.place)
            )
        except BadInput:
            raise
        except (DiagnosticException, VerifyException) as error:
            found.problem = str(error)
        except Exception:  # noqa: BLE001 A crash is a disagreement; the others still count.
            found.problem = traceback.format_exc()
        return found

    def outcomes(self, lines: list[Line]) -> list[Outcome]:
        """The outcomes of some records."""
        return [found for line in lines if (found := self.outcome(line)) is not None]


def _difference(record: dict[str, Any], place: str) -> str | None:
    """How the pass differs from the record; raises BadInput when it lacks an option."""
    context = Context()
    try:
        steps = PASSES[record["pass"]](record["options"])
    except KeyError as error:
        raise BadInput(f"{place}: 'options' of {record['pass']} has no {error}") from error
    module = _read(record["before"], "before")
    for step in steps:
        step.apply(context, module)
        module.verify()
    # The comments of untyped text may state types of another time.
    typed = record["pass"] == "InferType"
    expected = _read(record["after"], "after", check_types=typed)
    if typed:
        # The types that the original states have been checked; ours may know more dimensions.
        InferTypePass().apply(context, expected)
    return difference(module, expected)


def _read(text: str, name: str, *, check_types: bool = False) -> ModuleOp:
    module = read_relay_text(text, name, check_types=check_types)
    module.verify()
    return module


def _roundtrip(record: dict[str, Any]) -> str | None:
    """How what was printed and read again differs."""
    for name in ("before", "after"):
        module = _read(record[name], name)
        for tvm_compatible in (False, True):
            printed = print_relay_text(module, tvm_compatible=tvm_compatible)
            again = _read(printed, f"{name}, printed")
            found = difference(module, again)
            if found is not None:
                return f"{name}: {found}"
            if print_relay_text(again, tvm_compatible=tvm_compatible) != printed:
                return f"{name}: printing again gives another text"
    return None


def records(path: Path) -> Iterator[Line]:
    """The lines of a file that are not blank; raises BadInput when it cannot be read."""
    opener = lzma.open if path.suffix == ".xz" else open
    number, empty = 0, True
    try:
        with opener(path, "rb") as file:
            for number, content in enumerate(file, 1):
                text = content.decode()
                if text.strip():
                    empty = False
                    yield Line(f"{path}:{number}", text)
    except (EOFError, lzma.LZMAError) as error:
        raise BadInput(f"{path}:{number + 1}: cannot decompress: {error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}:{number}: not text in UTF-8: {error.reason}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot read it: {error.strerror or error}") from error
    if empty:
        raise BadInput(f"{path}: there are no records in it")


def chunks(paths: list[Path]) -> Iterator[list[Line]]:
    """The lines of files, some at a time."""
    for path in paths:
        lines = records(path)
        while chunk := list(islice(lines, CHUNK)):
            yield chunk


def main() -> int:
    """Runs the checker."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.strip().partition("\n")[0])
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--roundtrip", action="store_true", help="print and read again")
    parser.add_argument("--pass", dest="passes", metavar="NAME", action="append", default=[],
                        help="only records of this pass (`all` for all)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("-v", "--verbose", action="store_true", help="whole messages")
    args = parser.parse_args()
    if args.jobs < 1:
        parser.error(f"--jobs is {args.jobs}, expected at least 1")
    entries = tomllib.loads(EXCEPTIONS.read_text())["exception"]
    named = frozenset(args.passes) - {"all"}
    check = Check(args.roundtrip, named, {(e["pass"], e["source"]): e["reason"] for e in entries})
    files: list[Path] = args.files
    for path in files:
        if path.is_dir():
            parser.error(f"'{path}' is a directory, expected a file")
        if not path.exists():
            parser.error(f"there is no file '{path}'")
    try:
        if args.jobs > 1:
            with ProcessPoolExecutor(args.jobs) as pool:
                outcomes = [o for found in pool.map(check.outcomes, chunks(files)) for o in found]
        else:
            outcomes = [o for chunk in chunks(files) for o in check.outcomes(chunk)]
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    return report(outcomes, named, args.verbose)


def report(outcomes: list[Outcome], named: frozenset[str], verbose: bool) -> int:
    """Prints what was found; returns the exit code."""
    total, agree = Counter[str](), Counter[str]()
    excused, missing, operators = Counter[str](), Counter[str](), Counter[str]()
    for outcome in outcomes:
        if outcome.missing:
            missing[outcome.name] += 1
            continue
        if outcome.problem is not None and outcome.excused is not None:
            excused[outcome.name] += 1
            continue
        total[outcome.name] += 1
        if outcome.problem is None:
            agree[outcome.name] += 1
            continue
        first = outcome.problem.strip().splitlines()
        shown = outcome.problem if verbose else first[-1 if first[0].startswith("Trace") else 0]
        print(f"{outcome.name} {outcome.source}: {shown}")
        _, unknown, rest = outcome.problem.partition("unknown operator or constructor '")
        if unknown:
            operators[rest.partition("'")[0]] += 1
    if operators:
        print("records with unknown operators: " + ", ".join(
            f"{name} {count}" for name, count in operators.most_common()
        ))  # fmt: skip
    for name in sorted(total | excused):
        print(f"{name}: {agree[name]} of {total[name]} agree")
        if excused[name]:
            print(f"{name}: {excused[name]} disagree for the reasons in {EXCEPTIONS.name}")
    for name, count in sorted(missing.items()):
        print(f"{name}: no such pass yet ({count} records)")
    print(f"{agree.total()} of {total.total()} agree")
    absent = sorted(named - set(total | missing | excused))
    if absent:
        names = ", ".join(f"'{name}'" for name in absent)
        print(f"there are no records of {names} in the files", file=sys.stderr)
        return BAD_INPUT
    if missing and (named or not total | excused):
        names = ", ".join(f"'{name}'" for name in sorted(missing))
        print(f"nothing stands for the recorded passes {names}", file=sys.stderr)
        return 1
    return 1 if agree != total else 0


if __name__ == "__main__":
    sys.exit(main())
