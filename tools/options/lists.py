"""The commands that list what there is: cache, ops and passes."""

import argparse

from xrelay.tools.options.shared import Command

CACHE_EXAMPLES = """\
examples:
  xrelay cache             the folder and what it holds
  xrelay cache --clear     remove all entries

XRELAY_CACHE_DIR is the folder, XRELAY_CACHE_SIZE what it may take (4G by default, 0 for no cache).
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


def _add_cache(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument(
        "--info", action="store_true", help="show the folder and its entries (the default)"
    )
    actions.add_argument("--clear", action="store_true", help="remove all entries")


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


COMMANDS = {
    "cache": Command(
        "show or clear the compiled models on disk", CACHE_EXAMPLES, _add_cache, "cache:show_cache"
    ),
    "ops": Command(
        "list the operators, and what is done with each",
        OPS_EXAMPLES,
        _add_ops,
        "ops:show_operators",
    ),
    "passes": Command(
        "list the passes, or say all about some", PASSES_EXAMPLES, _add_passes, "passes:show_passes"
    ),
}
