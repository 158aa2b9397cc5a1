"""From the characters of a Relay text to its tokens."""

import re
from dataclasses import dataclass, field
from enum import IntEnum

from xrelay.frontends.relay_text.errors import Source


class Kind(IntEnum):
    """What a token is."""

    NAME = 0
    """A keyword, an operator (`nn.conv2d`), a type or a constructor."""
    LOCAL = 1
    """`%name`."""
    GRAPH = 2
    """`%12`."""
    GLOBAL = 3
    """`@name`."""
    NUMBER = 4
    FIELD = 5
    """`.2`, a field of a tuple."""
    STRING = 6
    PUNCTUATION = 7
    END = 8


_NAME = r"[^\W\d]\w*"
_SPACE = r"\s+|//[^\r\n]*"
_PLAIN_COMMENT = r"/\*[^*/]*\*/"
"""A comment with none inside, which most are."""
_TOKEN = rf"""
      (?P<NAME>{_NAME}(?:\.{_NAME})*)
    | (?P<GRAPH>%\d+(?!\w))
    | (?P<LOCAL>%\w+(?:[-+]+{_NAME})*)
    | (?P<GLOBAL>@(?:[\w?]+(?:\.[\w?]+)*|"(?:[^"\\\n]|\\.)*"))
    | (?P<NUMBER>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:(?:uint|int|bf|f|i|u)\d*)?)
    | (?P<FIELD>\.\d+)
    | (?P<STRING>"(?:[^"\\\n]|\\.)*")
    | (?P<COMMENT>/\*)
    | (?P<PUNCTUATION>->|=>|==|!=|<=|>=|[-+*/<>=(){{}}\[\],:;.?_])
    """
_SKIPPED = re.compile(f"(?:{_SPACE}|{_PLAIN_COMMENT})*+")
_NEXT = re.compile(rf"(?:{_SPACE}|{_PLAIN_COMMENT})*+(?:{_TOKEN})", re.VERBOSE)
"""The next token, and what stands before it."""
_NEXT_OR_COMMENT = re.compile(rf"(?:{_SPACE})*+(?:{_TOKEN})", re.VERBOSE)
_KINDS = tuple(Kind.__members__.get(name) for name in ("", *_NEXT.groupindex))
"""The kinds of the groups; None for a comment."""
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PRAGMA = re.compile(r'#\[\s*(\w+)\s*(?:=\s*"([^"\n]*)"\s*)?\]')
_VERSION = "0.0.5"
_STATED_TYPE = re.compile(r"/\*\s*ty=(.*?)(?:\s+span=[^\s*]*)?\s*\*/", re.DOTALL)


@dataclass
class Tokens:
    """The tokens of a text, each at one index of three lists, and what stands beside them."""

    source: Source
    kinds: list[Kind] = field(default_factory=list[Kind])
    texts: list[str] = field(default_factory=list[str])
    positions: list[int] = field(default_factory=list[int])
    metadata: tuple[int, int] | None = None
    """Where the text of the metadata section begins and ends."""
    stated: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """The text of the type in the comment `/* ty=… */` behind a token, by the token's index."""


def tokenize(source: Source, *, stated: bool = False) -> Tokens:
    """
    The tokens of a text, up to its metadata section; `stated` asks for the types in comments.

    Raises RelayTextError for characters that begin no token, comments and strings that do not
    end, and versions of the format other than 0.0.5.
    """
    text = source.text
    tokens = Tokens(source)
    kinds, texts, positions = tokens.kinds, tokens.texts, tokens.positions
    match = (_NEXT_OR_COMMENT if stated else _NEXT).match
    position = 0
    while True:
        found = match(text, position)
        if found is None:
            skipped = _SKIPPED.match(text, position)
            assert skipped is not None, "it matches nothing, too"
            position = skipped.end()
            if position == len(text):
                break
            pragma = _PRAGMA.match(text, position)
            if pragma is None:
                raise source.error(position, _unreadable(text, position))
            if pragma[1] == "metadata":
                tokens.metadata = pragma.end(), len(text)
                break
            if pragma[1] != "version" or pragma[2] != _VERSION:
                raise source.error(
                    position, f'found {pragma[0]}, expected #[version = "{_VERSION}"]'
                )
            position = pragma.end()
            continue
        group = found.lastindex
        assert group is not None
        kind = _KINDS[group]
        if kind is None:
            begin = found.start(group)
            position = _comment_end(source, begin)
            type_ = _STATED_TYPE.fullmatch(text, begin, position) if stated else None
            if type_ is not None:
                tokens.stated[len(kinds) - 1] = type_.span(1)
            continue
        kinds.append(kind)
        texts.append(found[group])
        positions.append(found.start(group))
        position = found.end()
    kinds.append(Kind.END)
    texts.append("")
    positions.append(position)
    return tokens


def _comment_end(source: Source, position: int) -> int:
    """Where the comment ends that begins at `position`. Comments nest."""
    depth, end = 0, position
    while True:
        edge = _COMMENT_EDGE.search(source.text, end)
        if edge is None:
            raise source.error(position, "found a comment that does not end, expected */")
        end = edge.end()
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return end


def _unreadable(text: str, position: int) -> str:
    """What to say of characters that begin no token."""
    if text[position] == '"':
        return 'found a string that does not end, expected " on the same line'
    if text.startswith("#[", position):
        return f'found a #[ that is not closed, expected #[version = "{_VERSION}"] or #[metadata]'
    if text[position] in "%@":
        return f"found '{text[position]}' without a name"
    return f"found {text[position]!r}, which begins no token"
