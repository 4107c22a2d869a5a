#!/usr/bin/env python3
"""`make site`, in the course's environment where there is one, else in one for Sphinx alone (.cache/site): who wants to
read does not install PyTorch.

    site_environment.py [OPTIONS OF tools.site]

Standard library only, and syntax that Python 3.6 understands, as in bootstrap.py.
"""

import os
import sys
import time

from bootstrap import environment_in_use, packages_to_install
from course import ROOT, Course, Trouble, exclusively, file_hash, in_dots, read_json, run_logged, say, since, write_json
from pythons import find_python, told_version

NAMES = ROOT / "tools" / "site" / "requirements.txt"


def environment():
    """The one to build the site in, made if need be. The course's will do where its packages are those of the lock
    file, whatever else of its set-up is still to be done."""
    course = environment_in_use()
    if course.python.exists() and not packages_to_install(course, most=1):
        return course
    return for_reading(Course(ROOT, ROOT / ".cache" / "site"))


def for_reading(course):
    """Some eighty packages, none of them large, pinned by the lock file of their Python."""
    with exclusively(course.logs / "site-lock", lambda: say("waiting", "another set-up is running in this folder")):
        if is_current(course):
            return course
        start = time.monotonic()
        python = find_python(course)
        course.version = told_version(python)
        say("site", "an environment for reading, Python {}".format(in_dots(course.version)), done=False)
        run_logged(course, "site.log", [python["executable"], "-m", "venv", "--clear", str(course.env)])
        install = course.pip("install", "--progress-bar", "off", "--only-binary", ":all:", "-c", course.lock_file)
        run_logged(course, "site.log", install + ["-r", NAMES], env=course.pip_variables())
        write_json(course.env / "site-stamp.json", stamp(course))
        say("site", "an environment for reading in .cache/site, {}".format(since(start)))
    return course


def stamp(course):
    return {"names": file_hash(NAMES), "lock": file_hash(course.lock_file), "root": str(course.root)}


def is_current(course):
    found = read_json(course.env / "site-stamp.json")
    return found == stamp(course) and os.access(str(course.python), os.X_OK)


def main(arguments):
    course = environment()
    os.chdir(str(ROOT))
    os.execve(str(course.python), [str(course.python), "-m", "tools.site"] + arguments, course.variables())


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Trouble as trouble:
        print("\n{}".format(trouble), file=sys.stderr)
        sys.exit(1)
