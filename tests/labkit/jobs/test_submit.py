"""labkit submit: what schedulers are asked and say, jobs followed on a real Slurm and on stand-ins for PBS, the report
card."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from labkit import runlog
from labkit.jobs import card as jobs_card
from labkit.jobs import job as jobs_job
from labkit.jobs import left as jobs_left
from labkit.jobs import monitor, schedulers, submit
from labkit.jobs import pbs as jobs_pbs
from labkit.jobs import report as job_report
from labkit.jobs import slurm as jobs_slurm
from labkit.jobs.job import Job, Request, SchedulerError
from labkit.jobs.pbs import PBS
from labkit.jobs.slurm import Slurm

ROOT = Path(__file__).resolve().parents[3]
LABKIT = f"{sys.executable} -m labkit.cli"

SLURM_SCRIPT = """#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks on a node: don't change
#SBATCH -p course --gres=gpu:2
#SBATCH --time=00:10:00

echo hello
#SBATCH --nodes=64
"""
PBS_SCRIPT = """#!/bin/bash
#PBS -N ddp
#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:10:00
#PBS -k doe
echo hello
"""


# --- time limits, directives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("30", 1800),
        ("90s", 90),
        ("5m", 300),
        ("5min", 300),
        ("1h30m", 5400),
        ("2d", 172800),
        ("10:00", 600),
        ("1:00:00", 3600),
        ("1-12", 129600),
        ("1-00:30", 88200),
        ("1-00:00:05", 86405),
    ],
)
def test_time_limits_as_people_write_them(text, seconds):
    assert jobs_job.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0", "00:00:00", "-5", "1:2:3:4", "1.5h"])
def test_what_is_no_time_limit_is_refused_with_an_example(text):
    with pytest.raises(SchedulerError, match="write 30"):
        jobs_job.seconds_of(text)


def test_durations_for_a_person():
    told = [jobs_job.duration(seconds) for seconds in (3, 0.84, 45, 60, 725, 11400, 7200, 432000, math.nan)]
    assert told == ["3 s", "0.8 s", "45 s", "1 min", "12 min 5 s", "3 h 10 min", "2 h", "5 days", "?"]
    assert jobs_job.clock(90061) == "25:01:01"


def test_directives_end_at_the_first_command_and_comments_are_no_options():
    words = jobs_job.directives(SLURM_SCRIPT, "#SBATCH")
    assert words == [
        "--job-name=ddp",
        "--nodes=2",
        "--ntasks-per-node=2",
        "-p",
        "course",
        "--gres=gpu:2",
        "--time=00:10:00",
    ]
    assert jobs_job.option(words, "--nodes", "-N") == "2"
    assert jobs_job.option(words, "--partition", "-p") == "course"
    assert jobs_job.option(["-N3", "-N", "4"], "--nodes", "-N") == "4"
    assert jobs_job.option(words, "--mem") is None


# --- what is asked for ------------------------------------------------------------------------------------------------


def command_of(kind, text, request=None, arguments=(), variables=None):
    return kind.submission(Path("x.sh"), text, request or Request(), arguments, variables).command


def test_slurm_options_override_the_script():
    assert command_of(Slurm(), SLURM_SCRIPT) == ["sbatch", "x.sh"]
    command = command_of(Slurm(), SLURM_SCRIPT, Request(4, 8, 5400), ["--epochs", "3"])
    assert command == ["sbatch", "--nodes=4", "--ntasks-per-node=8", "--time=01:30:00", "x.sh", "--epochs", "3"]
    command = command_of(Slurm(), SLURM_SCRIPT, variables={"COURSE": "/course"})
    assert command == ["sbatch", "--export=ALL,COURSE=/course", "x.sh"]


@pytest.mark.parametrize(
    "script, request_, ntasks",
    [
        ("#SBATCH -N 2\n#SBATCH --ntasks=8", Request(nodes=4), "--ntasks=16"),
        ("#SBATCH --ntasks=8", Request(ranks_per_node=2), "--ntasks=2"),
        ("#SBATCH -n8 --ntasks-per-node=4", Request(nodes=3), "--ntasks=12"),
        ("#SBATCH --nodes=2 --ntasks-per-node=4", Request(nodes=3), None),
    ],
)
def test_a_total_of_tasks_in_the_script_does_not_win_over_nodes_and_ranks(script, request_, ntasks):
    found = [word for word in command_of(Slurm(), "#!/bin/bash\n" + script, request_) if word.startswith("--ntasks=")]
    assert found == ([ntasks] if ntasks else [])


def test_pbs_select_keeps_what_the_chunk_has():
    assert command_of(PBS(), PBS_SCRIPT) == ["qsub", "x.sh"]
    command = command_of(PBS(), PBS_SCRIPT, Request(3, 2, 90))
    select = "select=3:ncpus=8:mpiprocs=2:ompthreads=2:ngpus=4"
    assert command == ["qsub", "-l", select, "-l", "walltime=00:01:30", "x.sh"]


def test_pbs_without_place_gets_scatter_and_output_that_can_be_followed():
    planned = PBS().submission(
        Path("x.sh"), "#PBS -l select=1:ncpus=2,walltime=10:00", Request(nodes=2, ranks_per_node=4)
    )
    assert planned.command == ["qsub", "-l", "select=2:ncpus=2:mpiprocs=4", "-l", "place=scatter", "-k", "doe", "x.sh"]
    assert ("time limit", "10:00", "script") in planned.asked
    assert any("4 ranks share 2 cores" in one for one in planned.warnings)
    unchanged = PBS().submission(Path("x.sh"), "#PBS -l select=2:ncpus=2\n#PBS -koe", Request())
    assert unchanged.command == ["qsub", "x.sh"]
    assert unchanged.warnings == ["The script has no `#PBS -l place=scatter`: PBS may put all its chunks on one node."]


def test_pbs_is_not_asked_before_the_linter_has_seen_the_script():
    planned = PBS().submission(Path("x.sh"), "#!/bin/bash\n#PBS --nodes=3\necho hello\n", Request())
    assert len(planned.warnings) == 1 and planned.warnings[0].startswith("Line 2: ")
    assert PBS().submission(Path("x.sh"), PBS_SCRIPT, Request()).warnings == []


def test_pbs_chunks_of_several_kinds_have_no_number_of_ranks_per_node():
    with pytest.raises(SchedulerError, match="several kinds"):
        command_of(PBS(), "#PBS -l select=1:ncpus=2+2:ncpus=8", Request(nodes=2))
    unchanged = PBS().submission(Path("x.sh"), "#PBS -l select=1:ncpus=2+2:ncpus=8\n#PBS -k doe", Request())
    assert unchanged.command == ["qsub", "x.sh"]
    assert ("chunks", "1:ncpus=2+2:ncpus=8", "script") in unchanged.asked


@pytest.mark.parametrize(
    "select, warning",
    [
        ("1:ncpus=4:mpiprocs=2:ompthreads=2", []),
        ("1:ncpus=4:mpiprocs=4:ompthreads=2", ["4 ranks of 2 threads share 4 cores"]),
        ("1:ncpus=1:mpiprocs=4", ["4 ranks share 1 core "]),
        ("1:ncpus=8:mpiprocs=4:ngpus=1", ["4 ranks share 1 GPU "]),
        ("1:ncpus=8:mpiprocs=4:ngpus=4", []),
    ],
)
def test_ranks_that_would_share_cores_or_gpus_are_told_before(select, warning):
    warnings = PBS().submission(Path("x.sh"), f"#!/bin/bash\n#PBS -l select={select}\necho\n", Request()).warnings
    assert [text in one for text, one in zip(warning, warnings, strict=True)] == [True] * len(warning)


def test_arguments_reach_a_pbs_script_in_a_variable():
    script = PBS_SCRIPT + "source $COURSE/job_scripts/pbs/launch.sh\n"
    command = command_of(PBS(), script, arguments=["my port.py", "--sizes", "1,2"], variables={"COURSE": "/course"})
    encoded = base64.b64encode(b"'my port.py' --sizes 1,2").decode()
    assert command == ["qsub", "-v", f"COURSE=/course,ARGS64={encoded}", "x.sh"]
    assert command_of(PBS(), PBS_SCRIPT, arguments=["--epochs", "3"])[2] == "ARGS=--epochs 3"


@pytest.mark.parametrize(
    "argument", ["two words", "it's", 'q"u', "$HOME", "1,2", "back\\slash", ";x", "ä", "", "a\nb", "`ls`"]
)
def test_any_argument_reaches_a_pbs_script_as_it_is(argument):
    """What qsub -v garbles (quotes arrive as backslashes, some end the value) does not stand in its command; the
    scripts decode it."""
    text = (ROOT / "job_scripts" / "pbs" / "ddp.sh").read_text()
    command = command_of(PBS(), text, arguments=["--name", argument])
    name, _, value = command[command.index("-v") + 1].partition("=")
    assert name == "ARGS64" and re.fullmatch(r"[\w+/=]+", value)
    decode = next(line for line in (ROOT / "job_scripts/pbs/launch.sh").read_text().splitlines() if "ARGS64" in line)
    program = f'set -eu\n{decode}\neval "set -- ${{ARGS:-}}"\nprintf \'%s\\0\' "$@"'
    ran = subprocess.run(["bash", "-c", program], env={**os.environ, name: value}, capture_output=True, text=True)
    assert ran.stdout.split("\0")[:-1] == ["--name", argument], ran.stderr


def test_what_qsub_would_garble_is_refused_where_the_script_cannot_decode_it():
    with pytest.raises(SchedulerError, match="ARGS64"):
        command_of(PBS(), "#PBS -l select=1:ncpus=1\n#PBS -k doe\neval set -- $ARGS\n", arguments=["two words"])
    with pytest.raises(SchedulerError, match="Rename that folder"):
        command_of(PBS(), PBS_SCRIPT, variables={"COURSE": "/home/o'neill/course"})
    assert command_of(PBS(), PBS_SCRIPT, variables={"COURSE": "/home/a,b"})[2] == 'COURSE="/home/a,b"'


def test_a_dry_run_shows_the_command_and_where_each_number_comes_from(tmp_path, capsys):
    (tmp_path / "ddp.sh").write_text(SLURM_SCRIPT)
    status = submit.command(
        str(tmp_path / "ddp.sh"), ["--epochs", "3"], 4, None, "5m", "slurm", True, False, None, None
    )
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert lines[0] == f"sbatch --nodes=4 --time=00:05:00 {tmp_path}/ddp.sh --epochs 3"
    assert lines[1] == "Slurm would be asked for"
    rows = [" ".join(line.split()) for line in lines[2:]]
    assert "nodes 4 your request, instead of the script's 2" in rows
    assert "ranks per node 2 script" in rows
    assert "GPUs per node gpu:2 script" in rows


def test_the_course_is_told_where_it_is(tmp_path, monkeypatch):
    script = ROOT / "job_scripts" / "slurm" / "pi.sh"
    text = "source $COURSE/job_scripts/job.sh"
    monkeypatch.delenv("COURSE", raising=False)
    monkeypatch.chdir(ROOT)
    assert submit.course_of(script, text) == {}
    monkeypatch.chdir(tmp_path)
    assert submit.course_of(script, text) == {"COURSE": str(ROOT)}
    assert submit.course_of(script, "echo hello") == {}


# --- errors, each a sentence ------------------------------------------------------------------------------------------


def on_path(monkeypatch, folder: Path, **programs: str) -> None:
    """Only these commands exist, besides the system's shell."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setattr(
        schedulers.shutil, "which", lambda name: str(folder / name) if (folder / name).exists() else None
    )
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def error_of(capsys, script, scheduler=None, **options) -> str:
    values = dict.fromkeys(("nodes", "ranks_per_node", "time_limit"), None) | options
    status = submit.command(str(script), [], *values.values(), scheduler, False, False, None, None)
    assert status == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.strip()


def test_errors_before_anything_is_submitted(tmp_path, monkeypatch, capsys):
    slurm, pbs = tmp_path / "slurm", tmp_path / "pbs"
    for folder, text in ((slurm, SLURM_SCRIPT), (pbs, PBS_SCRIPT)):
        folder.mkdir()
        (folder / "ddp.sh").write_text(text)
    on_path(monkeypatch, tmp_path / "bin")
    assert "make cluster-up" in error_of(capsys, slurm / "ddp.sh")
    assert error_of(capsys, slurm / "dpd.sh") == f"There is no script {slurm}/dpd.sh. There are ddp.sh."
    on_path(monkeypatch, tmp_path / "bin", sbatch="#!/bin/sh\n")
    said = error_of(capsys, pbs / "ddp.sh")
    assert said == f"{pbs}/ddp.sh is written for PBS (lines #PBS), but here is Slurm: take {slurm}/ddp.sh."
    assert "you asked for PBS" in error_of(capsys, slurm / "ddp.sh", scheduler="pbs")
    assert "neither slurm nor pbs" in error_of(capsys, slurm / "ddp.sh", scheduler="lsf")
    assert "from 1 on" in error_of(capsys, slurm / "ddp.sh", nodes=0)
    assert "did not return a job's number" in error_of(capsys, slurm / "ddp.sh")
    assert submit.command(None, [], None, None, None, None, False, False, None, None) == 2


def test_a_submission_from_within_a_job_takes_nothing_of_it_along(tmp_path, monkeypatch, capsys):
    on_path(monkeypatch, tmp_path / "bin", sbatch=f"#!/bin/sh\nenv > {tmp_path}/environment\necho '18;cluster'\n")
    (tmp_path / "ddp.sh").write_text(SLURM_SCRIPT)
    for name, value in {"SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": "8", "SLURM_CONF": "/etc/slurm.conf"}.items():
        monkeypatch.setenv(name, value)
    assert submit.command(str(tmp_path / "ddp.sh"), [], None, None, None, None, False, True, None, None) == 0
    assert capsys.readouterr().out.startswith("Job 18 is submitted.")
    told = (tmp_path / "environment").read_text().splitlines()
    assert [line for line in told if line.startswith("SLURM")] == ["SLURM_CONF=/etc/slurm.conf"]


def test_with_both_schedulers_the_script_decides(tmp_path, monkeypatch):
    on_path(monkeypatch, tmp_path / "bin", sbatch="", qsub="")
    assert isinstance(schedulers.choose(None, PBS_SCRIPT, Path("x.sh")), PBS)
    assert isinstance(schedulers.choose(None, SLURM_SCRIPT, Path("x.sh")), Slurm)
    assert isinstance(schedulers.choose(None, "#!/bin/bash", Path("x.sh")), Slurm)


@pytest.mark.parametrize(
    "program, message, words",
    [
        (
            "sbatch",
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
            "There is no such partition",
        ),
        (
            "sbatch",
            "sbatch: error: Batch job submission failed: Requested node configuration is not available",
            "No node has what",
        ),
        (
            "sbatch",
            "sbatch: error: Batch job submission failed: Node count specification invalid",
            "more nodes or cores than the",
        ),
        ("sbatch", "sbatch: error: Invalid generic resource (gres) specification", "knows no such GPU"),
        (
            "sbatch",
            "sbatch: unrecognized option '--nodess=2'\nTry \"sbatch --help\" for more information",
            "'--nodess=2'",
        ),
        (
            "sbatch",
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
            "cluster-up",
        ),
        (
            "sbatch",
            "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\nsbatch: error: instead of",
            "Windows line ends",
        ),
        ("sbatch", "sbatch: error: something new", "sbatch refused the script: something new"),
        ("qsub", "qsub: Unknown queue", "There is no such queue"),
        ("qsub", "qsub: directive error: --nodes=3 ", "labkit lint-pbs"),
        ("qsub", "qsub: Illegal attribute or resource value Resource_List.walltime", "HH:MM:SS"),
        ("qsub", "qsub: Unknown resource: gpus", "knows no resource of that name"),
        ("qsub", "qsub: Job violates queue and/or server resource limits", "more than the queue gives"),
        ("qsub", "qsub: cannot connect to server pbs (errno=111)", "no PBS server answers"),
        ("qsub", "", "it gave no reason"),
    ],
)
def test_a_refusal_is_explained_and_quoted(program, message, words):
    sentence = jobs_job.refused(program, message)
    assert words in sentence
    assert "\n" not in sentence


# --- what Slurm and PBS say of a job ----------------------------------------------------------------------------------


def slurm_line(**facts: str) -> str:
    """A line of `scontrol --oneliner show job`, as Slurm 22.05 wrote it for a job script named `my job`."""
    known = {
        "JobId": "8",
        "JobName": "my job",
        "UserId": "student(1000)",
        "QOS": "(null)",
        "JobState": "RUNNING",
        "Reason": "None",
        "Requeue": "1",
        "Restarts": "0",
        "ExitCode": "0:0",
        "TimeLimit": "00:10:00",
        "SubmitTime": "2026-11-21T23:05:30",
        "StartTime": "2026-11-21T23:05:38",
        "EndTime": "2026-11-21T23:15:38",
        "Partition": "course",
        "ReqNodeList": "(null)",
        "NodeList": "node[1-2]",
        "NumNodes": "2",
        "NumTasks": "4",
        "CPUs/Task": "1",
        "TRES": "cpu=4,node=2,billing=4",
        "NtasksPerN:B:S:C": "2:0:*:*",
        "Command": "/home/s/my job.sh --lr=3 x=y",
        "WorkDir": "/home/s",
        "StdOut": "/home/s/my job-8.out",
    }
    return " ".join(f"{key}={value}" for key, value in (known | facts).items()) + " Power= "


def test_a_running_slurm_job():
    job = jobs_slurm._slurm_job("8", slurm_line())
    assert (job.name, job.state, job.nodes, job.ranks, job.hosts) == ("my job", "running", 2, 4, "node[1-2]")
    assert (job.output, job.folder, job.limit) == ("/home/s/my job-8.out", "/home/s", 600)
    assert job.queue_seconds == 8
    assert math.isnan(job.ended)


@pytest.mark.parametrize(
    "word, code, end, exit_status, signal",
    [
        ("COMPLETED", "0:0", "completed", 0, 0),
        ("FAILED", "3:0", "failed", 3, 0),
        ("FAILED", "0:9", "failed", 0, 9),
        ("TIMEOUT", "0:1", "time limit", 0, 1),
        ("CANCELLED", "0:15", "cancelled", 0, 15),
        ("OUT_OF_MEMORY", "0:125", "out of memory", 0, 125),
        ("NODE_FAIL", "0:0", "node lost", 0, 0),
    ],
)
def test_how_a_slurm_job_ended(word, code, end, exit_status, signal):
    job = jobs_slurm._slurm_job("8", slurm_line(JobState=word, ExitCode=code, EndTime="2026-11-21T23:06:08"))
    assert (job.state, job.end, job.exit_status, job.signal) == ("ended", end, exit_status, signal)
    assert job.run_seconds == 30


@pytest.mark.parametrize(
    "reason, words, advised",
    [
        ("Resources", "waits for free nodes", False),
        ("Priority", "higher priority", False),
        ("PartitionConfig", "asks for more than the partition has", True),
        ("PartitionTimeLimit", "more time than the partition gives", True),
        ("ReqNodeNotAvail,_UnavailableNodes:node3", "down, drained or reserved", True),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved".replace("_", " "), "down, drained", True),
        ("QOSMaxCpuPerUserLimit", "at a limit", True),
        ("SomethingNew", "SomethingNew", True),
    ],
)
def test_why_a_slurm_job_waits(reason, words, advised):
    job = jobs_slurm._slurm_job("8", slurm_line(JobState="PENDING", Reason=reason, StartTime="Unknown", NodeList=""))
    assert job.state == "queued"
    assert words in job.reason
    assert bool(job.advice) == advised
    assert words in submit.told(job)


def test_a_slurm_job_that_goes_on_from_its_checkpoint():
    job = jobs_slurm._slurm_job("8", slurm_line(JobState="PENDING", Reason="BeginTime", Restarts="1", NodeList=""))
    assert submit.told(job) == "job 8 in the queue for attempt 2: waits for the time it was asked to begin at"


@pytest.mark.parametrize(
    "state, comment, words, advised",
    [
        (
            "Q",
            "Not Running: Insufficient amount of resource: ncpus (R: 8 A: 4 T: 16)",
            "free cores (asks for 8, 4 free, 16 in all)",
            0,
        ),
        (
            "Q",
            "Can Never Run: Insufficient amount of resource: ngpus (R: 8 A: 4 T: 4)",
            "can never run: there are not so many GPUs",
            1,
        ),
        ("Q", "Not Running: Insufficient amount of resource: ncpus (R: 30 A: 2 T: 2)", "can never run", 1),
        ("Q", "Can Never Run: Not enough total nodes available", "can never run: not enough total nodes", 1),
        ("Q", "Not Running: Not enough free nodes available", "waits for free nodes", 0),
        ("Q", "Not Running: User has reached queue workq running job limit.", "as many jobs as they may", 0),
        ("Q", "Not Running: Job would conflict with reservation or top job", "higher priority", 0),
        ("Q", "Not Running: Queue not started.", "the queue starts no jobs", 1),
        ("Q", "Not Running: PBS Error: Execution server rejected request", "PBS says: PBS Error", 0),
        ("Q", "", "just been queued", 0),
        ("H", "", "is held", 1),
    ],
)
def test_why_a_pbs_job_waits(state, comment, words, advised):
    reason, advice = jobs_pbs.pbs_reason(state, comment)
    assert words in reason
    assert bool(advice) == bool(advised)


def pbs_facts(**facts) -> dict:
    """What `qstat -x -f -F json` of OpenPBS 23.06 says of one job."""
    return {
        "Job_Name": "ddp",
        "Job_Owner": "student@login",
        "job_state": "F",
        "queue": "workq",
        "ctime": "Sat Nov 21 23:05:30 2026",
        "stime": "Sat Nov 21 23:05:38 2026",
        "mtime": "Sat Nov 21 23:06:40 2026",
        "exec_host": "node1/0*4+node2/0*4",
        "Output_Path": "login:/home/s/ddp.o12",
        "Resource_List": {
            "mpiprocs": 4,
            "ncpus": 8,
            "nodect": 2,
            "select": "2:ncpus=4:mpiprocs=2",
            "walltime": "00:01:00",
        },
        "resources_used": {"cpupercent": 0, "cput": "00:00:01", "walltime": "00:00:30"},
        "Variable_List": {"PBS_O_HOME": "/home/s", "PBS_O_WORKDIR": "/home/s/course"},
        "comment": "Job run at Sat Nov 21 at 23:05 on (node1:ncpus=4)+(node2:ncpus=4) and finished",
        "Exit_status": 0,
        **facts,
    }


@pytest.mark.parametrize(
    "facts, end, exit_status, signal",
    [
        ({}, "completed", 0, 0),
        ({"Exit_status": 7}, "failed", 7, 0),
        ({"Exit_status": -29}, "time limit", None, 0),
        ({"Exit_status": 271, "resources_used": {"walltime": "00:01:02"}}, "time limit", None, 15),
        ({"Exit_status": 271}, "cancelled", None, 15),
        ({"Exit_status": 265}, "failed", None, 9),
        ({"Exit_status": -27}, "out of memory", None, 0),
    ],
)
def test_how_a_pbs_job_ended(facts, end, exit_status, signal):
    job = jobs_pbs._pbs_job("12.pbs", pbs_facts(**facts))
    assert (job.state, job.end, job.exit_status, job.signal) == ("ended", end, exit_status, signal)
    assert (job.nodes, job.ranks, job.hosts) == (2, 4, "node1,node2")
    assert (job.queue_seconds, job.limit, job.output, job.folder) == (8, 60, "/home/s/ddp.o12", "/home/s/course")


def test_variables_that_break_the_json_of_qstat_are_left_out():
    text = '{"Jobs":{"12.pbs":{"job_state":"R","Variable_List":{\n  "A":"say "hi""\n },\n "queue":"workq"}}}'
    assert jobs_pbs._pbs_facts(text) == {"job_state": "R", "queue": "workq"}
    assert jobs_pbs._pbs_facts('{"timestamp":1,"Jobs":{}}') is None
    assert jobs_pbs._pbs_facts("") is None


# --- a job on PBS, from the submission to the card --------------------------------------------------------------------

QSTAT = """#!/bin/sh
# Each call gives the next answer; the last one again and again. Before it, something happens on the "cluster".
cd {folder}
echo "$@" >> asked
n=$(($(cat step 2> /dev/null || echo 0) + 1))
[ -f answer-$n ] || n=$((n - 1))
echo $n > step
[ -f happens-$n ] && . ./happens-$n && rm happens-$n
[ -s answer-$n ] && exec cat answer-$n
echo "qstat: Unknown Job Id 12.pbs" >&2
exit 153
"""
QSUB = """#!/bin/sh
echo "$@" > {folder}/submitted
echo 12.pbs
"""


def pbs_server(folder: Path, *answers: dict | None, happens: dict[int, str] | None = None) -> dict[str, str]:
    """Programs that answer like OpenPBS's. answers: of one qstat after the other; None: the server does not know the
    job (any more)."""
    for number, facts in enumerate(answers, 1):
        known = {"timestamp": 1795300000, "pbs_version": "23.06.06", "pbs_server": "pbs", "Jobs": {"12.pbs": facts}}
        (folder / f"answer-{number}").write_text(json.dumps(known) if facts else "")
    for number, script in (happens or {}).items():
        (folder / f"happens-{number}").write_text(script)
    return {
        "qsub": QSUB.format(folder=folder),
        "qstat": QSTAT.format(folder=folder),
        "qdel": f'#!/bin/sh\necho "$@" > {folder}/deleted\n',
    }


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder to submit from, with a PBS script; the scheduler is asked without pauses."""
    (tmp_path / "ddp.sh").write_text(PBS_SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE", raising=False)
    monkeypatch.setattr(submit, "pause", lambda seconds: 0.0)
    return tmp_path


def of_course(course: Path, **facts) -> dict:
    return pbs_facts(Output_Path=f"login:{course}/ddp.o12", Variable_List={"PBS_O_WORKDIR": str(course)}, **facts)


def test_a_pbs_job_is_followed_to_its_card(course, monkeypatch, capsys):
    waiting = of_course(
        course, job_state="Q", comment="Not Running: Insufficient amount of resource: ncpus (R: 8 A: 4 T: 16)"
    )
    happens = f"""
        mkdir -p {course}/jobs/ddp-12
        echo "output folder: {course}/jobs/ddp-12" > {course}/ddp.o12
        printf '10 %%\\r50 %%\\r100 %%\\nrank 0 of 4\\n' > {course}/jobs/ddp-12/output.txt"""
    ends = f"""printf 'pi 3.14' >> {course}/jobs/ddp-12/output.txt; echo 0 > {course}/jobs/ddp-12/exit_status
        echo '{{"pi": 3.14159, "world_size": 4}}' > {course}/jobs/ddp-12/result.json"""
    server = pbs_server(
        course, waiting, waiting, of_course(course, job_state="R"), of_course(course), happens={3: happens, 4: ends}
    )
    on_path(monkeypatch, course / "bin", **server)
    status = submit.command("ddp.sh", ["--epochs", "3"], 3, 2, "5m", None, False, False, None, None)
    printed = capsys.readouterr().out
    assert status == 0, printed
    select = "select=3:ncpus=8:mpiprocs=2:ompthreads=2:ngpus=4"
    assert (course / "submitted").read_text() == f"-l {select} -l walltime=00:05:00 -v ARGS=--epochs 3 ddp.sh\n"
    assert (course / "asked").read_text().splitlines()[0] == "-x -f -F json 12.pbs"
    lines = printed.splitlines()
    assert lines[:2] == [
        "job 12.pbs in the queue: waits for free cores (asks for 8, 4 free, 16 in all)",
        "job 12.pbs runs on node1,node2",
    ]
    assert lines[2:7] == [
        f"  output folder: {course}/jobs/ddp-12",
        "  100 %",
        "  rank 0 of 4",
        "job 12.pbs has ended: completed",
        "  pi 3.14",
    ]
    assert lines[7] == ""
    card = [" ".join(line.split()) for line in lines[8:]]
    assert card[0] == "ddp, job 12.pbs completed"
    assert "ran on 2 nodes, 4 ranks: node1,node2" in card
    assert "time 8 s in the queue, 30 s running of 1 min" in card
    assert "result pi 3.142" in card
    assert "output jobs/ddp-12/output.txt" in card
    page = (course / "jobs/ddp-12/report.html").read_text()
    assert page.startswith("<!doctype html>") and "30 s running of 1 min" in page


NO_HISTORY = "qstat: PBS is not configured to maintain job history 12.pbs"


def without_history(server: dict[str, str]) -> dict[str, str]:
    """As OpenPBS is shipped: `qstat -x` says a sentence and ends with status 0, with a JSON without jobs."""
    refusal = (
        f'case "$*" in -x*) echo "{NO_HISTORY}" >&2; echo \'{{"timestamp":1,"pbs_server":"pbs"}}\'; exit 0 ;; esac\n'
    )
    return server | {"qstat": server["qstat"].replace("\n", "\n" + refusal, 1)}


def test_a_job_on_a_server_without_history_is_known_while_it_runs(course, monkeypatch, capsys):
    ends = (
        f"mkdir -p {course}/jobs/ddp-12; echo done > {course}/jobs/ddp-12/output.txt; echo 0 > "
        f"{course}/jobs/ddp-12/exit_status"
    )
    waiting, running = of_course(course, job_state="Q", comment=""), of_course(course, job_state="R")
    on_path(
        monkeypatch, course / "bin", **without_history(pbs_server(course, waiting, running, None, happens={3: ends}))
    )
    assert submit.command("ddp.sh", [], None, None, None, None, False, False, None, None) == 0
    printed = capsys.readouterr().out
    assert "job 12.pbs in the queue" in printed and "job 12.pbs runs on node1,node2" in printed
    assert "not known yet" not in printed


def test_a_job_on_a_server_without_history_can_be_cancelled(course, monkeypatch, capsys):
    on_path(monkeypatch, course / "bin", **without_history(pbs_server(course, of_course(course, job_state="R"))))
    assert submit.command(None, [], None, None, None, None, False, False, None, "12.pbs") == 0
    assert (course / "deleted").read_text() == "12.pbs\n"


def test_the_advice_after_a_time_limit_asks_for_the_same_job_again(course, monkeypatch, capsys):
    limit = {"nodect": 2, "mpiprocs": 2, "select": "2:ncpus=4:mpiprocs=1", "walltime": "00:03:00"}
    facts = of_course(course, Exit_status=-29, Resource_List=limit)
    facts["Variable_List"]["ARGS"] = "--epochs 500 --checkpoint old.pt"
    leaves = (
        f"mkdir -p {course}/jobs/ddp-12; echo x > {course}/jobs/ddp-12/output.txt; echo x > "
        f"{course}/jobs/ddp-12/checkpoint.pt"
    )
    on_path(
        monkeypatch, course / "bin", **pbs_server(course, of_course(course, job_state="R"), facts, happens={2: leaves})
    )
    again = "--nodes 2 --ranks-per-node 1 --time 00:03:00 --epochs 500 --checkpoint jobs/ddp-12/checkpoint.pt"
    submit.command("ddp.sh", ["--epochs", "500"], 2, 1, "3m", None, False, False, None, None)
    assert f"labkit submit ddp.sh {again}." in " ".join(capsys.readouterr().out.split())
    submit.command(None, [], None, None, None, None, False, False, "12.pbs", None)  # what the scheduler has kept of it
    assert f"labkit submit SCRIPT {again}." in " ".join(capsys.readouterr().out.split())


def test_without_history_the_jobs_own_files_tell_how_it_ended(course, monkeypatch, capsys):
    ends = (
        f"mkdir -p {course}/jobs/ddp-12; echo lost > {course}/jobs/ddp-12/output.txt; echo 4 > "
        f"{course}/jobs/ddp-12/exit_status"
    )
    server = pbs_server(course, of_course(course, job_state="R"), None, happens={2: ends})
    on_path(monkeypatch, course / "bin", **server)
    assert submit.command("ddp.sh", [], None, None, None, None, False, False, None, None) == 4
    printed = capsys.readouterr().out
    assert "job 12.pbs is not known any more" in printed
    assert "failed: exit status 4" in printed


def test_a_job_is_submitted_taken_up_and_cancelled(course, monkeypatch, capsys):
    on_path(monkeypatch, course / "bin", **pbs_server(course, of_course(course, job_state="Q", comment="")))
    assert submit.command("ddp.sh", [], None, None, None, None, False, True, None, None) == 0
    assert "labkit submit --follow 12.pbs" in capsys.readouterr().out
    assert submit.command(None, [], None, None, None, None, False, False, None, "12.pbs") == 0
    assert (course / "deleted").read_text() == "12.pbs\n"
    assert capsys.readouterr().out == "Job 12.pbs is cancelled.\n"
    (course / "answer-2").write_text("")
    assert submit.command(None, [], None, None, None, None, False, False, "12.pbs", None) == 2
    assert "PBS knows no job 12.pbs (any more)" in capsys.readouterr().err


def test_an_interrupt_leaves_the_job_alone_and_says_how_to_return(capsys):
    class Interrupted:
        name = "Slurm"

        def job(self, number):
            raise KeyboardInterrupt

    assert submit.watch(Interrupted(), "17", submit.Watcher()) is None
    assert capsys.readouterr().out == (
        "Job 17 goes on. Follow it: labkit submit --follow 17   Cancel it: labkit submit --cancel 17\n"
    )
    assert submit._end(None) == 130


def test_a_scheduler_that_is_restarted_meanwhile_does_not_end_the_following(course, monkeypatch, capsys):
    answers = iter([Job("17", word="RUNNING", state="running"), None, None, ended()])

    class Restarted:
        name = "Slurm"

        def job(self, number):
            answer = next(answers)
            if answer is None:
                raise SchedulerError("Slurm's commands are here, but no Slurm answers them.")
            return answer

    report = submit.watch(Restarted(), "17", submit.Watcher(), tick=0.0)
    assert report.verdict == "completed"
    assert capsys.readouterr().out == "job 17 runs\njob 17 has ended: completed\n"
    answers = iter([None])
    with pytest.raises(SchedulerError):
        submit.watch(Restarted(), "17", submit.Watcher())


def test_a_log_is_told_of_changes_and_of_little_else(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(submit.time, "monotonic", lambda: now)
    shown = submit.Watcher()
    job = Job("17", state="queued", word="PENDING", reason="waits for free nodes", submitted=time.time())
    for now in range(0, 1300):  # noqa: B007 read by the clock above
        shown.state(job)
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" (")[0] for line in said] == ["job 17 in the queue: waits for free nodes"] * 3


def test_a_flood_of_output_is_cut_and_the_file_named(tmp_path):
    (tmp_path / "x.out").write_text("".join(f"line {k}\n" for k in range(10_000)))
    output = submit.Output()
    lines = output.new(Job("17", output=str(tmp_path / "x.out")))
    assert len(lines) < submit.MOST_LINES
    assert (lines[0], lines[-1]) == ("line 0", "line 9999")
    assert any("lines left out; all are in" in line and "x.out" in line for line in lines)
    assert output.new(Job("17", output=str(tmp_path / "x.out"))) == []


@pytest.mark.parametrize("when", [1.0, math.nan])
def test_output_of_an_older_job_with_the_same_number_is_passed_over(tmp_path, when):
    path = tmp_path / "jobs" / "ddp-17" / "output.txt"
    path.parent.mkdir(parents=True)
    path.write_text("old\n")
    submitted = path.stat().st_mtime + when
    output = submit.Output()
    assert output.new(Job("17", state="queued", folder=str(tmp_path), submitted=submitted)) == []
    with open(path, "a") as file:
        file.write("new\n")
    assert output.new(Job("17", state="running", folder=str(tmp_path))) == ["new"]
    assert (output.folder, output.path) == (path.parent, path)


@pytest.mark.parametrize("looks_before", [0, 1, 2])
def test_the_first_lines_of_a_job_that_seemed_to_wait_are_not_passed_over(tmp_path, looks_before):
    """The scheduler is asked once in a second; a job may begin and print meanwhile."""
    path = tmp_path / "jobs" / "ddp-17" / "output.txt"
    job = Job("17", state="queued", folder=str(tmp_path), submitted=math.floor(time.time()))
    output = submit.Output()
    assert [output.new(job) for _ in range(looks_before)] == [[]] * looks_before
    path.parent.mkdir(parents=True)
    path.write_text("first\n")
    seen = output.new(job) + output.new(dataclasses.replace(job, state="running"))
    assert seen == ["first"]


def test_a_tail_waits_for_whole_lines_and_notices_a_file_begun_anew(tmp_path):
    path = tmp_path / "out"
    tail = submit.Tail(path)
    assert tail.lines() == []
    path.write_text("one\ntw")
    assert tail.lines() == ["one"]
    path.write_text("one\ntwo\nthree")
    assert (tail.lines(), tail.lines(last=True)) == (["two"], ["three"])
    path.write_text("anew\n")
    assert tail.lines() == ["anew"]
    path.write_text("".join(f"{k}\n" for k in range(100)))
    assert submit.Tail(path, start=2).lines() == ["98", "99"]


NOTEBOOK = """
import sys
from labkit.jobs import submit
submit.pause = lambda seconds: 0.0
submit.submit("ddp.sh", nodes=2)
"""


def test_a_notebook_draws_the_card_and_its_shell_prints_it(course):
    import nbclient
    import nbformat

    server = pbs_server(course, of_course(course, job_state="R"), of_course(course))
    (course / "bin").mkdir()
    for name, text in server.items():
        (course / "bin" / name).write_text(text)
        (course / "bin" / name).chmod(0o755)
    cells = [NOTEBOOK, f"!{LABKIT} submit ddp.sh", "submit.submit('dpd.sh')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    environment = os.environ | {"PATH": f"{course}/bin:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    client = nbclient.NotebookClient(notebook, timeout=60, allow_errors=True)
    client.create_kernel_manager()
    client.execute(cwd=str(course), env=environment)
    drawn, printed, refused = (cell.outputs for cell in notebook.cells)
    card = drawn[-1].data
    assert drawn[-1].output_type == "execute_result"
    assert 'aria-label="ddp, job 12.pbs: completed"' in card["text/html"]
    assert card["text/plain"].startswith("ddp, job 12.pbs")
    text = "".join(output.text for output in printed)
    assert "job 12.pbs has ended: completed" in text and "30 s running of 1 min" in text
    assert "\x1b" not in text
    assert [line for line in "".join(refused[0].traceback).splitlines()] == [
        "There is no script dpd.sh. There are ddp.sh."
    ]


# --- the report card --------------------------------------------------------------------------------------------------


def write_log(
    path: Path,
    monkeypatch,
    world_size: int,
    seconds: float,
    epochs: int = 4,
    idle: int | None = None,
    batch: int = 64,
    close=True,
):
    """A run log whose steps took `seconds` (and a little more from epoch to epoch)."""
    now = 0.0
    monkeypatch.setattr(runlog, "time", types.SimpleNamespace(perf_counter=lambda: now))
    hosts = [f"node{rank // 2 + 1}" for rank in range(world_size)]
    log = runlog.Writer(path, world_size=world_size, gather=lambda value: hosts, program=__file__, batch_size=batch)
    samples = [0 if rank == idle else 5 * batch for rank in range(world_size)]
    for epoch in range(epochs):
        log.begin_epoch()
        for _ in range(5):
            now += seconds * (1 + 0.01 * epoch)
            log.step()
        log.end_epoch(loss=1.0, accuracy=0.5, val_loss=1.0, val_accuracy=0.25 * epoch, samples_per_rank=samples)
    if close:
        log.close()


def write_samples(
    folder: Path,
    host: str,
    ranks: dict[int, float],
    seconds: int = 20,
    cores=(0, 1, 2, 3),
    own=True,
    memory=0.5,
    gpus=None,
) -> None:
    """What the sampler of a node writes. ranks: {rank: share of a core}. own: each rank has a core of its own. gpus:
    {index: [busy]}."""
    (folder / "monitor").mkdir(parents=True, exist_ok=True)
    gib = 2**30
    gpus = gpus or {}
    described = [{"index": index, "name": "NVIDIA A100", "memory_bytes": 80 * gib} for index in gpus]
    lines = [
        {"kind": "node", "host": host, "job": "17", "cores": list(cores), "memory_bytes": 16 * gib, "gpus": described}
    ]
    for second in range(seconds + 1):
        seen = {
            str(rank): {
                "cpu": share * second,
                "rss": gib,
                "cores": [cores[k % len(cores)]] if own else list(cores),
                "threads": 1,
            }
            for k, (rank, share) in enumerate(ranks.items())
        }
        busy = [
            {"index": index, "busy": values[second % len(values)], "memory": 12 * gib * any(values)}
            for index, values in gpus.items()
        ]
        lines.append(
            {"kind": "sample", "t": 1000.0 + second, "memory_used": memory * 16 * gib, "ranks": seen, "gpus": busy}
        )
    (folder / "monitor" / f"{host}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def ended(**facts) -> Job:
    """A Slurm job on 2 nodes x 2 ranks that took 41 s."""
    known = {
        "name": "ddp",
        "state": "ended",
        "end": "completed",
        "word": "COMPLETED",
        "nodes": 2,
        "ranks": 4,
        "hosts": "node[1-2]",
    }
    return Job(
        "17", **(known | {"submitted": 100.0, "began": 103.0, "ended": 144.0, "limit": 600.0, "exit_status": 0} | facts)
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """jobs/ddp-17 of a sound run, with a run on one rank beside it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "jobs" / "ddp-17"
    folder.mkdir(parents=True)
    write_samples(folder, "node1", {0: 0.95, 1: 0.9})
    write_samples(folder, "node2", {2: 0.97, 3: 0.98})
    write_log(folder / "run_4.jsonl", monkeypatch, 4, 0.125)
    (tmp_path / "jobs" / "ddp-11").mkdir()
    write_log(tmp_path / "jobs" / "ddp-11" / "run_1.jsonl", monkeypatch, 1, 0.1)
    (folder / "output.txt").write_text("training\n")
    (folder / "exit_status").write_text("0\n")
    return folder


def card(folder: Path | None, job: Job | None = None) -> jobs_card.JobReport:
    return job_report.examine(job or ended(), folder, folder and folder / "output.txt", "ddp.sh", wants_log=True)


def said(report: jobs_card.JobReport) -> str:
    return "\n".join(f"{warning.says} {warning.do}" for warning in report.warnings)


def test_the_card_of_a_sound_run(run):
    report = card(run)
    assert (report.verdict, report.good, report.exit_status) == ("completed", True, 0)
    rows = dict(report.rows)
    assert rows["ran on"] == "2 nodes, 4 ranks: node[1-2]"
    assert rows["time"] == "3 s in the queue, 41 s running of 10 min"
    assert rows["throughput"].startswith("2008") and rows["throughput"].endswith("images/s on 4 ranks (run_4.jsonl)")
    assert rows["efficiency"].startswith("80.0 ±") and rows["efficiency"].endswith(
        "%, compared with 1 rank (jobs/ddp-11/run_1.jsonl)"
    )
    assert rows["processors"] == "95 % of a core per rank (from 90 % on rank 1 to 98 % on rank 3)"
    assert rows["memory"] == "1.0 GiB at most per rank"
    assert rows["result"] == "validation accuracy 0.750"
    assert rows["output"] == "jobs/ddp-17/output.txt"
    assert said(report) == ""
    text = str(report)
    assert text.splitlines()[0].split() == ["ddp,", "job", "17", "completed"]
    assert max(map(len, text.splitlines())) <= 110


def test_the_card_in_a_notebook_escapes_what_a_program_printed(run):
    (run / "output.txt").write_text("<script>alert(1)</script>\n\x1b[31mred\x1b[0m\n")
    bundle = card(run, ended(end="failed", exit_status=3, name="<b>"))._repr_mimebundle_()
    assert "<script>" not in bundle["text/html"] and "&lt;script&gt;" in bundle["text/html"]
    assert "<b>" not in bundle["text/html"]
    assert "\x1b" not in bundle["text/plain"] and "    red" in bundle["text/plain"]


def test_a_baseline_has_the_same_local_or_global_batch(run, monkeypatch):
    write_log(run.parent / "ddp-11" / "run_1.jsonl", monkeypatch, 1, 0.1, batch=32)
    assert dict(card(run).rows)["efficiency"].startswith("unknown")
    write_log(run.parent / "ddp-11" / "run_1.jsonl", monkeypatch, 1, 0.1, batch=4 * 64)
    assert "compared with 1 rank" in dict(card(run).rows)["efficiency"]
    write_log(run / "run_2.jsonl", monkeypatch, 2, 0.1)
    assert dict(card(run).rows)["efficiency"].endswith("%, compared with 2 ranks (run_2.jsonl)")


def test_only_scripts_that_name_a_run_log_are_asked_for_one(tmp_path):
    (tmp_path / "pi.sh").write_text("srun python pi.py")
    (tmp_path / "ddp.sh").write_text("torchrun ddp.py --run-log $RUN/run_$RANKS.jsonl")
    assert [submit._wants_log(str(tmp_path / name)) for name in ("pi.sh", "ddp.sh", "SCRIPT")] == [False, True, False]


def test_lost_efficiency_is_told(run, monkeypatch):
    write_log(run / "run_4.jsonl", monkeypatch, 4, 0.4)
    assert "More than half of 4 ranks is lost: efficiency 25.0" in said(card(run))


def test_figures_of_a_throughput_run(run):
    (run / "run_4.jsonl").unlink()
    (run / "throughput.json").write_text('{"images_per_second": 281.22, "images_per_second_sd": 75.8, "world_size": 1}')
    assert dict(card(run).rows)["throughput"] == "281.2 images/s on 1 rank, standard deviation 75.8 (throughput.json)"


def test_ranks_on_too_few_cores(run):
    for host, ranks in (("node1", {0: 0.5, 1: 0.5}), ("node2", {2: 0.5, 3: 0.5})):
        write_samples(run, host, ranks, cores=(0,), own=False)
    assert "2 ranks share 1 core on node1, node2. Ask for more cores" in said(card(run))


def test_a_step_before_torchrun_leaves_no_ranks(run):
    path = run / "monitor" / "node2.jsonl"
    node, *samples = [json.loads(line) for line in path.read_text().splitlines()]
    before = {
        "kind": "sample",
        "t": 999.0,
        "memory_used": 0,
        "level": 6,
        "ranks": {"1": samples[0]["ranks"]["2"]},
        "gpus": [],
    }
    lines = [node, before, *(sample | {"level": 0} for sample in samples)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert sorted(jobs_left.read_samples(path).ranks) == ["2", "3"]
    assert sorted(jobs_left.read_samples(path).places) == ["2", "3"]


def test_what_the_ranks_said_of_themselves_comes_before_what_was_sampled(run):
    record = {
        "name": "ddp",
        "nodes": ["a", "b"],
        "ranks": [{}] * 8,
        "warnings": ["8 ranks share 2 GPUs on a: start one for each GPU"],
    }
    (run / "report.json").write_text(json.dumps(record))
    report = card(run)
    assert dict(report.rows)["ran on"] == "2 nodes, 8 ranks: a, b"
    assert said(report) == "8 ranks share 2 GPUs on a. Start one for each GPU."


def test_a_rank_that_did_nothing_is_named(run, monkeypatch):
    write_samples(run, "node2", {2: 0.97, 3: 0.01})
    assert "Rank 3 of node2 did nothing: 1 % of a core, the others 95 %." in said(card(run))
    write_samples(run, "node2", {2: 0.97, 3: 0.2})
    assert said(card(run)) == ""
    write_log(run / "run_4.jsonl", monkeypatch, 4, 0.125, idle=3)
    assert "Rank 3 trained on no image (run_4.jsonl)." in said(card(run))


def test_a_node_without_ranks_is_named(run):
    write_samples(run, "node2", {})
    assert "No rank ran on node2." in said(card(run))


def test_ranks_that_each_trained_alone(run, monkeypatch):
    (run / "run_4.jsonl").unlink()
    write_log(run / "run_1.jsonl", monkeypatch, 1, 0.1)
    assert "4 ranks were asked for, but the run log is of one" in said(card(run))


def test_a_full_memory_is_told(run):
    write_samples(run, "node1", {0: 0.95, 1: 0.9}, memory=0.98)
    assert "The memory of node1 was full to 98 %." in said(card(run))


def test_gpus(run):
    write_samples(run, "node1", {0: 0.95, 1: 0.9}, seconds=99, gpus={0: [90], 1: [0, 0, 0, 0, 60]})
    write_samples(run, "node2", {2: 0.95, 3: 0.9}, gpus={0: [88], 1: [0]})
    report = card(run)
    assert dict(report.rows)["GPUs"] == "4, 48 % busy; 12.0 GiB of 80.0 GiB used at most"
    assert "GPU 1 of node1 was idle 80 % of the time." in said(report)
    assert "GPU 1 of node2 was never used." in said(report)
    assert "GPU 0" not in said(report)


def test_a_missing_run_log_and_a_broken_one(run):
    (run / "run_4.jsonl").write_text("nonsense\n")
    assert "A run log cannot be read: run_4.jsonl" in said(card(run))
    (run / "run_4.jsonl").unlink()
    assert "The run log is missing: there is no run_*.jsonl in jobs/ddp-17." in said(card(run))
    assert said(job_report.examine(ended(), run)) == ""
    assert "left no folder" in said(card(None))


def test_logs_of_a_mesh_are_read_as_what_they_are(run):
    homework = ROOT / "solutions" / "train_a_mesh"
    for path in sorted(homework.glob("run_*.jsonl")):
        shutil.copy(path, run)
    report = card(run)
    assert said(report) == ""
    rows = [text for label, text in report.rows if label == "throughput" and "tokens/s" in text]
    assert len(rows) == len(list(homework.glob("run_*.jsonl"))) and all(" t2 p2 " in text for text in rows[-1:])
    lines = (run / "run_d2_t2_p1.jsonl").read_text().splitlines(keepends=True)
    (run / "run_d2_t2_p1.jsonl").write_text("".join(lines[:-1]))
    assert "run_d2_t2_p1.jsonl: It has no last line" in said(card(run))


def test_only_the_last_attempt_must_come_to_its_end(run, monkeypatch):
    write_log(run / "run_4.jsonl", monkeypatch, 4, 0.125, epochs=2, close=False)
    assert "run_4.jsonl: The log has no last line" in said(card(run))
    write_log(run / "run_4_attempt2.jsonl", monkeypatch, 4, 0.125)
    report = card(run)
    assert said(report) == ""
    assert "run_4_attempt2.jsonl" in dict(report.rows)["throughput"]


@pytest.mark.parametrize(
    "facts", [{"end": "time limit", "exit_status": 0, "signal": 1}, {"end": "failed", "exit_status": 75}]
)
def test_a_job_that_ran_out_of_time_goes_on_from_its_checkpoint(run, facts):
    report = card(run, ended(**facts))
    assert not report.good and report.exit_status in (1, 75)
    assert "left no checkpoint. Ask for more with --time" in said(report)
    (run / "checkpoint.pt").write_bytes(b"weights")
    again = (
        "a checkpoint is there. Submit again, it goes on from there: labkit submit ddp.sh --nodes 2 --ranks-per-node 2"
        " --time 00:10:00 --checkpoint jobs/ddp-17/checkpoint.pt."
    )
    assert again in said(card(run, ended(**facts)))


@pytest.mark.parametrize("how", ["its output says so", "its arguments say so"])
def test_a_job_that_went_on_from_another_ones_checkpoint_has_one(run, how, monkeypatch):
    """It writes to the file that it was given, in the other job's folder."""
    monkeypatch.chdir(run.parents[1])
    older = run.parent / "ddp-7"
    older.mkdir()
    (older / "checkpoint.pt").write_bytes(b"weights")
    given = "jobs/ddp-7/checkpoint.pt"
    if how == "its output says so":
        (run / "output.txt").write_text(f"the time is up: checkpoint written to {given}\n")
        job = ended(end="failed", exit_status=75)
    else:
        job = ended(end="failed", exit_status=75, arguments=["--epochs", "9", "--checkpoint", given])
    told = said(job_report.examine(job, run, run / "output.txt", script="ddp.sh", base=run.parents[1]))
    assert "left no checkpoint" not in told and f"--checkpoint {given}" in told and told.count("--checkpoint") == 1


TORCHRUN_SAYS = """\
jobs/ddp-7/checkpoint.pt was written by 2 ranks: go on with 2, or take a new one.
E1124 17:09:12.000000 4711 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: 1) local_rank: 0
Traceback (most recent call last):
  File "/course/.venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/course/.venv/lib/python3.11/site-packages/torch/distributed/run.py", line 991, in main
    run(args)
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
/course/job_scripts/programs/ddp.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  exitcode  : 1 (pid: 4711)
============================================================
"""
MPIEXEC_SAYS = """\
Traceback (most recent call last):
  File "/course/mine.py", line 3, in <module>
    raise ValueError("no such mesh")
ValueError: no such mesh
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
"""


@pytest.mark.parametrize(
    "printed, shown",
    [(TORCHRUN_SAYS, TORCHRUN_SAYS.splitlines()[:1]), (MPIEXEC_SAYS, MPIEXEC_SAYS.splitlines()[:4])],
)
def test_of_a_failure_the_card_shows_what_the_program_said(run, printed, shown):
    (run / "output.txt").write_text("step 1\n" + printed)
    report = job_report.examine(ended(end="failed", exit_status=1), run, run / "output.txt")
    assert report.tail == ["step 1", *shown]
    (run / "output.txt").write_text("".join(TORCHRUN_SAYS.splitlines(keepends=True)[1:]))
    report = job_report.examine(ended(end="failed", exit_status=1), run, run / "output.txt")
    assert len(report.tail) == 12  # it said nothing: then the launcher's words are all there is


@pytest.mark.parametrize(
    "printed, words",
    [
        ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "Halve the local batch size"),
        ("ModuleNotFoundError: No module named 'torch'", "job_scripts/site.sh"),
        ("[Errno 98] Address already in use", "Submit again"),
        ("bash: srun: command not found", "Load its module"),
        ("There are not enough slots available in the system", "more ranks than the allocation has"),
        ("OSError: [Errno 28] No space left on device", "quota"),
    ],
)
def test_known_failures_are_explained_with_the_line_that_tells(run, printed, words):
    (run / "output.txt").write_text(f"training\n{printed}\nexiting\n")
    report = card(run, ended(end="failed", exit_status=2))
    assert words in said(report) and printed in said(report)
    assert report.tail == ["training", printed, "exiting"]
    assert (report.verdict, report.exit_status) == ("failed: exit status 2", 2)
    assert words not in said(card(run))


@pytest.mark.parametrize(
    "facts, verdict, words",
    [
        ({"end": "out of memory", "exit_status": 0, "signal": 125}, "out of memory", "smaller local batch"),
        ({"end": "node lost"}, "lost a node", "not your program's fault"),
        ({"end": "failed", "exit_status": 0, "signal": 9}, "failed: killed by SIGKILL", "memory was full"),
        ({"end": "cancelled", "exit_status": 0, "signal": 15}, "cancelled", ""),
    ],
)
def test_other_ends(run, facts, verdict, words):
    report = card(run, ended(**facts))
    assert (report.verdict, report.exit_status) == (verdict, 1)
    assert words in said(report)


def test_too_much_time_was_asked_for(run):
    assert "With --time 10m it would have started earlier." in said(card(run, ended(limit=36_000.0)))


def test_samples_that_are_no_samples_are_left_out(run):
    with open(run / "monitor" / "node1.jsonl", "a") as file:
        file.write('{"kind": "sample"}\n[1, 2]\n{"kind": "sample", "t": "x", "ranks": 3}\n{"kind": "sam')
    assert said(card(run)) == ""


# --- the sampler ------------------------------------------------------------------------------------------------------


def eventually(condition, seconds: float = 30.0):
    """The first true value of `condition()`; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return value


@contextlib.contextmanager
def processes(*started: subprocess.Popen):
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def rank_process(code: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", code], env={"SLURM_JOB_ID": f"test-{os.getpid()}", **environment}
    )


def test_the_sampler_knows_the_ranks_of_its_job_from_all_other_processes():
    busy, idle = "while True: pass", "import time; time.sleep(600)"
    torchrun = {"TORCHELASTIC_RUN_ID": "17", "OMP_NUM_THREADS": "2"}
    started = [
        rank_process(idle, RANK="1", SLURM_PROCID="1"),  # the torchrun of this node, whose number is no rank
        rank_process(busy, RANK="2", **torchrun),
        rank_process(idle, RANK="3", **torchrun),
        rank_process(idle, RANK="3", **torchrun),  # its loader of data
        subprocess.Popen([sys.executable, "-S", "-c", idle], env={"SLURM_JOB_ID": "another", "RANK": "0", **torchrun}),
    ]
    with processes(*started):
        sampler = monitor.Sampler(f"test-{os.getpid()}")

        def worked():
            ranks = sampler.sample()["ranks"]
            return ranks if set(ranks) == {"2", "3"} and ranks["2"]["cpu"] > 0.3 else None

        ranks = eventually(worked)
        assert ranks["3"]["cpu"] < 0.2
        assert ranks["2"]["cores"] == sorted(os.sched_getaffinity(0))
        assert ranks["2"]["threads"] == 2
        spent = ranks["3"]["cpu"]
        started[3].kill()
        started[3].wait()
        assert sampler.sample()["ranks"]["3"]["cpu"] >= spent  # what a loader has spent stays spent


def test_samplers_end_with_the_script_here_and_on_other_nodes(tmp_path):
    script = subprocess.Popen(["sleep", "600"])
    (tmp_path / "alive").write_text("starting")
    command = [sys.executable, "-m", "labkit.jobs.monitor", str(tmp_path), "--interval", "0.1", "--job", "17"]
    here = subprocess.Popen([*command, "--watch", str(script.pid)], cwd=ROOT)
    elsewhere = subprocess.Popen(command, cwd=ROOT)
    with processes(script, here, elsewhere):
        eventually(lambda: (tmp_path / "alive").read_text() not in ("", "starting"))
        eventually(lambda: [path for path in tmp_path.glob("*.jsonl") if len(path.read_text().splitlines()) >= 4])
        script.kill()
        script.wait()
        assert (here.wait(30), elsewhere.wait(30)) == (0, 0)
    assert not (tmp_path / "alive").exists()


class FakeNvml:
    """As pynvml answers on a node with two GPUs, the second of which is shared out (MIG) and does not tell its use."""

    class NVMLError(Exception):
        pass

    nvmlDeviceGetCount = staticmethod(lambda: 2)
    nvmlDeviceGetHandleByIndex = staticmethod(lambda index: index)
    nvmlDeviceGetUUID = staticmethod(lambda handle: f"GPU-{handle}abc")
    nvmlDeviceGetName = staticmethod(lambda handle: b"NVIDIA A100")
    nvmlDeviceGetMemoryInfo = staticmethod(lambda handle: types.SimpleNamespace(total=80, used=8 + handle))

    @classmethod
    def nvmlDeviceGetUtilizationRates(cls, handle):
        if handle == 1:
            raise cls.NVMLError("Not Supported")
        return types.SimpleNamespace(gpu=87)


def test_gpus_of_the_job_are_sampled():
    gpus = monitor.Gpus(FakeNvml)
    assert [gpu["name"] for gpu in gpus.described] == ["NVIDIA A100", "NVIDIA A100"]
    assert gpus.sample() == [{"index": 0, "busy": 87, "memory": 8}, {"index": 1, "busy": None, "memory": 9}]
    assert [row["index"] for row in monitor.Gpus(FakeNvml, "1").sample()] == [1]
    assert [row["index"] for row in monitor.Gpus(FakeNvml, "GPU-0abc").sample()] == [0]
    assert monitor.Gpus(FakeNvml, "").sample() == []


def test_a_sampler_goes_to_each_node_of_a_pbs_job(tmp_path, monkeypatch):
    (tmp_path / "nodes").write_text("node1\nnode1\nnode2\nnode2\n")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    monkeypatch.setattr(monitor.socket, "gethostname", lambda: "node1.cluster")
    commands = monitor._commands(["sampler"], 4711)
    assert commands["node1.cluster"] == ["sampler", "--watch", "4711"]
    assert commands["node2"][:2] == ["pbs_tmrsh", "node2"] and commands["node2"][-1] == "sampler"
    assert len(commands) == 2


# --- on a real Slurm --------------------------------------------------------------------------------------------------

JOB = f"""#!/bin/bash
#SBATCH --job-name=ranks
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=%x-%j.out
RUN=$PWD/jobs/$SLURM_JOB_NAME-$SLURM_JOB_ID
mkdir -p "$RUN"
echo "output folder: $RUN"
exec >> "$RUN/output.txt" 2>&1
trap 'echo $? > "$RUN/exit_status"' EXIT
{LABKIT} job-monitor start "$RUN"
echo "arguments: $*"
# until the sampler has seen enough: rank 3 waits for a word, the others compute
mkfifo "$RUN/word"
srun bash -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname)"
    if [ $SLURM_PROCID = 3 ]; then read -r < "$0/word"; touch "$0/enough"; else while [ ! -e "$0/enough" ]; do :; done; fi' "$RUN" &
while [ "$(cat "$RUN"/monitor/*.jsonl 2> /dev/null | grep -c '"3": {{')" -lt 5 ]; do sleep 0.2; done
echo > "$RUN/word"
wait
echo '{{"pi": 3.14159}}' > "$RUN/result.json"
exit $1
"""
LABKIT_OF_THIS_TREE = {"PYTHONPATH": str(ROOT)}


def labkit_on(slurm, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return slurm.run([sys.executable, "-m", "labkit.cli", *arguments], cwd=folder, env=LABKIT_OF_THIS_TREE, timeout=120)


def test_a_job_on_slurm_is_followed_to_its_card(slurm, tmp_path):
    (tmp_path / "ranks.sh").write_text(JOB)
    done = labkit_on(slurm, tmp_path, "submit", "ranks.sh", "5", "--verbose", "--ranks-per-node", "2", "--time", "5m")
    printed = done.stdout
    assert done.returncode == 5, printed + done.stderr
    assert "  arguments: 5 --verbose" in printed.splitlines()
    ran = dict(re.findall(r"^  rank (\d) of 4 on (\w+)$", printed, re.MULTILINE))
    assert sorted(ran) == ["0", "1", "2", "3"]
    assert ran["0"] == ran["1"] != ran["2"] == ran["3"]
    text = " ".join(printed.split())
    assert "failed: exit status 5" in text
    assert "ran on 2 nodes, 4 ranks: node" in text
    assert "of 5 min" in text and "result pi 3.142" in text
    (folder,) = (tmp_path / "jobs").iterdir()
    left = jobs_left.Left.read(folder)
    assert {rank.name: rank.host for rank in left.ranks} == {f"rank {rank}": host for rank, host in ran.items()}
    assert f"Rank 3 of {ran['3']} did nothing" in text
    assert (folder / "report.html").is_file()


def test_slurm_refuses_waits_and_cancels(slurm, tmp_path):
    (tmp_path / "wrong.sh").write_text("#!/bin/bash\n#SBATCH --partition=gpu\ntrue\n")
    (tmp_path / "big.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\ntrue\n")
    refused = labkit_on(slurm, tmp_path, "submit", "wrong.sh")
    assert refused.returncode == 2
    assert refused.stderr.startswith("There is no such partition: `sinfo -s` lists them") and refused.stdout == ""
    submitted = labkit_on(slurm, tmp_path, "submit", "big.sh", "--nodes", "64", "--detach")
    assert submitted.returncode == 0, submitted.stderr
    number = submitted.stdout.split()[1]
    told = (
        "from labkit.jobs import schedulers, submit; job = schedulers.Slurm().job('"
        + number
        + "'); print(submit.told(job), job.advice)"
    )
    waits = slurm.run([sys.executable, "-c", told], cwd=tmp_path, env=LABKIT_OF_THIS_TREE)
    assert "in the queue: asks for more than the partition has" in waits.stdout
    assert "ask for less with --nodes" in waits.stdout
    cancelled = labkit_on(slurm, tmp_path, "submit", "--cancel", number)
    assert cancelled.stdout == f"Job {number} is cancelled.\n"
    ended_so = labkit_on(slurm, tmp_path, "submit", "--follow", number)
    assert ended_so.returncode == 1
    assert f"job {number} has ended: cancelled" in ended_so.stdout
