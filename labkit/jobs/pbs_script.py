"""A PBS job script, read the way qsub reads it: which lines are directives, which options they hold, what is asked for.

Source: OpenPBS, src/cmds/qsub.c (options, the splitting of a line into words), src/cmds/qsub_sup.c (get_script: where
directives end), src/lib/Libattr/attr_resc_func.c (decode_select), attr_fn_time.c (decode_time), attr_fn_size.c
(to_size); manual pages qsub(1B) and pbs_resources(7B).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

PREFIX = "#PBS"
WITH_VALUE = set("aAcCeJjklmMNopPqrRSuvW")  # getopt's string in qsub_sup.c
WITHOUT_VALUE = set("fhIVXzG")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Directive:
    """One #PBS line. words: as qsub splits it; None: a quotation mark is never closed."""

    line: int
    text: str
    words: tuple[str, ...] | None


@dataclass(frozen=True)
class Option:
    """-N name. letter: "N", or the whole word if qsub knows no such option; value: None where the option has none."""

    line: int
    letter: str
    value: str | None
    known: bool = True


@dataclass(frozen=True)
class SelectChunk:
    """`count` pieces of one host each: 2:ncpus=4:ngpus=1 -> Chunk(2, {"ncpus": "4", "ngpus": "1"})."""

    count: int
    resources: dict[str, str]

    def number(self, name: str, default: int = 0) -> int:
        """A whole number asked for in this chunk, `default` if it is absent or no number."""
        text = self.resources.get(name, "")
        return int(text) if text.isdecimal() else default


@dataclass(frozen=True)
class Script:
    """text: the whole file. late: directives that stand behind the first command; qsub does not read them."""

    text: str
    directives: tuple[Directive, ...]
    late: tuple[Directive, ...]
    options: tuple[Option, ...] = ()
    extra_words: tuple[tuple[int, str], ...] = ()  # (line, word): neither an option nor its value
    requests: tuple[tuple[int, str, str], ...] = ()  # (line, resource, value) of -l, in order
    # (line, text) from the first command on; no comments, no here-documents
    body: tuple[tuple[int, str], ...] = field(default=(), repr=False)

    def option(self, letter: str) -> Option | None:
        """The option's last occurrence: with two -N the second counts."""
        found = [option for option in self.options if option.known and option.letter == letter]
        return found[-1] if found else None

    def request(self, name: str) -> tuple[int, str] | None:
        """(line, value) of -l NAME=VALUE. The first one: in directives qsub does not replace a resource."""
        return next(((line, value) for line, asked, value in self.requests if asked == name), None)

    def chunks(self) -> list[SelectChunk]:
        """The chunks that -l select asks for; none if there is none or qsub would refuse it."""
        asked = self.request("select")
        try:
            return parse_select(asked[1]) if asked else []
        except ValueError:
            return []


def read_script(text: str) -> Script:
    """Reads a script as qsub does. Never raises: what is wrong in it is what `labkit.jobs.pbs_lint` is for."""
    directives, late, body = _directives(text)
    options, extra = [], []
    for directive in directives:
        found, left = _options(directive)
        options += found
        extra += [(directive.line, word) for word in left]
    requests = tuple(
        (option.line, name, value)
        for option in options
        if option.known and option.letter == "l"
        for name, value in split_resources(option.value or "")
    )
    return Script(
        text,
        tuple(directives),
        tuple(late),
        tuple(options),
        tuple(extra),
        requests,
        tuple(one for one in body if one[1]),
    )


def _directives(text: str) -> tuple[list[Directive], list[Directive], list[tuple[int, str]]]:
    """(those that count, those behind the first command, the commands' lines): get_script in qsub_sup.c.

    A directive may be indented, needs no blank behind #PBS, and goes on in the next line behind a backslash.
    """
    before, after, body = [], [], []
    lines = _joined(text)
    for number, line in lines:
        stripped = line.strip()
        if stripped.startswith(PREFIX):
            directive = Directive(number, stripped[len(PREFIX) :], split_words(stripped[len(PREFIX) :]))
            (after if body else before).append(directive)
        elif body or stripped and not stripped.startswith("#") and not line.startswith(":"):
            body.append((number, re.sub(r"(^|\s)#.*", "", line).rstrip()))
            if here := re.search(r"<<(-?)\s*[\"']?(\w+)", body[-1][1]):
                for _, inner in lines:
                    if (inner.lstrip("\t") if here[1] else inner) == here[2]:
                        break
    return before, after, body


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first, text) of each line, with those that a backslash at its end adds to it."""
    lines = enumerate((line.rstrip("\r") for line in text.split("\n")), 1)
    for number, line in lines:
        while line.endswith("\\") and (more := next(lines, None)):
            line = line[:-1] + more[1].strip()
        yield number, line


def split_words(text: str) -> tuple[str, ...] | None:
    """A line in words at blanks, quoted parts together, without the marks; None if a quotation is not closed
    (make_argv)."""
    reader = shlex.shlex(text, posix=True)
    reader.whitespace_split, reader.commenters, reader.escapedquotes = True, "", ""
    try:
        return tuple(reader)
    except ValueError:
        return None


def _options(directive: Directive) -> tuple[list[Option], list[str]]:
    """(options, words left over) of one directive: what getopt makes of it."""
    options, left = [], []
    words = iter(directive.words or ())
    for word in words:
        if word.startswith("--"):
            options.append(Option(directive.line, word, None, known=False))
        elif not word.startswith("-") or word == "-":
            left.append(word)
        else:
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in WITH_VALUE:
                    options.append(Option(directive.line, letter, letters or next(words, None)))
                    break
                options.append(Option(directive.line, letter, None, known=letter in WITHOUT_VALUE))
                if letter not in WITHOUT_VALUE:
                    break
    return options, left


def split_resources(text: str) -> list[tuple[str, str]]:
    """select=2:ncpus=4,walltime=1:00:00 -> [("select", "2:ncpus=4"), ("walltime", "1:00:00")] (set_resources)."""
    pairs = []
    for part in _split_outside_quotes(text, ","):
        name, _, value = part.partition("=")
        if name.strip():
            pairs.append((name.strip(), value.strip()))
    return pairs


def parse_select(text: str) -> list[SelectChunk]:
    """2:ncpus=4:mpiprocs=4+1:ncpus=1 as chunks. Raises ValueError with a sentence where qsub would refuse it."""
    chunks = []
    for part in _split_outside_quotes(text, "+"):
        pieces = _split_outside_quotes(part, ":")
        count = int(pieces.pop(0)) if pieces[0].isdecimal() else 1
        resources: dict[str, str] = {}
        for piece in pieces:
            name, equals, value = piece.partition("=")
            if not NAME.fullmatch(name) or not equals or not value:
                raise ValueError(f"`{piece or part}` is not of the form resource=value")
            if name in resources:
                raise ValueError(f"`{name}` stands twice in one chunk")
            resources[name] = value
        chunks.append(SelectChunk(count, resources))
    return chunks


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    parts, quote = [""], ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        if character == separator and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def seconds(text: str) -> int | None:
    """1:30:00 -> 5400, 90 -> 90; None if it is no duration ([[hours:]minutes:]seconds[.fraction]): decode_time."""
    match = re.fullmatch(r"(?:(?:(\d+):)?(\d+):)?(\d+)(?:\.\d*)?", text, re.ASCII)
    if not match:
        return None
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


def size_in_bytes(text: str) -> int | None:
    """16gb -> 17179869184 (a word counts as 8 bytes); None if it is no size: to_size."""
    match = re.fullmatch(r"(\d+)([kmgtp]?)([bw]?)", text, re.ASCII | re.IGNORECASE)
    if not match:
        return None
    number, prefix, unit = match.groups()
    return int(number) * 1024 ** " kmgtp".index(prefix.lower() or " ") * (8 if unit.lower() == "w" else 1)
