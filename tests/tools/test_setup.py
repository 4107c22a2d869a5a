"""Set-up: the lock file and its twins, finding a Python, making and mending an environment, Horovod's wheel,
`labkit doctor`.

Environments are made for real, from a lock file of two tiny wheels and without a network.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import leaks
import numpy as np
import pytest
import yaml
from machine import needs

from autograder.judging import judge
from labkit import doctor, environment

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import bootstrap  # noqa: E402
import course as course_module  # noqa: E402
import horovod_wheel  # noqa: E402
from course import Course, Trouble  # noqa: E402


def tracked_text() -> dict[str, str]:
    """Every text file that is, or could be, part of the repository."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    texts = {}
    for name in listed:
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
    return texts


# ------------------------------------------------------------------------------------------------- what is written down


def lock_of(version: tuple[int, int]) -> dict[str, str]:
    return Course(ROOT, version=version).pins()


def test_environment_yml_and_lock_file_agree():
    lock = [line for line in (ROOT / "requirements.lock.txt").read_text().splitlines() if line.strip()]
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert dependencies[-1]["pip"] == lock
    assert "python=3.11" in dependencies and "cxx-compiler" in dependencies and "make" in dependencies
    later = yaml.safe_load((ROOT / "environment-3.13.yml").read_text())["dependencies"]
    assert "python=3.13" in later and later[-1]["pip"] == [f"-r {Course(ROOT, version=(3, 13)).lock_file.name}"]


# What TensorFlow 2.15 and Horovod bring along, and nothing else of the course uses.
ONLY_FOR_TENSORFLOW = set(
    "absl-py astunparse cloudpickle cmake flatbuffers gast google-auth google-auth-oauthlib google-pasta grpcio h5py "
    "keras libclang "
    "Markdown ml-dtypes opt_einsum protobuf pyasn1 pyasn1_modules tensorboard tensorboard-data-server tensorflow-cpu "
    "tensorflow-estimator tensorflow-io-gcs-filesystem termcolor Werkzeug wheel wrapt".split()
)
# What a package of the course needs on Python 3.11 alone.
ONLY_FOR_3_11 = {"overrides"}
# TensorFlow 2.15 holds numpy below 2, and numpy below 2 has no wheels for Python 3.13.
OTHER_PINS = {"numpy"}


@needs("frameworks")
@pytest.mark.parametrize("version", course_module.PYTHONS[1:], ids=course_module.in_dots)
def test_the_lock_files_differ_in_what_python_3_11_alone_needs(version):
    full, other = lock_of(course_module.FULL), lock_of(version)
    assert full.keys() - other.keys() == ONLY_FOR_TENSORFLOW | ONLY_FOR_3_11 and not other.keys() - full.keys()
    assert {name for name in other if other[name] != full[name]} == OTHER_PINS


def test_every_supported_python_has_a_lock_file_and_the_project_says_the_same():
    names = {path.name for path in ROOT.glob("requirements.lock*.txt")}
    assert names == {Course(ROOT, version=version).lock_file.name for version in course_module.PYTHONS}
    required = re.search(r'requires-python = ">=3.(\d+),<3.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert [(3, minor) for minor in range(*map(int, required.groups()))] == list(course_module.PYTHONS)


def test_the_environment_is_what_the_lock_file_says():
    assert bootstrap.packages_to_install(Course(ROOT, sys.prefix), most=20) == {}


def test_torch_is_never_installed_without_its_version():
    """Without its version pip takes the newest build, and gigabytes of CUDA libraries with it."""
    pin = Course(ROOT).pins()["torch"]
    for name, text in tracked_text().items():
        for line in text.splitlines():
            for asked in re.findall(r"pip3? install[^\n#]*?[\s'\"](torch(?:==\S+)?)(?=[\s'\"`]|$)", line):
                assert asked.startswith(f"torch=={pin}"), f"{name}: {line.strip()}"


def test_no_file_names_a_package_host_or_a_developers_folder():
    """Where packages come from is the user's setting (pip, conda, apt); a path of one machine means nothing on another."""
    hosts = [
        "py" + "pi.org",
        "python" + "hosted.org",
        "download.py" + "torch.org",
        "ana" + "conda.org",
        "npm" + "js.org",
    ]
    hosts += ["deb.de" + "bian.org", "gh" + "cr.io", "quay" + ".io"]
    folders = ["/wo" + "rk/main", "/wo" + "rk/shared", "/opt/" + "wheels", "/root/" + ".pyenv", "/tmp/" + "w/"]
    for name, text in tracked_text().items():
        for unwanted in hosts + folders:
            assert unwanted not in text, f"{name} names {unwanted}"


@pytest.mark.parametrize("name", ["bootstrap.py", "course.py", "horovod_wheel.py", "pythons.py"])
def test_set_up_can_be_read_by_an_old_python(name):
    ast.parse((ROOT / "tools" / name).read_text(), feature_version=(3, 6))


def test_every_make_target_says_what_it_is_for():
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE).group(1).split()
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20).stdout
    assert set(re.findall(r"^  make (\S+) +\S+", listed, flags=re.MULTILINE)) == set(targets)


def test_a_lock_file_line_that_is_no_pin_is_named():
    with pytest.raises(Trouble, match="line 2: expected NAME==VERSION, found 'torch>=2'"):
        course_module.read_pins("numpy==1.26.4  # why\ntorch>=2\n")


# ----------------------------------------------------------------------------------------------------- finding a Python


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def fake_python(path: Path, version: tuple[int, int, int], missing: tuple[str, ...] = ()) -> Path:
    answer = json.dumps({"version": version, "executable": str(path), "missing": missing})
    return executable(path, f"echo '{answer}'\n")


@pytest.fixture
def place(tmp_path):
    return Course(tmp_path / "a clone")


def test_this_python_is_taken_if_it_fits(place):
    assert bootstrap.find_python(place, which=lambda name: None)["executable"] == sys.executable


def on_path(*pythons: Path):
    """In the place of shutil.which: finds these interpreters, and uv, conda and other Pythons nowhere."""
    return lambda name: next((str(path) for path in pythons if path.name == name), None)


@pytest.mark.parametrize("minor", [12, 13, 14])
def test_a_later_python_is_taken_where_there_is_no_3_11(place, tmp_path, minor):
    later = fake_python(tmp_path / "python3", (3, minor, 1))
    assert bootstrap.find_python(place, which=on_path(later), this="/no/python")["executable"] == str(later)


def test_python_3_11_comes_first_because_it_has_everything(place, tmp_path):
    later, full = fake_python(tmp_path / "python3", (3, 13, 5)), fake_python(tmp_path / "python3.11", (3, 11, 2))
    assert bootstrap.find_python(place, which=on_path(later, full), this=str(later))["executable"] == str(full)


def test_the_environment_that_is_there_keeps_its_python(place, tmp_path):
    later, full = fake_python(tmp_path / "python3.13", (3, 13, 5)), fake_python(tmp_path / "python3.11", (3, 11, 2))
    (place.env / "lib" / "python3.13" / "site-packages").mkdir(parents=True)
    assert bootstrap.find_python(place, which=on_path(later, full), this=str(full))["executable"] == str(later)
    assert bootstrap.find_python(place, which=on_path(later, full), this=str(full), asked="3.11")["executable"] == str(
        full
    )
    assert bootstrap.find_python(place, which=on_path(later, full), asked=str(full))["executable"] == str(full)


@pytest.mark.parametrize("asked", ["3.10", "3.99", "python9.9"])
def test_a_python_that_the_course_does_not_run_on_is_refused(place, asked):
    with pytest.raises(Trouble, match=f"PYTHON={asked}"):
        bootstrap.find_python(place, asked=asked)


def stand_in_for_uv(tmp_path: Path, monkeypatch, provided: Path) -> Path:
    """A Python whose pip puts into its environment a uv that "fetches" `provided`."""
    uv = executable(
        tmp_path / "index" / "uv", f'echo "$@ $UV_PYTHON_INSTALL_DIR" >> "{tmp_path}/asked"; echo "{provided}"\n'
    )
    answer = json.dumps({"version": [3, 13, 5], "executable": str(tmp_path / "python3"), "missing": []})
    pip = f'#!/bin/sh\nfor last; do :; done; echo "pip $last" >> "{tmp_path}/asked"; cp "{uv}" "${{0%/*}}/uv"\n'
    (tmp_path / "pip").write_text(pip)
    making = f'for folder; do :; done; mkdir -p "$folder/bin"; cp "{tmp_path}/pip" "$folder/bin/python"; chmod +x "$folder/bin/python"'
    return executable(tmp_path / "python3", f"if [ \"$1\" = -I ]; then echo '{answer}'; else {making}; fi\n")


def test_python_3_11_is_fetched_by_a_uv_from_the_package_index(place, tmp_path, monkeypatch):
    place.root.mkdir()
    provided = fake_python(tmp_path / "fetched" / "python3.11", (3, 11, 14))
    later = stand_in_for_uv(tmp_path, monkeypatch, provided)
    found = bootstrap.find_python(place, which=on_path(later), this=str(later), asked="3.11")
    assert found["executable"] == str(provided)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0].startswith("pip uv==") and asked[1] == f"python install 3.11 {place.cache}/python"
    assert asked[2].startswith("python find --system 3.11")
    before = len(asked)
    bootstrap.find_python(place, which=on_path(later), this=str(later), asked="3.11")
    assert "pip" not in "".join((tmp_path / "asked").read_text().splitlines()[before:])  # uv is there now


def test_an_installed_python_3_11_is_taken_before_anything_is_fetched(place, tmp_path, monkeypatch):
    full = fake_python(tmp_path / "bin" / "python3.11", (3, 11, 2))
    later = stand_in_for_uv(tmp_path, monkeypatch, Path("/no/python"))
    assert bootstrap.find_python(place, which=on_path(later, full), this=str(later), asked="3.11")["executable"] == str(
        full
    )
    assert not (tmp_path / "asked").exists()


def test_what_cannot_be_fetched_leads_to_one_clear_error(place, tmp_path):
    place.root.mkdir()
    later = fake_python(tmp_path / "python3", (3, 13, 5))  # makes no environment, so there is no pip
    with pytest.raises(Trouble) as caught:
        bootstrap.find_python(place, which=on_path(later), this=str(later), asked="3.11")
    message = str(caught.value)
    assert "Python 3.11 is not on PATH" in message and "uv.log" in message and "conda" in message
    assert "3.11 to 3.14" in message and len(message.splitlines()) < 9


def test_make_passes_on_which_python_and_which_torch():
    command = [
        "make",
        "--dry-run",
        "--no-print-directory",
        "lab",
        "PYTHON=3.11",
        "TORCH=cpu",
        "SHELL=/bin/sh",
        "OPTIONS=",
    ]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20).stdout.endswith(
        "bootstrap.py lab \n"
    )
    printed = ["make", "--no-print-directory", "-f", "-", "PYTHON=3.11", "TORCH=cpu", "show"]
    makefile = f"include {ROOT}/Makefile\nshow:\n\t@echo $$COURSE_PYTHON $$COURSE_TORCH\n"
    told = subprocess.run(printed, cwd=ROOT, input=makefile, capture_output=True, text=True, timeout=20)
    assert told.stdout == "3.11 cpu\n"


def test_python_without_venv_says_what_to_install(place, tmp_path):
    bare = fake_python(tmp_path / "python3.11", (3, 11, 2), missing=("ensurepip",))
    with pytest.raises(Trouble, match="apt install python3-venv"):
        bootstrap.find_python(place, which=lambda name: None, this=str(bare))


def test_uv_provides_python(place, tmp_path):
    provided = fake_python(tmp_path / "from uv" / "python3.11", (3, 11, 9))
    uv = executable(tmp_path / "uv", f'[ "$2" = find ] && echo "{provided}"; exit 0\n')
    place.root.mkdir()
    found = bootstrap.find_python(place, which=on_path(uv), this="/no/python")
    assert found["executable"] == str(provided)


def test_conda_provides_python(place, tmp_path):
    place.root.mkdir()
    at = place.cache / "python-3.11" / "bin" / "python"
    source = fake_python(tmp_path / "source", (3, 11, 9))
    conda = executable(tmp_path / "conda", f'mkdir -p "{at.parent}" && cp "{source}" "{at}"\n')
    found = bootstrap.find_python(place, which=lambda name: str(conda) if name == "conda" else None, this="/no/python")
    assert found["version"] == [3, 11, 9] and at.exists()


# ------------------------------------------------------------------------------------ making and mending an environment


def tiny_wheel(folder: Path, name: str, version: str) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    content = {
        f"{name}/__init__.py": f"version = '{version}'\n",
        f"{name}/extra.py": "\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in content.items():
            wheel.writestr(path, text)
        record = "".join(f"{path},,{len(text)}\n" for path, text in content.items()) + f"{info}/RECORD,,\n"
        wheel.writestr(f"{info}/RECORD", record)


PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "tiny"
version = "1"
"""

BACKEND = """
import zipfile

COMMANDS = ("labkit", "autograder", "jupyter")

def build_editable(folder, *_):
    with zipfile.ZipFile(f"{folder}/tiny-1-py3-none-any.whl", "w") as wheel:
        info = "tiny-1.dist-info"
        files = {
            f"{info}/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
            f"{info}/entry_points.txt": "[console_scripts]\\n" + "".join(f"{c} = x:y\\n" for c in COMMANDS),
        }
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\\n" for name in [*files, f"{info}/RECORD"]))
    return "tiny-1-py3-none-any.whl"
"""


@pytest.fixture(scope="module")
def tiny_course(tmp_path_factory):
    """A course of two tiny packages, in a folder with a space in its name, set up once."""
    folder = tmp_path_factory.mktemp("set-up")
    root = folder / "a clone"
    (root / "tools" / "horovod").mkdir(parents=True)
    for version in ("1.0", "2.0"):
        tiny_wheel(folder / "wheels", "first", version)
        tiny_wheel(folder / "wheels", "second", version)
    for version in course_module.PYTHONS:
        Course(root, version=version).lock_file.write_text("first==1.0\nsecond==1.0\n")
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "backend.py").write_text(BACKEND)
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels"), "PIP_CONFIG_FILE": os.devnull}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        patch.delenv("CONDA_PREFIX", raising=False)
        course = Course(root)
        bootstrap.setup(course)
        yield course


def version_in(course: Course, package: str) -> str:
    code = f"import {package}; print({package}.version)"
    return subprocess.run(
        [course.python, "-c", code], capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


def test_set_up_in_a_path_with_spaces(tiny_course):
    assert bootstrap.is_complete(tiny_course)
    assert version_in(tiny_course, "second") == "1.0"


def test_a_second_set_up_starts_no_process_and_says_nothing(tiny_course, monkeypatch, capsys):
    def forbidden(*args, **kwargs):
        raise AssertionError(f"started {args}")

    monkeypatch.setattr(subprocess, "Popen", forbidden)
    bootstrap.setup(tiny_course)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("harm", ["interrupted", "file gone", "file cut off", "commands gone", "never finished"])
def test_a_broken_environment_is_noticed_and_repaired(tiny_course, harm):
    packages = tiny_course.site_packages
    if harm == "interrupted":  # pip died while it unpacked `second`
        (packages / "second-1.0.dist-info" / "INSTALLER").unlink()
        shutil.rmtree(packages / "second")
    elif harm == "file gone":
        (packages / "second" / "__init__.py").unlink()
    elif harm == "file cut off":
        (packages / "second" / "__init__.py").write_text("")
    elif harm == "commands gone":
        (tiny_course.env / "bin" / "labkit").unlink()
    elif harm == "never finished":
        tiny_course.stamp_file.unlink()
    assert not bootstrap.is_complete(tiny_course)
    bootstrap.setup(tiny_course)
    assert bootstrap.is_complete(tiny_course)
    assert version_in(tiny_course, "second") == "1.0" and (tiny_course.env / "bin" / "labkit").exists()


def test_a_lost_interpreter_is_replaced_and_the_packages_are_kept(tiny_course):
    for link in (tiny_course.env / "bin").glob("python*"):
        link.unlink()
    tiny_course.python.symlink_to("/no/such/python3.11")
    kept = (tiny_course.site_packages / "first" / "__init__.py").stat().st_ino
    bootstrap.setup(tiny_course)
    assert version_in(tiny_course, "first") == "1.0"
    assert (tiny_course.site_packages / "first" / "__init__.py").stat().st_ino == kept


def test_a_changed_lock_file_is_followed(tiny_course):
    tiny_course.lock_file.write_text("first==1.0\nsecond==2.0\n")
    assert not bootstrap.is_complete(tiny_course)
    bootstrap.setup(tiny_course)
    assert version_in(tiny_course, "second") == "2.0" and version_in(tiny_course, "first") == "1.0"


def test_a_moved_clone_keeps_its_packages_and_gets_commands_that_work(tiny_course):
    root = tiny_course.root.with_name("moved clone")
    shutil.copytree(tiny_course.root, root, symlinks=True)
    moved = Course(root)
    try:
        assert not bootstrap.is_complete(moved)
        (moved.site_packages / "first" / "kept").touch()
        hello = executable(moved.env / "bin" / "hello", "")
        hello.write_text(
            f"#!{tiny_course.env}/bin/python{course_module.in_dots(moved.version)}\nimport sys; print(sys.prefix)\n"
        )
        bootstrap.setup(moved)
        assert (moved.site_packages / "first" / "kept").exists()
        told = subprocess.run([hello], capture_output=True, text=True, check=True, timeout=30)
        assert told.stdout.strip() == str(moved.env)
        assert str(moved.env) in (moved.env / "bin" / "labkit").read_text()
        assert str(tiny_course.env) not in (moved.env / "bin" / "pip").read_text()
    finally:
        shutil.rmtree(moved.root)


def everything_in(folder: Path) -> dict[str, tuple]:
    """What would show a write: of every path its kind, size and times."""
    seen = {}
    for path in [folder, *folder.rglob("*")]:
        if "__pycache__" not in path.parts:
            status = path.lstat()
            written = () if path.is_dir() and (path / "__pycache__").exists() else (status.st_mtime_ns, status.st_ino)
            seen[str(path)] = (status.st_mode, status.st_size if path.is_file() else 0, *written)
    return seen


@pytest.fixture
def borrower(tiny_course, tmp_path):
    """A second checkout of the same version, whose .venv is a link to that of the first."""
    for name in ("pyproject.toml", "backend.py", "tools"):
        source = tiny_course.root / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    for version in course_module.PYTHONS:
        name = Course(tmp_path, version=version).lock_file.name
        shutil.copy(tiny_course.root / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(tiny_course.env)
    return Course(tmp_path)


def test_an_environment_behind_a_link_is_used_and_never_written(tiny_course, borrower, capsys):
    before = everything_in(tiny_course.env)
    (borrower.root / "pyproject.toml").write_text("# its own\n" + (borrower.root / "pyproject.toml").read_text())
    assert borrower.lender == tiny_course.root and tiny_course.lender is None
    bootstrap.setup(borrower)
    assert capsys.readouterr().out == "" and everything_in(tiny_course.env) == before
    assert borrower.variables()["PYTHONPATH"] == str(borrower.root)  # its own labkit, not the lender's
    assert "PYTHONPATH" not in tiny_course.variables()
    assert horovod_wheel.ensure(borrower)["state"] == "impossible" and not horovod_wheel.wait(borrower)
    assert everything_in(tiny_course.env) == before
    bootstrap.clean(borrower)
    assert not os.path.lexists(borrower.env) and everything_in(tiny_course.env) == before
    bootstrap.setup(tiny_course)
    assert bootstrap.is_complete(tiny_course)


def test_a_linters_settings_are_no_reason_to_install_anew(tiny_course):
    project = tiny_course.root / "pyproject.toml"
    project.write_text(project.read_text() + "\n[tool.ruff]\nline-length = 77\n")
    assert bootstrap.is_complete(tiny_course)
    project.write_text("# another\n" + project.read_text())
    assert not bootstrap.is_complete(tiny_course)
    bootstrap.setup(tiny_course)
    assert bootstrap.is_complete(tiny_course)


@pytest.mark.parametrize("why", ["another lock file", "another Python", "a package lost", "no stamp", "leads nowhere"])
def test_an_environment_behind_a_link_that_is_not_right_is_refused_in_a_sentence(
    tiny_course, borrower, monkeypatch, why
):
    if why == "another lock file":
        borrower.lock_file.write_text("first==9.0\nsecond==9.0\n")
    elif why == "another Python":
        other = next(v for v in course_module.PYTHONS if v != tiny_course.version)
        monkeypatch.setenv("COURSE_PYTHON", course_module.in_dots(other))
    elif why == "a package lost":
        (tiny_course.site_packages / "first" / "__init__.py").rename(tiny_course.site_packages / "aside.py")
    elif why == "no stamp":
        tiny_course.stamp_file.rename(tiny_course.env / "aside.json")
    else:
        borrower.env.unlink()
        borrower.env.symlink_to(tiny_course.root / "nowhere")
    before = everything_in(tiny_course.env)
    try:
        with pytest.raises(Trouble, match="rm .venv"):
            bootstrap.setup(borrower)
        assert everything_in(tiny_course.env) == before
    finally:
        if why == "a package lost":
            (tiny_course.site_packages / "aside.py").rename(tiny_course.site_packages / "first" / "__init__.py")
        if why == "no stamp":
            (tiny_course.env / "aside.json").rename(tiny_course.stamp_file)
        monkeypatch.undo()
    assert bootstrap.is_complete(tiny_course)


def test_a_copy_made_of_hard_links_is_mended_without_writing_into_the_original(tiny_course):
    root = tiny_course.root.with_name("linked copy")
    shutil.copytree(tiny_course.root, root, symlinks=True, copy_function=os.link)
    try:
        copy, before = Course(root), everything_in(tiny_course.env)
        assert copy.lender is None
        bootstrap.setup(copy)
        assert bootstrap.is_complete(copy) and str(copy.env) in (copy.env / "bin" / "pip").read_text()
        after = everything_in(tiny_course.env)
        assert {path for path in before if before[path] != after.get(path)} == set()
    finally:
        shutil.rmtree(root)


def test_a_package_that_cannot_be_had_is_one_clear_error(tiny_course):
    before = tiny_course.lock_file.read_text()
    tiny_course.lock_file.write_text(before + "absent==3.0\n")
    try:
        with pytest.raises(Trouble) as caught:
            bootstrap.setup(tiny_course)
    finally:
        tiny_course.lock_file.write_text(before)
    assert "absent==3.0" in str(caught.value) and "run the same command again" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 20


@pytest.fixture
def with_torch(tiny_course, tmp_path, monkeypatch):
    """The tiny course, and PyTorch in two builds: pip's settings lead to the one, a folder has the other."""
    tiny_wheel(tmp_path / "index", "torch", "2.13.0")
    tiny_wheel(tmp_path / "cpu", "torch", "2.13.0+cpu")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tiny_course, tmp_path / "cpu"


@pytest.mark.parametrize("torch", ["", "cpu", "a folder", "default"])
def test_which_build_of_pytorch_is_installed_is_known_before(with_torch, monkeypatch, torch):
    course, folder = with_torch
    monkeypatch.setenv("COURSE_TORCH", str(folder) if torch == "a folder" else torch)
    if torch == "cpu":
        with pytest.raises(Trouble, match="make lab TORCH=ADDRESS"):
            bootstrap.build_to_install(course, "2.13.0")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    if torch == "default":  # pip would prefer the other: it has a label
        monkeypatch.setenv("PIP_FIND_LINKS", f"{os.environ['PIP_FIND_LINKS']} {folder}")
    assert bootstrap.build_to_install(course, "2.13.0") == ("cuda" if torch in ("", "default") else "cpu")


def test_the_disk_is_looked_at_for_what_will_be_installed(place, monkeypatch, capsys):
    place.env.mkdir(parents=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100 * 2**30, 95 * 2**30, 5 * 2**30))
    bootstrap.look_at_the_disk(place, "cpu", whole=True)
    assert capsys.readouterr().out == ""
    with pytest.raises(
        Trouble, match=r"Only 5.0 GB are free .* needs about 8 GB there. `make lab TORCH=cpu` needs about 4 GB"
    ):
        bootstrap.look_at_the_disk(place, "cuda", whole=True)
    assert "make lab TORCH=cpu" in capsys.readouterr().out
    bootstrap.look_at_the_disk(place, "cuda", whole=False)


@pytest.mark.parametrize(("there", "asked"), [("cu130", "cpu"), ("cpu", "default")])
def test_another_build_is_not_put_over_the_one_that_is_there(place, monkeypatch, there, asked):
    packages = place.site_packages / "torch"
    packages.mkdir(parents=True)
    (packages / "version.py").write_text(f"__version__ = '2.13.0+{there}'\n")
    monkeypatch.setenv("COURSE_TORCH", asked)
    with pytest.raises(Trouble, match="make clean"):
        bootstrap.setup(place)


def test_two_set_ups_at_once_take_turns(tmp_path):
    said = []
    with course_module.exclusively(tmp_path / "lock", lambda: said.append("first")):
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import course; from pathlib import Path\n"
            f"with course.exclusively(Path({str(tmp_path / 'lock')!r}), lambda: print('waits', flush=True)): "
            "print('goes on')"
        )
        other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "waits\n"
    assert other.communicate(timeout=20)[0] == "goes on\n" and said == []


# ------------------------------------------------------------------------------------------------------------- Open MPI

RANKS = "from mpi4py import MPI; world = MPI.COMM_WORLD; print(f'{world.rank} of {world.size}\\n', end='')"


def in_a_terminal(*command: str, path: str = "", **variables: str) -> subprocess.CompletedProcess:
    """A command in a terminal that has the environment's commands, those in the folder `path`, and nothing else: no ssh
    either.
    """
    environ = {"PATH": str(Path(sys.executable).parent) + (os.pathsep + path if path else ""), **variables}
    environ |= {name: os.environ[name] for name in ("HOME", "TMPDIR", leaks.MARKER) if name in os.environ}
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=90)


@pytest.mark.parametrize("name", ["mpiexec", "mpirun"])
def test_ranks_start_from_any_terminal(name):
    """Without ssh, more of them than there are cores, and as root in a container, where CI is root."""
    ran = in_a_terminal(name, "-n", str(environment.cores() + 2), "python", "-c", RANKS)
    assert ran.returncode == 0, ran.stderr
    assert len(re.findall(r"^\d+ of \d+$", ran.stdout, flags=re.MULTILINE)) == environment.cores() + 2


def test_a_notebooks_ranks_start_without_ssh():
    program = (
        "from labkit.ranks.cluster import Cluster, forker\n"
        "forker.is_possible = lambda *_: False  # each rank a program of its own: nothing else is imported\n"
        "ranks = Cluster(2, torch=False)\n"
        "try:\n"
        "    ranks.wait_until_ready()\n"
        "    print('ready', len(ranks.members))\n"
        "finally:\n"
        "    ranks.close()\n"
    )
    ran = in_a_terminal("python", "-c", program)
    assert ran.stdout == "ready 2\n", ran.stderr


@pytest.mark.parametrize("told", ["ssh on PATH", "a variable"])
def test_other_machines_are_still_reached(told, tmp_path):
    agent = executable(tmp_path / "ssh", f'echo "$@" >> "{tmp_path}/called"; exit 1\n')
    variables = {"OMPI_MCA_plm_rsh_agent": str(agent)} if told == "a variable" else {}
    path = str(tmp_path) if told == "ssh on PATH" else ""
    ran = in_a_terminal(
        "mpiexec", "-n", "2", "-H", "elsewhere.invalid:2", "python", "-c", RANKS, path=path, **variables
    )
    assert ran.returncode and "-x elsewhere " in (tmp_path / "called").read_text()


@pytest.mark.parametrize("allocation", ["SLURM_JOB_ID", "PBS_JOBID", "OMPI_MCA_orte_default_hostfile"])
def test_an_allocation_says_how_many_ranks_there_is_room_for(allocation, tmp_path):
    (tmp_path / "hosts").write_text("localhost slots=2\n")
    variables = {allocation: "17", "OMPI_MCA_orte_default_hostfile": str(tmp_path / "hosts")}
    ran = in_a_terminal("mpiexec", "-n", "3", "python", "-c", RANKS, **variables)
    assert ran.returncode and "not enough slots" in ran.stderr


def test_set_up_puts_the_launcher_in_place_and_leaves_what_is_shared_alone(tmp_path):
    course = Course(tmp_path)
    shutil.copytree(ROOT / "tools" / "open_mpi", course.root / "tools" / "open_mpi")
    bootstrap.settle_open_mpi(course)  # no Open MPI there: nothing to do
    assert not course.env.exists()
    for name in ("bin/orterun_wrapper", "bin/mpiexec", "bin/mpirun", "bin/orterun", "etc/openmpi-mca-params.conf"):
        (course.env / name).parent.mkdir(parents=True, exist_ok=True)
        (course.env / name).write_text("Open MPI's")
    os.link(course.env / "bin" / "mpiexec", tmp_path / "another environment's")
    bootstrap.settle_open_mpi(course)
    assert (tmp_path / "another environment's").read_text() == "Open MPI's"
    assert "readlink" in (course.env / "bin" / "mpirun").read_text() and os.access(
        course.env / "bin" / "mpirun", os.X_OK
    )
    assert "/bin/false" in (course.env / "etc" / "openmpi-mca-params.conf").read_text()
    assert (course.env / "bin" / "orterun_wrapper").read_text() == "Open MPI's"


# -------------------------------------------------------------------------------------------------------------- Horovod


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone whose Python is a script: it "compiles" what the file `recipe` says, and "installs" by unpacking the
    wheel.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user cache"))
    monkeypatch.setattr(horovod_wheel, "missing_to_compile", lambda course: "")

    def make(name: str, recipe: str) -> Course:
        course = Course(tmp_path / name)
        shutil.copytree(ROOT / "tools" / "horovod", course.root / "tools" / "horovod")
        shutil.copy(ROOT / "requirements.lock.txt", course.root)
        course.site_packages.mkdir(parents=True)
        (course.root / "recipe").write_text(recipe)
        executable(
            course.python,
            f'case "$3" in wheel) . "{course.root}/recipe";; '
            f'install) for wheel; do :; done; "{sys.executable}" -m zipfile -e "$wheel" "{course.site_packages}";; esac\n',
        )
        return course

    return make


def horovod_stand_in(folder: Path) -> Path:
    """A file with the name and the metadata of Horovod's wheel."""
    tiny_wheel(folder, "horovod", horovod_wheel.VERSION)
    made = folder / f"horovod-{horovod_wheel.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(made, "a") as wheel:
        wheel.writestr(f"horovod-{horovod_wheel.VERSION}.dist-info/INSTALLER", "pip\n")
    return made


def until(state: str, course: Course, deadline_s: float = 20) -> dict:
    deadline = time.monotonic() + deadline_s
    while (status := horovod_wheel.HorovodWheel(course).status())["state"] != state:
        assert time.monotonic() < deadline, status
        time.sleep(0.05)
    return status


def test_the_wheel_is_compiled_once_and_shared(clone, tmp_path):
    wheel = horovod_stand_in(tmp_path / "made")
    recipe = f'echo "[ 42%] Building"; echo once >> "{tmp_path}/count"; sleep 0.5; mkdir wheel; cp "{wheel}" wheel/'
    first, second = clone("first clone", recipe), clone("second clone", recipe)
    assert horovod_wheel.ensure(first)["state"] in ("waiting", "building")
    assert horovod_wheel.ensure(second)["state"] in ("waiting", "building")
    assert until("installed", first) and until("installed", second)
    assert (tmp_path / "count").read_text() == "once\n"
    third = clone("third clone", recipe)
    assert horovod_wheel.HorovodWheel(third).status()["state"] == "built"
    assert horovod_wheel.wait(third, poll=0.05) and (tmp_path / "count").read_text() == "once\n"


def test_a_failed_build_names_its_reason_and_is_tried_again_only_when_asked(clone, tmp_path):
    course = clone(
        "clone",
        f'echo tried >> "{tmp_path}/count"; echo "Building wheel"; echo "torch.cc:7:1: error: no member named x"; exit 1',
    )
    horovod_wheel.ensure(course)
    status = until("failed", course)
    assert "error: no member named x" in status["reason"]
    assert horovod_wheel.ensure(course)["state"] == "failed"
    assert "make horovod" in horovod_wheel.in_words(status)
    assert horovod_wheel.wait(course, retry=True, poll=0.05) is False
    assert (tmp_path / "count").read_text() == "tried\n" * 2


def test_a_build_that_died_is_noticed_and_replaced(clone, tmp_path):
    wheel = horovod_stand_in(tmp_path / "made")
    course = clone("clone", 'echo "[ 37%] Building"; sleep 55')
    horovod_wheel.ensure(course)
    deadline = time.monotonic() + 10
    while (status := horovod_wheel.HorovodWheel(course).status())["percent"] != 37:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(status["pid"], signal.SIGKILL)
    assert until("absent", course)["reason"] == "the last build was interrupted"
    (course.root / "recipe").write_text(f'mkdir wheel; cp "{wheel}" wheel/')
    assert horovod_wheel.wait(course, poll=0.05) is True


def test_a_build_without_network_is_tried_again_at_the_next_start(clone, tmp_path):
    wheel = horovod_stand_in(tmp_path / "made")
    course = clone("clone", 'echo "ERROR: No matching distribution found"; exit 1')
    assert horovod_wheel.wait(course, poll=0.05) is False
    status = horovod_wheel.HorovodWheel(course).status()
    assert status["state"] == "absent" and "could not be fetched: ERROR: No matching" in status["reason"]
    (course.root / "recipe").write_text(f'mkdir wheel; cp "{wheel}" wheel/')
    assert horovod_wheel.wait(course, poll=0.05) is True


def test_the_reason_of_a_failure_is_the_line_that_names_it(tmp_path):
    log = tmp_path / "build.log"
    log.write_text(
        "  except ImportError as error:\n  CMake Error at CMakeLists.txt:3 (find_package):\n    No MPI\n\nERROR: "
        "Failed\n"
    )
    assert horovod_wheel.first_error(log) == "CMake Error at CMakeLists.txt:3 (find_package): No MPI"
    log.write_text("g++ ...\nCMake Error: later\nx/ops.cc:12:5: error: no such member\n")
    assert horovod_wheel.first_error(log) == "x/ops.cc:12:5: error: no such member"


def test_paths_with_spaces_are_told_to_cmake_without(tmp_path):
    env, scratch = tmp_path / "a clone" / ".venv", tmp_path / "scratch"
    executable(env / "bin" / "mpicxx", f'echo "c++ -I{env}/include"\n')
    scratch.mkdir()
    (scratch / "env").symlink_to(env)
    compiler = horovod_wheel.mpi_compiler("mpicxx", scratch, scratch / "env")
    told = subprocess.run([compiler, "-show"], capture_output=True, text=True)
    assert told.stdout == f"c++ -I{scratch}/env/include\n"


def test_a_build_can_be_stopped(clone):
    course = clone("clone", "sleep 55")
    assert horovod_wheel.ensure(course)["state"] in ("waiting", "building")
    horovod_wheel.HorovodWheel(course).stop()
    assert horovod_wheel.HorovodWheel(course).builder() is None


def test_the_key_follows_what_the_wheel_is_made_from(clone):
    course = clone("clone", "")
    key, text = horovod_wheel.key(course), course.lock_file.read_text()
    course.lock_file.write_text(text.replace("ruff==", "ruff==99."))
    assert horovod_wheel.key(course) == key
    course.lock_file.write_text(re.sub(r"torch==.*", "torch==99.0", text))
    assert horovod_wheel.key(course) != key
    course.lock_file.write_text(text)
    hook = course.root / "tools" / "horovod" / "hvd-cxx17.cmake"
    hook.write_text(hook.read_text() + "# changed\n")
    assert horovod_wheel.key(course) != key


def test_a_wheel_belongs_to_one_build_of_pytorch(clone):
    course = clone("clone", "")
    keys = {horovod_wheel.key(course)}
    for build in ("2.13.0+cpu", "2.13.0+cu130"):
        (course.site_packages / "torch").mkdir(exist_ok=True)
        (course.site_packages / "torch" / "version.py").write_text(
            f"__all__ = []\n__version__ = '{build}'\ncuda = None\n"
        )
        keys.add(horovod_wheel.key(course))
    assert len(keys) == 3


def test_where_there_is_no_tensorflow_horovod_says_how_to_get_it(tmp_path):
    course = Course(tmp_path, version=(3, 13))
    (tmp_path / "tools" / "horovod").mkdir(parents=True)
    course.lock_file.write_text("torch==2.13.0\n")
    status = horovod_wheel.HorovodWheel(course).status()
    assert status["state"] == "impossible" and "make lab PYTHON=3.11" in horovod_wheel.in_words(status)
    assert horovod_wheel.wait(course) is False and not (tmp_path / ".cache" / "horovod").exists()


def test_settings_for_gpus_are_remembered_and_name_another_wheel(clone, monkeypatch):
    course = clone("clone", "")
    key = horovod_wheel.key(course)
    with monkeypatch.context() as patch:
        patch.setenv("HOROVOD_GPU_OPERATIONS", "NCCL")
        patch.setenv("HOROVOD_WITHOUT_TENSORFLOW", "1")
        horovod_wheel.remember_settings(course)
        for_gpus = horovod_wheel.key(course)
    assert for_gpus == horovod_wheel.key(course) != key
    variables = horovod_wheel.build_variables(course, course.env, course.root)
    assert variables["HOROVOD_GPU_OPERATIONS"] == "NCCL" and variables["HOROVOD_WITH_MPI"] == "1"
    assert "HOROVOD_WITH_TENSORFLOW" not in variables


def test_without_a_compiler_everything_else_is_set_up_and_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    course = Course(tmp_path)
    base = tmp_path / "base"
    executable(base / "bin" / "python3.11", "")
    course.python.parent.mkdir(parents=True)
    course.python.symlink_to(base / "bin" / "python3.11")
    missing = horovod_wheel.missing_to_compile(course, which=lambda name: None)
    assert (
        missing
        == "a C++ compiler and make and Python.h are missing (Debian and Ubuntu: apt install g++ make python3-dev)"
    )
    status = {"state": "impossible", "reason": missing, "percent": None, "log": ""}
    assert "All else works; only unit 07 and parts of 09 and 13 need it." in horovod_wheel.in_words(status)
    header = base / "include" / "python3.11" / "Python.h"
    header.parent.mkdir(parents=True)
    header.write_text("")
    assert horovod_wheel.missing_to_compile(course, which=lambda name: f"/usr/bin/{name}") == ""


@needs("horovod")
def test_horovod_adds_up_on_two_ranks():
    """The real wheel: made on this machine, for the frameworks and the MPI of the lock file."""
    assert list((Course(ROOT, sys.prefix).site_packages / "horovod" / "tensorflow").glob("mpi_lib*.so"))
    program = (
        "import horovod.torch as hvd, torch\n"
        "hvd.init()\n"
        "total = hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), op=hvd.Sum).item()\n"
        "if hvd.rank() == 0: print('sum', total, hvd.mpi_built(), hvd.gloo_built())\n"
    )
    command = [*environment.mpiexec(), "-n", "2", sys.executable, "-c", program]
    variables = os.environ | environment.mpi_environment(2)
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=150)
    assert "sum 3.0 True True" in ran.stdout, ran.stdout + ran.stderr


def test_an_activated_conda_environment_that_has_every_pin_is_used(tiny_course, monkeypatch):
    monkeypatch.setattr(bootstrap, "ROOT", tiny_course.root)
    monkeypatch.setenv("CONDA_PREFIX", str(tiny_course.env))
    assert bootstrap.environment_in_use().env == tiny_course.root / ".venv"
    prefix = tiny_course.root.parent / "conda environment"
    (prefix / "conda-meta").mkdir(parents=True)
    monkeypatch.setenv("CONDA_PREFIX", str(prefix))
    assert bootstrap.environment_in_use().env == tiny_course.root / ".venv"  # conda's, but without the packages
    (prefix / "lib").symlink_to(tiny_course.env / "lib")
    assert bootstrap.environment_in_use().env == prefix


# ---------------------------------------------------------------------------------------------------------- Lab, doctor


def test_lab_opens_a_browser_only_where_there_is_one(place, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command = bootstrap.lab_command(place, place.root / "work", ["--port", "9000"])
    assert "--no-browser" in command and "--allow-root" not in command and command[-2:] == ["--port", "9000"]
    monkeypatch.setenv("DISPLAY", ":0")
    assert "--no-browser" not in bootstrap.lab_command(place, place.root / "work", [])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert {"--no-browser", "--allow-root"} <= set(bootstrap.lab_command(place, place.root / "work", []))


def test_doctor_finds_what_the_tests_need():
    ran = subprocess.run(
        [sys.executable, "-m", "labkit.cli", "doctor", "--json"], capture_output=True, text=True, timeout=90
    )
    findings = {row["subject"]: row for row in json.loads(ran.stdout)}
    assert ran.returncode == 0
    assert list(findings) == [
        "Python", "packages", "cores", "memory", "disk", "GPUs", "MPI", "Horovod", "scheduler", "isolation", "browser",
    ]  # fmt: skip
    assert findings["MPI"]["status"] == "good" and "Open MPI v4.1.8" in findings["MPI"]["found"]
    assert findings["packages"]["status"] == "good"
    assert all(row["status"] in doctor.STATUSES for row in findings.values())
    assert all(row["remedy"] for row in findings.values() if row["status"] in ("limited", "broken"))


def test_doctor_says_what_to_do_when_mpi_is_broken(monkeypatch):
    monkeypatch.setattr(environment, "mpiexec", lambda: ["/bin/false"])
    finding = doctor.mpi()
    assert finding.status == "broken" and "make clean" in finding.remedy


def test_doctor_sees_an_allocation(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert doctor.scheduler().found == "in Slurm job 17: 2 nodes, 8 tasks"


def test_a_table_shows_brackets_as_they_are(capsys):
    doctor.show([doctor.Check("MPI", "broken", "[Errno 2] no such file", "see [this]")])
    shown = capsys.readouterr().out
    assert "[Errno 2] no such file" in shown and "see [this]" in shown


def test_file_hash_tells_where_one_file_ends(tmp_path):
    for name, text in (("a", "xy"), ("b", "z"), ("c", "x"), ("d", "yz")):
        (tmp_path / name).write_text(text)
    assert course_module.file_hash(tmp_path / "a", tmp_path / "b") != course_module.file_hash(
        tmp_path / "c", tmp_path / "d"
    )
    assert course_module.file_hash(tmp_path / "a") == hashlib.sha256(b"xy\0").hexdigest()


# ------------------------------------------------------------------------------ a Python without TensorFlow and Horovod


@pytest.fixture
def later_python(monkeypatch):
    """This Python is taken for one that TensorFlow 2.15 has no wheels for."""
    monkeypatch.setattr(environment, "FRAMEWORKS_PYTHON", (3, 99))


@needs("frameworks")
def test_what_needs_tensorflow_says_so_in_one_sentence(later_python, capsys):
    from autograder import exercise
    from autograder.check import check
    from autograder.judging import bank
    from autograder.registry import all_exercises
    from labkit.launch.launcher import Launcher, LauncherError

    needing = [e for e in all_exercises() if e.needs_frameworks]
    assert {e.unit for e in needing} == {"07_horovod", "09_multi_node_image_lab", "13_tensorflow_strategies"}
    for e in needing:
        check(e.function)
        shown = capsys.readouterr().out
        assert "not checked here" in shown and "make lab PYTHON=3.11" in shown and len(shown.splitlines()) == 1
        case = e.cases(exercise.rng_for(e))[0]
        with pytest.raises(LauncherError, match="make lab PYTHON=3.11"):  # a grader must not take it for a wrong answer
            judge.Runners(Launcher.__new__(Launcher)).run(e, case, [], 0)
    told = "".join(bank.left_out(unit=unit) for unit in ("07", "09", "13"))
    assert "make lab PYTHON=3.11" in told and all(e.function in told for e in needing)
    assert bank.run(None, unit=needing[0].unit, exercise=needing[0].function) == []
    assert "make lab PYTHON=3.11" in bank.left_out(unit="07") and bank.left_out(unit="08") == ""


@needs("frameworks")
def test_where_horovod_is_not_compiled_the_sentence_says_how_it_comes(monkeypatch, capsys):
    from autograder.check import check
    from autograder.registry import all_exercises

    monkeypatch.setattr(environment, "FRAMEWORKS_PYTHON", sys.version_info[:2])
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools")])  # tools/horovod holds what compiles it
    monkeypatch.delitem(sys.modules, "horovod", raising=False)
    assert "not compiled" in environment.without_frameworks() and "`make horovod`" in environment.without_frameworks()
    with pytest.raises(ImportError, match="make horovod"):
        environment.need_frameworks()
    check(next(e.function for e in all_exercises() if e.runtime == "horovod"))
    assert "not checked here" in capsys.readouterr().out
    environment.need_frameworks(horovod=False)
    assert not [e.function for e in all_exercises() if e.runtime == "tensorflow" and e.lacking]
    assert "without TensorFlow" not in doctor.python().found


@needs("frameworks")
def test_lessons_and_doctor_say_it_too(later_python):
    with pytest.raises(ImportError, match="make lab PYTHON=3.11"):
        environment.need_frameworks()
    finding = doctor.python()
    assert finding.status in ("limited", "broken")
    for name in ("07_horovod/horovod_training", "09_multi_node_image_lab/multi_node_image_lab"):
        source = (ROOT / "units" / f"{name}.py").read_text()
        assert source.index("need_frameworks()") < min(
            source.index("import horovod"), source.index("import tensorflow")
        )


@needs("frameworks")
def test_this_python_has_them():
    there = sys.version_info[:2] == course_module.FULL and bool(
        list(Course(ROOT, sys.prefix).site_packages.glob("horovod/__init__.py"))
    )
    assert (environment.without_frameworks() == "") == there
    assert environment.FRAMEWORKS_PYTHON == course_module.FULL


def test_no_key_makes_the_written_down_sum_a_ranks_own():
    """numpy's generators differ between versions, and keys between courses: neither may decide a mistake's name."""
    from autograder.registry import find

    exercise = find("sum_over_ranks")
    for seed in range(60):
        case = exercise.cases(np.random.default_rng(seed))[1]
        assert not np.array_equal(case.known["parts"][0], 4 * exercise.MATRIX)
