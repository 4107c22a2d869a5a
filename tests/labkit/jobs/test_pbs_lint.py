"""labkit lint-pbs: scripts read as qsub reads them, and what a server would make of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from labkit import cli
from labkit.jobs import pbs_lint
from labkit.jobs.pbs_script import SelectChunk, parse_select, read_script, seconds, size_in_bytes

PBS = Path(__file__).resolve().parents[3] / "job_scripts" / "pbs"

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
    return {problem.rule for problem in pbs_lint.lint(text, **options) if level in (None, problem.level)}


# Reading a script as qsub does ----------------------------------------------------------------------------------------


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
    assert parse_select("2:ncpus=4:ngpus=1+ncpus=1") == [
        SelectChunk(2, {"ncpus": "4", "ngpus": "1"}),
        SelectChunk(1, {"ncpus": "1"}),
    ]
    assert parse_select("3") == [SelectChunk(3, {})]
    for wrong in ("", "2:", "2:ncpus", "ncpus=", "1:ncpus=1:ncpus=2", "a+", "2::ncpus=1"):
        with pytest.raises(ValueError):
            parse_select(wrong)


def test_commands_are_told_from_comments_and_here_documents():
    text = "#!/bin/bash\ncd /x  # there\ncat <<END > here.txt\nsrun no command\nEND\nA=1 \\\n  ./run\n#PBS -q late\n"
    assert read_script(text).body == ((2, "cd /x"), (3, "cat <<END > here.txt"), (6, "A=1 ./run"))


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


@given(st.text() | st.text(alphabet="#PBS -l=:+,\"'`$(){}<>&|;\\\n\tnode ssh wait cd"))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_the_linter_fail(text):
    for problem in pbs_lint.lint(text, pbs_lint.Site.parse("4:ncpus=8:ngpus=2")):
        assert 1 <= problem.line <= text.count("\n") + 1
        assert problem.level in ("error", "warning") and problem.message


# What is found --------------------------------------------------------------------------------------------------------

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
            ("-S bash", "full path"),
            ("-e host:/p", "this machine"),
            ("-o host:/p", "this machine"),
            ("-R x", "which of the two"),
            ("-a 99999", "hhmm"),
            ("-a 12345678901234", "hhmm"),
            ("-a 2460", "hhmm"),
            ("-c x", "MINUTES"),
            ("-P a/b", "project"),
            ("-P 'a;b'", "project"),
        ]
    ),
    *(
        ("attributes", "error", "#PBS -j oe", f"#PBS -W {value}", says)
        for value, says in [
            ("sandbox=X", "PRIVATE"),
            ("nosuch=5", "no such attribute"),
            ("block=maybe", "true"),
            ("run_count=-1", "run_count"),
            ("group_list=..", "group_list"),
            ("depend=after:12,sandbox=X", "PRIVATE"),
        ]
    ),
    ("needs-another", "error", "#PBS -j oe", "#PBS -m aj", "without -J"),
    ("needs-another", "error", "#PBS -j oe", "#PBS -W max_run_subjobs=2", "without -J"),
    ("needs-another", "error", "#PBS -j oe", "#PBS -X", "without -I"),
    ("needs-another", "error", "#PBS -j oe", "#PBS -G", "Windows"),
    ("array-range", "error", "#PBS -j oe", "#PBS -J 10-1", "smaller"),
    ("array-range", "error", "#PBS -j oe", "#PBS -J 1-1", "smaller"),
    ("unset-variable", "warning", "#PBS -j oe", "#PBS -v A=1,B", "`B`"),
    ("unset-variable", "warning", "#PBS -j oe", "#PBS -v A=a,b", "`b`"),
    ("other-user", "warning", "#PBS -j oe", "#PBS -u nobody", "another user"),
    ("unknown-resource", "error", "#PBS -j oe", "#PBS -l =", "without a name"),
    ("option-values", "error", "#PBS -j oe", "#PBS -J 1,3,5", "no list"),
    ("option-values", "error", "#PBS -j oe", '#PBS -v "A=it\'s"', "garbles"),
    ("option-values", "error", "#PBS -j oe", "#PBS -W depend=after_ok:12", "TYPE:JOB"),
    ("option-values", "error", "#PBS -j oe", "#PBS -W block", "NAME=VALUE"),
    ("select-syntax", "error", SELECT, "#PBS -l select=0:ncpus=4", "at least one"),
    ("select-syntax", "error", SELECT, "#PBS -l select=1:ncpus=4+0:ncpus=2", "at least one"),
    ("unknown-resource", "error", PLACE, "#PBS -l place=scatter,excl", "by :"),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=2:ppn=0", "at least one"),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=0:ppn=1", "at least one"),
    ("output-path", "warning", "#PBS -j oe", "#PBS -o logs/$PBS_JOBID.out", "literally"),
    ("output-path", "warning", "#PBS -j oe", "#PBS -o logs/%j.out", "literally"),
    ("repeated-resource", "error", TIME, f"{TIME}\n#PBS -l walltime=05:00:00", "is ignored"),
    ("select-syntax", "error", SELECT, "#PBS -l select=2:ncpus", "Resource_List.select"),
    ("select-syntax", "error", SELECT, "#PBS -l select=2:ncpus=4:ncpus=8", "twice"),
    ("select-syntax", "error", SELECT, f"{SELECT}:walltime=1:00:00", "limit of the whole job"),
    ("values", "error", PLACE, "#PBS -l place=spread", "free, pack, scatter"),
    ("values", "error", PLACE, "#PBS -l place=scatter:pack", "one of"),
    ("unknown-resource", "error", SELECT, "#PBS -l select=2:ncpus=4:mpiprocs=4:gpus=1", "ngpus=N"),
    ("unknown-resource", "error", SELECT, "#PBS -l select=2:ncpu=4:mpiprocs=1", "`ncpus`"),
    ("unknown-resource", "error", TIME, "#PBS -l waltime=01:30:00", "`walltime`"),
    (
        "unknown-resource",
        "error",
        TIME,
        f"{TIME}\n# lint-pbs: resources=system\n#PBS -l filesystems=home",
        "filesystems",
    ),
    ("unknown-resource", "warning", TIME, f"{TIME}\n#PBS -l filesystems=home", "lint-pbs: resources=filesystems"),
    ("wrong-level", "error", SELECT, "#PBS -l select=2:ncpus=4:mpiprocs=4:walltime=3600", "a line of its own"),
    ("wrong-level", "error", TIME, f"{TIME}\n#PBS -l mem=4gb", "Move it into the chunk"),
    ("wrong-level", "error", TIME, f"{TIME}\n#PBS -l nodes=2:ppn=4", "Drop -l nodes"),
    ("wrong-level", "error", SELECT, "#PBS -l ncpus=4", '"-lresource=" cannot be used'),
    ("wrong-level", "error", f"{SELECT}\n", "", 'Cannot have "place" without "select"'),
    ("values", "error", TIME, "#PBS -l walltime=1-12:00:00", "36:00:00"),
    ("values", "error", TIME, "#PBS -l walltime=2h", "it is HH:MM:SS"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=4:mem=0.5gb", "mem=16gb"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=4:mem=4GiB", "mem=16gb"),
    ("values", "error", SELECT, "#PBS -l select=1:ncpus=four", "whole number"),
    ("walltime", "warning", TIME, "#PBS -l walltime=30", "is 30 s"),
    ("walltime", "warning", f"{TIME}\n", "", "no walltime"),
    ("no-resources", "warning", f"{SELECT}\n{PLACE}\n", "", "one core"),
    (
        "old-nodes",
        "warning",
        f"{SELECT}\n{PLACE}",
        "#PBS -l nodes=2:ppn=4",
        "select=2:ncpus=4:mpiprocs=4 -l place=scatter",
    ),
    ("old-nodes", "error", f"{SELECT}\n{PLACE}", "#PBS -l nodes=2:ppn=4:gpus=1", "Torque"),
    ("packs-nodes", "warning", f"{PLACE}\n", "", "#PBS -l place=scatter"),
    ("packs-nodes", "warning", PLACE, "#PBS -l place=excl", "one node"),
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
]


def test_the_good_script_is_good():
    assert pbs_lint.lint(GOOD) == []
    assert pbs_lint.lint(GOOD, pbs_lint.Site.parse("2:ncpus=8:ngpus=4")) == []


@pytest.mark.parametrize(("rule", "level", "old", "new", "says"), WRONG, ids=lambda value: str(value)[:30])
def test_what_is_wrong_is_named(rule, level, old, new, says):
    assert old in GOOD
    text = GOOD.replace(old, new)
    found = [problem for problem in pbs_lint.lint(text) if problem.rule == rule and problem.level == level]
    assert found, pbs_lint.lint(text)
    assert any(says in problem.message for problem in found), found


def test_every_rule_has_a_wrong_script_and_a_source():
    covered = {rule for rule, *_ in WRONG} | {"crlf", "never-fits"}  # these two have tests of their own
    explained = dict(rule.split("\n  ") for rule in pbs_lint.explain_rules().split("\n\n"))
    assert covered == set(explained)
    assert all(len(source) > 40 for source in explained.values()), "a rule does not say where it is known from"


ACCEPTED = """-p +5; -p -1024; -p 1023; -a 2359; -c w=5; -S /bin/bash; -R oe; -e /p/file; -o out.txt; -m abe; -v A=1
-v A=a:b; -v PATH; -v 'A="a,b"'; -W depend=afterok:12.server:13; -W block=true
-W depend=after:12,sandbox=PRIVATE; -W umask=022; -W group_list=staff; -W depend=on:2
-J 1-10:2; -W run_count=3; -W block=true,umask=77; -P my_project.1; -R e; -a 202612312359.30; -I -X; -c n
-W depend=afterok:1:2,group_list=a,b; -W stagein=/x@h:/y,stageout=/z@h:/w; -v 'A="a,b",C=d'; -W group_list=staff@h
-l place=scatter:excl; -l place=group=host; -J 0-3 -W max_run_subjobs=2; -J 0-3 -m aj"""


@pytest.mark.parametrize("line", re.split("; |\n", ACCEPTED))
def test_what_the_server_takes_is_no_error(line):
    text = GOOD.replace(PLACE, "") if "place" in line else GOOD
    text = text.replace("#PBS -j oe", f"#PBS {line}")
    assert [problem for problem in pbs_lint.lint(text) if problem.level == "error"] == []


def test_windows_line_ends_are_found_with_their_line():
    found = pbs_lint.lint(GOOD.replace("-j oe\n", "-j oe\r\n"))
    assert [(problem.rule, problem.level, problem.line) for problem in found] == [("crlf", "error", 6)]


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
    assert rules(text.replace("select=2", "select=100"), site=pbs_lint.Site.parse("8:ncpus=8:ngpus=4")) == {
        "never-fits"
    }


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
def test_right_requests_are_right_however_they_are_written(
    nodes, ranks, threads, gpus, hours, minutes, name, joined, order
):
    parts = [f"ncpus={ranks * threads}", f"mpiprocs={ranks}", f"ompthreads={threads}"] + (
        [f"ngpus={gpus}"] if gpus else []
    )
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


# As several sites' users write them (the layout of their published examples; names of projects and programs are made
# up).
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
    assert "10 scripts: 0 errors, 0 warnings" in all_of_ours.output
    assert "check_crlf" in run(cli.app, ["lint-pbs", "--rules"]).output
