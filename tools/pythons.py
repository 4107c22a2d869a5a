"""Choose the Python that the course runs on here: one that the machine has, else one that uv or conda provides.

Every Python of `course.PYTHONS` does. Only 3.11 has TensorFlow 2.15, which Horovod needs, so it is taken first where it
is installed, and `make lab PYTHON=3.11` gets it where it is not: through uv or conda if they are there, else through a
uv that pip puts into .cache.

Standard library only; Python 3.6 syntax.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course import FULL, PYTHONS, Trouble, in_dots, run_logged, say, tail, version_of

UV = "uv==0.13.9"

ASK_PYTHON = """
import json, sys
missing = []
for name in ("venv", "ensurepip"):
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
print(json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable, "missing": missing}))
"""


def ask_python(command):
    """The facts that the interpreter `command` says of itself: version, executable, missing modules. None if it does
    not run.
    """
    try:
        answer = subprocess.run(
            [str(command), "-I", "-c", ASK_PYTHON],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        return json.loads(answer.stdout.decode()) if answer.returncode == 0 else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def told_version(answer):
    return tuple(answer["version"][:2])


def asked_for():
    """The value of `make lab PYTHON=...`: a version ("3.11") or an interpreter; "" if there is none."""
    return os.environ.get("COURSE_PYTHON", "").strip()


def asked_version(asked, which=shutil.which):
    """The version that somebody asked for; None if nobody did. Raises Trouble for one that the course does not run
    on."""
    if not asked:
        return None
    if re.match(r"^\d+\.\d+$", asked):
        wanted = tuple(int(part) for part in asked.split("."))
    else:
        answer = ask_python(which(asked) or asked)
        if not answer:
            raise Trouble(f"PYTHON={asked}: there is no such Python here. A version will do, too: PYTHON=3.11")
        wanted = told_version(answer)
    if wanted not in PYTHONS:
        raise Trouble(f"PYTHON={asked}: the course runs on Python {supported()}.")
    return wanted


def supported():
    return f"{in_dots(PYTHONS[0])} to {in_dots(PYTHONS[-1])}"


def find_python(course, which=shutil.which, this=sys.executable, asked=None):
    """A Python that can make environments: the one asked for, that of the environment that is there, 3.11, a later one
    (in a course without frameworks, 3.11 last); else Trouble."""
    asked = asked_for() if asked is None else asked
    wanted = asked_version(asked, which)
    names = [this] + [which(f"python{in_dots(known)}") for known in PYTHONS] + [which("python3")]
    if asked and not re.match(r"^\d+\.\d+$", asked):
        names.insert(0, which(asked) or asked)
    found, without_venv = {}, {}
    for candidate in dict.fromkeys(name for name in names if name):
        answer = ask_python(candidate)
        if answer:
            (without_venv if answer["missing"] else found).setdefault(told_version(answer), answer)
    here = version_of(course.env)
    order = [wanted] if wanted else ([here] if here else []) + list(course.pythons)
    for one in order:
        if one in found:
            return found[one]
    fetched = wanted or course.pythons[0]
    for provide in (python_from_uv, python_from_conda):
        answer = provide(course, which, fetched)
        if answer and not answer["missing"]:
            return answer
    for one in order:
        if one in without_venv:
            raise Trouble(
                f"{without_venv[one]['executable']} is Python {in_dots(one)}, but its part for virtual environments is"
                " not installed.\n"
                "  Debian and Ubuntu:  apt install python3-venv\n"
                "  and run the same command again."
            )
    answer = python_from_fetched_uv(course, found, fetched)
    if answer and not answer["missing"]:
        return answer
    raise nothing_fetched(course, fetched)


def nothing_fetched(course, fetched):
    """The Trouble that there is no Python and none could be fetched."""
    log, this = course.logs / "uv.log", in_dots(sys.version_info[:2])
    why = f". The end of {log}:\n{tail(log, 4)}\n" if log.exists() else f" come: this Python is {this}.\n"
    return Trouble(
        f"Python {in_dots(fetched)} is not on PATH, and uv, which could fetch it, did not{why}"
        f"  Without a network: install Python {in_dots(fetched)} (conda will do) and run the same command again.\n"
        f"  The course runs on Python {supported()}; {in_dots(FULL)} has all of it."
    )


def python_from_uv(course, which, wanted, variables=None):
    """A Python from a uv on PATH, kept where uv keeps its Pythons."""
    uv = which("uv")
    if not uv:
        return None
    say("Python", f"{in_dots(wanted)} through uv", done=False)
    run_logged(course, "uv.log", [uv, "python", "install", in_dots(wanted)], check=False, env=variables)
    # --system: not the environment in this folder, which may be about to be made anew.
    find = [uv, "python", "find", "--system", in_dots(wanted)]
    found = subprocess.run(find, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables)
    return ask_python(found.stdout.decode().strip()) if found.returncode == 0 else None


def python_from_fetched_uv(course, found, wanted):
    """From a uv that pip gets from the package index into .cache/uv; the Python it fetches is kept in .cache, too."""
    if not found:
        return None
    base = found[max(found)]["executable"]
    folder = course.cache / "uv"
    uv = folder / "bin" / "uv"
    if not uv.exists():
        say("Python", "fetching uv", done=False)
        made = run_logged(course, "uv.log", [base, "-m", "venv", "--clear", folder], check=False)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--only-binary", ":all:", UV]
        if made or not pip[0].exists() or run_logged(course, "uv.log", pip, check=False, env=course.pip_variables()):
            return None
    variables = dict(os.environ, UV_PYTHON_INSTALL_DIR=str(course.cache / "python"))
    return python_from_uv(course, lambda name: str(uv), wanted, variables)


def python_from_conda(course, which, wanted):
    conda = which("mamba") or which("conda") or which("micromamba")
    if not conda:
        return None
    prefix = course.cache / f"python-{in_dots(wanted)}"
    answer = ask_python(prefix / "bin" / "python")
    if not answer:
        say("Python", f"{in_dots(wanted)} through {Path(conda).name}", done=False)
        create = [conda, "create", "--yes", "--prefix", str(prefix), f"python={in_dots(wanted)}", "pip"]
        run_logged(course, "conda.log", create, check=False)
        answer = ask_python(prefix / "bin" / "python")
    return answer
