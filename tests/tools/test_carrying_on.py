"""What those need who carry the course on: the workflow, the hooks, the devcontainer, the form for a wrong verdict and the
links for hubs name things that there are. None of their hosts is asked.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import dockerfile  # noqa: E402
import pull_links  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from autograder.cli import app  # noqa: E402
from autograder.registry import find  # noqa: E402

TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]


def test_the_workflow_calls_what_there_is():
    jobs = yaml.safe_load((ROOT / ".github/workflows/course.yml").read_text(encoding="utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    called = set(re.findall(r"\bmake ([a-z-]+) TORCH", "\n".join(step.get("run", "") for step in steps)))
    assert called == {"test", "site"}
    assert called <= TARGETS
    assert {need for job in jobs.values() for need in job.get("needs", [])} <= set(jobs)


def test_a_file_of_the_workflow_says_that_it_was_never_run():
    assert "Nobody has run this file yet" in (ROOT / ".github/workflows/course.yml").read_text(encoding="utf-8")
    assert "It was never run" in (ROOT / "docs/design.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_a_program_of_the_environment_or_a_tool_of_ours(hook):
    program, *rest = shlex.split(hook["entry"])
    assert (ROOT / program).exists()
    assert all((ROOT / word).exists() for word in rest if word.endswith(".py"))
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert any(re.search(hook.get("files", r"\.py$"), name) for name in files)


def test_the_devcontainer_is_a_stage_of_the_image():
    build = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))["build"]
    path = (ROOT / ".devcontainer" / build["dockerfile"]).resolve()
    stages = dockerfile.read(path)
    assert build["target"] in {stage.name for stage in stages}
    arguments = {rest.partition("=")[0] for stage in stages for rest in stage.all("ARG")}
    assert set(build["args"]) <= arguments


def test_the_command_of_a_wrong_verdict_is_one(tmp_path):
    text = (ROOT / ".github/ISSUE_TEMPLATE/wrong_verdict.yml").read_text(encoding="utf-8")
    assert {"exercise", "answer", "key"} <= {part.get("id") for part in yaml.safe_load(text)["body"]}
    (command,) = re.findall(r"\.venv/bin/autograder (try .*)", text)
    _, unit, function, file, *options = shlex.split(command)
    assert find(function, unit).function == function
    judged = CliRunner().invoke(app, ["try", unit, function, str(tmp_path / file), *options])
    assert judged.exit_code == 2 and "there is no file" in judged.output  # the options are known


def test_links_pull_and_open_a_notebook_of_work():
    address = pull_links.link("https://hub.example.org/", "https://git.example.org/dl", "main", "03_x/x.ipynb")
    parts = urlsplit(address)
    assert parts.path == "/hub/user-redirect/git-pull"
    assert parse_qs(parts.query) == {
        "repo": ["https://git.example.org/dl"],
        "branch": ["main"],
        "urlpath": ["lab/tree/dl/03_x/x.ipynb"],
    }
    for path in pull_links.notebooks():
        assert (ROOT / "notebooks" / path).exists() or (ROOT / "homework" / path).exists()
