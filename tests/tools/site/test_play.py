"""Pages on which exercises are written: what they are made of; and, in a browser, the whole bank judged on them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from machine import needs
from playable import declared, needs_packages
from served import chromium, served

from autograder.browser import names
from autograder.browser.inside import RunnersInside
from autograder.judging import bank
from autograder.judging.judge import chunks_of_file, judge_with
from autograder.registry import find
from tools.build_notebooks import units
from tools.site import cli, play
from tools.site.play import pages, pyodide
from tools.site.sources import tree

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def made():
    """The pages as markdown."""
    documents = {
        path.relative_to(ROOT).as_posix(): f"units/{path.parent.name}.ipynb"
        for unit in names.UNITS
        for path in (ROOT / "notebooks" / unit).glob("*.ipynb")
    }
    return pages.pages(ROOT, list(names.UNITS), documents)


def starts(page: str) -> dict[str, str]:
    """exercise -> what stands in its editor at first."""
    found = re.findall(r'data-exercise="(\w+)".*?<textarea[^>]*>\n(.*?)</textarea>', page, re.S)
    return {name: html.unescape(text) for name, text in found}


def test_every_playable_exercise_has_its_editor_and_its_text(made):
    puzzles, exercises = (starts(made[f"play/{name}.md"]) for name in ("index", "exercises"))
    assert tuple(puzzles) == names.PUZZLES and tuple(exercises) == names.EXERCISES
    for function, text in {**puzzles, **exercises}.items():
        assert text.startswith(f"def {function}(") and '"""' in text
    for page in made.values():
        headings = re.findall(r"^##+ (.+)$", page, re.M)
        assert len(headings) == len(set(headings)) == len(starts(page)) and not re.search(r"points?\)", str(headings))
    assert set(names.UNITS) <= set(units(ROOT))
    assert {find(function).unit for function in names.PUZZLES + names.EXERCISES} == set(names.UNITS)


def test_a_puzzle_begins_with_an_order_that_can_be_run(made):
    for function, text in starts(made["play/index.md"]).items():
        result = judge_with(RunnersInside(), find(function), chunks_of_file(text, function, "editor"))
        assert (result.verdict, result.diagnosis) in {("wrong", "one_at_a_time"), ("wrong", "waits_too_long")}, function


def test_a_site_without_the_pages_says_nothing_of_them():
    some = ("06_ddp",)
    assert play.archive(ROOT, some) is None
    there = tree(only=some).files
    assert not [path for path in there if path.startswith("play")] and "play/" not in there["index.md"]


def test_the_first_page_leads_to_them():
    files = tree(only=names.UNITS, playable=True).files
    assert "(play/index.md)" in files["index.md"] and {"play/index.md", "play/exercises.md", "play/planner.md"} <= set(
        files
    )
    assert list(starts(files["index.md"])) == ["two_alive"] and '"play/play.js"' in files["index.md"]
    assert "play/" not in tree(only=names.UNITS).files["index.md"]


def test_without_npm_a_sentence_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(pyodide.package, "__defaults__", (tmp_path / "cache",))
    assert play.archive(ROOT, ()) is None
    assert "without the pages to play on: npm is not there" in capsys.readouterr().out


def fake_npm(folder: Path, script: str, monkeypatch) -> None:
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_another_file_under_that_name_is_not_taken(tmp_path, monkeypatch):
    fake_npm(tmp_path, f"echo another > pyodide-{pyodide.VERSION}.tgz", monkeypatch)
    with pytest.raises(pyodide.NoPyodide, match=r"another file: its hash is sha512-"):
        pyodide.package(tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_what_npm_says_is_told(tmp_path, monkeypatch):
    fake_npm(tmp_path, "echo no network >&2; exit 1", monkeypatch)
    with pytest.raises(pyodide.NoPyodide, match=r"npm cannot fetch pyodide [\d.]+: no network"):
        pyodide.package(tmp_path / "cache")


# ---------------------------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where the site with these pages is served, in a subfolder, on this machine alone."""
    folder = tmp_path_factory.mktemp("served")
    assert cli.main(["--to", str(folder / "sub" / "site"), *names.UNITS]) == 0
    with served(folder) as address:
        yield f"{address}/sub/site"


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


class Reader:
    """Somebody at a page of the site. asked: the addresses that the browser has asked for."""

    def __init__(self, browser, address: str, name: str = "index", **context):
        self.page, self.asked = browser.new_context(**context).new_page(), []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{address}/play/{name}.html", wait_until="load")

    def part(self, exercise: str, name: str):
        return self.page.locator(f'.play[data-exercise="{exercise}"] .play-{name}')

    def run(self, exercise: str, source: str | None = None) -> str:
        """What the page says at the end of a run."""
        if source is not None:
            self.part(exercise, "text").fill(source)
        self.part(exercise, "run").click()
        self.part(exercise, "run").and_(self.page.locator(":not([aria-disabled])")).wait_for(timeout=240_000)
        return self.part(exercise, "status").text_content()


# The same calls as the page's own worker makes, one answer after the other.
WORKER = """
async ([worker, asked]) => {
  const python = new Worker(worker, { type: "module" });
  const next = (kind) => new Promise((resolve, reject) => {
    python.onmessage = ({ data }) => {
      if (data.kind === kind) resolve(data);
      else if (!["began", "ready"].includes(data.kind)) reject(new Error(JSON.stringify(data)));
    };
  });
  const found = [];
  for (const [exercise, source] of asked) {
    const told = next("told");
    python.postMessage({ exercise, source, records: "" });
    found.push(await told);
  }
  python.terminate();
  return found;
}
"""


def few_meshes(function: str) -> list[bank.BankAnswer]:
    """The exercise's answers; of those to `best_mesh`, each of which takes seconds, a few."""
    every = list(bank.answers(exercise=function))
    return [one for one in every if not one.right][:4] if function == "best_mesh" else every


@needs("browser", "npm")
@pytest.mark.timeout(900)
def test_the_bank_is_judged_in_the_browser_as_it_is_here(address, browser):
    reader = Reader(browser, address)
    answers = [answer for name in names.PUZZLES + names.EXERCISES for answer in few_meshes(name)]
    asked = [[answer.exercise.function, answer.source] for answer in answers]
    found = reader.page.evaluate(WORKER, [f"{address}/play/worker.js", asked])
    for answer, told in zip(answers, found, strict=True):
        wanted = "not_judged" if needs_packages(answer) else declared(answer)[0]
        assert told["verdict"] == wanted, answer.file
        if wanted not in ("not_judged", "passed"):
            assert told["diagnosis"] == answer.diagnosis, answer.file
    assert all(url.startswith((address, "data:")) for url in reader.asked)
    reader.page.context.close()


@needs("browser", "npm")
@pytest.mark.timeout(600)
def test_python_is_loaded_by_the_first_run_and_what_is_written_stays(address, browser):
    reader = Reader(browser, address)
    assert not [url for url in reader.asked if "pyodide" in url or "course.zip" in url]
    assert "96 slots" in reader.run("two_alive")
    assert reader.part("two_alive", "picture").locator("svg").count() == 1
    right = next(one for one in bank.answers(exercise="two_alive") if one.right).source
    assert "two_alive: passed, 2 of 2 points" in reader.run("two_alive", right)
    assert "your first: from now on it is your own best" in reader.part("two_alive", "card").inner_text()
    reader.page.reload(wait_until="load")
    assert reader.part("two_alive", "text").input_value() == right
    assert "passed" in reader.run("two_alive")
    assert "as good as your own best" in reader.part("two_alive", "card").inner_text()
    assert all(url.startswith((address, "data:")) for url in reader.asked)
    reader.page.context.close()


@needs("browser", "npm")
@pytest.mark.timeout(600)
def test_the_first_page_has_the_first_puzzle(address, browser):
    reader = Reader(browser, address, "../index", viewport={"width": 390, "height": 844})
    assert "96 slots" in reader.run("two_alive")
    assert reader.part("two_alive", "picture").locator("svg").count() == 1
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(url.startswith((address, "data:")) for url in reader.asked)
    reader.page.context.close()


@needs("browser", "npm")
@pytest.mark.timeout(600)
def test_what_never_ends_is_ended_and_the_page_lives_on(address, browser):
    reader = Reader(browser, address)
    assert "Stopped after 10 s" in reader.run("two_alive", "def two_alive():\n    while True:\n        pass\n")
    assert "RecursionError" in reader.run("two_alive", "def two_alive():\n    return two_alive()\n")
    nested = "def two_alive():\n    x = []\n    for _ in range(10**6):\n        x = [x]\n    return x\n"
    assert "Python begins anew" in reader.run("two_alive", nested)
    ended = "import os\ndef two_alive():\n    os._exit(3)\n"
    assert "begins anew" in reader.run("two_alive", ended)
    assert "96 slots" in reader.run("three_alive")
    reader.page.context.close()


@needs("browser", "npm")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_by_keyboard_on_a_narrow_screen(address, browser, theme):
    reader = Reader(browser, address, "exercises", viewport={"width": 390, "height": 844}, color_scheme=theme)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    text, keys = reader.part("bubble", "text"), reader.page.keyboard
    text.focus()
    keys.press("Control+End")
    keys.press("Tab")
    assert text.input_value().endswith("\n    ")
    keys.press("Escape")
    keys.press("Tab")
    assert reader.page.evaluate("document.activeElement.className") == "play-run"
    assert text.get_attribute("aria-label") == "bubble: your answer"
    reader.page.context.close()


@needs("browser", "npm")
@pytest.mark.timeout(300)
def test_the_planner_on_a_narrow_screen(address, browser):
    reader = Reader(browser, address, "planner", viewport={"width": 390, "height": 844})
    for model, words in (("Llama 3 8B", "10 meshes. The best"), ("Llama 3 405B", "Nothing fits.")):
        reader.page.select_option("select[name=model]", model)
        reader.page.select_option("select[name=gpus]", "64")
        reader.page.keyboard.press("Tab")
        reader.page.click("button.play-run")
        reader.page.wait_for_function(f"document.querySelector('.play-status').textContent.startsWith({words!r})")
        assert reader.page.locator(".planner-table tbody tr").count() == (10 if "best" in words else 0)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    reader.page.reload(wait_until="load")
    assert reader.page.input_value("select[name=model]") == "Llama 3 405B"
    assert all(url.startswith((address, "data:")) for url in reader.asked)
    reader.page.context.close()
