"""PBS: the linter, the job scripts on an emulated PBS of two hosts, and that each of them starts what its Slurm twin starts."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from labkit import cli
from labkit.jobs import pbs_lint
from labkit.jobs.pbs_script import Chunk, parse_select, read_script, seconds, size_in_bytes, split_commands

ROOT = Path(__file__).resolve().parents[2]
PBS, SLURM = ROOT / "job_scripts" / "pbs", ROOT / "job_scripts" / "slurm"
JOBS = sorted(path.stem for path in SLURM.glob("*.sh") if path.stem != "interactive")
sys.path.insert(0, str(ROOT / "tools"))

GOOD = """#!/bin/bash
#PBS -N train
#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=01:30:00
#PBS -j oe
cd "$PBS_O_WORKDIR"
mpiexec -n 8 python train.py
"""


def rules(text: str, level: str | None = None, **options) -> set[str]:
    return {finding.rule for finding in pbs_lint.lint(text, **options) if level in (None, finding.level)}


# Reading a script as qsub does ------------------------------------------------------------------------------------------------


def test_directives_end_at_the_first_command_and_may_be_indented_attached_or_continued():
    script = read_script(
        "#!/bin/bash\n  #PBS -N one -l select=1:ncpus=2,walltime=1:00:00\n# text\n#PBS-mb\n#PBS -W \\\n  block=true\n\n"
        "echo hello\n#PBS -q late\n"
    )
    assert [(option.line, option.letter, option.value) for option in script.options] == [
        (2, "N", "one"),
        (2, "l", "select=1:ncpus=2,walltime=1:00:00"),
        (4, "m", "b"),
        (5, "W", "block=true"),
    ]
    assert script.requests == ((2, "select", "1:ncpus=2"), (2, "walltime", "1:00:00"))
    assert [directive.line for directive in script.late] == [9]


def test_the_first_request_of_a_resource_counts_and_the_last_of_another_option():
    script = read_script("#PBS -l walltime=1:00:00\n#PBS -l walltime=2:00:00\n#PBS -N a\n#PBS -N b\n")
    assert script.request("walltime") == (1, "1:00:00")
    assert script.option("N").value == "b"


def test_select_statements():
    assert parse_select("2:ncpus=4:ngpus=1+ncpus=1") == [Chunk(2, {"ncpus": "4", "ngpus": "1"}), Chunk(1, {"ncpus": "1"})]
    assert parse_select("3") == [Chunk(3, {})]
    for wrong in ("", "2:", "2:ncpus", "ncpus=", "1:ncpus=1:ncpus=2", "a+", "2::ncpus=1"):
        with pytest.raises(ValueError):
            parse_select(wrong)


def test_durations_and_sizes():
    known = {"30": 30, "1:30": 90, "01:00:00": 3600, "000:05:00": 300, "0:0:1.5": 1}
    assert {text: seconds(text) for text in known} == known
    assert [seconds(text) for text in ("1-00:00:00", "2h", "1:2:3:4", "", "-5", ":30")] == [None] * 6
    assert [size_in_bytes(text) for text in ("16gb", "4G", "100", "2kw", "0.5gb", "4GiB", "gb")] == [
        16 << 30,
        4 << 30,
        100,
        2 * 1024 * 8,
        None,
        None,
        None,
    ]


def test_commands_of_the_shell_part():
    commands = split_commands(
        """A="$(cat "$PBS_NODEFILE" | wc -l)"  # not | a command
if (( a < b )) && [[ -n "$x" ]]; then B=1 ./run 'two words' > out.txt 2>&1 & fi
cat <<END > here.txt
./not a command
END
for h in $(sort -u $PBS_NODEFILE); do ssh $h "a; b" & done
wait"""
    )
    words = [command.words for command in commands if command.words]
    assert words == [
        ("[[", "-n", "$x", "]]"),
        ("./run", "two words"),
        ("cat",),
        ("for", "h", "in", "$(sort -u $PBS_NODEFILE)"),
        ("ssh", "$h", "a; b"),
        ("wait",),
    ]
    assert [command.targets for command in commands if command.targets] == [("out.txt",), ("here.txt",)]
    assert [command.line for command in commands if command.background] == [2, 6]


@given(st.text() | st.text(alphabet="#PBS -l=:+,\"'`$(){}<>&|;\\\n\tnode ssh wait cd"))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_the_linter_fail(text):
    for finding in pbs_lint.lint(text, pbs_lint.Site.parse("4:ncpus=8:ngpus=2")):
        assert 1 <= finding.line <= text.count("\n") + 1
        assert finding.level in ("error", "warning") and finding.message


# What is found ----------------------------------------------------------------------------------------------------------------

# (rule, level, what replaces which line of GOOD or is added, a part of the message)
SELECT = "#PBS -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4"
PLACE = "#PBS -l place=scatter"
TIME = "#PBS -l walltime=01:30:00"
RUN = "mpiexec -n 8 python train.py"
CD = 'cd "$PBS_O_WORKDIR"'
WRONG = [
    ("shebang", "warning", "#!/bin/bash\n", "", "login shell"),
    ("late-directive", "error", RUN, f"{RUN}\n#PBS -q prod", "behind the first command"),
    ("late-directive", "error", "#!/bin/bash\n", "#!/bin/bash\nset -e\n", "Move it to the top"),
    ("almost-directive", "warning", "#PBS -j oe", "# PBS -j oe", "is a comment"),
    ("almost-directive", "warning", "#PBS -j oe", "#pbs -j oe", "in capitals"),
    ("almost-directive", "warning", "#PBS -j oe", "#SBATCH --nodes=2", "is a comment"),
    ("quotes", "error", "#PBS -N train", '#PBS -N "train', "never closed"),
    ("slurm-option", "error", SELECT, f"{SELECT}\n#PBS --nodes=3", "qsub: directive error: --nodes=3"),
    ("slurm-option", "error", TIME, "#PBS --time=01:00:00", "-l walltime=HH:MM:SS"),
    ("slurm-option", "error", "#PBS -j oe", "#PBS --gres=gpu:2", "ngpus=G"),
    ("unknown-option", "error", "#PBS -j oe", "#PBS -t 0-3", "-J 0-9"),
    ("unknown-option", "error", "#PBS -j oe", "#PBS -n 2", "-l select=N"),
    ("unknown-option", "error", "#PBS -j oe", "#PBS -d /scratch", "cd DIRECTORY"),
    ("unknown-option", "error", "#PBS -j oe", "#PBS -q", "needs a value"),
    ("extra-words", "error", "#PBS -j oe", "#PBS -j oe  # both in one", "a line of its own"),
    ("extra-words", "error", TIME, "#PBS -l walltime=01:30:00, mem=4gb", "no blanks"),
    ("job-name", "error", "#PBS -N train", "#PBS -N my/job", "letters, digits"),
    ("job-name", "error", "#PBS -N train", f"#PBS -N {'x' * 231}", "230"),
    ("job-name", "warning", "#PBS -N train", "#PBS -N 3rd", "older servers"),
    ("option-values", "error", "#PBS -j oe", "#PBS -j y", "oe"),
    ("option-values", "error", "#PBS -j oe", "#PBS -k d", "doe"),
    ("option-values", "error", "#PBS -j oe", "#PBS -r yes", "y or n"),
    ("option-values", "error", "#PBS -j oe", "#PBS -m begin", "aborted"),
    *(
        ("option-values", "error", "#PBS -j oe", f"#PBS {option}", says)
        for option, says in [
            ("-p 1024", "from -1024 to 1023"),
            ("-p -1025", "from -1024 to 1023"),
            ("-p high", "from -1024 to 1023"),
            ("-a 99999", "hhmm"),
            ("-a 2560", "hhmm"),
            ("-a tomorrow", "hhmm"),
            ("-c x", "c=MINUTES"),
            ("-c c=", "c=MINUTES"),
            ("-S bash", "full path"),
            ("-R x", "o, e or oe"),
            ("-e host:/p", "this machine"),
            ("-o host:/p", "this machine"),
        ]
    ),
    ("mail-of-jobs", "error", "#PBS -j oe", "#PBS -m aj", "array"),
    ("variables", "error", "#PBS -j oe", "#PBS -v A=1,MY_UNSET_NAME", "MY_UNSET_NAME"),
    ("variables", "error", "#PBS -j oe", "#PBS -v 'A=a,b'", "`b`"),
    ("variables", "error", "#PBS -j oe", '#PBS -v "A=it\'s"', "garbles"),
    *(
        ("attributes", "error", "#PBS -j oe", f"#PBS -W {value}", says)
        for value, says in [
            ("depend=afterok", "TYPE:JOB"),
            ("depend=after_ok:12", "TYPE:JOB"),
            ("depend=afterok:", "TYPE:JOB"),
            ("sandbox=X", "HOME or PRIVATE"),
            ("nosuch=5", "knows no attribute"),
            ("block", "NAME=VALUE"),
            ("block=maybe", "true or false"),
            ("umask=999", "octal"),
            ("max_run_subjobs=3", "array"),
            ("run_count=many", "whole number"),
        ]
    ),
    ("display", "error", "#PBS -j oe", "#PBS -X", "DISPLAY"),
    ("select-syntax", "error", SELECT, "#PBS -l select=0:ncpus=4", "at least one"),
    ("select-syntax", "error", SELECT, "#PBS -l select=1:ncpus=4+0:ncpus=2", "at least one"),
    ("place", "error", PLACE, "#PBS -l place=scatter,excl", "by :"),
    ("place", "warning", PLACE, "#PBS -l place=group=nosuch", "nosuch"),
    ("place", "error", PLACE, "# lint-pbs: resources=switch\n#PBS -l place=group=nosuch", "nosuch"),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=2:ppn=0", "at least one"),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=0:ppn=1", "at least one"),
    ("array", "error", "#PBS -j oe", "#PBS -J 1,3,5", "no lists"),
    ("array", "error", "#PBS -j oe", "#PBS -J 4-4", "FIRST < LAST"),
    ("array", "error", "#PBS -j oe", "#PBS -J 0-7\n#PBS -r n", "always rerunnable"),
    ("array", "error", "#PBS -j oe", "#PBS -J 0-7\n#PBS -I", "interactive"),
    ("array-index", "warning", "#PBS -j oe", "#PBS -J 0-7", "same work"),
    ("array-index", "warning", RUN, "python train.py $PBS_ARRAY_INDEX", "is empty unless"),
    ("output-path", "warning", "#PBS -j oe", "#PBS -o logs/$PBS_JOBID.out", "literally"),
    ("output-path", "warning", "#PBS -j oe", "#PBS -o logs/%j.out", "literally"),
    ("kept-output", "warning", "#PBS -j oe", "#PBS -k oe", "doe"),
    ("interactive", "warning", "#PBS -j oe", "#PBS -I", "not run"),
    ("repeated-resource", "error", TIME, f"{TIME}\n#PBS -l walltime=05:00:00", "is ignored"),
    ("select-syntax", "error", SELECT, "#PBS -l select=2:ncpus", "Resource_List.select"),
    ("select-syntax", "error", SELECT, "#PBS -l select=2:ncpus=4:ncpus=8", "twice"),
    ("select-syntax", "error", SELECT, f"{SELECT}:walltime=1:00:00", "limit of the whole job"),
    ("place", "error", PLACE, "#PBS -l place=spread", "free, pack, scatter"),
    ("place", "error", PLACE, "#PBS -l place=scatter:pack", "one of"),
    ("unknown-resource", "error", SELECT, "#PBS -l select=2:ncpus=4:mpiprocs=4:gpus=1", "ngpus=N"),
    ("unknown-resource", "error", SELECT, "#PBS -l select=2:ncpu=4:mpiprocs=1", "`ncpus`"),
    ("unknown-resource", "error", TIME, "#PBS -l waltime=01:30:00", "`walltime`"),
    ("unknown-resource", "error", TIME, f"{TIME}\n# lint-pbs: resources=system\n#PBS -l filesystems=home", "filesystems"),
    ("unknown-resource", "warning", TIME, f"{TIME}\n#PBS -l filesystems=home", "lint-pbs: resources=filesystems"),
    ("wrong-level", "error", SELECT, "#PBS -l select=2:ncpus=4:mpiprocs=4:walltime=3600", "a line of its own"),
    ("wrong-level", "error", TIME, f"{TIME}\n#PBS -l mem=4gb", "Move it into the chunk"),
    ("wrong-level", "error", TIME, f"{TIME}\n#PBS -l nodes=2:ppn=4", "Drop -l nodes"),
    ("wrong-level", "error", SELECT, "#PBS -l ncpus=4", '"-lresource=" cannot be used'),
    ("wrong-level", "error", f"{SELECT}\n", "", 'Cannot have "place" without "select"'),
    ("values", "error", TIME, "#PBS -l walltime=1-12:00:00", "36:00:00"),
    ("values", "error", TIME, "#PBS -l walltime=2h", "is not HH:MM:SS"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=4:mem=0.5gb", "mem=16gb"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=4:mem=4GiB", "mem=16gb"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=four", "whole number"),
    ("walltime", "warning", TIME, "#PBS -l walltime=30", "is 30 s"),
    ("walltime", "warning", f"{TIME}\n", "", "no walltime"),
    ("no-resources", "warning", f"{SELECT}\n{PLACE}\n", "", "one core"),
    ("old-nodes", "warning", f"{SELECT}\n{PLACE}", "#PBS -l nodes=2:ppn=4", "select=2:ncpus=4:mpiprocs=4 -l place=scatter"),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=2:ppn=4:gpus=1", "Torque"),
    ("packs-nodes", "warning", f"{PLACE}\n", "", "#PBS -l place=scatter"),
    ("packs-nodes", "warning", PLACE, "#PBS -l place=excl", "one node"),
    ("crowded", "warning", SELECT, "#PBS -l select=2:ncpus=4:mpiprocs=4:ompthreads=2", "ncpus=8"),
    ("crowded", "warning", SELECT, "#PBS -l select=2:mpiprocs=4", "ncpus=4"),
    ("mpiprocs", "warning", SELECT, "#PBS -l select=2:ncpus=4\nNP=$(wc -l < $PBS_NODEFILE)", "one line per chunk"),
    ("counted-nodes", "warning", RUN, "NNODES=`wc -l < $PBS_NODEFILE`", "sort -u"),
    ("foreign-variable", "error", RUN, "python train.py --ranks $SLURM_NTASKS", "Slurm"),
    ("foreign-variable", "error", RUN, "python train.py ${SLURM_JOB_ID}", "PBS_JOBID"),
    ("foreign-variable", "error", RUN, "mpiexec -n $PBS_NP python train.py", "Torque"),
    ("foreign-variable", "error", RUN, "python train.py $PBS_ARRAYID", "PBS_ARRAY_INDEX"),
    ("foreign-command", "error", RUN, "srun python train.py", "mpiexec"),
    ("home", "warning", f"{CD}\n", "", "$HOME"),
    ("home", "warning", CD, "cd results", "$PBS_O_WORKDIR"),
    ("home", "warning", CD, "source venv/bin/activate\ncd /scratch", "`venv/bin/activate`"),
    ("home", "warning", f"{CD}\n{RUN}", "hostname > hosts.txt", "`hosts.txt`"),
    ("home", "warning", f"{CD}\n{RUN}", "bin/solver", "`bin/solver`"),
    ("ssh", "warning", RUN, "for h in $(sort -u $PBS_NODEFILE); do ssh $h /bin/train & done; wait", "pbs_tmrsh"),
    ("remote-path", "warning", RUN, "pbs_tmrsh $h torchrun train.py", "full path"),
    ("no-wait", "error", RUN, "for h in a b; do pbs_tmrsh $h /bin/train & done", "End with `wait`"),
]


def test_the_good_script_is_good():
    assert pbs_lint.lint(GOOD) == []
    assert pbs_lint.lint(GOOD, pbs_lint.Site.parse("2:ncpus=8:ngpus=4")) == []


@pytest.mark.parametrize(("rule", "level", "old", "new", "says"), WRONG, ids=lambda value: str(value)[:30])
def test_what_is_wrong_is_named(rule, level, old, new, says):
    assert old in GOOD
    text = GOOD.replace(old, new)
    found = [finding for finding in pbs_lint.lint(text) if finding.rule == rule and finding.level == level]
    assert found, pbs_lint.lint(text)
    assert any(says in finding.message for finding in found), found


def test_every_rule_has_a_wrong_script_and_a_source():
    covered = {rule for rule, *_ in WRONG} | {"crlf", "never-fits"}  # these two have tests of their own
    assert covered == {check.__name__.replace("_", "-") for check in pbs_lint.RULES}
    for check in pbs_lint.RULES:
        assert len(check.__doc__) > 40, f"{check.__name__} does not say where it is known from"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "-p +5",
            "-p -1024",
            "-p 1023",
            "-a 2359",
            "-a 12312359",
            "-a 202612312359.59",
            "-c s",
            "-c c=10",
            "-c w=5",
            "-S /bin/bash",
        ),
        *("-R oe", "-e /p/file", "-o out.txt", "-m abe", "-v A=1", "-v A=a:b", "-W depend=afterok:12.server:13", "-W block=true"),
        *("-W depend=after:12,sandbox=PRIVATE", "-W umask=022", "-W group_list=staff", "-W depend=on:2", "-v PATH"),
        *("-l place=scatter:excl", "-l place=group=host", "-J 0-3 -W max_run_subjobs=2", "-J 0-3 -m aj", "-v 'A=\"a,b\"'"),
    ],
)
def test_what_the_server_takes_is_no_error(line, monkeypatch):
    monkeypatch.setenv("PATH", "/bin")
    text = GOOD.replace(PLACE, "") if "place" in line else GOOD
    text = text.replace("#PBS -j oe", f"#PBS {line}\n# $PBS_ARRAY_INDEX")
    assert [finding for finding in pbs_lint.lint(text) if finding.level == "error"] == []


def test_windows_line_ends_are_found_with_their_line():
    found = pbs_lint.lint(GOOD.replace("-j oe\n", "-j oe\r\n"))
    assert [(finding.rule, finding.level, finding.line) for finding in found] == [("crlf", "error", 6)]


@pytest.mark.parametrize(
    ("site", "rule"),
    [
        ("8:ncpus=8:ngpus=4", None),
        ("8:ncpus=4:ngpus=4", "never-fits"),  # cores
        ("8:ncpus=64:ngpus=2", "never-fits"),  # GPUs
        ("8:ncpus=64", "never-fits"),  # no GPU at all
        ("1:ncpus=64:ngpus=8", "never-fits"),  # one node, two scattered chunks
        ("1:ncpus=64:ngpus=8+7:ncpus=64", "never-fits"),  # nodes enough, but one with GPUs
        ("1:ncpus=64:ngpus=4+1:ncpus=64:ngpus=4", None),
    ],
)
def test_what_a_site_can_never_give(site, rule):
    assert rules(GOOD, site=pbs_lint.Site.parse(site)) == ({rule} if rule else set())


def test_packing_is_certain_or_impossible_where_the_nodes_are_known():
    text = GOOD.replace(f"{PLACE}\n", "")
    assert rules(text, "error", site=pbs_lint.Site.parse("8:ncpus=16:ngpus=8")) == {"packs-nodes"}
    assert rules(text, site=pbs_lint.Site.parse("8:ncpus=8:ngpus=4")) == set()  # a chunk fills a node
    assert rules(text.replace("select=2", "select=100"), site=pbs_lint.Site.parse("8:ncpus=8:ngpus=4")) == {"never-fits"}


def test_resources_of_a_site_are_declared_by_option_or_comment():
    text = GOOD.replace(TIME, f"{TIME}\n#PBS -l filesystems=home:eagle")
    assert rules(text) == {"unknown-resource"}
    assert rules(text, resources=["filesystems"]) == set()
    assert rules(text.replace("#PBS -N", "# lint-pbs: resources=system, filesystems\n#PBS -N")) == set()


@given(
    nodes=st.integers(1, 64),
    ranks=st.integers(1, 8),
    threads=st.integers(1, 16),
    gpus=st.integers(0, 8),
    hours=st.integers(0, 99),
    minutes=st.integers(2, 59),
    name=st.from_regex(r"[A-Za-z][A-Za-z0-9_.+-]{0,29}", fullmatch=True),
    joined=st.sampled_from(["oe", "eo", "n"]),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_right_requests_are_right_however_they_are_written(nodes, ranks, threads, gpus, hours, minutes, name, joined, order):
    parts = [f"ncpus={ranks * threads}", f"mpiprocs={ranks}", f"ompthreads={threads}"] + ([f"ngpus={gpus}"] if gpus else [])
    order.shuffle(parts)
    resources = [f"select={nodes}:{':'.join(parts)}", "place=scatter", f"walltime={hours}:{minutes:02}:00"]
    order.shuffle(resources)
    lines = [f"-N {name}", f"-j{joined}", "-V", *(f"-l {resource}" for resource in resources)]
    order.shuffle(lines)
    directives = order.choice(["\n".join(f"#PBS {line}" for line in lines), "#PBS " + " ".join(lines)])
    text = f"#!/bin/bash\n{directives}\ncd $PBS_O_WORKDIR\nmpiexec -n {nodes * ranks} ./train\n"
    site = pbs_lint.Site.parse(f"{nodes}:ncpus={ranks * threads}:ngpus={gpus}")
    assert pbs_lint.lint(text, site) == []
    assert read_script(text).chunks()[0].count == nodes


# As several sites' users write them (the layout of their published examples; names of projects and programs are made up).
POLARIS = """#!/bin/bash -l
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=0:30:00
#PBS -l filesystems=home:eagle
#PBS -q debug
#PBS -A Course

cd ${PBS_O_WORKDIR}
module use /soft/modulefiles; module load conda/2024-04-29; conda activate base

NNODES=`wc -l < $PBS_NODEFILE`
NRANKS_PER_NODE=4
NTOTRANKS=$(( NNODES * NRANKS_PER_NODE ))
echo "NUM_OF_NODES= ${NNODES} TOTAL_NUM_RANKS= ${NTOTRANKS}"
mpiexec -n ${NTOTRANKS} --ppn ${NRANKS_PER_NODE} --depth=8 --cpu-bind depth ./set_affinity_gpu.sh python train.py
"""
GADI = """#!/bin/bash
#PBS -P ab12
#PBS -q gpuvolta
#PBS -l ncpus=96
#PBS -l ngpus=8
#PBS -l mem=380GB
#PBS -l jobfs=200GB
#PBS -l place=excl
#PBS -l walltime=000:05:00
#PBS -l storage=scratch/ab12+gdata/ab12
#PBS -l wd

module load python3/3.11.0 cuda/12.3.2
NNODES=$((PBS_NCPUS / PBS_NCI_NCPUS_PER_NODE))
MASTER_ADDR=$(cat $PBS_NODEFILE | head -n 1)
for inode in $(seq 1 $PBS_NCI_NCPUS_PER_NODE $PBS_NCPUS); do
  pbsdsh -n $inode ./multinode.sh ${NNODES} ${MASTER_ADDR} &
done
wait
"""
DERECHO = """#!/bin/bash
#PBS -N hello
#PBS -A UABC0001
#PBS -j oe
#PBS -k eod
#PBS -q main
#PBS -m abe
#PBS -M somebody@example.org
#PBS -l walltime=12:00:00
#PBS -l select=2:ncpus=64:mpiprocs=4:ngpus=4:mem=400GB
export TMPDIR=${SCRATCH}/temp && mkdir -p $TMPDIR
module --force purge
module load ncarenv/23.09 cuda cray-mpich
nnodes=$(sort -u $PBS_NODEFILE | wc -l)
mpiexec -n $((nnodes * 4)) -ppn 4 ./executable_name > results.log
"""
PLEIADES = """#PBS -S /bin/csh
#PBS -N cfd
#PBS -l select=2:ncpus=16:mpiprocs=8:model=san+1:ncpus=20:mpiprocs=10:model=ivy
#PBS -l walltime=1:00:00
#PBS -q devel
#PBS -W group_list=a0801
module load mpi-sgi/mpt
cd $PBS_O_WORKDIR
mpiexec -np 26 ./a.out > output.txt
"""
MULTI_NODE_TORCHRUN = """#!/bin/bash
#PBS -N torchrun
#PBS -l select=2:ncpus=16:ngpus=4:mpiprocs=1,place=scatter,walltime=2:00:00
cd "${PBS_O_WORKDIR}" || exit 1
source venv/bin/activate
HEAD=$(head -n 1 "$PBS_NODEFILE")
number=0
for host in $(sort -u "$PBS_NODEFILE"); do
    pbs_tmrsh "$host" "$PWD/node.sh" "$HEAD" "$number" &
    number=$((number + 1))
done
wait
"""
ARRAY = """#!/bin/bash
#PBS -N sweep
#PBS -J 0-9:3%2
#PBS -l select=1:ncpus=4:mem=8gb:ngpus=1
#PBS -l walltime=04:00:00
#PBS -o /scratch/somebody/logs/
cd $PBS_O_WORKDIR
RATES=(0.1 0.2 0.3 0.4)
python train.py --rate ${RATES[$((PBS_ARRAY_INDEX / 3))]}
"""
EDUCATION = """#!/bin/bash
#PBS -l walltime=00:10:00,select=1:ncpus=8:ngpus=4:mem=32gb:gpu_mem=32gb
#PBS -N lesson
#PBS -A st-course-1-gpu

module load gcc cuda
cd ${PBS_O_WORKDIR}
source venv/bin/activate
torchrun --nnodes=1 --nproc_per_node=4 --master_port=29400 ddp_mnist.py
"""
NODES_STYLE = """#!/bin/bash
#PBS -A SNIC001-23-45
#PBS -N parallel
#PBS -l nodes=2:ppn=8
#PBS -l walltime=00:30:00
#PBS -q batch
cd $PBS_O_WORKDIR
mpiexec ./my_program
"""
RIGHT = {
    "Polaris": (POLARIS, {"unknown-resource"}),
    "Gadi": (GADI, {"unknown-resource"}),
    "Derecho": (DERECHO, {"packs-nodes", "home"}),
    "Pleiades": (PLEIADES, {"packs-nodes", "unknown-resource"}),
    "torchrun": (MULTI_NODE_TORCHRUN, set()),
    "array": (ARRAY, set()),
    "one node": (EDUCATION, {"unknown-resource"}),
    "nodes and ppn": (NODES_STYLE, {"old-nodes"}),
}


@pytest.mark.parametrize("site", RIGHT)
def test_right_scripts_of_real_sites_have_no_errors(site):
    text, warnings = RIGHT[site]
    assert rules(text, "error") == set()
    assert rules(text, "warning") == warnings


def test_the_command(tmp_path):
    good, bad = tmp_path / "good.sh", tmp_path / "bad.sh"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace(SELECT, "#PBS --nodes=3"))
    run = CliRunner().invoke
    assert run(cli.app, ["lint-pbs", str(good)]).output.splitlines() == ["1 script: 0 errors, 0 warnings"]
    found = run(cli.app, ["lint-pbs", str(good), str(bad)])
    assert found.exit_code == 1
    assert f"{bad}:3: error: `--nodes=3` is not PBS: qsub: directive error: --nodes=3." in found.output
    assert {entry["rule"] for entry in json.loads(run(cli.app, ["lint-pbs", "--json", str(bad)]).output)[str(bad)]} >= {
        "slurm-option"
    }
    polaris = tmp_path / "polaris.sh"
    polaris.write_text(POLARIS)
    assert run(cli.app, ["lint-pbs", str(polaris)]).exit_code == 0
    assert run(cli.app, ["lint-pbs", "--strict", str(polaris)]).exit_code == 1
    allowed = ["lint-pbs", "--strict", "--resource", "system", "--resource", "filesystems", str(polaris)]
    assert run(cli.app, allowed).exit_code == 0
    assert run(cli.app, ["lint-pbs", "--site", "1:ncpus=8:ngpus=4", str(good)]).exit_code == 1
    for wrong in ([str(tmp_path / "none.sh")], ["--site", "4:ngpus=1", str(good)], []):
        assert run(cli.app, ["lint-pbs", *wrong]).exit_code == 2
    all_of_ours = run(cli.app, ["lint-pbs", "--strict", *map(str, sorted(PBS.glob("*.sh")))])
    assert all_of_ours.exit_code == 0
    assert f"{len(JOBS)} scripts: 0 errors, 0 warnings" in all_of_ours.output
    assert "check_crlf" in run(cli.app, ["lint-pbs", "--rules"]).output


# Twins: what the launchers start --------------------------------------------------------------------------------------------------

# Stands in for every program of the job scripts. Launchers start their command as often as they would, with the host in NODE; all others
# write down what they are, where they run and with which variables.
STAND_IN = """#!{python} -ISE
import json, os, subprocess, sys, time
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]

def start(places, variables):
    tasks = [
        subprocess.Popen(words, env=dict(os.environ, NODE=host, **{{variable: str(rank) for variable in variables}}))
        for rank, host in enumerate(places)
    ]
    sys.exit(max(task.wait() for task in tasks))

def option(name, default=None):
    for number, word in enumerate(words):
        if word == name or word.startswith(name + "="):
            value = word.partition("=")[2] if "=" in word else words.pop(number + 1)
            words.pop(number)
            return value
    return default

if name == "srun":
    nodes = int(option("--nodes", os.environ["SLURM_JOB_NUM_NODES"]))
    ranks = int(option("--ntasks", os.environ["SLURM_NTASKS"]))
    each = int(option("--ntasks-per-node", os.environ["SLURM_NTASKS_PER_NODE"]))
    assert ranks <= nodes * each and not words[0].startswith("-"), words
    start([f"node{{rank // each}}" for rank in range(ranks)], ["SLURM_PROCID"])
if name == "mpiexec":
    ranks = int(option("-n"))
    file = option("--hostfile")
    here = open(file).read().split() if file else [f"node{{k}}" for k in range(int(os.environ["SLURM_JOB_NUM_NODES"]))]
    hosts = list(dict.fromkeys(here))
    each = int(option("--map-by").split(":")[1])
    option("--bind-to")
    assert not words[0].startswith("-"), words
    start([hosts[rank // each] for rank in range(ranks)], ["OMPI_COMM_WORLD_RANK"])
if name == "pbs_tmrsh":
    host = words.pop(0)
    assert words[0].startswith("/"), words
    keep = {{variable: os.environ[variable] for variable in ("PBS_JOBID", "STARTED")}}
    sys.exit(subprocess.call(words, env=dict(keep, PATH="/usr/bin:/bin", NODE=host), cwd="/", stdout=subprocess.DEVNULL))
if name == "qstat":
    print("    Resource_List.walltime = 01:00:00")
    sys.exit()
if words and words[0].endswith("free_port.py"):
    print(23456)
if "--write" in words:
    sys.stdin.read()
if words and words[0].endswith("wait_for_engines.py"):
    deadline = time.monotonic() + 60
    while open(os.environ["STARTED"]).read().count('"ipengine"') < int(words[2]) and time.monotonic() < deadline:
        time.sleep(0.02)
shown = {{key: value for key, value in os.environ.items() if key.startswith(("HOROVOD", "OMP_", "COURSE_", "NCCL", "TF_", "IPYTHON"))}}
rank = next((int(os.environ[key]) for key in ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "RANK") if key in os.environ), None)
record = {{"host": os.environ.get("NODE"), "rank": rank, "folder": os.getcwd(), "command": [name, *words], "variables": shown}}
with open(os.environ["STARTED"], "a") as file:
    file.write(json.dumps(record) + "\\n")
"""
PROGRAMS = [
    "srun",
    "mpiexec",
    "pbs_tmrsh",
    "qstat",
    "python",
    "torchrun",
    "jupyter",
    "autograder",
    "ipcontroller",
    "ipengine",
    "labkit",
]
ARGUMENTS = {
    "pi": ["--strips", "1000"],
    "ddp": ["--epochs", "3", "--checkpoint", "a folder/checkpoint.pt"],
    "engines": ["lesson.ipynb"],
    "grade": ["03_collectives", "--course", "/srv/it's a course"],
    "scaling_sweep": ["my_port.py", "--epochs", "2"],
}


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory) -> Path:
    """An environment whose bin/ holds nothing but stand-ins."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        program = folder / "bin" / name
        program.write_text(STAND_IN.format(python=sys.executable))
        program.chmod(0o755)
    return folder


def started_by(script: Path, folder: Path, stand_ins: Path, variables: dict[str, str], arguments: list[str]) -> list[dict]:
    """What a job script starts, in an order that does not depend on who is faster; paths of `folder` are written as HERE."""
    for port in ("my_port.py", "train_products_hvd.py"):
        (folder / port).write_text("import horovod")
    (folder / "lesson.ipynb").write_text("{}")
    environment = {
        "PATH": f"{stand_ins}/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "COURSE": str(ROOT),
        "COURSE_ENVIRONMENT": str(stand_ins),
        "STARTED": str(folder / "started"),
        "COURSE_TEST_SESSION": os.environ["COURSE_TEST_SESSION"],
        **variables,
    }
    job = subprocess.Popen(
        ["/bin/bash", str(script), *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = job.communicate(timeout=60)[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # what the script leaves running, an alarm clock, ends with the job
    printed = "".join(path.read_text() for path in folder.glob("jobs/*/output.txt"))
    assert job.returncode == 0, f"{output}\n{printed}"
    text = (folder / "started").read_text().replace(json.dumps(str(folder))[1:-1], "HERE")
    return sorted(
        map(json.loads, text.splitlines()), key=lambda record: json.dumps([record["command"], record["rank"], record["host"]])
    )


def slurm_directives(script: Path) -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)=(\S+)", script.read_text(), re.MULTILINE))


def as_slurm(name: str, folder: Path, nodes: int, each: int, cores: int) -> dict[str, str]:
    counts = {"JOB_NUM_NODES": nodes, "NTASKS": nodes * each, "NTASKS_PER_NODE": each, "CPUS_PER_TASK": cores, "JOB_ID": 77}
    return {f"SLURM_{key}": str(value) for key, value in counts.items()} | {
        "SLURM_JOB_NAME": name,
        "SLURM_SUBMIT_DIR": str(folder),
    }


def as_pbs(name: str, folder: Path, nodes: int, each: int, cores: int, arguments: list[str]) -> dict[str, str]:
    (folder / "node_file").write_text("".join(f"node{node}\n" * each for node in range(nodes)))
    own = {"PBS_JOBID": "77.server", "PBS_JOBNAME": name, "PBS_NODEFILE": str(folder / "node_file"), "PBS_O_WORKDIR": str(folder)}
    return own | {"OMP_NUM_THREADS": str(cores), "NCPUS": str(cores), "ARGS": shlex.join(arguments)}


def test_each_slurm_script_has_a_twin():
    assert {path.name for path in SLURM.glob("*.sh")} <= {path.name for path in PBS.glob("*.sh")}
    assert set(JOBS) >= {"pi", "c10d", "ddp", "horovod_mnist", "resnet34_throughput", "scaling_sweep", "engines", "grade"}


@pytest.mark.parametrize("name", JOBS)
def test_twins_ask_for_the_same(name):
    slurm, pbs = slurm_directives(SLURM / f"{name}.sh"), read_script((PBS / f"{name}.sh").read_text())
    (chunk,) = pbs.chunks()
    assert chunk.count == int(slurm["nodes"])
    assert chunk.number("mpiprocs") == int(slurm["ntasks-per-node"])
    assert chunk.number("ompthreads") == int(slurm["cpus-per-task"])
    assert chunk.number("ncpus") == int(slurm["ntasks-per-node"]) * int(slurm["cpus-per-task"])
    assert pbs.request("place")[1] == "scatter"
    assert seconds(pbs.request("walltime")[1]) == seconds(slurm["time"])
    assert pbs.option("N").value == slurm["job-name"] == name
    assert ("--requeue" in (SLURM / f"{name}.sh").read_text()) == (pbs.option("r") is not None and pbs.option("r").value == "y")


@pytest.mark.parametrize("name", JOBS)
def test_the_linter_finds_nothing_in_our_scripts(name):
    text = (PBS / f"{name}.sh").read_text()
    assert pbs_lint.lint(text) == []
    assert pbs_lint.lint(text, pbs_lint.Site.parse("2:ncpus=4")) == []


@pytest.mark.parametrize(
    ("name", "layout"),
    [(name, (2, 2, 2)) for name in JOBS]
    + [(name, (3, 1, 4)) for name in ("c10d", "scaling_sweep")],  # nodes, ranks on each, cores
    ids=str,
)
def test_twins_start_the_same_processes(name, layout, tmp_path, stand_ins):
    arguments = ARGUMENTS.get(name, [])
    records = {}
    for system in ("slurm", "pbs"):
        folder = tmp_path / system
        folder.mkdir()
        variables = as_slurm(name, folder, *layout) if system == "slurm" else as_pbs(name, folder, *layout, arguments)
        records[system] = started_by(
            ROOT / "job_scripts" / system / f"{name}.sh", folder, stand_ins, variables, arguments if system == "slurm" else []
        )
    assert records["pbs"] == records["slurm"]
    nodes, each, _ = layout
    ranks = [record for record in records["pbs"] if record["host"]]
    assert {record["host"] for record in ranks} == {f"node{node}" for node in range(nodes)}
    reported = [record for record in ranks if record["command"][1].endswith("report.py")]
    torchrun = any(record["command"][0] == "torchrun" for record in ranks)
    assert len(reported) == (nodes if torchrun else nodes * each)
    if arguments and name not in ("engines", "scaling_sweep"):  # these two take their first argument for themselves
        assert any(record["command"][-len(arguments) :] == arguments for record in records["pbs"])


# On an emulated PBS of two hosts --------------------------------------------------------------------------------------------------

PLACES = [("node1", 0), ("node1", 1), ("node2", 0), ("node2", 1)]  # host and local rank of ranks 0 to 3


@pytest.fixture(scope="module")
def pbs(tmp_path_factory):
    from emulated_pbs import EmulatedPBS
    from virtual_hosts import VirtualHosts

    folder = tmp_path_factory.mktemp("pbs")
    for part in (folder, *folder.parents):  # the tests' own folders are root's alone, and these jobs are a student's
        mode = part.stat().st_mode
        if mode & 0o011 != 0o011:
            part.chmod(mode | 0o011)
    with VirtualHosts(["node1", "node2"], folder=folder / "hosts", users=["student"]) as hosts:
        yield EmulatedPBS(hosts, folder / "spool", user="student")


def submit(pbs, name: str | Path, *options: str, arguments: str = "", **more):
    """A course script, submitted by the student from the home folder."""
    variables = {"COURSE": ROOT, "COURSE_ENVIRONMENT": sys.prefix, "PYTHONPATH": ROOT, "COURSE_SITE": "course", "ARGS": arguments}
    variables |= more.pop("variables", {})
    variables = {key: str(value) for key, value in variables.items()}
    script = name if isinstance(name, Path) else PBS / f"{name}.sh"
    return pbs.qsub(script, *options, folder=Path("/home/student"), variables=variables, **more)


def told(job) -> str:
    """All that a job has printed, for when a test fails."""
    printed = job.run / "output.txt"
    return job.output + (printed.read_text() if printed.exists() else "")


def ranks_of(job, file: str = "result.json") -> list[tuple[str, int]]:
    """(host, local rank) by rank; every rank must know the world size."""
    ranks = json.loads((job.run / file).read_text())["ranks"]
    assert [(rank["rank"], rank["world_size"]) for rank in ranks] == [(number, len(ranks)) for number in range(len(ranks))]
    return [(rank["host"], rank["local_rank"]) for rank in ranks]


def left(job) -> list[str]:
    """What of a job's own programs the script has left running: ranks, torchrun, engines (PBS ends them; ours should have ended)."""
    return [text for text in job.left_running if re.search(r"programs/|torchrun|ipengine", text)]


def test_the_layout_of_chunks():
    from emulated_pbs import layout

    nodes, chunk = ["a", "b"], Chunk(2, {"ncpus": "4", "mpiprocs": "2"})
    assert layout([chunk], True, nodes) == ["a", "a", "b", "b"]
    assert layout([chunk], False, nodes) == ["a", "a", "a", "a"]  # packed: what `labkit lint-pbs` warns of
    assert layout([Chunk(2, {"ncpus": "2"})], True, nodes) == ["a", "b"]
    with pytest.raises(ValueError, match="stays queued"):
        layout([Chunk(3, {"ncpus": "1"})], True, nodes)


def test_the_emulation_is_as_bare_as_pbs(pbs, tmp_path):
    script = tmp_path / "script.sh"
    script.write_text(
        "#PBS -l select=2:ncpus=6:mpiprocs=3:ompthreads=2,place=scatter -J 0-1\n"
        "pwd; hostname; cat $PBS_NODEFILE; echo $NCPUS $OMP_NUM_THREADS ${PBS_JOBID%%.*}; export SECRET=1; cd /tmp\n"
        "pbs_tmrsh node2 /bin/sh -c 'pwd; hostname; echo secret:$SECRET $GIVEN; wc -l < $PBS_NODEFILE; exit 3' > file; echo status $?\n"
        "pbs_tmrsh node2 hostname; echo status $?; pbs_tmrsh node2 torchrun; echo status $?\n"
        "pbs_tmrsh node3 /bin/hostname; echo status $?; pbs_tmrsh node2 /bin/sh -c 'kill -9 $$'; echo status $?; umask; cat file\n"
        "sleep 1000 &\n"
    )
    job = pbs.qsub(script, folder=Path("/home/student"), variables={"GIVEN": "by qsub -v"})
    number = job.number.split(".")[0]
    assert job.status == 0
    assert job.output.splitlines() == [
        *("/home/student", "node1", *["node1"] * 3, *["node2"] * 3, f"2 2 {number}"),
        *("/home/student", "node2", "secret: by qsub -v", "6", "status 3", "node2", "status 0"),
        *("pbs_tmrsh: tm_poll(obit): torchrun: no such file", "status 255"),
        *(f'pbs_tmrsh: host "node3" is not a node in job <{job.number}>', "status 255", "status 9", "0077"),
    ]
    assert job.output_name == f"script.sh.o{number}"
    with pytest.raises(ValueError, match="garbles"):
        pbs.qsub(script, folder=Path("/home/student"), variables={"ARGS": "'two words'"})
    assert job.left_running == ["sleep 1000"]


def test_a_checkpoint_within_an_epoch_wants_as_many_ranks(tmp_path, monkeypatch):
    """Its step number means other images with other ranks or batches: some would be left out, and nothing would be said."""
    spec = importlib.util.spec_from_file_location("ddp_program", ROOT / "job_scripts" / "programs" / "ddp.py")
    ddp = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ddp)
    monkeypatch.setattr(ddp.dist, "get_rank", lambda: 0)
    model = ddp.torch.nn.Linear(2, 1)
    optimizer = ddp.torch.optim.SGD(model.parameters(), lr=0.1)
    path = tmp_path / "checkpoint.pt"

    def written(step: int) -> None:
        monkeypatch.setattr(ddp.dist, "get_world_size", lambda: 2)
        ddp.save(path, model, optimizer, {"epoch": 2, "step": step, "sums": [0.0] * 3}, 64)

    def resumed(ranks: int, batch: int) -> int:
        monkeypatch.setattr(ddp.dist, "get_world_size", lambda: ranks)
        return ddp.resume(path, model, optimizer, batch)["step"]

    written(219)
    assert resumed(2, 64) == 219
    for ranks, batch in ((4, 64), (2, 32), (4, 32)):
        with pytest.raises(SystemExit, match="epoch 3, behind 219 steps of 2 ranks with 64 images each.*as many ranks"):
            resumed(ranks, batch)
    written(0)
    assert resumed(4, 32) == 0  # between two epochs


def test_pi(pbs):
    job = submit(pbs, "pi", arguments="--strips 1000000")
    assert job.status == 0, told(job)
    assert ranks_of(job) == ranks_of(job, "report.json") == PLACES
    assert json.loads((job.run / "result.json").read_text())["error"] < 1e-12
    assert (job.run / "exit_status").read_text() == "0\n"
    assert {host for host, _ in job.tasks} == {"node2"}  # Open MPI's daemon, a task of the job
    assert "output folder: /home/student/jobs/pi-" in job.output
    assert left(job) == []


def test_torchrun_on_both_hosts(pbs):
    job = submit(pbs, "c10d", arguments="--megabytes 0.1 --repeats 2")
    assert job.status == 0, told(job)
    assert ranks_of(job) == ranks_of(job, "report.json") == PLACES
    result = json.loads((job.run / "result.json").read_text())
    assert result["backend"] == "gloo" and len(result["send_seconds"]) == 3
    assert {host for host, _ in job.tasks} == {"node1", "node2"}
    assert left(job) == [] and not list((job.run / ".tasks").iterdir())


def test_a_rank_that_dies_ends_the_job(pbs):
    killed = []

    def kill_one(run):
        """SIGKILL to the last rank, on the second host, when the first epoch is done."""
        while not (run.job.run / "checkpoint.pt").exists() and run.job.status is None:
            time.sleep(0.05)
        for process in run.processes():
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            if b"RANK=3" in variables and b"WORLD_SIZE=4" in variables:
                killed.append(process.pid)
                process.kill()

    job = submit(pbs, "ddp", arguments="--images 640 --epochs 1000 --pause 0.05", on_start=kill_one)
    assert killed
    assert job.status == 1, told(job)
    assert (job.run / "exit_status").read_text() == "1\n"
    assert "Signal 9 (SIGKILL)" in told(job) or "exitcode  : -9" in told(job)
    assert not (job.run / "result.json").exists()


def test_a_job_that_is_warned_leaves_a_checkpoint_and_the_next_one_ends_as_if_never_interrupted(pbs):
    training = "--images 1024 --epochs 2"
    whole = submit(pbs, "ddp", arguments=training)
    assert whole.status == 0, told(whole)
    assert ranks_of(whole) == PLACES

    # the alarm clock rings 120 s before the end, which is after a second
    stopped = submit(pbs, "ddp", "-l", "walltime=00:02:01", arguments=f"{training} --pause 0.1")
    assert stopped.status == 75, told(stopped)
    assert (stopped.run / "stop").exists() and not (stopped.run / "result.json").exists()
    assert f"--checkpoint /home/student/jobs/{stopped.run.name}/checkpoint.pt" in told(stopped)

    resumed = submit(pbs, "ddp", arguments=f"{training} --checkpoint jobs/{stopped.run.name}/checkpoint.pt")
    assert resumed.status == 0, told(resumed)
    assert "goes on from" in told(resumed)
    digests = [json.loads((job.run / "result.json").read_text())["parameters_sha256"] for job in (whole, resumed)]
    assert digests[0] == digests[1]


def test_horovod_over_mpi_on_both_hosts(pbs):
    job = submit(pbs, "horovod_mnist", arguments="--images 512 --epochs 1")
    assert job.status == 0, told(job)
    assert ranks_of(job, "report.json") == PLACES
    assert (job.run / "run_4.jsonl").exists() and (job.run / "result.json").exists()
    assert left(job) == []


def test_sigterm_is_heard_and_noted(pbs, tmp_path):
    """What qdel and the end of the walltime send first, to every process of the job."""
    script = tmp_path / "waits.sh"
    script.write_text(
        "#PBS -N waits\n#PBS -l select=2:ncpus=1,place=scatter\nset -euo pipefail\n"
        'source "$COURSE/job_scripts/job.sh"\nsource "$COURSE/job_scripts/pbs/launch.sh"\n'
        "start every_node /bin/sh -c 'touch $COURSE_RUN/up_$RANK; exec sleep 1000'\n"
    )

    def qdel(run):
        while len(list(run.job.run.glob("up_*"))) < 2 and run.job.status is None:
            time.sleep(0.05)
        run.qdel()

    job = submit(pbs, script, on_start=qdel)
    assert job.status not in (0, None), told(job)
    assert (job.run / "stop").exists()
    assert (job.run / "exit_status").read_text() == f"{job.status}\n"


def test_ranks_of_a_notebook_are_spread_over_the_hosts(pbs):
    import nbformat

    cell = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[
            cell("from labkit import ranks\nranks.start(4)"),
            cell("%%ranks\nimport os\nprint(os.uname().nodename)"),
            cell("ranks.stop()"),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    home = Path(pbs.hosts.mounts["/home/student"])
    nbformat.write(notebook, home / "spread.ipynb")
    (home / "spread.ipynb").chmod(0o644)
    job = submit(pbs, "engines", arguments="spread.ipynb")
    assert job.status == 0, told(job)
    executed = (job.run / "spread.ipynb").read_text()
    assert executed.count("node1") == executed.count("node2") == 2, executed
