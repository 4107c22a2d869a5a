"""The planner's page: in the archive that a browser gets, the numbers are those of `labkit plan --json`."""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import zipfile

import pytest

from autograder.browser.names import MESHES
from labkit.scale import planner_text
from tools.site.play import bundle, planner

# Runs in a process that sees the archive and Python's own library, nothing else.
PROGRAM = """
import json, sys

sys.modules["numpy"] = sys.modules["torch"] = None
sys.path[:0] = [sys.argv[1]]
from autograder.browser import planning

assert sys.modules["numpy"] is None and not [path for path in sys.path if "site-packages" in path]
print(json.dumps([json.loads(planning.told(line)) for line in sys.stdin]))
"""
MODELS = ("Llama 3 8B", "Llama 2 70B", "GPT-NeoX-20B", "Mixtral 8x7B", "GPT-3 175B")
MACHINES = ("DGX-H100", "DGX-A100", "GB200-NVL72", "MI300X", "H800")
SETTINGS = [
    planner_text.Question(model, machine, gpus, sequence=2048 * (gpus % 3), tokens=1e11 * (gpus > 100), top=MESHES)
    for model, machine, gpus in itertools.product(MODELS, MACHINES, (64, 192))
]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Asks the archive's own code some questions, each as JSON."""
    folder = tmp_path_factory.mktemp("planner")
    bundle.bundle(folder / bundle.NAME)
    with zipfile.ZipFile(folder / bundle.NAME) as archive:
        archive.extractall(folder / "course")

    def ask(questions: list[str]) -> list[dict]:
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder / "course")]
        lines = "".join(f"{question}\n" for question in questions)
        ran = subprocess.run(command, input=lines, capture_output=True, text=True, env={**os.environ, "COURSE": ""})
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return ask


def test_fifty_settings_have_the_numbers_of_the_command(told):
    asked = [{k: v for k, v in dataclasses.asdict(question).items() if k != "top"} for question in SETTINGS]
    found = told([json.dumps(one) for one in asked])
    assert len(found) == 50
    for question, answer in zip(SETTINGS, found, strict=True):
        try:
            ours = json.loads(planner_text.as_json(planner_text.answer(question), explain=True))
        except ValueError as error:
            assert answer == {"error": str(error)}
        else:
            assert answer["plan"] == ours
            assert answer["picture"].startswith("<svg") == (
                bool(ours["plans"]) and ours["plans"][0]["mesh"]["pipeline"] > 1
            )
    assert sum("plan" in answer and bool(answer["plan"]["plans"]) for answer in found) >= 30


def test_what_cannot_be_is_answered_with_a_sentence(told):
    unknown, none, odd = told(['{"model": "Lama 3", "machine": "DGX-H100", "gpus": 8}',
                               '{"model": "Llama 3 405B", "machine": "DGX-A100", "gpus": 8}',
                               '{"model": "Llama 3 8B", "machine": "DGX-H100", "gpus": 7}'])  # fmt: skip
    assert "did you mean" in unknown["error"] and "Nothing fits" in none["plan"]["reason"] and not none["picture"]
    assert "error" in odd or odd["plan"]


def test_the_page_offers_what_can_be_asked():
    page = planner.page("about 14 MB")
    assert page.count("<option") >= 7 + 10 + len(planner.GPUS) and "TPU-v4" not in page
    assert json.loads(planner.FIRST)["model"] in page and page.count(" selected") == 3
