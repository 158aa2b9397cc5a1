"""Arguments that several commands read in the same way."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xrelay.dialects.limits import Limits
from xrelay.lowering.emit.target import named_target
from xrelay.lowering.emit.tuning import NO_RECORDS, read_records
from xrelay.options import CompileOptions
from xrelay.precision import FULL, NO_RULES, note, precision_rules
from xrelay.runtime.files import check_writable
from xrelay.tools.errors import BAD_INPUT, CommandFailed

if TYPE_CHECKING:
    from xrelay.analysis.fusion.plan import FusionOptions


STANDARD_OUTPUT = "-"
"""What stands for it among names of files."""


def named_values(arguments: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Repeated NAME=VALUE arguments."""
    result: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not (name and equals and value):
            raise CommandFailed(f"{option} is '{argument}', expected {example}", BAD_INPUT)
        if name in result:
            raise CommandFailed(f"{option} names '{name}' twice", BAD_INPUT)
        result[name] = value
    return result


def shapes(arguments: Sequence[str]) -> dict[str, int | list[int]]:
    """The shapes of inputs, and the lengths of dimensions, given with --shape."""
    result: dict[str, int | list[int]] = {}
    for name, text in named_values(arguments, "--shape", "NAME=1,3,224,224").items():
        try:
            result[name] = [int(number) for number in text.split(",")]
        except ValueError:
            raise CommandFailed(
                f"--shape of '{name}' is '{text}', expected numbers as in 1,3,224,224", BAD_INPUT
            ) from None
    return result


def require_writable(*paths: str | None, model: str | None = None) -> None:
    """
    Raises CommandFailed where a file that is to be written cannot be, or is to be written twice or over the model, before
    the work for it begins.
    """
    written: dict[str, None] = {}
    for path in paths:
        if path is None or path == STANDARD_OUTPUT:
            continue
        place = Path(path)
        known, is_kept = os.path.realpath(place), place.is_file() or not place.exists()
        if is_kept and known in written:  # /dev/null takes whatever comes.
            raise CommandFailed(f"'{path}' is to be written twice, expected two files", BAD_INPUT)
        if model is not None and known == os.path.realpath(model):
            raise CommandFailed(f"'{path}' is the model, expected another file to write", BAD_INPUT)
        written[known] = None
        try:
            check_writable(place)
        except OSError as error:
            reason = error.strerror
            if place.is_dir():
                reason = "it is a directory"
            elif not place.parent.is_dir():
                reason = f"no folder '{place.parent}'"
            raise CommandFailed(f"cannot write '{path}': {reason}", BAD_INPUT) from error


def backends(arguments: Sequence[str]) -> list[str]:
    """
    The backends given with --backend: NAME,NAME,…, the last of which may have an :ARGUMENT. What
    follows a colon belongs to the argument, commas and all.
    """
    result: list[str] = []
    for text in arguments:
        names, colon, argument = text.partition(":")
        *others, last = names.split(",")
        result += [*others, f"{last}{colon}{argument}"]
    return result


def fusion_options(args: argparse.Namespace) -> FusionOptions:
    """The options of --opt-level, --max-depth, --rules and --max-function-args."""
    # A model from the cache runs without xDSL's IR.
    from xrelay.analysis.fusion.plan import FusionOptions

    return FusionOptions(
        args.opt_level,
        args.max_depth,
        max_function_args=args.max_function_args,
        rules=args.rules,
    )


def limits(args: argparse.Namespace) -> Limits:
    """The limits of --max-nodes and --max-bytes."""
    return Limits(args.max_nodes, args.max_bytes)


def compile_options(args: argparse.Namespace, *, profile: bool = False) -> CompileOptions:
    """
    The options of --threads, --target, --no-winograd, --tuning, --max-nodes, --max-bytes, --precision and
    --precision-rules. Says on stderr what becomes of a precision that the target does not have.
    """
    records = NO_RECORDS if args.tuning is None else read_records(Path(args.tuning))
    winograd = not args.no_winograd
    rules = NO_RULES if args.precision_rules is None else precision_rules(args.precision_rules)
    options = CompileOptions(
        args.threads,
        args.target,
        profile,
        winograd,
        records,
        limits(args),
        args.precision,
        rules,
    )
    remark = (
        note(options.precision, named_target(options.target)) if options.precision != FULL else None
    )
    if remark is not None:
        print(f"xrelay: {remark}", file=sys.stderr)
    return options
