"""What a PBS server would make of a job script, before it is submitted: `labkit lint-pbs FILE...`.

Every rule is one function; its docstring says what a server does and where that is known from. "Seen": tried on OpenPBS 23.06.
Other sources: OpenPBS's code (https://github.com/openpbs/openpbs, file and function named) and its manual pages qsub(1B),
pbs_resources(7B), pbs_tmrsh(8B). An *error* is refused by qsub, waits for ever, or does something else than is written, at any site;
a *warning* depends on the site or is merely a waste. Resources that only your site knows are declared by `--resource NAME` or by a
comment in the script:  # lint-pbs: resources=filesystems,system
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.jobs.pbs_script import NAME, Chunk, Command, Script, parse_select, read_script, seconds, size_in_bytes

# In a chunk of a select statement or not: pbs_resources(7B). ngpus is added by the administrator, under this name nearly everywhere.
CHUNK_RESOURCES = set(
    "accelerator accelerator_memory accelerator_model aoe arch eoe hbmem host mem mpiprocs naccelerators ncpus ngpus ompthreads vmem "
    "vnode vntype".split()
)
JOB_RESOURCES = set(
    "cput file max_walltime min_walltime nice nodes pcput place pmem preempt_targets pvmem select site software walltime".split()
)
SIZES = {"accelerator_memory", "file", "hbmem", "mem", "pmem", "pvmem", "vmem"}
NUMBERS = {"mpiprocs", "naccelerators", "ncpus", "ngpus", "ompthreads"}
TIMES = {"cput", "max_walltime", "min_walltime", "pcput", "walltime"}
FOREIGN_RESOURCES = {
    "gpus": "ngpus=N in the chunk: -l select=1:ncpus=4:ngpus=1",
    "gpu": "ngpus=N in the chunk: -l select=1:ncpus=4:ngpus=1",
    "cpus": "ncpus=N in the chunk",
    "ppn": "mpiprocs=N in the chunk",
    "procs": "-l select=N:ncpus=1:mpiprocs=1",
    "ntasks": "mpiprocs=N in the chunk",
    "tasks": "mpiprocs=N in the chunk",
    "memory": "mem=16gb in the chunk",
    "time": "-l walltime=HH:MM:SS",
}
SLURM_OPTIONS = {
    "nodes": "-l select=N:ncpus=C:mpiprocs=R -l place=scatter",
    "ntasks": "mpiprocs=R in -l select=N:ncpus=C:mpiprocs=R",
    "ntasks-per-node": "mpiprocs=R in -l select=N:ncpus=C:mpiprocs=R",
    "cpus-per-task": "ncpus=C in the chunk: ranks of a chunk times cores of a rank",
    "gres": "ngpus=G in the chunk",
    "gpus": "ngpus=G in the chunk",
    "gpus-per-node": "ngpus=G in the chunk",
    "mem": "mem=16gb in the chunk",
    "time": "-l walltime=HH:MM:SS",
    "job-name": "-N NAME",
    "output": "-o PATH (and -j oe to join both streams)",
    "error": "-e PATH",
    "partition": "-q QUEUE",
    "account": "-A PROJECT (or -P)",
    "array": "-J 0-9",
    "requeue": "-r y",
    "exclusive": "-l place=scatter:excl",
    "mail-type": "-m abe",
    "mail-user": "-M ADDRESS",
    "dependency": "-W depend=afterok:JOBID",
    "export": "-V or -v NAME=VALUE",
}
OTHER_OPTIONS = {
    "t": "-t is an array in Torque and a time in Cobalt. An array is -J 0-9, a time -l walltime=HH:MM:SS",
    "n": "-n is Cobalt's and Slurm's number of nodes: -l select=N",
    "d": "-d is Torque's working directory: cd DIRECTORY in the script",
    "w": "-w is Torque's working directory: cd DIRECTORY in the script",
    "x": "qsub has no -x",
    "c": "-c is a checkpoint interval",
}
FOREIGN_VARIABLES = {  # set by others, always empty in an OpenPBS job
    "PBS_ARRAYID": "PBS_ARRAY_INDEX",
    "PBS_NUM_NODES": "$(sort -u $PBS_NODEFILE | wc -l)",
    "PBS_NUM_PPN": "mpiprocs of your select, or lines of a host in $PBS_NODEFILE",
    "PBS_NP": "$(wc -l < $PBS_NODEFILE)",
    "PBS_GPUFILE": "CUDA_VISIBLE_DEVICES",
    "PBS_WALLTIME": "a variable of your own",
    "NSLOTS": "$(wc -l < $PBS_NODEFILE)",
    "SLURM_JOB_ID": "PBS_JOBID",
    "SLURM_JOBID": "PBS_JOBID",
    "SLURM_SUBMIT_DIR": "PBS_O_WORKDIR",
    "SLURM_ARRAY_TASK_ID": "PBS_ARRAY_INDEX",
    "SLURM_JOB_NAME": "PBS_JOBNAME",
    "SLURM_NTASKS": "$(wc -l < $PBS_NODEFILE)",
    "SLURM_NNODES": "$(sort -u $PBS_NODEFILE | wc -l)",
    "SLURM_JOB_NUM_NODES": "$(sort -u $PBS_NODEFILE | wc -l)",
    "SLURM_JOB_NODELIST": "$PBS_NODEFILE, a file with one host a line",
    "SLURM_NODELIST": "$PBS_NODEFILE, a file with one host a line",
}
SLURM_COMMANDS = {
    "srun": "mpiexec or pbs_tmrsh",
    "sbatch": "qsub",
    "salloc": "qsub -I",
    "scontrol": "qstat -f",
    "squeue": "qstat",
}
MPI_LAUNCHERS = {"mpiexec", "mpirun", "orterun"}
COUNTS = {"-n", "-np", "-c", "--n", "--np", "-ppn", "--ppn", "-N", "-npernode", "--npernode", "-perhost", "--map-by", "-map-by"}


@dataclass(frozen=True)
class Finding:
    """line: counted from 1. level: "error" or "warning". rule: the function's name with hyphens. message: what happens; what to write."""

    line: int
    level: str
    rule: str
    message: str


@dataclass(frozen=True)
class Site:
    """The nodes of a cluster, described as chunks: 560:ncpus=64:ngpus=4:mem=512gb+4:ncpus=128."""

    kinds: tuple[Chunk, ...]

    @classmethod
    def parse(cls, text: str) -> Site:
        """Raises ValueError with a sentence if the description cannot be read."""
        kinds = tuple(parse_select(text))
        if any(not kind.number("ncpus") for kind in kinds):
            raise ValueError(f"a site is described as NODES:ncpus=CORES:ngpus=GPUS (several kinds with +), not as `{text}`")
        return cls(kinds)

    def fitting(self, chunk: Chunk, times: int = 1) -> int:
        """How many nodes can hold this chunk `times` times. What the description leaves out does not limit."""
        return sum(
            kind.count for kind in self.kinds if all(_fits(name, chunk, kind, times) for name in ("ncpus", "ngpus", "mem"))
        )


def _fits(name: str, chunk: Chunk, node: Chunk, times: int) -> bool:
    if name == "mem":
        asked, there = (size_in_bytes(piece.resources.get(name, "")) for piece in (chunk, node))
        return asked is None or there is None or asked * times <= there
    if name not in node.resources and name != "ngpus":  # a node without ngpus has none
        return True
    return chunk.number(name, 1 if name == "ncpus" else 0) * times <= node.number(name)


@dataclass(frozen=True)
class Context:
    """What a rule looks at. site: None where nobody described it. known: resources declared for this site."""

    script: Script
    site: Site | None = None
    known: frozenset[str] = frozenset()

    @property
    def unless_the_site_has_it(self) -> str:
        """The level of a resource that PBS itself does not have: certain to be refused only where the site's own were declared."""
        return "error" if self.known else "warning"


Found = Iterator[tuple[int, str, str]]  # (line, level, message)
RULES: list[Callable[[Context], Found]] = []


def rule(function: Callable[[Context], Found]) -> Callable[[Context], Found]:
    RULES.append(function)
    return function


def lint(text: str, site: Site | None = None, resources: Iterable[str] = ()) -> list[Finding]:
    """All findings in a job script, by line. Raises nothing, whatever the text."""
    declared = re.findall(r"^\s*#\s*lint-pbs:\s*resources\s*=\s*([\w, -]+)", text, re.MULTILINE)
    known = frozenset(resources) | frozenset(name for names in declared for name in re.findall(NAME, names))
    context = Context(read_script(text), site, known)
    found = [Finding(line, level, _name(check), message) for check in RULES for line, level, message in check(context)]
    return sorted(found, key=lambda finding: (finding.line, finding.level, finding.rule))


def _name(check: Callable) -> str:
    return check.__name__.replace("_", "-")


def read_file(path: Path) -> str:
    """The script with its line ends as they are. Raises OSError if it cannot be read; what is no UTF-8 is replaced."""
    return path.read_bytes().decode(errors="replace")


def is_job_script(text: str) -> bool:
    """Whether a file is meant for a scheduler at all: it has a line that is, or wants to be, a directive."""
    return re.search(r"^\s*#\s*(PBS|SBATCH|COBALT|BSUB)\s*-", text, re.MULTILINE | re.IGNORECASE) is not None


def as_text(findings: dict[Path, list[Finding]]) -> str:
    """One line per finding, as compilers write them, and a line that counts."""
    lines = [
        f"{path}:{finding.line}: {finding.level}: {finding.message} [{finding.rule}]"
        for path, found in findings.items()
        for finding in found
    ]
    levels = [finding.level for found in findings.values() for finding in found]
    scripts = f"{len(findings)} script{'s' if len(findings) != 1 else ''}"
    return "\n".join([*lines, f"{scripts}: {levels.count('error')} errors, {levels.count('warning')} warnings"])


def as_json(findings: dict[Path, list[Finding]]) -> str:
    return json.dumps(
        {str(path): [dataclasses.asdict(finding) for finding in found] for path, found in findings.items()}, indent=1
    )


def explain_rules() -> str:
    """Every rule's name and docstring: what a server does, and the source."""
    return "\n\n".join(f"{_name(check)}\n  {' '.join((check.__doc__ or '').split())}" for check in RULES)


# The file -------------------------------------------------------------------------------------------------------------------


@rule
def crlf(context: Context) -> Found:
    """qsub refuses lines that end in CR LF, as Windows editors write them: "qsub: script contains cr, lf" (qsub_sup.c, check_crlf)."""
    if "\r\n" in context.script.text:
        line = context.script.text[: context.script.text.index("\r\n")].count("\n") + 1
        yield line, "error", "lines end in CR LF and qsub refuses the script. Convert it: sed -i 's/\\r$//' FILE"


@rule
def shebang(context: Context) -> Found:
    """Without #! and without -S the login shell runs the script, which may be csh: qsub(1B), "Using Shells and Interpreters"."""
    if not context.script.text.startswith("#!") and not context.script.option("S"):
        yield 1, "warning", "no #! line: your login shell will read the script, and that may not be bash. Begin with #!/bin/bash"


@rule
def late_directive(context: Context) -> Found:
    """qsub stops looking for directives at the first command (qsub_sup.c, get_script); there is no message."""
    for directive in context.script.late:
        yield (
            directive.line,
            "error",
            f"`#PBS{directive.text}` stands behind the first command: qsub ignores it. Move it to the top.",
        )


@rule
def almost_directive(context: Context) -> Found:
    """A directive begins with exactly #PBS (check_job_script.c, pbs_ispbsdir); everything else with # is a comment."""
    for number, line in enumerate(context.script.text.splitlines(), 1):
        if match := re.match(r"\s*#\s*(PBS|SBATCH|COBALT|BSUB)\s+-", line, re.IGNORECASE):
            word = match.group().split("-")[0].strip()
            if word != "#PBS":
                yield (
                    number,
                    "warning",
                    f"`{word}` is a comment for PBS; a directive begins with #PBS, without a blank, in capitals.",
                )


@rule
def quotes(context: Context) -> Found:
    """ "qsub: unmatched" and no job (qsub.c, make_argv)."""
    for directive in context.script.directives:
        if directive.words is None:
            yield directive.line, "error", "a quotation mark is never closed; qsub refuses the script."


@rule
def slurm_option(context: Context) -> Found:
    """qsub has no long options. Seen: "qsub: directive error: --nodes=3"."""
    for option in context.script.options:
        if not option.known and option.letter.startswith("--"):
            name = option.letter[2:].partition("=")[0]
            instead = f" Write {SLURM_OPTIONS[name]}." if name in SLURM_OPTIONS else ""
            yield option.line, "error", f"`{option.letter}` is not PBS: qsub: directive error: {option.letter}.{instead}"


@rule
def unknown_option(context: Context) -> Found:
    """Options that getopt does not know are a directive error: no job (qsub_sup.c, GETOPT_ARGS)."""
    for option in context.script.options:
        if not option.known and not option.letter.startswith("--"):
            hint = OTHER_OPTIONS.get(option.letter, "the options are listed in `man qsub`")
            yield option.line, "error", f"qsub has no option -{option.letter} (qsub: directive error); {hint}."
        elif option.known and option.value is None and option.letter not in "fhIVXzG":
            yield option.line, "error", f"-{option.letter} needs a value (qsub: directive error)."


@rule
def extra_words(context: Context) -> Found:
    """A word that belongs to no option is a directive error (qsub.c, end of process_opts): a comment at the end of the line, or a
    blank inside of a resource list."""
    for line, word in context.script.extra_words:
        why = "a comment needs a line of its own" if word.startswith("#") else "a value holds no blanks"
        yield line, "error", f"qsub does not know what to do with `{word}` (qsub: directive error): {why}."
        return


# Single options -------------------------------------------------------------------------------------------------------------


@rule
def job_name(context: Context) -> Found:
    """At most 230 of letters, digits and - _ + . (ck_job_name.c, PBS_MAXJOBNAME); older servers want a letter first and at most 15."""
    option = context.script.option("N")
    if option is None or option.value is None:
        return
    if len(option.value) > 230:
        yield option.line, "error", f"a job's name has at most 230 characters (15 at old sites), this one {len(option.value)}."
    elif not re.fullmatch(r"[A-Za-z0-9_+.-]+", option.value):
        yield option.line, "error", f"`{option.value}` is no job name: letters, digits and - _ + . only (qsub: illegal -N value)."
    elif not option.value[0].isalpha():
        yield option.line, "warning", f"`{option.value}` does not begin with a letter; older servers refuse that."


_PRIORITY = r"\+?(\d{1,3}|10[01]\d|102[0-3])|-(\d{1,3}|10[01]\d|102[0-4])"
_DATE = r"((((\d\d)?\d\d)?(0[1-9]|1[0-2]))?(0[1-9]|[12]\d|3[01]))?([01]\d|2[0-3])[0-5]\d(\.[0-5]\d)?"
_OWN_PATH = r"[^:]*"


@rule
def option_values(context: Context) -> Found:
    """-j, -k, -m, -r, -p, -a, -c, -S, -R, -o and -e take few values; others are refused (ecl_verify_values.c: verify_value_joinpath and
    its neighbours; all of them seen)."""
    valid = {
        "j": (r"oe|eo|n", "oe (both streams in one file), eo or n"),
        "k": (r"(?=.*[oen])(?!.*n.*[oe])(?!.*[oe].*n)[oedn]+", "o, e, oe, doe (written directly to where -o says) or n"),
        "m": (r"n|(?=.*[abe])[abej]+", "n, or some of a (aborted), b (begins), e (ends)"),
        "r": (r"[yn]", "y or n"),
        "p": (_PRIORITY, "a whole number from -1024 to 1023"),
        "a": (_DATE, "a date [[[[CC]YY]MM]DD]hhmm[.SS], for example 2330"),
        "c": (r"[nsu]|[cw](=\d+)?", "n, s, c, c=MINUTES, w or w=MINUTES"),
        "S": (r"/[^,:]*(@[^,]+)?(,/[^,:]*@[^,]+)*", "the full path of a shell, for example /bin/bash"),
        "R": (r"o|e|oe|eo", "o, e or oe"),
        "o": (_OWN_PATH, "a path on this machine: what stands before a colon is another host, from which PBS could not copy"),
        "e": (_OWN_PATH, "a path on this machine: what stands before a colon is another host, from which PBS could not copy"),
    }
    for option in context.script.options:
        if option.known and option.value is not None and option.letter in valid:
            pattern, words = valid[option.letter]
            if not re.fullmatch(pattern, option.value.strip()):
                yield option.line, "error", f"-{option.letter} {option.value} is refused; it may be {words}."


@rule
def mail_of_jobs(context: Context) -> Found:
    """-m with j is for the jobs of an array only (seen: illegal -m value)."""
    option = context.script.option("m")
    if option and "j" in (option.value or "") and not context.script.option("J"):
        yield option.line, "error", f"-m {option.value} is refused: j, mail for each job, is for an array (-J)."


@rule
def variables(context: Context) -> Found:
    """-v NAME takes the variable from the environment of qsub, and there is no job without it; a comma begins the next name unless double
    quotes stand around the value; quotes within arrive as backslashes (qsub.c, expand_varlist; seen: cannot send environment with the
    job)."""
    for option in context.script.options:
        if not (option.known and option.letter == "v" and option.value):
            continue
        if "'" in option.value or "\\" in option.value:
            yield (
                option.line,
                "error",
                f"-v {option.value}: qsub garbles ' and \\ in a value. Set it in the script, or read it from a file.",
            )
            continue
        for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', option.value):
            if "=" not in part and part not in os.environ:
                yield (
                    option.line,
                    "error",
                    f"-v {option.value}: `{part}` is not set here, and qsub refuses the script (cannot send environment with the job). "
                    "Write NAME=VALUE; a value with commas needs double quotes, within single ones: -v 'A=\"a,b\"'",
                )


_DEPENDENCIES = r"(on:\d+|(after|afterok|afternotok|afterany|before|beforeok|beforenotok|beforeany|runone)(:[^:,\s]+)+)"
_TRUTH = (r"(?i:true|false|t|f|y|n|1|0)", "true or false")
_ATTRIBUTES = {  # of -W: what a value looks like, and that in words
    "accounting_id": (r".+", "a word"),
    "block": _TRUTH,
    "create_resv_from_job": _TRUTH,
    "depend": (rf"{_DEPENDENCIES}(,{_DEPENDENCIES})*", "TYPE:JOB[:JOB...], for example afterok:4711"),
    "group_list": (r".+", "GROUP[@HOST],..."),
    "max_run_subjobs": (r"[1-9]\d*", "a whole number"),
    "pwd": (r".*", "a word"),
    "release_nodes_on_stageout": _TRUTH,
    "run_count": (r"\d+", "a whole number"),
    "sandbox": (r"(?i:home|private)", "HOME or PRIVATE"),
    "stagein": (r".+@.+:.+", "FILE@HOST:FILE"),
    "stageout": (r".+@.+:.+", "FILE@HOST:FILE"),
    "tolerate_node_failures": (r"all|job_start|none", "all, job_start or none"),
    "umask": (r"[0-7]{1,4}", "an octal number such as 022"),
}


@rule
def attributes(context: Context) -> Found:
    """-W NAME=VALUE[,NAME=VALUE...] with the attributes of qsub(1B); unknown ones and bad values are refused (parse_depend.c,
    attr_fn_*.c; seen). max_run_subjobs is an array's."""
    for option in context.script.options:
        if not (option.known and option.letter == "W" and option.value):
            continue
        for part in re.split(rf",(?=\s*(?:{'|'.join(_ATTRIBUTES)})\b|\s*\w+=)", option.value):
            name, equals, value = part.strip().partition("=")
            if not equals:
                yield option.line, "error", f"-W {part} is refused: it is NAME=VALUE, for example -W depend=afterok:4711"
            elif name not in _ATTRIBUTES:
                yield option.line, "error", f"-W knows no attribute `{name}` (qsub: Undefined attribute): `man qsub` lists them."
            elif not re.fullmatch(_ATTRIBUTES[name][0], value.strip("\"'")):
                yield option.line, "error", f"-W {name}={value} is refused: {name} is {_ATTRIBUTES[name][1]}."
            elif name == "max_run_subjobs" and not context.script.option("J"):
                yield option.line, "error", "-W max_run_subjobs is refused: it is for an array (-J)."


@rule
def display(context: Context) -> Found:
    """-X sends windows to the display of qsub, and only from an interactive job (seen: qsub: DISPLAY not set)."""
    option = context.script.option("X")
    if option and not (context.script.option("I") and os.environ.get("DISPLAY")):
        yield (
            option.line,
            "error",
            "-X is refused without -I and a DISPLAY: it sends windows of an interactive job to your screen.",
        )


@rule
def array(context: Context) -> Found:
    """-J X-Y[:Z][%max] with X < Y (chk_Jrange.c). Array jobs are always rerunnable: -r n is refused; they cannot be interactive."""
    option = context.script.option("J")
    if option is None or option.value is None:
        return
    match = re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?(?:%\d+)?", option.value, re.ASCII)
    if not match or int(match[1]) >= int(match[2]) or match[3] == "0":
        yield (
            option.line,
            "error",
            f"-J {option.value}: a range is FIRST-LAST or FIRST-LAST:STEP with FIRST < LAST, for example -J 0-7; PBS knows no lists "
            "and no arrays of one.",
        )
    rerun = context.script.option("r")
    if rerun and rerun.value == "n":
        yield rerun.line, "error", "-r n with -J is refused: the jobs of an array are always rerunnable. Leave -r out."
    if context.script.option("I"):
        yield option.line, "error", "an array cannot be interactive: leave out -I or -J."


@rule
def array_index(context: Context) -> Found:
    """Every job of an array runs the same script; only PBS_ARRAY_INDEX tells them apart (start_exec.c, variables_else)."""
    used = _first(context, r"\$\{?PBS_ARRAY_INDEX(?!:?[-+])")
    option = context.script.option("J")
    text = context.script.text
    if option and "PBS_ARRAY_INDEX" not in text:
        yield option.line, "warning", "no command uses PBS_ARRAY_INDEX: all jobs of this array will do the same work."
    if used and not option:
        yield (
            used.line,
            "warning",
            "PBS_ARRAY_INDEX is empty unless the job is an array: add #PBS -J 0-7, or submit with qsub -J.",
        )


@rule
def output_path(context: Context) -> Found:
    """qsub sends the path of -o and -e to the server as it is written: a directive is not read by a shell (qsub.c, make_argv)."""
    for letter in "oe":
        option = context.script.option(letter)
        if option and option.value and re.search(r"[$~%]", option.value):
            yield (
                option.line,
                "warning",
                f"-{letter} {option.value}: no shell reads a directive, so OpenPBS takes $, ~ and % literally. Name a folder that exists "
                "(PBS adds JOBID.OU), or leave the option out (NAME.oNUMBER in the folder of submission).",
            )


@rule
def kept_output(context: Context) -> Found:
    """-k o and -k e without d leave the file on the first node, in $HOME, and override -o and -e: qsub(1B)."""
    option = context.script.option("k")
    if option and option.value and set(option.value) <= set("oe"):
        yield (
            option.line,
            "warning",
            f"-k {option.value} leaves the output in $HOME of the job's first node and overrides -o. Write -k doe to have it written "
            "directly to its place, or leave -k out.",
        )


@rule
def interactive(context: Context) -> Found:
    """With -I only the directives of a script are read; its commands are not run: qsub(1B), -I."""
    option = context.script.option("I")
    if option and any(command.words for command in context.script.commands):
        yield (
            option.line,
            "warning",
            "with -I PBS reads only the directives: the commands below are not run. Type them, or leave -I out.",
        )


# Resources ------------------------------------------------------------------------------------------------------------------


@rule
def repeated_resource(context: Context) -> Found:
    """In directives the first request of a resource counts, later ones are dropped without a word (set_resource.c, add = 0)."""
    first: dict[str, str] = {}
    for line, name, value in context.script.requests:
        if first.setdefault(name, value) != value:
            yield line, "error", f"{name}={value} is ignored: {name}={first[name]} above it counts. Keep one of them."


@rule
def select_syntax(context: Context) -> Found:
    """[N:]resource=value[:resource=value...][+...], without blanks (attr_resc_func.c, decode_select; msg_dupresc)."""
    asked = context.script.request("select")
    if asked:
        try:
            parse_select(asked[1])
        except ValueError as problem:
            hint = "Write select=NODES:ncpus=CORES:mpiprocs=RANKS:ngpus=GPUS"
            if "walltime=" in asked[1]:
                hint = "The walltime is a limit of the whole job: a line of its own, -l walltime=HH:MM:SS"
            yield asked[0], "error", f"qsub: Illegal attribute or resource value Resource_List.select: {problem}. {hint}"
        if any(chunk.count < 1 for chunk in context.script.chunks()):
            yield asked[0], "error", f"select={asked[1]} is refused: a select statement asks for at least one of each chunk."


@rule
def place(context: Context) -> Found:
    """free, pack, scatter or vscatter; then excl, exclhost or shared; then group=RESOURCE (resc_attr.c, decode_place)."""
    asked = context.script.request("place")
    if asked is None:
        return
    parted = [line for line, name, _ in context.script.requests if line == asked[0] and name in ("excl", "exclhost", "shared")]
    if parted or re.search(rf"place={re.escape(asked[1])},(excl|exclhost|shared)\b", context.script.text):
        yield asked[0], "error", f"the parts of a place statement are joined by :, not by a comma: place={asked[1]}:excl"
    by = re.search(r"group=([\w-]+)", asked[1])
    if by and by[1] not in CHUNK_RESOURCES | context.known:
        yield (
            asked[0],
            context.unless_the_site_has_it,
            f"place={asked[1]} is refused unless your site has a resource `{by[1]}`. If it has, say so: # lint-pbs: resources={by[1]}",
        )
    words = [word.lower() for word in asked[1].split(":")]
    groups = [{"free", "pack", "scatter", "vscatter"}, {"excl", "exclhost", "shared"}]
    wrong = [word for word in words if not any(word in group for group in groups) and not re.fullmatch(r"group=[\w-]+", word)]
    if wrong or any(len([word for word in words if word in group]) > 1 for group in groups):
        yield (
            asked[0],
            "error",
            f"place={asked[1]} is refused (Illegal attribute or resource value Resource_List.place): one of free, pack, scatter, vscatter, "
            "then : and one of excl, exclhost, shared.",
        )


@rule
def unknown_resource(context: Context) -> Found:
    """qsub refuses what neither PBS nor the site has defined: "Unknown resource" (req_quejob.c, validate_perm_res_in_select)."""
    asked = [(line, name) for line, name, _ in context.script.requests]
    select = context.script.request("select")
    asked += [(select[0], name) for chunk in context.script.chunks() for name in chunk.resources] if select else []
    known = CHUNK_RESOURCES | JOB_RESOURCES | context.known
    for line, name in dict.fromkeys(asked):
        if name in known:
            continue
        close = difflib.get_close_matches(name, sorted(known), 1, 0.8)
        if name in FOREIGN_RESOURCES:
            yield line, "error", f"PBS knows no resource `{name}` (qsub: Unknown resource). Write {FOREIGN_RESOURCES[name]}."
        elif close:
            yield line, "error", f"PBS knows no resource `{name}` (qsub: Unknown resource). Do you mean `{close[0]}`?"
        else:
            yield (
                line,
                context.unless_the_site_has_it,
                f"`{name}` is none of PBS's own resources: refused unless your site has defined it. If it has, say so: "
                f"# lint-pbs: resources={name}",
            )


@rule
def wrong_level(context: Context) -> Found:
    """Resources of a host belong into select, those of the job outside; old and new style cannot be mixed (pbs_resources(7B);
    req_quejob.c: msg_invaljobresc, msg_invalnodeplace, msg_placenoselect)."""
    script = context.script
    select, placed, nodes = (script.request(name) for name in ("select", "place", "nodes"))
    for chunk in script.chunks():
        for name in sorted(set(chunk.resources) & JOB_RESOURCES):
            yield (
                select[0],
                "error",
                f"`{name}` is a limit of the whole job: write -l {name}={chunk.resources[name]} in a line of its own.",
            )
    if nodes and (select or placed):
        yield (
            nodes[0],
            "error",
            "-l nodes cannot be mixed with select or place (qsub: Cannot be used with select or place). Drop -l nodes.",
        )
    elif placed and not select and not script.request("storage"):  # NCI's qsub makes the select itself
        yield placed[0], "error", 'qsub: Cannot have "place" without "select". Add -l select=...'
    for name in sorted(CHUNK_RESOURCES):
        asked = script.request(name)
        if asked and (select or placed) and not script.request("storage"):
            yield (
                asked[0],
                "error",
                f'qsub: "-lresource=" cannot be used with "select" or "place", resource is: {name}. Move it into the chunk: '
                f"select=...:{name}={asked[1]}",
            )


@rule
def values(context: Context) -> Found:
    """Numbers are whole, sizes are a whole number with k, m, g, t, p and b or w (attr_fn_size.c, to_size): 0.5gb and 4GiB are refused."""
    select = context.script.request("select")
    asked = list(context.script.requests)
    asked += (
        [(select[0], name, value) for chunk in context.script.chunks() for name, value in chunk.resources.items()]
        if select
        else []
    )
    for line, name, value in dict.fromkeys(asked):
        if name in NUMBERS and not value.isdigit():
            yield line, "error", f"{name}={value} is refused: it is a whole number."
        elif name in SIZES and size_in_bytes(value) is None:
            yield line, "error", f"{name}={value} is refused: a whole number and a unit, for example {name}=16gb."
        elif name in TIMES and seconds(value) is None:
            hint = " Slurm's 1-12:00:00 is 36:00:00 here." if "-" in value else ""
            yield (
                line,
                "error",
                f"qsub: Illegal attribute or resource value Resource_List.{name}: `{value}` is not HH:MM:SS.{hint}",
            )


@rule
def walltime(context: Context) -> Found:
    """A number without colons is seconds, two numbers are minutes and seconds (attr_fn_time.c, decode_time); none: 5 years or the
    queue's default (pbs_resources(7B))."""
    asked = context.script.request("walltime")
    if asked is None:
        if not context.script.request("min_walltime"):
            yield (
                1,
                "warning",
                "no walltime: the queue's default holds, which may be minutes or years. Write #PBS -l walltime=HH:MM:SS",
            )
    elif (length := seconds(asked[1])) is not None and length < 120:
        yield asked[0], "warning", f"walltime={asked[1]} is {length} s: PBS reads H:M:S, M:S or S. Write HH:MM:SS."


@rule
def no_resources(context: Context) -> Found:
    """A request without select is one chunk of one core unless the site has other defaults: pbs_resources(7B), conversion to select."""
    if not any(context.script.request(name) for name in ("select", "nodes", "ncpus", "ngpus")):
        yield (
            1,
            "warning",
            "nothing says on what to run: the default is one core. Write #PBS -l select=NODES:ncpus=CORES:mpiprocs=RANKS",
        )


@rule
def old_nodes(context: Context) -> Found:
    """-l nodes=N:ppn=P is deprecated and converted into select=N:ncpus=P:mpiprocs=P, place=scatter (pbs_resources(7B)); Torque's gpus=
    is no part of it."""
    asked = context.script.request("nodes")
    if asked is None:
        return
    line, value = asked
    if re.search(r":gpus=", value):
        yield (
            line,
            "error",
            f"nodes={value}: gpus is Torque's. Write -l select=NODES:ncpus=CORES:mpiprocs=RANKS:ngpus=GPUS -l place=scatter",
        )
        return
    if re.match(r"0+(:|$)", value) or re.search(r":ppn=0+(:|$)", value):
        yield line, "error", f"nodes={value} is refused: at least one node, and at least one processor of it."
        return
    simple = re.fullmatch(r"(\d+):ppn=(\d+)", value)
    new = f"select={simple[1]}:ncpus={simple[2]}:mpiprocs={simple[2]}" if simple else "select=NODES:ncpus=CORES:mpiprocs=RANKS"
    yield line, "warning", f"-l nodes is deprecated and cannot ask for GPUs. Write -l {new} -l place=scatter"


@rule
def packs_nodes(context: Context) -> Found:
    """Without a place statement the arrangement is free: chunks may share a host. Seen: select=2:ncpus=2 put both on one node."""
    chunks, asked = context.script.chunks(), context.script.request("place")
    arranged = asked and re.search(r"free|pack|scatter", asked[1].lower())
    if sum(chunk.count for chunk in chunks) < 2 or arranged or any({"host", "vnode"} & set(chunk.resources) for chunk in chunks):
        return
    line, value = context.script.request("select")
    if context.site is None:
        yield (
            line,
            "warning",
            f"select={value} may put all chunks on one node (place is free by default). For one chunk a node: #PBS -l place=scatter",
        )
    elif any(context.site.fitting(chunk, 2 if chunk.count > 1 else 1) for chunk in chunks if chunk.count > 1 or len(chunks) > 1):
        yield (
            line,
            "error",
            "two of these chunks fit on one node of your site, and PBS may put them there. Write #PBS -l place=scatter",
        )


@rule
def never_fits(context: Context) -> Found:
    """A request that no node can ever meet is accepted and stays queued (seen; `qstat -s` says "Can Never Run" where the scheduler
    notices). Needs a described site."""
    chunks, asked = context.script.chunks(), context.script.request("select")
    if context.site is None or not chunks:
        return
    nodes = sum(kind.count for kind in context.site.kinds)
    for chunk in chunks:
        if not context.site.fitting(chunk):
            yield (
                asked[0],
                "error",
                f"no node of your site holds a chunk of {_chunk_text(chunk)}: the job would stay queued for ever.",
            )
            return
    arrangement = context.script.request("place")
    scattered = arrangement is not None and "scatter" in arrangement[1].lower()
    wanted = sum(chunk.count for chunk in chunks)
    if scattered and (wanted > nodes or any(chunk.count > context.site.fitting(chunk) for chunk in chunks)):
        yield (
            asked[0],
            "error",
            f"{wanted} chunks, one a node, but the site has {nodes} nodes that could hold some: queued for ever.",
        )
    elif not scattered:
        for name in ("ncpus", "ngpus"):
            total = sum(chunk.count * chunk.number(name, 1 if name == "ncpus" else 0) for chunk in chunks)
            there = sum(kind.count * kind.number(name) for kind in context.site.kinds)
            if total > there:
                yield asked[0], "error", f"{name}={total} in all, but the site has {there}: the job would stay queued for ever."


def _chunk_text(chunk: Chunk) -> str:
    return ":".join(f"{name}={value}" for name, value in chunk.resources.items())


@rule
def crowded(context: Context) -> Found:
    """A chunk's ranks and threads share its ncpus; ncpus is 1 where it is not given (default_chunk): pbs_resources(7B), mpiprocs."""
    asked = context.script.request("select")
    for chunk in context.script.chunks():
        ranks, threads = chunk.number("mpiprocs", 1), chunk.number("ompthreads", 1)
        cores = chunk.number("ncpus", 1)
        if ranks * threads > cores and "mpiprocs" in chunk.resources and not {"host", "vnode"} & set(chunk.resources):
            each = f" with {threads} threads each" if threads > 1 else ""
            yield asked[0], "warning", f"{ranks} ranks{each} on ncpus={cores}: they take turns. Write ncpus={ranks * threads}."


# The commands ---------------------------------------------------------------------------------------------------------------


def _first(context: Context, pattern: str) -> Command | None:
    return next((command for command in context.script.commands if re.search(pattern, command.raw)), None)


def _counted(command: Command) -> str | None:
    """NNODES=$(wc -l < $PBS_NODEFILE) -> "NNODES": the variable that gets the number of lines of the node file."""
    match = re.match(r"\s*(?:export\s+)?(\w+)=[\"']?(?:\$\(|`)(.*)", command.raw, re.DOTALL)
    counts = match and "PBS_NODEFILE" in match[2] and re.search(r"\bwc\s+-l|\bwc\s+--lines", match[2])
    return match[1] if counts and not re.search(r"\buniq\b|sort\s+-u", match[2]) else None


@rule
def mpiprocs(context: Context) -> Found:
    """$PBS_NODEFILE has mpiprocs lines a chunk; without mpiprocs it is one line, however many cores: pbs_resources(7B), mpiprocs."""
    chunks = context.script.chunks()
    if any("mpiprocs" in chunk.resources for chunk in chunks) or not any(chunk.number("ncpus") > 1 for chunk in chunks):
        return
    for command in context.script.commands:
        name = _counted(command)
        launches = command.words and command.words[0] in MPI_LAUNCHERS
        if (name and not re.search("node|host", name, re.IGNORECASE)) or (launches and not COUNTS & set(command.words)):
            yield (
                command.line,
                "warning",
                "the node file has one line per chunk, because the chunks say no mpiprocs: one rank each. "
                "Write select=N:ncpus=C:mpiprocs=R for R ranks in a chunk.",
            )
            return


@rule
def counted_nodes(context: Context) -> Found:
    """With mpiprocs=R a host stands R times in $PBS_NODEFILE: its lines are ranks, not nodes (pbs_resources(7B), mpiprocs)."""
    if not any(chunk.number("mpiprocs") > 1 for chunk in context.script.chunks()):
        return
    for command in context.script.commands:
        name = _counted(command)
        if name and re.search("node|host", name, re.IGNORECASE):
            yield (
                command.line,
                "warning",
                f"{name} becomes the number of ranks: with mpiprocs each host stands several times in the node file. "
                "Count hosts by $(sort -u $PBS_NODEFILE | wc -l).",
            )


@rule
def foreign_variable(context: Context) -> Found:
    """Variables of Slurm, Torque or Grid Engine are not set in an OpenPBS job (start_exec.c, variables_else; qsub(1B), environment).
    A default, ${NAME:-value}, makes one harmless."""
    told = set()
    for command in context.script.commands:
        for name, default in re.findall(r"\$\{?(\w+)(:?[-+=])?", command.raw):
            if name in told or default or not (name in FOREIGN_VARIABLES or name.startswith("SLURM_")):
                continue
            told.add(name)
            owner = "Slurm" if name.startswith("SLURM_") else "Grid Engine" if name == "NSLOTS" else "Torque"
            instead = (
                f" Use {FOREIGN_VARIABLES[name]}." if name in FOREIGN_VARIABLES else " What PBS sets is listed in `man qsub`."
            )
            yield command.line, "error", f"${name} is {owner}'s and empty in a PBS job.{instead}"


@rule
def foreign_command(context: Context) -> Found:
    """Slurm's commands start nothing in a PBS job."""
    for command in context.script.commands:
        if command.words and command.words[0] in SLURM_COMMANDS:
            name = command.words[0]
            yield command.line, "error", f"`{name}` is Slurm's; in a PBS job it is {SLURM_COMMANDS[name]}."


@rule
def home(context: Context) -> Found:
    """The job starts in $HOME, not where qsub was called (start_exec.c: chdir(pwdp->pw_dir); seen). NCI's -l wd and -W
    sandbox=PRIVATE change that; some sites (NCAR) let jobs start where qsub was called, so this is a warning."""
    script = context.script
    if script.request("wd") or any(option.letter == "W" and "sandbox" in (option.value or "") for option in script.options):
        return
    for command in script.commands:
        if len(command.words) > 1 and command.words[0] in ("cd", "pushd") and command.words[1].startswith(("/", "$", "~", "`")):
            return
        path = _relative_path(command)
        if path:
            yield (
                command.line,
                "warning",
                f"the job starts in $HOME and looks for `{path}` there, unless your site does otherwise. "
                'Write cd "$PBS_O_WORKDIR" (where qsub was called) above it.',
            )
            return


_NO_PATHS = {
    "module",
    "ml",
    "echo",
    "printf",
    "export",
    "alias",
    "conda",
    "mamba",
    "pip",
    "set",
    "unset",
    "declare",
    "local",
    "for",
}
_FILE = re.compile(r"[\w.-]+(/[\w.-]+)*\.(py|sh|ipynb|txt|csv|npz|npy|json|jsonl|ya?ml|toml|dat|h5|hdf5|pt|log|out)")


def _relative_path(command: Command) -> str | None:
    """The first thing in a command that is looked for in the folder where the job is."""
    words = command.words
    for target in command.targets:
        if target[:1] not in ("/", "$", "~", "&", "`", ""):
            return target
    if not words or words[0] in _NO_PATHS:
        return None
    if any(word in ("-wdir", "--wdir", "-C", "--chdir") for word in words):
        return None
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)+", words[0]):
        return words[0]
    sourced = words[0] in ("source", ".") and len(words) > 1 and re.fullmatch(r"[\w.-]+(/[\w.-]+)*", words[1])
    if sourced:
        return words[1]
    return next((word for word in words if word.startswith(("./", "../")) or (word[0:1] != "-" and _FILE.fullmatch(word))), None)


@rule
def ssh(context: Context) -> Found:
    """What ssh starts on another node is not part of the job: not counted, not ended with it; many sites forbid it. pbs_tmrsh starts it
    as a task of the job (pbs_tmrsh(8B))."""
    if any("pbs_tmrsh" in command.raw or "pbsdsh" in command.raw for command in context.script.commands):
        return
    for command in context.script.commands:
        if command.words[:1] == ("ssh",) and not {"-L", "-R", "-N", "-f", "-D"} & set(command.words):
            yield (
                command.line,
                "warning",
                "what ssh starts on another node is not part of the job and may outlive it. Use pbs_tmrsh HOST /full/path/to/command",
            )
            return


@rule
def remote_path(context: Context) -> Found:
    """pbs_tmrsh looks in /bin and /usr/bin only (seen; else a full path) and passes on neither the folder nor the shell's variables
    (pbs_tmrsh(8B); tm_spawn without environment in pbs_tmrsh.c)."""
    for command in context.script.commands:
        words = list(command.words)
        if words[:1] != ["pbs_tmrsh"]:
            continue
        rest = [word for word in words[1:] if word != "-n"][1:]
        if rest and not rest[0].startswith(("/", "$", "`")):
            yield (
                command.line,
                "warning",
                f"pbs_tmrsh looks in /bin and /usr/bin only: give the full path of `{rest[0]}`; folder and variables do not travel either: "
                'pbs_tmrsh $host /bin/bash -c "cd $PWD && export NAME=$NAME && ..."',
            )
            return


@rule
def no_wait(context: Context) -> Found:
    """When the script ends the job ends, and what still runs is killed (qsub(1B): the script is the job)."""
    commands = context.script.commands
    last = max((number for number, command in enumerate(commands) if command.background), default=None)
    if last is not None and not any(command.words[:1] == ("wait",) for command in commands[last + 1 :]):
        foreground = any(command.words and command.words[0] not in ("echo", "sleep", "date") for command in commands[last + 1 :])
        if not foreground:
            yield (
                commands[last].line,
                "error",
                "this runs in the background and the job ends with the script, at once. End with `wait`.",
            )
