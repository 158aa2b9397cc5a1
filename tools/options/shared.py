"""Options that several commands of `xrelay` have, and what a command is."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from xrelay.dialects.limits import DEFAULT_LIMITS
from xrelay.runtime.arguments import byte_count


@dataclass(frozen=True)
class Command:
    """A command of `xrelay`."""

    text: str
    """What it does, in a line."""
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    place: str
    """What runs it, as `module:function` of `xrelay.tools`: loaded when it is called."""

    def run(self, args: argparse.Namespace) -> int:
        """Runs it; the exit code."""
        module, _, function = self.place.partition(":")
        command = cast(
            Callable[[argparse.Namespace], int],
            getattr(import_module(f"xrelay.tools.{module}"), function),
        )
        return command(args)


def add_model_options(parser: argparse.ArgumentParser, *, tuned: bool = True) -> None:
    """How a model is read and compiled."""
    add_shape_option(parser)
    parser.add_argument(
        "--target",
        default="native",
        help="the CPU: native (default), x86-64, x86-64-v3, x86-64-v4, or with dot products "
        "x86-64-v3-vnni, x86-64-v4-vnni, x86-64-v4-vbmi, x86-64-v4-bf16, x86-64-v4-amx",
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
        help="what products of f32 are computed in: f32 (default), bf16 or f16; with int8 the data of products "
        "with weights of few bits in blocks are rounded to 8 bits",
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
        type=byte_argument,
        default=DEFAULT_LIMITS.max_bytes,
        metavar="N",
        help="refuse models of more bytes of constants and workspace: 500M, 4G (default 1T)",
    )


def add_shape_option(parser: argparse.ArgumentParser) -> None:
    """`--shape`."""
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1,3,224,224",
        help="fix the shape of an input, or as in batch=4 a dimension that the model names; seq=1,512 gives the least and "
        "the greatest length of one that stays open (repeatable)",
    )


def add_backend_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Which engines take part."""
    add_backend_option(
        parser, "engines that run what they support, the preferred one first", required=required
    )
    parser.add_argument(
        "--fallback",
        action="store_true",
        help="run regions that a backend fails at on xrelay's own code, and say so",
    )


def add_backend_option(parser: argparse.ArgumentParser, what: str, *, required: bool) -> None:
    """Installed backends by name, and what they are there for."""
    parser.add_argument(
        "--backend",
        action="append",
        default=[],
        required=required,
        metavar="NAME[,NAME…][:ARGUMENT]",
        help=f"{what} (repeatable); what "
        "follows a colon, as in openvino:nn.conv2d,nn.bias_add, belongs to the last of them",
    )


def add_fusion_options(parser: argparse.ArgumentParser) -> None:
    """Those of `fuse-ops`."""
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


def byte_argument(text: str) -> int:
    """The value of an option that is a number of bytes."""
    count = byte_count(text)
    if count is None:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of bytes, such as 5000, 500M or 4G"
        )
    return count
