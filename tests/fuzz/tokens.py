"""Mutations of texts by tokens."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # strings
    r"|/\*.*?\*/|//[^\n]*"  # comments
    r"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?[a-z0-9]*"  # numbers
    r"|[@%!#^]?[A-Za-z_][\w.$]*|[@%^#]\d+"  # words
    r"|->|==|!=|<=|>=|=>|\s+|.",
    re.DOTALL,
)
"""One token; together they are the text."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = (
    *("0", "1", "-1", "2", "3", "7", "127", "255", "-128", "65536", "2147483647", "-2147483648"),
    *("2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808"),
    *("18446744073709551616", "1e400", "-0.0", "1e-400", "0.5", "1" * 40, "1e9", "nan", "inf"),
)
"""Where programs tend to think of nothing."""
OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
STRANGE = (
    "٣",
    "²",
    "\0",
    "\t",
    "\r",
    "\\",
    '"',
    "'",
    "é",
    "\u2028",
    "😀",
    "/*",
    "*/",
    "//",
    "\x1b",
    "`",
    "~",
)

Tokens: TypeAlias = list[str]
Mutation: TypeAlias = Callable[[Random, Tokens, "Texts"], None]


def tokens_of(text: str) -> Tokens:
    """The tokens of a text, spaces included."""
    return TOKEN.findall(text)


def kind(token: str) -> str:
    """Tokens of one kind can stand for each other without breaking the syntax, mostly."""
    if token.isspace():
        return "space"
    if token[0].isalpha():
        return "operator" if "." in token else "word"
    return "number" if NUMBER.match(token) else token[0]


@dataclass(frozen=True)
class Texts:
    """What texts are mutated, and with what."""

    texts: Sequence[str]
    words: Mapping[str, Sequence[str]]
    """All tokens by kind."""

    @staticmethod
    def of(texts: Sequence[str]) -> "Texts":
        """Texts, and their tokens."""
        words: dict[str, list[str]] = {}
        for token in sorted({token for text in texts for token in tokens_of(text)}):
            words.setdefault(kind(token), []).append(token)
        return Texts(texts, words)

    def draw(self, random: Random) -> str:
        """
        A text with a few changes. More than half of the texts only get changes that mostly leave
        the syntax as it is.
        """
        tokens = tokens_of(random.choice(self.texts))
        gentle = random.random() < 0.6
        times = random.choice((1, 1, 2, 3)) if gentle else random.choice((1, 1, 1, 2, 2, 3, 5, 9))
        for _ in range(times):
            if not tokens:
                break
            if not gentle and random.random() < 0.1:
                splice(random, tokens, tokens_of(random.choice(self.texts)))
            else:
                random.choice(GENTLE if gentle else MUTATIONS)(random, tokens, self)
        return "".join(tokens)


def span(random: Random, tokens: Tokens, longest: int = 12) -> tuple[int, int]:
    """The ends of a short piece."""
    start = random.randrange(len(tokens))
    return start, min(len(tokens), start + random.randint(1, longest))


def word_at(random: Random, tokens: Tokens) -> int:
    """The place of a token that is no space, if one is found."""
    for _ in range(8):
        place = random.randrange(len(tokens))
        if not tokens[place].isspace():
            return place
    return random.randrange(len(tokens))


def any_word(random: Random, texts: Texts) -> str:
    """A token of any kind."""
    return random.choice(texts.words[random.choice(list(texts.words))])


def delete(random: Random, tokens: Tokens, texts: Texts) -> None:
    """Without a short piece."""
    start, end = span(random, tokens)
    del tokens[start:end]


def delete_one(random: Random, tokens: Tokens, texts: Texts) -> None:
    """Without one token."""
    del tokens[word_at(random, tokens)]


def duplicate(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A piece comes twice."""
    start, end = span(random, tokens, 30)
    tokens[end:end] = tokens[start:end]


def swap(random: Random, tokens: Tokens, texts: Texts) -> None:
    """Two tokens change places."""
    first, second = word_at(random, tokens), word_at(random, tokens)
    tokens[first], tokens[second] = tokens[second], tokens[first]


def rename(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A token becomes another one of this text: names, types and operators change places."""
    tokens[word_at(random, tokens)] = tokens[word_at(random, tokens)]


def replace(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A token becomes any word."""
    tokens[word_at(random, tokens)] = any_word(random, texts)


def alike(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A token becomes another one of its kind, of this text or of any."""
    place = word_at(random, tokens)
    same = kind(tokens[place])
    if random.random() < 0.5:
        tokens[place] = random.choice(texts.words.get(same, (tokens[place],)))
    else:
        tokens[place] = random.choice([token for token in tokens if kind(token) == same])


def line(random: Random, tokens: Tokens) -> tuple[int, int]:
    """The ends of a line."""
    ends = [0, *(place + 1 for place, token in enumerate(tokens) if "\n" in token), len(tokens)]
    number = random.randrange(len(ends) - 1)
    return ends[number], ends[number + 1]


def delete_line(random: Random, tokens: Tokens, texts: Texts) -> None:
    """Without a line."""
    start, end = line(random, tokens)
    del tokens[start:end]


def move_line(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A line stands elsewhere."""
    start, end = line(random, tokens)
    moved = tokens[start:end]
    del tokens[start:end]
    if tokens:
        start, _ = line(random, tokens)
        tokens[start:start] = moved


def duplicate_line(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A line comes twice."""
    start, end = line(random, tokens)
    tokens[end:end] = tokens[start:end]


def insert(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A word more."""
    tokens.insert(random.randrange(len(tokens) + 1), any_word(random, texts))


def renumber(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A number becomes another one."""
    places = [place for place, token in enumerate(tokens) if NUMBER.match(token)]
    if places:
        place = random.choice(places)
        start, end = random.choice(list(NUMBER.finditer(tokens[place]))).span()
        tokens[place] = tokens[place][:start] + random.choice(NUMBERS) + tokens[place][end:]


def truncate(random: Random, tokens: Tokens, texts: Texts) -> None:
    """The text ends early."""
    del tokens[random.randrange(len(tokens)) :]


def strange(random: Random, tokens: Tokens, texts: Texts) -> None:
    """A character that does not belong there, in a token or beside it."""
    place = random.randrange(len(tokens))
    cut = random.randint(0, len(tokens[place]))
    tokens[place] = tokens[place][:cut] + random.choice(STRANGE) + tokens[place][cut:]


def group(random: Random, tokens: Tokens) -> tuple[int, int] | None:
    """The ends of something in brackets, brackets included."""
    places = [place for place, token in enumerate(tokens) if token in OPENING]
    if not places:
        return None
    start = random.choice(places)
    depth = 0
    opening, closing = tokens[start], OPENING[tokens[start]]
    for end in range(start, len(tokens)):
        depth += (tokens[end] == opening) - (tokens[end] == closing)
        if not depth:
            return start, end + 1
    return None


def nest(random: Random, tokens: Tokens, texts: Texts) -> None:
    """What is in brackets, inside of itself, a few times or very often."""
    found = group(random, tokens)
    if found is None:
        return
    start, end = found
    inner = group(random, tokens[start + 1 : end - 1])
    times = random.choice((1, 2, 5, 30, 300))
    times = min(times, 1 + 6000 // (end - start))
    if inner is None:
        place = random.randrange(start + 1, end)
        before, after = tokens[start:place], tokens[place:end]
    else:
        before = tokens[start : start + 1 + inner[0]]
        after = tokens[start + 1 + inner[1] : end]
    tokens[start:end] = before * times + tokens[start:end] + after * times


def replace_group(random: Random, tokens: Tokens, texts: Texts) -> None:
    """What is in brackets becomes something else that is."""
    first, second = group(random, tokens), group(random, tokens)
    if first and second:
        tokens[first[0] : first[1]] = tokens[second[0] : second[1]]


def empty_group(random: Random, tokens: Tokens, texts: Texts) -> None:
    """Nothing between brackets."""
    found = group(random, tokens)
    if found:
        del tokens[found[0] + 1 : found[1] - 1]


def splice(random: Random, tokens: Tokens, other: Tokens) -> None:
    """A piece of another text in place of one of this."""
    if not other:
        return
    start, end = span(random, tokens, 20)
    first, last = span(random, other, 60)
    tokens[start:end] = other[first:last]


GENTLE: tuple[Mutation, ...] = (
    *(alike, alike, alike, alike, renumber, renumber),
    *(delete_line, duplicate_line, move_line, swap),
)
"""Those that mostly leave the syntax as it is, some of them more often."""
MUTATIONS: tuple[Mutation, ...] = (
    *(delete, delete_one, duplicate, swap, rename, rename, replace, replace, insert),
    *(truncate, strange, nest, replace_group, empty_group),
    *GENTLE,
)
