"""The hub's parts without a hub: settings and their errors, profiles, job scripts, the collector, delivery, the shared
course.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from machine import needs

ROOT = Path(__file__).resolve().parents[2]
HUB = ROOT / "job_scripts" / "jupyterhub"
sys.path[:0] = [str(HUB), str(ROOT / "tools")]

import hub as hub_tool  # noqa: E402
from course_hub import collect, places, settings, spawners  # noqa: E402

from autograder.grading import collecting, copying  # noqa: E402

MINIMAL = {
    **{
        "course": "dl",
        "class_root": "/srv/class",
        "shared": "/opt/dl",
        "exchange": "/srv/exchange",
        "state": "/var/lib/dl",
    },
    **{"grader": "grader", "instructors": ["ada"]},
}


def written(tmp_path: Path, **changes) -> Path:
    path = tmp_path / "hub.toml"
    top = {name: value for name, value in (MINIMAL | changes).items() if not isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in top.items()]
    for name, values in changes.items():
        if isinstance(values, dict):
            lines += [
                f"[{name.replace('__', '.')}]",
                *(f"{key} = {json.dumps(value)}" for key, value in values.items()),
            ]
    path.write_text("\n".join(lines))
    return path


# -- settings ----------------------------------------------------------------------------------------------------------


def test_the_settings_that_we_give_out_can_be_read():
    told = settings.load(HUB / "hub.toml")
    assert (told.course, told.spawner.kind, list(told.profiles)) == ("dl2027", "local", ["cpu", "gpu"])
    assert told.profiles["gpu"].gpus == 1
    assert told.python == Path("/opt/dl2027/.venv/bin/python")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"corse": "x"}, "there is no setting 'corse'"),
        ({"course": "dl 2027"}, "letters, digits and _ only"),
        ({"state": "state"}, "should be an absolute path"),
        ({"instructors": []}, "name at least one"),
        ({"grader": 7}, 'grader should be text in "quotes", not 7'),
        ({"spawner": {"kind": "docker"}}, '"local", "slurm" or "pbs"'),
        ({"spawner": {"kind": "slurm"}}, "a job on a node cannot reach this machine as 127.0.0.1"),
        ({"login": {"by": "oauth"}}, "client_id is needed for oauth"),
        ({"profiles__cpu": {"cores": 2}}, "[profiles.cpu] missing: title"),
        (
            {"profiles__cpu": {"title": "CPU", "cores": "two"}},
            "[profiles.cpu] cores should be a whole number, not 'two'",
        ),
        ({"web": {"port": 80}}, "[web] there is no setting 'port'"),
    ],
)
def test_a_mistake_in_the_settings_is_said_in_a_sentence(tmp_path, monkeypatch, changes, sentence):
    monkeypatch.setenv("OAUTH_CLIENT_SECRET", "secret")
    with pytest.raises(settings.SettingsError) as error:
        settings.load(written(tmp_path, **changes))
    assert sentence in str(error.value) and str(tmp_path / "hub.toml") in str(error.value)


def test_settings_that_are_missing_or_damaged(tmp_path, monkeypatch):
    monkeypatch.delenv(settings.FILE, raising=False)
    with pytest.raises(settings.SettingsError, match="say which settings: COURSE_HUB="):
        settings.load()
    (tmp_path / "hub.toml").write_text('course = "dl')
    with pytest.raises(settings.SettingsError, match="hub.toml: "):
        settings.load(tmp_path / "hub.toml")


def test_students_of_a_group_without_those_who_teach(tmp_path, monkeypatch):
    group = SimpleNamespace(gr_mem=["ben", "ada", "grader"], gr_gid=4711)
    monkeypatch.setattr(settings.grp, "getgrnam", lambda name: group)
    told = settings.load(written(tmp_path, students=["eve"], students_group="class"))
    assert settings.students(told) == ["ben", "eve"]


@needs("root")
def test_the_hub_refuses_a_clone_and_a_python_in_a_private_home(tmp_path):
    home = tmp_path / "home"
    python = home / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    home.chmod(0o700)
    told = settings.load(written(tmp_path, shared=str(home)))
    start = told.here / "start_server.py"
    start.parent.mkdir(parents=True)
    start.touch()
    with pytest.raises(settings.SettingsError, match="an ordinary user cannot run .*nobody but its owner may enter"):
        places.check_shared(told)
    (home / "solutions").mkdir()
    with pytest.raises(settings.SettingsError, match="never the clone"):
        places.check_shared(told)


@needs("root")
def test_the_exchange_cannot_be_moved_away_or_listed(tmp_path):
    told = settings.load(written(tmp_path, exchange=str(tmp_path / "exchange")))
    places.make_exchange(told, 61234, 61234)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "exchange").rglob("*")}
    assert modes == {"dl": 0o755, "outbound": 0o755, "inbound": 0o1733, "feedback": 0o711}
    assert (tmp_path / "exchange").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "exchange" / "dl").stat().st_uid == 61234


# -- servers -----------------------------------------------------------------------------------------------------------


def spawner(kind, told):
    """A spawner of this kind that has no hub."""
    found = kind.__new__(kind)
    found.settings, found.user_options = told, {}
    return found


def test_a_student_chooses_a_profile_and_nothing_else():
    told = settings.load(HUB / "hub.toml")
    chosen = spawner(spawners._Chosen, told)
    assert chosen.profile is told.profiles["cpu"]
    chosen.user_options = {"profile": ["gpu"], "memory": "900000", "options": "--uid=0"}
    assert chosen.profile is told.profiles["gpu"]
    assert chosen.user_options == {"profile": "gpu"}
    for wrong in ("root", ["x"], {"a": 1}, 3):
        chosen.user_options = {"profile": wrong}
        with pytest.raises(Exception, match="There is no profile"):
            _ = chosen.profile
    page = chosen.form()
    assert page.count('type="radio"') == 2 and page.count("checked") == 1 and "1 GPU" in page


@pytest.mark.parametrize("kind", ["slurm", "pbs"])
def test_the_script_of_a_job_asks_for_what_the_profile_gives(kind):
    from batchspawner.batchspawner import format_template

    values = {
        "course": "dl",
        "homedir": "/home/ben",
        "keepvars": "PATH,HOME",
        "nprocs": "4",
        "memory": "16384",
        "ngpus": "1",
    }
    values |= {
        "runtime": "01:30:00",
        "cmd": "start",
        "partition": "gpu",
        "queue": "gpu",
        "account": "",
        "options": "",
        "prologue": "",
    }
    script = format_template(spawners.KINDS[kind]._template, **values)
    lines = script.splitlines()
    wanted = {
        "slurm": [
            "--nodes=1 --ntasks=4 --cpus-per-task=1",
            "--mem=16384M",
            "--time=01:30:00",
            "--gres=gpu:1",
            "--partition=gpu",
        ],
        "pbs": ["-l select=1:ncpus=4:mpiprocs=4:mem=16384mb:ngpus=1", "-l walltime=01:30:00", "-q gpu", "-v PATH,HOME"],
    }[kind]
    directive = {"slurm": "#SBATCH", "pbs": "#PBS"}[kind]
    for option in wanted:
        assert f"{directive} {option}" in lines
    last = max(number for number, line in enumerate(lines) if line.startswith(directive))
    assert [line for line in lines[1:last] if not line.startswith(directive)] == [], (
        "directives after a command do not count"
    )
    assert lines[-1] == "exec start"
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


# -- files -------------------------------------------------------------------------------------------------------------


@needs("root")
def test_only_ones_own_files_are_collected(tmp_path):
    """A link to another's work, a file of somebody else's, a pipe and too much are left out; the rest arrives whole."""
    student, other = 61234, 61235
    handed_in, secret = tmp_path / "inbound", tmp_path / "secret.ipynb"
    (handed_in / "data").mkdir(parents=True)
    secret.write_text("somebody else's answer")
    (handed_in / "mine.ipynb").write_text("mine")
    (handed_in / "data" / "run.jsonl").write_text("{}")
    (handed_in / "link.ipynb").symlink_to(secret)
    (handed_in / "folder").symlink_to(tmp_path)
    (handed_in / "given.ipynb").write_text("a file of another")
    os.mkfifo(handed_in / "pipe.ipynb")
    (handed_in / "large.bin").write_bytes(bytes(5000))
    (handed_in / "left.pyc").write_text("")
    for path in (handed_in, *handed_in.rglob("*")):
        os.chown(path, student, student, follow_symlinks=False)
    os.chown(handed_in / "given.ipynb", other, other)
    (handed_in / "twice.ipynb").write_text("a file with another name elsewhere")
    os.link(handed_in / "twice.ipynb", tmp_path / "elsewhere.ipynb")
    os.chown(handed_in / "twice.ipynb", student, student)
    only = copying.only_of(student)
    copied = copying.Copying(tmp_path / "got", only, skip=lambda name: name.endswith(".pyc"), most_bytes=4000)
    copied.walk(handed_in, student)
    got = {
        path.relative_to(tmp_path / "got").as_posix(): path.read_text()
        for path in (tmp_path / "got").rglob("*")
        if path.is_file()
    }
    assert got == {"mine.ipynb": "mine", "data/run.jsonl": "{}"}
    left = {path.name for path in copied.left_out}
    assert left == {"link.ipynb", "folder", "given.ipynb", "pipe.ipynb", "large.bin", "twice.ipynb"}
    with pytest.raises(PermissionError):
        copying.Copying(tmp_path / "another").walk(handed_in, other)


@needs("root")
def test_nobody_hands_in_for_another(tmp_path):
    """nbgrader's collect takes the newest folder with a student's name on it, whoever made it: ours takes the student's
    own, and believes neither its name nor its timestamp.txt about the time.
    """
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    inbound = tmp_path / "exchange" / "dl" / "inbound"
    for stamp, uid, text in (("10:00:00.0", os.getuid(), "her own"), ("11:00:00.0", 61235, "a forgery")):
        folder = inbound / f"root+01_unit+2026-11-21 {stamp} UTC+x{uid}"
        folder.mkdir(parents=True)
        (folder / "unit.ipynb").write_text(text)
        (folder / "timestamp.txt").write_text(f"2026-11-21 {stamp} UTC")
        for path in (folder, folder / "unit.ipynb", folder / "timestamp.txt"):
            os.chown(path, uid, uid)
    config = Config()
    config.CourseDirectory.root, config.CourseDirectory.course_id = str(tmp_path / "class"), "dl"
    config.CourseDirectory.assignment_id, config.Exchange.root = "01_unit", str(tmp_path / "exchange")
    (tmp_path / "class").mkdir()
    (tmp_path / "exchange").chmod(0o1777)
    found = collect.OwnWorkOnly(coursedir=CourseDirectory(config=config), config=config)
    found.start()
    collected = tmp_path / "class" / "submitted" / "root" / "01_unit"
    assert (collected / "unit.ipynb").read_text() == "her own"
    changed = collecting.last_changed(inbound / f"root+01_unit+2026-11-21 10:00:00.0 UTC+x{os.getuid()}")
    assert (collected / "timestamp.txt").read_text() == f"{changed:%Y-%m-%d %H:%M:%S.%f} UTC"


def start_server():
    spec = importlib.util.spec_from_file_location("start_server", HUB / "start_server.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_course_comes_into_a_home_and_what_is_handed_out_does_not(tmp_path):
    """Two starts: files arrive, an assignment is left to be fetched, a changed file stays as it is."""
    shared, outbound, work = tmp_path / "shared", tmp_path / "outbound", tmp_path / "home" / "dl"
    for name in ("00_start", "01_pi"):
        (shared / "notebooks" / name).mkdir(parents=True)
        (shared / "notebooks" / name / "unit.ipynb").write_text(f"{name}, first edition")
    (shared / "tools").mkdir()
    (shared / "tools" / "update_work.py").write_bytes((ROOT / "tools" / "update_work.py").read_bytes())
    (outbound / "01_pi").mkdir(parents=True)
    work.parent.mkdir()
    server = start_server()
    server.deliver(shared, work, outbound)
    assert sorted(path.name for path in work.iterdir()) == [".course.json", "00_start"]
    assert work.stat().st_mode & 0o777 == 0o700
    (work / "00_start" / "unit.ipynb").write_text("my own work")
    (shared / "notebooks" / "00_start" / "unit.ipynb").write_text("second edition")
    server.deliver(shared, work, tmp_path / "nowhere")
    assert (work / "00_start" / "unit.ipynb").read_text() == "my own work"
    assert (work / "00_start" / "unit.new.ipynb").read_text() == "second edition"
    assert (work / "01_pi" / "unit.ipynb").read_text() == "01_pi, first edition"


def test_a_home_is_closed_and_temporary_files_are_ones_own(tmp_path):
    server = start_server()
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    server.close_to_others(home)
    assert home.stat().st_mode & 0o777 == 0o700
    first = Path(server.own_folder(tmp_path / "dl-ben"))
    assert first.stat().st_mode & 0o777 == 0o700 and server.own_folder(tmp_path / "dl-ben") == str(first)
    (tmp_path / "dl-eve").mkdir(mode=0o777)
    (tmp_path / "dl-eve").chmod(0o777)
    other = Path(server.own_folder(tmp_path / "dl-eve"))
    assert other.name != "dl-eve" and other.stat().st_mode & 0o777 == 0o700, (
        "somebody else may have put something there"
    )


def test_publish_keeps_the_environment_and_removes_only_what_it_brought(tmp_path):
    student, shared = tmp_path / "class" / "student", tmp_path / "shared"
    for name, text in {
        "requirements.lock.txt": "",
        "labkit/a.py": "1",
        "labkit/old.py": "2",
        "tools/run.py": "3",
    }.items():
        (student / name).parent.mkdir(parents=True, exist_ok=True)
        (student / name).write_text(text)
    (student / "tools" / "run.py").chmod(0o700)
    assert hub_tool.copy_course(student, shared) == (4, 0)
    (shared / ".venv").mkdir()
    (shared / ".venv" / "pyvenv.cfg").write_text("kept")
    (student / "labkit" / "old.py").unlink()
    (student / "labkit" / "a.py").write_text("changed")
    assert hub_tool.main(["publish", str(tmp_path / "class"), str(shared), "--files-only"]) == 0
    assert (shared / "labkit" / "a.py").read_text() == "changed" and not (shared / "labkit" / "old.py").exists()
    assert (shared / ".venv" / "pyvenv.cfg").read_text() == "kept"
    assert (shared / "tools" / "run.py").stat().st_mode & 0o777 == 0o755, "everybody may run what its owner may"
    assert (shared / "labkit").stat().st_mode & 0o777 == 0o755


def test_publish_never_makes_a_clone_public(tmp_path, capsys):
    (tmp_path / "class" / "student").mkdir(parents=True)
    (tmp_path / "class" / "student" / "requirements.lock.txt").touch()
    (tmp_path / "clone" / "solutions").mkdir(parents=True)
    assert hub_tool.main(["publish", str(tmp_path / "class"), str(tmp_path / "clone")]) == 1
    assert "a clone is not for students" in capsys.readouterr().err


def test_who_is_not_root_is_told_so(monkeypatch, capsys):
    monkeypatch.setattr(hub_tool.os, "geteuid", lambda: 1000)
    assert hub_tool.main(["try"]) == 1
    assert (
        capsys.readouterr().err == "hub: a hub starts servers as their users, so it must run as root: sudo make hub\n"
    )


def test_real_accounts_of_these_names_are_not_touched(monkeypatch):
    monkeypatch.setattr(hub_tool.os, "geteuid", lambda: 0)
    monkeypatch.setattr(hub_tool.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(hub_tool, "has_account", lambda name: name == "hub-student2")
    assert "an account 'hub-student2'" in hub_tool.missing("local")
