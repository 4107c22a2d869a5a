"""Compare what the grader says before and after a change: every verdict of one tree beside those of another.

    python tools/compare_verdicts.py take before.json [WHAT ...] [--tree DIR] [--key KEY]
    python tools/compare_verdicts.py compare before.json after.json [WHAT ...] [--words]
    python tools/compare_verdicts.py against before.json WHAT ... [--words]

`take` judges the bank's answers, whole, with the code and the bank that lie in DIR (this tree where none is given: a
worktree of another commit serves as well), runs the attacks, and writes what came out. WHAT: a unit (03), an exercise
(03/ring_all_reduce) or `attacks`; nothing: all of it. Into a file that is there already the new results are merged, so
that units can be taken one after the other. `against` takes WHAT from DIR, judges what came out otherwise once more (a
busy machine makes a slow answer too slow), and compares.

A file holds, by UNIT/EXERCISE/FILE, `verdict`, `diagnosis`, `score`, `levels` (name: verdict, points), `cases` (level,
verdict, diagnosis) and `hint`, the words; by the attack's name, `allowed`, `verdict`, `diagnosis` and `problems`
(everything that must not have come of it), and for whole submissions and folders the `outcome` of their test.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = "public"
ATTACKS = "attacks"
COMPARED = ("verdict", "diagnosis", "score", "levels", "cases")  # of an answer
OF_ATTACKS = ("outcome", "problems")  # which of the verdicts that are allowed it gets may depend on the moment


# -- taking


@dataclass(frozen=True)
class What:
    """A part of the bank and of the attacks, from the words that name it."""

    words: tuple[str, ...]

    @property
    def answers(self) -> bool:
        return self.words != (ATTACKS,)

    @property
    def attacks(self) -> bool:
        return not self.words or ATTACKS in self.words

    def of(self, answers: dict[str, dict]) -> dict[str, dict]:
        """The answers that WHAT selects."""
        return {name: found for name, found in answers.items() if self.means(name)}

    def means(self, name: str) -> bool:
        """True if the answer `name`, UNIT/EXERCISE/FILE, is meant."""
        unit, exercise, _ = name.split("/")
        number = unit.split("_")[0]
        names = {unit, number, f"{unit}/{exercise}", f"{number}/{exercise}", name}
        return not self.words or not names.isdisjoint(self.words)


def of_tree(tree: Path) -> None:
    """Go on as a program of that tree: its packages first on the path, for us and for every process we start."""
    path = [str(tree), str(tree / "tests" / "support"), str(tree / "tests")]
    if os.environ.get("PYTHONPATH", "").split(os.pathsep)[: len(path)] != path:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    import autograder

    if not Path(autograder.__file__).is_relative_to(tree):
        raise SystemExit(f"{autograder.__file__} is not of {tree}")


def judged(tree: Path, what: What, key: str) -> Iterator[tuple[str, dict]]:
    """(name, result) of each answer of WHAT in the bank of `tree`. "failed": the judge did."""
    from autograder.judging import bank

    with bank.Launcher() as launcher, bank.Runners(launcher, windows=2) as runners:
        for answer in bank.answers(place if (place := tree / "tests" / "bank").is_dir() else tree / "units"):
            name = file_of(answer)
            if what.means(name):
                try:
                    yield name, of_answer(bank, runners, answer, key)
                except Exception as error:  # the others can be judged all the same
                    yield name, {"verdict": "failed", "diagnosis": f"{type(error).__name__}: {error}"}


def file_of(answer) -> str:
    """ "UNIT/EXERCISE/right_NAME.py", also in a tree where each answer of the bank was a file."""
    return answer.file if hasattr(answer, "file") else "/".join(answer.path.parts[-3:])


def source_of(answer) -> str:
    """The text of an answer, in both kinds of tree."""
    return answer.source if hasattr(answer, "source") else answer.path.read_text()


def of_answer(bank, runners, answer, key: str) -> dict:
    """The verdict on one file of the bank, with all levels judged."""
    from autograder.judging.judge import judge_with

    exercise, source = answer.exercise, source_of(answer)
    try:
        chunks, note = bank.chunks_of_file(source, exercise.function, "answer.py"), ""
    except (SyntaxError, ValueError) as error:
        chunks, note = None, f"no valid Python: {error}"
    if chunks is not None:
        uses = [bank.find(name) for name in exercise.uses]
        chunks = bank.with_references(chunks, uses, bank.bound_names(source))
    result = judge_with(runners, exercise, chunks, key=key, note=note)
    return {
        "verdict": result.verdict,
        "diagnosis": result.diagnosis,
        "score": f"{result.score} of {result.max_score}",
        "levels": {level.name: [level.verdict, level.score] for level in result.levels},
        "cases": [[case.level, case.verdict, case.diagnosis] for case in result.cases],
        "hint": result.hint,
    }


def attacked(tree: Path) -> Iterator[tuple[str, dict]]:
    """(name, what came of it) of each attack of `tree`: answers here, whole submissions and folders by their tests."""
    import attack_course

    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch, attack_course.Range(Path(scratch)) as place:
        for attack in attack_course.all_attacks():
            report = place.run(attack)
            found = {"allowed": attack.verdict, "verdict": report.verdict, "diagnosis": report.diagnosis}
            yield attack.name, {**found, "problems": report.problems(attack)}
    tests = [str(path) for name in ("test_attacks.py", "test_folders.py") for path in (tree / "tests").rglob(name)]
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-k", "test_submission or test_folder", *tests]
        subprocess.run([*command, f"--junitxml={report}"], cwd=tree, stdout=subprocess.DEVNULL, check=False)
        for case in ElementTree.parse(report).iter("testcase"):
            bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            yield case.get("name"), {"outcome": bad[0] if bad else "passed"}


def take(path: Path, what: What, tree: Path, key: str) -> dict:
    """Judge WHAT of `tree` and merge it into the file; its content. What is no longer there leaves it."""
    content = json.loads(path.read_text()) if path.exists() else {"key": key, "answers": {}, "attacks": {}}
    if content["key"] != key:
        raise SystemExit(f"{path} was taken with the key {content['key']!r}, not {key!r}")
    if what.answers:
        content["answers"] = {name: found for name, found in content["answers"].items() if not what.means(name)}
        for name, found in judged(tree, what, key):
            content["answers"][name] = found
            said(f"{len(content['answers'])} {name}: {found['verdict']} {found['diagnosis']}")
            if len(content["answers"]) % 20 == 0:
                write(path, content)
    if what.attacks:
        content["attacks"] = {}
        for name, found in attacked(tree):
            content["attacks"][name] = found
            said(f"{name}: {found.get('outcome') or found['verdict']}")
    write(path, content)
    return content


def write(path: Path, content: dict) -> None:
    path.write_text(json.dumps({**content, "answers": dict(sorted(content["answers"].items()))}, indent=1) + "\n")


def said(line: str) -> None:
    """Prints progress."""
    print(line, file=sys.stderr, flush=True)


# -- comparing


def compared(before: dict, after: dict, what: What, words: bool = False) -> list[str]:
    """A line for each difference between two files' contents in WHAT."""
    lines = []
    if what.answers:
        fields = (*COMPARED, "hint") if words else COMPARED
        lines += differences(what.of(before["answers"]), what.of(after["answers"]), fields)
    if what.attacks:
        lines += differences(before["attacks"], after["attacks"], OF_ATTACKS)
    return lines


def differences(old: dict[str, dict], new: dict[str, dict], fields: tuple[str, ...]) -> list[str]:
    """The entries that only one of both has, and those that differ in one of these fields."""
    lines = [f"only before: {name}" for name in sorted(old.keys() - new.keys())]
    lines += [f"only after: {name}" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        for field in fields:
            was, now = old[name].get(field), new[name].get(field)
            if was != now:
                lines.append(f"{name}: {field} was {was!r}, is {now!r}")
    return lines


def tell(before: dict, after: dict, what: What, words: bool) -> int:
    """The number of differences, after printing them with the counts."""
    lines = compared(before, after, what, words)
    for line in lines:
        print(line)
    answers = what.of(before["answers"]).keys() & after["answers"].keys() if what.answers else ()
    attacks = before["attacks"].keys() & after["attacks"].keys() if what.attacks else ()
    print(f"{len(answers)} answers in both, {len(attacks)} attacks in both, {len(lines)} differences")
    verdicts = {name: [side["attacks"][name].get("verdict") for side in (before, after)] for name in sorted(attacks)}
    otherwise = [f"{name} ({was}, {now})" for name, (was, now) in verdicts.items() if was != now]
    if otherwise:
        print(f"with another verdict, of those that are allowed: {', '.join(otherwise)}")
    return len(lines)


def against(before: dict, what: What, tree: Path, words: bool) -> int:
    """Take WHAT from `tree`, what differs twice, and compare with `before`; how many differences there are."""
    with tempfile.TemporaryDirectory(prefix="verdicts-") as scratch:
        path = Path(scratch) / "after.json"
        after = take(path, what, tree, before["key"])
        names = {line.split(": ")[0] for line in compared(before, after, what)} & set(after["answers"])
        if names:
            said(f"{len(names)} once more")
            after = take(path, What(tuple(names)), tree, before["key"])
        return tell(before, after, what, words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, files in (("take", ["file"]), ("compare", ["before", "after"]), ("against", ["before"])):
        command = commands.add_parser(name)
        for file in files:
            command.add_argument(file, type=Path)
        command.add_argument("what", nargs="+" if name == "against" else "*")
        command.add_argument("--tree", type=Path, default=ROOT)
        command.add_argument("--key", default=PUBLIC)
        command.add_argument("--words", action="store_true", help="the hints, too")
    options = parser.parse_args()
    what = What(tuple(options.what))
    if options.command == "compare":
        sides = [json.loads(path.read_text()) for path in (options.before, options.after)]
        raise SystemExit(tell(*sides, what, options.words) > 0)
    tree = options.tree.resolve()
    of_tree(tree)
    if options.command == "take":
        take(options.file, what, tree, options.key)
    else:
        raise SystemExit(against(json.loads(options.before.read_text()), what, tree, options.words) > 0)


if __name__ == "__main__":
    main()
