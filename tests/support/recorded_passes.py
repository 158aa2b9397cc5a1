"""The project's passes and reader against records of TVM's: `Family` compares."""

import gc
import tomllib
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from isomorphism import difference, renamed
from records import DATA, BadInput, Options, Record
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xrelay.analysis.partition.compilers import REGISTRY, Compiler
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.canonical.canonicalize_ops import CanonicalizeOpsPass
from xrelay.transforms.canonical.fast_math import FastMathPass
from xrelay.transforms.canonical.flatten_atrous_conv import FlattenAtrousConvPass
from xrelay.transforms.canonical.split_args import SplitArgsPass
from xrelay.transforms.combine.combine_parallel_batch_matmul import CombineParallelBatchMatmulPass
from xrelay.transforms.combine.combine_parallel_conv2d import CombineParallelConv2DPass
from xrelay.transforms.combine.combine_parallel_dense import CombineParallelDensePass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.fold_explicit_padding import FoldExplicitPaddingPass
from xrelay.transforms.fold_scale_axis import FoldScaleAxisPass
from xrelay.transforms.functional.capture_post_dfs_index_in_spans import (
    SPAN,
    SPANS,
    CapturePostDfsIndexInSpansPass,
)
from xrelay.transforms.functional.eta_expand import EtaExpandPass
from xrelay.transforms.functional.lambda_lift import LambdaLiftPass
from xrelay.transforms.functional.partial_eval import PartialEvalPass
from xrelay.transforms.functional.to_a_normal_form import ToANormalFormPass
from xrelay.transforms.functional.to_basic_block_normal_form import ToBasicBlockNormalFormPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.layout.convert_layout import ConvertLayoutPass
from xrelay.transforms.memory.annotate_used_memory import AnnotateUsedMemoryPass
from xrelay.transforms.memory.manifest_lifetimes import ManifestLifetimesPass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.partition_graph import PartitionGraphPass
from xrelay.transforms.quantize.fake_quantization_to_integer import FakeQuantizationToIntegerPass
from xrelay.transforms.quantize.to_mixed_precision import ToMixedPrecisionPass
from xrelay.transforms.remove_unused_functions import RemoveUnusedFunctionsPass
from xrelay.transforms.simplify_expr import SimplifyExprPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass

EXCEPTIONS = DATA.parent / "exceptions.toml"
KNOWN = DATA.parent / "known.txt"

# The original's tests register this hook for the compiler of this name.
REGISTRY.register(
    Compiler("test_target", optimize=lambda module: FoldConstantPass().apply(Context(), module))
)


@dataclass(frozen=True)
class WithoutSpansPass(ModulePass):
    """Removes what the text of the original does not show."""

    name = "without-spans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            for name in SPANS:
                each.attributes.pop(name, None)
            if isinstance(each, func.FuncOp) and each.arg_attrs is not None:
                stated = [{**attrs.data} for attrs in each.arg_attrs]
                for attrs in stated:
                    attrs.pop(SPAN, None)
                each.arg_attrs = ArrayAttr(map(DictionaryAttr, stated)) if any(stated) else None


def _annotate_target(options: Options) -> list[ModulePass]:
    operators = [f"{t}:{name}" for t, names in options["target_ops"].items() for name in names]
    non_call_ops = options["annotate_non_call_ops"]
    return [AnnotateTargetPass(tuple(options["targets"]), non_call_ops, tuple(operators))]


def _convert_layout(options: Options) -> list[ModulePass]:
    desired: dict[str, list[str]] = options["desired_layouts"]
    return [ConvertLayoutPass(tuple(":".join((name, *each)) for name, each in desired.items()))]


PASSES: dict[str, Callable[[Options], list[ModulePass]]] = {
    "AnnotateTarget": _annotate_target,
    "AnnotateUsedMemory": lambda _: [AnnotateUsedMemoryPass()],
    "BackwardFoldScaleAxis": lambda _: [FoldScaleAxisPass(directions=("backward",), unsafe=True)],
    "CanonicalizeOps": lambda _: [CanonicalizeOpsPass()],
    "CapturePostDfsIndexInSpans": lambda _: [
        CapturePostDfsIndexInSpansPass(),
        WithoutSpansPass(),
    ],
    "CombineParallelBatchMatmul": lambda o: [CombineParallelBatchMatmulPass(o["min_num_branches"])],
    "CombineParallelConv2D": lambda o: [CombineParallelConv2DPass(o["min_num_branches"])],
    "CombineParallelDense": lambda o: [
        CombineParallelDensePass(o["min_num_branches"], o["to_batch"])
    ],
    "ConvertLayout": _convert_layout,
    "DeadCodeElimination": lambda o: [
        DeadCodeEliminationPass(o["inline_once"], o["ignore_impurity"])
    ],
    "DefuseOps": lambda _: [DefuseOpsPass()],
    "DynamicToStatic": lambda _: [DynamicToStaticPass()],
    "EliminateCommonSubexpr": lambda _: [EliminateCommonSubexprPass()],
    "FakeQuantizationToInteger": lambda o: [
        FakeQuantizationToIntegerPass(o["hard_fail"], o["use_qat"])
    ],
    "FastMath": lambda _: [FastMathPass()],
    "FlattenAtrousConv": lambda _: [FlattenAtrousConvPass()],
    "EtaExpand": lambda o: [EtaExpandPass(o["expand_constructor"], o["expand_global_var"])],
    "FoldConstant": lambda o: [FoldConstantPass(fold_qnn=o["fold_qnn"])],
    "FoldExplicitPadding": lambda _: [FoldExplicitPaddingPass()],
    "FoldScaleAxis": lambda _: [FoldScaleAxisPass(unsafe=True), FoldConstantPass()],
    "ForwardFoldScaleAxis": lambda _: [FoldScaleAxisPass(directions=("forward",), unsafe=True)],
    "FuseOps": lambda o: [FuseOpsPass(o["fuse_opt_level"], o["max_depth"], o["link_params"])],
    "InferType": lambda _: [InferTypePass()],
    "Inline": lambda _: [InlinePass()],
    "LambdaLift": lambda _: [LambdaLiftPass()],
    "ManifestLifetimes": lambda _: [ManifestLifetimesPass()],
    "MergeCompilerRegions": lambda _: [MergeCompilerRegionsPass()],
    "PartialEvaluate": lambda _: [PartialEvalPass()],
    "PartitionGraph": lambda o: [PartitionGraphPass(o["mod_name"], o["bind_constants"])],
    "RemoveUnusedFunctions": lambda o: [
        RemoveUnusedFunctionsPass(tuple(o["entry_functions"] or ("main",)))
    ],
    "SimplifyExpr": lambda _: [SimplifyExprPass(ignore_signed_zeros=True, reassociate=True)],
    "SimplifyInference": lambda _: [SimplifyInferencePass(unsafe=True)],
    "SplitArgs": lambda o: [SplitArgsPass(o["max_function_args"])],
    "ToANormalForm": lambda _: [ToANormalFormPass()],
    "ToBasicBlockNormalForm": lambda _: [ToBasicBlockNormalFormPass()],
    "ToGraphNormalForm": lambda _: [ToGraphNormalFormPass()],
    "ToMixedPrecision": lambda o: [
        ToMixedPrecisionPass(o["mixed_precision_type"], o["missing_op_mode"])
    ],
}
"""What the project runs for a recorded pass and its options."""


CRASH = "Traceback"
"""How a problem begins that is a crash, and never excused."""


@dataclass(frozen=True)
class Excuse:
    """Why the project does not follow the original in a record."""

    reason: str
    is_read: bool
    """Whether the texts are read and printed as others are."""


def exceptions() -> dict[str, Excuse]:
    """The excuses of exceptions.toml, by the places of records."""
    entries = tomllib.loads(EXCEPTIONS.read_text())["exception"]
    return {
        f"{entry['pass']}.tests.jsonl.xz:{line} {entry['source']}": Excuse(
            entry["reason"], entry.get("read", True)
        )
        for entry in entries
        for line in entry["lines"]
    }


def surprise(problem: str | None, *lists: tuple[Path, bool]) -> str | None:
    """
    What is wrong with how a record ends, if some files may list it as one that does not agree: a
    problem that none lists, a crash, or a line that is not needed.
    """
    listing = [path.name for path, is_listed in lists if is_listed]
    if problem is None:
        return f"agrees now, remove it from {' and '.join(listing)}" if listing else None
    return None if listing and not problem.startswith(CRASH) else problem


def known_differences() -> frozenset[str]:
    """The places of records that are known not to agree yet."""
    lines = KNOWN.read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def update_known_differences(found: Collection[Record], differing: Collection[Record]) -> None:
    """Writes which of some records are known not to agree yet; those of other files stay."""
    files = {record.path.name for record in found}
    places = {place for place in known_differences() if place.partition(":")[0] not in files}
    places.update(record.place for record in differing)
    comment = [line for line in KNOWN.read_text().splitlines() if line.startswith("#")]
    KNOWN.write_text("\n".join([*comment, *sorted(places, key=_by_file_and_line)]) + "\n")


def _by_file_and_line(place: str) -> tuple[str, int]:
    file, _, rest = place.partition(":")
    return file, int(rest.partition(" ")[0])


@contextmanager
def without_collection() -> Iterator[None]:
    """
    Collects garbage at the end instead of again and again: modules are cyclic, and looking through
    all that lives for them takes a fifth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect()
        if enabled:
            gc.enable()


Followers: TypeAlias = dict[Record, "Followers"]
"""Records that go on from another one, each with those that go on from it."""


class Family:
    """
    Records that share texts. A text is read and verified once; what a pass changes is a copy.

    Methods return the first difference, or None. BadInput says that a record is damaged.
    """

    def __init__(self, records: Collection[Record]):
        self.records = records
        self._modules: dict[tuple[str, bool], ModuleOp] = {}
        self._valid: set[str] = set()
        """The texts whose modules verify."""
        self._printed: dict[str, ModuleOp] = {}
        """The modules of what was printed: a typed text and an untyped one often print as one."""
        self._roundtrips: dict[str, str | None] = {}

    def pass_difference(self, record: Record) -> str | None:
        """How what the pass makes of `before` differs from `after`."""
        return _problem(lambda: self._compare(self._passed(record), record))

    def roundtrip_difference(self, record: Record) -> str | None:
        """How the texts differ from what is printed and read again."""
        for side, text in (("before", record.before), ("after", record.after)):
            if text not in self._roundtrips:
                self._roundtrips[text] = _problem(lambda text=text: self._roundtrip(text))
            found = self._roundtrips[text]
            if found is not None:
                return f"{side}: {found}"
        return None

    def chain_differences(self, agreeing: Collection[Record]) -> Iterator[tuple[list[Record], str]]:
        """
        The chains where what their passes make of the first `before`, one after the other, differs from the `after` of
        the last, and how. What several chains begin with is run once.
        """
        heads: Followers = {}
        for chain in self.chains(agreeing):
            followers = heads
            for record in chain:
                followers = followers.setdefault(record, {})
        for head, followers in heads.items():
            yield from self._chained([head], self._passed(head), followers)

    def _chained(
        self, chain: list[Record], module: ModuleOp, followers: Followers
    ) -> Iterator[tuple[list[Record], str]]:
        """The differences of the chains that go on from one, whose passes have made `module`, which they may change."""
        for number, (record, rest) in enumerate(followers.items(), 1):
            longer = [*chain, record]
            made = module if number == len(followers) else module.clone()
            problem = _problem(
                lambda record=record, made=made: self._compare(_applied(record, made), record)
            )
            if problem is None:
                yield from self._chained(longer, made, rest)
            else:
                yield longer, problem

    def chains(self, agreeing: Collection[Record]) -> list[list[Record]]:
        """
        Records each of which has the `after` of the one in front of it as its `before`, as long as
        they get. Typing is no part of a chain, as reading a text is typing it.
        """
        makers: dict[str, list[Record]] = {}
        followers = [record for record in agreeing if record.name != "InferType"]
        for record in followers:
            if record.before != record.after:
                makers.setdefault(record.after, []).append(record)
        chains: list[list[Record]] = []
        for record in followers:
            chain = [record]
            while True:
                first = chain[-1]
                candidates = [r for r in makers.get(first.before, ()) if r not in chain]
                if not candidates:
                    break
                chain.append(min(candidates, key=lambda r: r.source != record.source))
            chains.append(chain[::-1])
        begun = {tuple(chain[:count]) for chain in chains for count in range(len(chain))}
        return [chain for chain in chains if len(chain) > 1 and tuple(chain) not in begun]

    def _module(self, text: str, *, check_types: bool = False) -> ModuleOp:
        """The module of a text, which nobody may change."""
        found = self._modules.get((text, True))
        if found is None and not check_types:
            found = self._modules.get((text, False))
        if found is None:
            found = self._modules[text, check_types] = read_relay_text(
                text, check_types=check_types
            )
        return found

    def _verified(self, text: str) -> ModuleOp:
        """The module of a text, verified."""
        module = self._module(text)
        if text not in self._valid:
            module.verify()
            self._valid.add(text)
        return module

    def _passed(self, record: Record) -> ModuleOp:
        """What the pass makes of `before`."""
        return _applied(record, self._verified(record.before).clone())

    def _compare(self, module: ModuleOp, record: Record) -> str | None:
        # The comments of untyped text may state types of another time.
        typed = record.name == "InferType"
        expected = self._module(record.after, check_types=typed)
        if record.name == "LambdaLift":
            # The original's names are hashes.
            module, expected = renamed(module, expected), renamed(expected, module)
        found = difference(module, expected)
        if found is None:
            self._valid.add(record.after)  # `module` was verified.
        elif typed:
            # The types that the original states have been checked; ours may know more dimensions.
            expected = expected.clone()
            InferTypePass().apply(Context(), expected)
            found = difference(module, expected)
        return found

    def _roundtrip(self, text: str) -> str | None:
        module = self._verified(text)
        texts = {print_relay_text(module, tvm_compatible=c): c for c in (True, False)}
        for printed, tvm_compatible in texts.items():
            again = self._printed.get(printed)
            if again is None:
                again = self._printed[printed] = read_relay_text(printed, "printed")
                if print_relay_text(again, tvm_compatible=tvm_compatible) != printed:
                    return "printing again gives another text"
            found = difference(module, again)
            if found is not None:
                return found
        return None


def _applied(record: Record, module: ModuleOp) -> ModuleOp:
    """`module` after the pass of a record was run on it."""
    try:
        steps = PASSES[record.name](record.options)
    except KeyError as error:
        place = f"{record.path}:{record.line}"
        raise BadInput(f"{place}: 'options' of {record.name} has no {error}") from error
    for step in steps:
        step.apply(Context(), module)
        module.verify()
    return module


def _problem(find: Callable[[], str | None]) -> str | None:
    """What is different, or went wrong."""
    try:
        return find()
    except BadInput:
        raise
    except (DiagnosticException, VerifyException) as error:
        return str(error)
    except Exception:  # noqa: BLE001 A crash is a disagreement; the others still count.
        return traceback.format_exc()
