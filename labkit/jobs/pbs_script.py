"""A PBS job script, read the way qsub reads it: which lines are directives, which options they hold, what is asked for.

Source: OpenPBS, src/cmds/qsub.c (options, the splitting of a line into words), src/cmds/qsub_sup.c (get_script: where directives end),
src/lib/Libattr/attr_resc_func.c (decode_select), attr_fn_time.c (decode_time), attr_fn_size.c (to_size); manual pages qsub(1B) and
pbs_resources(7B). The shell's part of the script is split into commands well enough for `labkit.jobs.pbs_lint`; it is not a shell.
"""

from __future__ import annotations

import re
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
class Chunk:
    """`count` pieces of one host each: 2:ncpus=4:ngpus=1 -> Chunk(2, {"ncpus": "4", "ngpus": "1"})."""

    count: int
    resources: dict[str, str]

    def number(self, name: str, default: int = 0) -> int:
        """A whole number asked for in this chunk, `default` if it is absent or no number."""
        text = self.resources.get(name, "")
        return int(text) if text.isdigit() else default


@dataclass(frozen=True)
class Command:
    """One simple command of the script's body. words: without quotation marks; targets: files it is redirected to or from."""

    line: int
    raw: str
    words: tuple[str, ...]
    targets: tuple[str, ...] = ()
    background: bool = False


@dataclass(frozen=True)
class Script:
    """text: the whole file. late: directives that stand behind the first command; qsub does not read them."""

    text: str
    directives: tuple[Directive, ...]
    late: tuple[Directive, ...]
    options: tuple[Option, ...] = ()
    extra_words: tuple[tuple[int, str], ...] = ()  # (line, word): neither an option nor its value
    requests: tuple[tuple[int, str, str], ...] = ()  # (line, resource, value) of -l, in order
    commands: tuple[Command, ...] = field(default=(), repr=False)

    def option(self, letter: str) -> Option | None:
        """The last one: with two -N, the second counts."""
        found = [option for option in self.options if option.known and option.letter == letter]
        return found[-1] if found else None

    def request(self, name: str) -> tuple[int, str] | None:
        """(line, value) asked for by -l NAME=VALUE. The first one: in directives qsub does not replace a resource."""
        return next(((line, value) for line, asked, value in self.requests if asked == name), None)

    def chunks(self) -> list[Chunk]:
        """What -l select asks for; nothing if there is none or qsub would refuse it."""
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
    requests = [
        (option.line, name, value)
        for option in options
        if option.known and option.letter == "l"
        for name, value in split_resources(option.value or "")
    ]
    return Script(
        text, tuple(directives), tuple(late), tuple(options), tuple(extra), tuple(requests), tuple(split_commands(text, body))
    )


def _directives(text: str) -> tuple[list[Directive], list[Directive], int]:
    """(those that count, those behind the first command, offset of the first command): get_script in qsub_sup.c.

    A directive may be indented, needs no blank behind #PBS, and goes on in the next line behind a backslash.
    """
    before, after = [], []
    body, offset = None, 0
    lines = text.splitlines(keepends=True)
    number = 0
    while number < len(lines):
        line, first = lines[number], number + 1
        start = offset
        offset += len(line)
        number += 1
        stripped = line.strip()
        if stripped.startswith(PREFIX):
            while stripped.endswith("\\") and number < len(lines):
                stripped = stripped[:-1] + lines[number].strip()
                offset += len(lines[number])
                number += 1
            directive = Directive(first, stripped[len(PREFIX) :], split_words(stripped[len(PREFIX) :]))
            (before if body is None else after).append(directive)
        elif body is None and stripped and not stripped.startswith("#") and not line.startswith(":"):
            body = start
    return before, after, len(text) if body is None else body


def split_words(text: str) -> tuple[str, ...] | None:
    """A line in words at blanks, quoted parts together, without the marks; None if a quotation is not closed: make_argv in qsub.c."""
    words: list[str] = []
    word, quote, characters = None, "", iter(text)
    for character in characters:
        if quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "\"'":
            word, quote = word or "", character
        elif character == "\\":
            word = (word or "") + next(characters, "")
        elif character.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + character
    if quote:
        return None
    return tuple(words if word is None else [*words, word])


def _options(directive: Directive) -> tuple[list[Option], list[str]]:
    """(options, words left over) of one directive: what getopt makes of it."""
    options, left = [], []
    words = iter(directive.words or ())
    for word in words:
        if word.startswith("--") or not word.startswith("-") or word == "-":
            if word.startswith("--"):
                options.append(Option(directive.line, word, None, known=False))
            else:
                left.append(word)
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter in WITH_VALUE:
                options.append(Option(directive.line, letter, letters or next(words, None)))
                letters = ""
            else:
                options.append(Option(directive.line, letter, None, known=letter in WITHOUT_VALUE))
                if letter not in WITHOUT_VALUE:
                    letters = ""
    return options, left


def split_resources(text: str) -> list[tuple[str, str]]:
    """select=2:ncpus=4,walltime=1:00:00 -> [("select", "2:ncpus=4"), ("walltime", "1:00:00")]: set_resources in set_resource.c."""
    pairs = []
    for part in _split_outside_quotes(text, ","):
        name, _, value = part.partition("=")
        if name.strip():
            pairs.append((name.strip(), value.strip()))
    return pairs


def parse_select(text: str) -> list[Chunk]:
    """2:ncpus=4:mpiprocs=4+1:ncpus=1 as chunks. Raises ValueError with a sentence where qsub would refuse it (decode_select)."""
    chunks = []
    for part in _split_outside_quotes(text, "+"):
        pieces = _split_outside_quotes(part, ":")
        count = 1
        if pieces[0].isdigit():
            count = int(pieces.pop(0))
        resources: dict[str, str] = {}
        for piece in pieces:
            name, equals, value = piece.partition("=")
            if not NAME.fullmatch(name) or not equals or not value:
                raise ValueError(f"`{piece or part}` is not of the form resource=value")
            if name in resources:
                raise ValueError(f"`{name}` stands twice in one chunk")
            resources[name] = value
        chunks.append(Chunk(count, resources))
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
    """1:30:00 -> 5400, 90 -> 90; None if it is no duration ([[hours:]minutes:]seconds[.fraction]): decode_time in attr_fn_time.c."""
    match = re.fullmatch(r"(?:(?:(\d+):)?(\d+):)?(\d+)(?:\.\d*)?", text, re.ASCII)
    if not match:
        return None
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


def size_in_bytes(text: str) -> int | None:
    """16gb -> 17179869184 (a word counts as 8 bytes); None if it is no size: a whole number, then k, m, g, t or p, then b or w."""
    match = re.fullmatch(r"(\d+)([kmgtp]?)([bw]?)", text, re.ASCII | re.IGNORECASE)
    if not match:
        return None
    number, prefix, unit = match.groups()
    return int(number) * 1024 ** " kmgtp".index(prefix.lower() or " ") * (8 if unit.lower() == "w" else 1)


# The shell's part -----------------------------------------------------------------------------------------------------------

_KEYWORDS = {
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "while",
    "until",
    "do",
    "done",
    "case",
    "esac",
    "{",
    "}",
    "!",
    "time",
    "function",
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=")
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|&>>|&>|<<<|<<-|<<|>>|>&|<&|>\||[;&|()<>\n]")


def split_commands(text: str, start: int = 0) -> list[Command]:
    """The simple commands from offset `start` on, in order, with their line numbers; comments and here-documents are left out."""
    return _Splitter(text, start).run()


class _Splitter:
    def __init__(self, text: str, start: int):
        self.text, self.at = text, start
        self.commands: list[Command] = []
        self.here: list[tuple[str, bool]] = []  # here-documents announced in this line: (end, may be indented)
        self.fresh()

    def fresh(self) -> None:
        self.begin: int | None = None
        self.words: list[str] = []
        self.targets: list[str] = []
        self.redirected = ""  # the operator whose target comes next

    def run(self) -> list[Command]:
        while self.at < len(self.text):
            character = self.text[self.at]
            operator = _OPERATOR.match(self.text, self.at)
            if character in " \t\r":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif character == "#":
                self.at = self.end_of_line()
            elif operator:
                self.operator(operator.group())
            else:
                self.word()
        self.end_command()
        return self.commands

    def end_of_line(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def operator(self, operator: str) -> None:
        self.at += len(operator)
        if operator[0] in "<>" or operator.startswith("&>"):
            if operator in ("<", ">") and self.text.startswith("(", self.at):  # <(command): a file made by a command
                self.at = _end_of_bracket(self.text, self.at)
                return
            self.redirected = operator
            return
        self.end_command(background=operator == "&")
        if operator == "(" and self.text.startswith("(", self.at):  # ((arithmetic))
            self.at = _end_of_bracket(self.text, self.at - 1)
        if operator == "\n":
            self.skip_here_documents()

    def word(self) -> None:
        begin = self.at
        value = ""
        while self.at < len(self.text):
            piece, self.at = _piece(self.text, self.at)
            value += piece
            if self.at < len(self.text) and (self.text[self.at] in " \t\r" or _OPERATOR.match(self.text, self.at)):
                break
        if self.begin is None:
            self.begin = begin
        if self.redirected in ("<<", "<<-"):
            self.here.append((value, self.redirected == "<<-"))
        elif self.redirected:
            if self.redirected != "<<<" and not (value.isdigit() or value == "-"):
                self.targets.append(value)
        elif not (self.text[self.at : self.at + 1] in "<>" and self.text[self.at : self.at + 1] and value.isdigit()):  # 2>file
            self.words.append(value)
        self.redirected, self.end = "", self.at

    def end_command(self, background: bool = False) -> None:
        words = list(self.words)
        while words and words[0] in _KEYWORDS:
            words.pop(0)
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if self.begin is not None:
            raw = self.text[self.begin : self.end]
            line = self.text.count("\n", 0, self.begin) + 1
            self.commands.append(Command(line, raw, tuple(words), tuple(self.targets), background))
        self.fresh()

    def skip_here_documents(self) -> None:
        for end, indented in self.here:
            while self.at < len(self.text):
                stop = self.end_of_line()
                line, self.at = self.text[self.at : stop], min(stop + 1, len(self.text))
                if (line.lstrip("\t") if indented else line) == end:
                    break
        self.here = []


def _piece(text: str, at: int) -> tuple[str, int]:
    """(what the shell takes literally, offset behind it) of the next part of a word; substitutions stay as they are written."""
    character = text[at]
    if character == "\\":
        return ("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2]), at + 2
    if character == "'":
        end = text.find("'", at + 1)
        end = len(text) if end < 0 else end
        return text[at + 1 : end], end + 1
    if character == '"':
        value, at = "", at + 1
        while at < len(text) and text[at] != '"':
            piece, at = (text[at], at + 1) if text[at] == "'" else _piece(text, at)
            value += piece
        return value, at + 1
    if character == "`":
        end = text.find("`", at + 1)
        end = len(text) if end < 0 else end + 1
        return text[at:end], end
    if character == "$" and text[at + 1 : at + 2] in ("(", "{"):
        end = _end_of_bracket(text, at + 1)
        return text[at:end], end
    return character, at + 1


def _end_of_bracket(text: str, at: int) -> int:
    """The offset behind the bracket that closes the one at `at`; quotations inside may hold brackets."""
    opening = text[at]
    closing = {"(": ")", "{": "}"}[opening]
    depth = 0
    while at < len(text):
        if text[at] == opening:
            depth += 1
            at += 1
        elif text[at] == closing:
            depth -= 1
            at += 1
            if not depth:
                return at
        else:
            _, at = _piece(text, at)
    return len(text)
