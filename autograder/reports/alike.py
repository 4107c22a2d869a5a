"""Names that are a classmate's, look like one or have one among their words: the public records show none of them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from autograder.grading.submission.reading import readable_name
from autograder.reports.marks import StudentMarks

# What can be taken for a letter, of Latin, Cyrillic, Greek and Armenian, and digits. No letter that stands behind a
# colon stands before one, so nothing has to be looked up twice (i looks like l, and everything like i does).
_LOOKS = {
    "a": "аαɑ4",
    "b": "вβɓь86",
    "c": "с",
    "d": "ԁđɗð",
    "e": "еεəɛзэ3",
    "g": "ցɡԍ9",
    "h": "нηһհħ",
    "j": "јϳ",
    "k": "кκƙ",
    "l": "iıɩιіłӏ1|",
    "m": "м",
    "n": "ոŋп",
    "o": "оοօøɔσθ0",
    "p": "рρþ",
    "q": "ԛզ",
    "r": "г",
    "s": "ѕſ5",
    "t": "тτŧ7",
    "u": "υսи",
    "v": "νѵ",
    "w": "ԝωшѡ",
    "x": "хχ",
    "y": "уγƴү",
    "z": "ζ2",
    "ae": "æ",
    "oe": "œ",
}
_ALIKE = {ord(one): letter for letter, those in _LOOKS.items() for one in those}
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))  # letters that look like one
# What may also be read as something else, before case is left out. Each is tried beside the name as it stands.
_READINGS = (
    (re.compile("N[Il1]|[Il1]V[Il1]"), "M"),
    (re.compile("[Il1]3"), "B"),
    (re.compile("ß"), "B"),
    (re.compile("6"), "G"),
    (re.compile("9"), "q"),
    (re.compile("Ν"), "N"),  # Greek capitals: the small ones look like other letters
    (re.compile("Υ"), "Y"),
)
_CAPITAL = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # where a word begins inside another
_LONG = 6  # letters of a name that is found inside a word, too; and of an account that is found between words
_LONG_SIGNS = 2  # the same where signs stand for words
_PART = 4  # letters of a surname's part that counts alone: not "van" and "der"
# Alphabets that names are written in today (Unicode's UAX 31, table 5), as the names of their letters begin; the three
# of Japanese count as one. The others have letters that look like Latin ones: Cherokee, Lisu, Coptic, Deseret.
_ALPHABETS = frozenset(
    "ARABIC ARMENIAN BENGALI BOPOMOFO CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI HANGUL CJK HEBREW "
    "KANNADA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAANA THAI TIBETAN".split()
)
_JAPANESE = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "IDEOGRAPHIC": "CJK"}
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyzßæœøłđðþıħŋŧəɛɔɓɗƙƴ")  # and those that are one of these with a sign
# What is not seen, of Unicode's Default_Ignorable_Code_Point
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class Taken:
    """The names of a class, and whose each is."""

    def __init__(self, rows: Sequence[StudentMarks]):
        self.owners: dict[str, set[str]] = defaultdict(set)  # by every reading of a whole name
        self.looks: dict[str, set[str]] = defaultdict(set)  # of each student's names as they stand
        self.words: dict[str, set[str]] = defaultdict(set)
        self.parts: dict[frozenset[str], set[str]] = defaultdict(set)  # words that make a name known
        self.joined: dict[str, set[str]] = defaultdict(set)  # names without blanks
        for row in rows:
            self._add(row)

    def _add(self, row: StudentMarks) -> None:
        student, name = row.student, f"{row.first_name} {row.last_name}".strip()
        for one in (student, row.full_name, name, row.last_name, row.email):
            for reading in _readings(one):
                for look in looks(reading):
                    self.owners[look].add(student)
        for one in (student, row.full_name, name, row.email):
            self.looks[student] |= looks(one)
        self.words[student] = {word for one in (student, name) for word in _words(one)}
        surname = _words(row.last_name)
        account = _words(student) if len(student) >= _LONG or re.search(r"\d", student) else []
        for part in (_words(name), surname, account, *([word] for word in surname if len(word) >= _PART)):
            if sum(map(len, part)) > 1 or (part and _of_signs(part[0])):
                self.parts[frozenset(part)].add(student)
        for one in (f"{row.first_name}{row.last_name}", f"{row.last_name}{row.first_name}"):
            joined = "".join(_words(one))
            if row.last_name and len(joined) >= (_LONG_SIGNS if _of_signs(joined) else _LONG):
                self.joined[joined].add(student)

    def why_not(self, student: str, name: str) -> str:
        """The end of a sentence on why `student` cannot be listed as `name`; "" where they can."""
        if looks(name) & self.looks[student]:
            return ""
        readings = _readings(name)
        whole = {look for one in readings for look in looks(one) | looks(_without_numbers(one))}
        owners = [self.owners[look] for look in whole if look in self.owners]
        if any(student not in those for those in owners):
            return "which is the name of somebody else in the class"
        if any(self._has_another(student, one) for one in readings):
            return "which has the name of somebody else in the class in it"
        if not owners and not _of_one_alphabet(name):
            return "which is not in the letters of one alphabet"
        return ""

    def _has_another(self, student: str, name: str) -> bool:
        apart = (name, _CAPITAL.sub(" ", name), re.sub(r"\d+", " ", name))
        words = {word for one in apart for word in _neighbours(_words(one))}
        joined, mine = "".join(_words(name)), self.words[student]
        parts = (those for part, those in self.parts.items() if part <= words and not part <= mine)
        inside = (those for one, those in self.joined.items() if one in joined)
        return any(student not in those for found in (parts, inside) for those in found)


def looks(name: str) -> set[str]:
    """The look of a name, in two forms: its words sorted, and joined; without punctuation, accents and case, and with
    letters that look alike made one."""
    words = _words(name)
    return {" ".join(sorted(words)), _without_pairs("".join(words))} if words else set()


def _words(name: str) -> list[str]:
    """The words of a name as they look."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", readable_name(name)).casefold())
    folded = "".join(letter for letter in folded if not unicodedata.combining(letter))
    return [_without_pairs(word) for word in re.findall(r"[^\W_]+", folded.casefold().translate(_ALIKE))]


def _neighbours(words: list[str]) -> set[str]:
    """The words, and those that neighbours make together."""
    return {"".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}


def _without_pairs(look: str) -> str:
    for pair, one in _PAIRS:
        look = look.replace(pair, one)
    return look


def _readings(name: str) -> set[str]:
    """The name, and what else may be read in it."""
    found = {name}
    for pattern, one in _READINGS:
        found |= {pattern.sub(one, reading) for reading in found}
    return found


def _without_numbers(name: str) -> str:
    """The name without what is no letter before and behind it."""
    return re.sub(r"^[\W\d_]+|[\W\d_]+$", "", name)


def _of_signs(word: str) -> bool:
    """True for a word that begins with a Chinese or Japanese sign."""
    return unicodedata.name(word[:1] or " ", "").startswith("CJK")


def _of_one_alphabet(name: str) -> bool:
    """True where nothing in a name is unseen, and all its letters are of one alphabet in which names are written."""
    letters = [letter for letter in unicodedata.normalize("NFKC", name) if letter.isalnum() and not letter.isascii()]
    first = (unicodedata.name(letter, "?").replace("-", " ").split()[0] for letter in letters)
    alphabets = {_JAPANESE.get(word, word) for word in first}
    if re.search("[A-Za-z]", name):
        alphabets.add("LATIN")
    strange = [one for one in letters if "LATIN" in alphabets and not set(_base(one)) <= _LATIN]
    return not _UNSEEN.search(name) and len(alphabets) <= 1 and alphabets <= _ALPHABETS and not strange


def _base(letter: str) -> str:
    """A letter without its signs and case."""
    return "".join(one for one in unicodedata.normalize("NFKD", letter.casefold()) if not unicodedata.combining(one))
