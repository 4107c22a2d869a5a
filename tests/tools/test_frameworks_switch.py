"""The course without TensorFlow and Horovod: `frameworks = false` in course.toml, and what docs/frameworks.md says of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import course as set_up
import horovod_wheel
import nbformat
import pytest

from autograder import content
from autograder.homework.mnist_rubric import RUBRIC

ROOT = Path(__file__).resolve().parents[2]
GONE = ("07_horovod", "13_tensorflow_strategies")
NAMED = re.compile(r"tensorflow|horovod|\bhvd\b", re.IGNORECASE)
COPIED = ("autograder", "labkit", "tools", "units", "solutions", "notebooks", "homework", "docs", "images", "probes")


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> Path:
    """A copy of the course with the switch off, and what it generates."""
    place = tmp_path_factory.mktemp("without") / "course"
    place.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.t*ml"), *ROOT.glob("*.lock*"), ROOT / "nbgrader_config.py"]:
        shutil.copy(path, place)
    file = place / "course.toml"
    text = re.sub("^frameworks = (true|false)$", "frameworks = false", file.read_text(), flags=re.M)
    file.write_text(text)
    run(place, "tools/build_notebooks.py")
    return place


def run(place: Path, *command: str) -> str:
    """The output of a command that is run with the modules of that copy."""
    environment = {**os.environ, "PYTHONPATH": str(place)} | {"COURSE": ""}
    done = subprocess.run(
        [sys.executable, *command], cwd=place, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_units_about_them_are_no_units_of_the_course(without):
    ours, rest = content.course(ROOT), content.course(without)
    assert rest.left_out == GONE and {*rest.units, *GONE} == {*ours.units, *ours.left_out}
    assert not any((without / kind / unit).exists() for kind in ("notebooks", "solutions") for unit in GONE)
    listed = run(without, "-c", "from autograder.cli import main; main()", "exercises")
    assert not {"horovod_step", "lonely_sample", "prepared_images", "go_on"} & set(listed.split())
    assert "network_bytes" in listed
    said = run(without, "-c", "from labkit.environment import without_frameworks; print(without_frameworks())")
    assert "left out of this course" in said


def test_what_is_generated_names_neither_unit_as_there(without):
    pages = [path for kind in ("notebooks", "homework", "solutions") for path in without.glob(f"{kind}/*/*.ipynb")]
    assert len(pages) > 40
    for path in pages:
        assert not [unit for unit in GONE if unit in path.read_text()], path
    assert "unit 07 (left out of this course)" in (without / "notebooks/03_collectives/collectives.ipynb").read_text()
    recaps = "".join(path.read_text() for path in without.glob("notebooks/*/*.ipynb"))
    assert "order_of_callbacks" not in recaps and "whose_batch" not in recaps


def test_an_exercise_left_out_takes_its_cells_and_its_points_with_it(without):
    """What a unit's cells are worth is what its exercises are worth."""
    (page,) = (without / "notebooks" / "09_multi_node_image_lab").glob("*.ipynb")
    marks = [cell.metadata.get("nbgrader", {}) for cell in nbformat.read(page, as_version=4).cells]
    names = {mark["grade_id"] for mark in marks if mark.get("grade")}
    assert names == {"check_read_products", "check_network_bytes", "check_training_memory"}
    assert not list(page.parent.glob("*.py"))


def test_the_homework_has_one_port_and_its_points_are_those_of_the_rubric(without):
    folder = without / "homework" / "scaling_mnist"
    assert {path.name for path in folder.iterdir()} == {"README.md", "scaling_mnist.ipynb", "torch_mnist.py"}
    handout = (folder / "README.md").read_text()
    assert not NAMED.search(handout) and "torch_mnist_ddp.py" in handout
    port = handout.partition("## The port: 50 points")[2].partition("\nImages that are left over")[0]
    points = sum(int(number) for number in re.findall(r"\| (\d+) \|$", port, re.M))
    assert points == RUBRIC.points_of("port") == 50
    solved = (without / "solutions" / "scaling_mnist" / "scaling_mnist.ipynb").read_text()
    assert 'PORT = \\"torch_mnist_ddp.py\\"' in solved


def test_map_and_glossary_lead_nowhere_that_is_not_there(without):
    run(without, "tools/readme_map.py", "--write")
    readme = (without / "README.md").read_text()
    assert not [unit for unit in GONE if f"| `{unit}` |" in readme]
    program = "from pathlib import Path; from tools.site import glossary; print(*glossary.terms(Path('.')), sep='\\n')"
    terms = run(without, "-c", program)
    assert "warm-up" in terms and not [unit for unit in GONE if unit in terms] and "name='Horovod'" not in terms


def test_the_site_has_no_page_of_theirs(without):
    only = ("06_ddp", "scaling_mnist", *GONE)
    program = f"from tools.site import sources; print(*sources.tree(only={only}).files, sep='\\n')"
    pages = run(without, "-c", program).split()
    assert {"units/06_ddp.ipynb", "homework/scaling_mnist_handout.md", "glossary.md"} <= set(pages)
    assert not [page for page in pages if any(unit in page for unit in GONE)]


def test_a_class_gets_a_course_without_them(without, tmp_path):
    for command in (["init", "-q"], ["add", "course.toml", "units", "autograder"]):
        subprocess.run(["git", *command], cwd=without, check=True)
    run(without, "tools/course_release.py", str(tmp_path / "class"), "--units", "09_multi_node_image_lab")
    student = tmp_path / "class" / "student"
    said = tomllib.loads((student / "course.toml").read_text())
    assert said["frameworks"] is False and not set(said["units"]) & set(GONE)
    assert not [unit for unit in GONE if (student / "units" / unit).exists()]
    assert content.course(student).units == tuple(said["units"])


@pytest.mark.parametrize("version", set_up.PYTHONS)
def test_set_up_installs_neither_on_any_python(without, version):
    """Those that stay have the versions that the lock file pins."""
    here, there = set_up.Course(without, version=version), set_up.Course(ROOT, version=version)
    pins = here.pins()
    assert not {"tensorflow-cpu", "keras", "tensorboard", "cmake", "horovod"} & pins.keys()
    assert pins.items() <= set_up.read_pins(there.lock_file.read_text()).items()
    assert {"torch", "numpy", "mpi4py", "jupyterlab"} <= pins.keys()
    status = horovod_wheel.ensure(here)
    assert status["state"] == "left out" and horovod_wheel.in_words(status) == ""
    assert here.pythons[0] == (3, 12) and set(here.pythons) == set(set_up.PYTHONS)


def test_words_that_a_page_does_not_have_are_said(without):
    """A change of a page must not leave its changed words behind unseen: the copy above was built, so all were found."""
    path = without / "units" / "06_ddp" / "unit.toml"
    before = path.read_text()
    path.write_text(before + '\n[[without_frameworks.change]]\nold = "no such words"\nnew = ""\n')
    try:
        with pytest.raises(AssertionError, match="no such words"):
            run(without, "tools/build_notebooks.py", "--check")
    finally:
        path.write_text(before)
