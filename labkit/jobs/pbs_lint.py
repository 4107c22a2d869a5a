"""Check a job script as a PBS server would, before it is submitted: `labkit lint-pbs FILE...`.

Kept are the rules that found something when 359 scripts, right ones of real sites and beginners' wrong ones, were given
to a real server (OpenPBS 23.06), and what that server takes without a word and runs otherwise than it is written. Where
a pattern says it, a rule is a row in messages.toml; else it is a function, whose docstring says where it is known from:
OpenPBS's code (https://github.com/openpbs/openpbs, file and function named), its manual pages qsub(1B),
pbs_resources(7B) and pbs_tmrsh(8B), "seen" on that server.

An *error* is refused by qsub, waits for ever, or does something else than is written, at any site; a *warning* depends
on the site or is merely a waste. Resources that only your site knows are declared by `--resource NAME` or by a comment
in the script:  # lint-pbs: resources=filesystems,system
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.jobs import pbs_options
from labkit.jobs.pbs_script import NAME, Script, SelectChunk, parse_select, read_script, seconds, size_in_bytes
from labkit.jobs.tables import table

# In a chunk of a select statement or not: pbs_resources(7B). ngpus is added by the administrator, nearly everywhere.
CHUNK_RESOURCES = set(
    "accelerator accelerator_memory accelerator_model aoe arch eoe hbmem host mem mpiprocs naccelerators ncpus ngpus"
    " ompthreads vmem vnode vntype".split()
)
JOB_RESOURCES = set(
    "cput file max_walltime min_walltime nice nodes pcput place pmem preempt_targets pvmem select site software"
    " walltime".split()
)
SIZES = {"accelerator_memory", "file", "hbmem", "mem", "pmem", "pvmem", "vmem"}
NUMBERS = {"mpiprocs", "naccelerators", "ncpus", "ngpus", "ompthreads"}
TIMES = {"cput", "max_walltime", "min_walltime", "pcput", "walltime"}


@dataclass(frozen=True)
class Problem:
    """line: counted from 1. level: "error" or "warning". rule: its name. message: what happens; what to write."""

    line: int
    level: str
    rule: str
    message: str


@dataclass(frozen=True)
class Site:
    """The nodes of a cluster, described as chunks: 560:ncpus=64:ngpus=4:mem=512gb+4:ncpus=128."""

    kinds: tuple[SelectChunk, ...]

    @classmethod
    def parse(cls, text: str) -> Site:
        """Raises ValueError with a sentence if the description cannot be read."""
        kinds = tuple(parse_select(text))
        if any(not kind.number("ncpus") for kind in kinds):
            raise ValueError(
                f"a site is described as NODES:ncpus=CORES:ngpus=GPUS (several kinds with +), not as `{text}`"
            )
        return cls(kinds)

    def fitting(self, chunk: SelectChunk, times: int = 1) -> int:
        """The number of nodes that hold this chunk `times` times. What the description leaves out does not limit."""
        named = ("ncpus", "ngpus", "mem")
        return sum(kind.count for kind in self.kinds if all(_fits(name, chunk, kind, times) for name in named))


def _fits(name: str, chunk: SelectChunk, node: SelectChunk, times: int) -> bool:
    if name == "mem":
        asked, there = (size_in_bytes(piece.resources.get(name, "")) for piece in (chunk, node))
        return asked is None or there is None or asked * times <= there
    if name not in node.resources and name != "ngpus":  # a node without ngpus has none
        return True
    return chunk.number(name, 1 if name == "ncpus" else 0) * times <= node.number(name)


@dataclass(frozen=True)
class Context:
    """The facts that a rule looks at. site: None where nobody described it. known: resources declared for this site."""

    script: Script
    site: Site | None = None
    known: frozenset[str] = frozenset()

    def asked(self) -> dict[tuple[int, str, str], None]:
        """(line, resource, value) of all that is asked for, in chunks and outside, each once."""
        select = self.script.request("select")
        inside = [(select[0], *pair) for chunk in self.script.chunks() for pair in chunk.resources.items()]
        return dict.fromkeys([*self.script.requests, *inside])


Found = Iterator[tuple[int, str, str]]  # (line, level, message)
RULES: list[Callable[[Context], Found]] = []


def rule(function: Callable[[Context], Found]) -> Callable[[Context], Found]:
    """Enter a function among the rules, under its own name with hyphens."""
    RULES.append(function)
    return function


def _of_the_script(check: Callable[[Script], Found]) -> Callable[[Context], Found]:
    """A rule that looks at nothing but the script, as one of ours."""
    return functools.wraps(check)(lambda context: check(context.script))


def lint(text: str, site: Site | None = None, resources: Iterable[str] = ()) -> list[Problem]:
    """All problems of a job script, sorted by line. Never raises."""
    declared = re.findall(r"^\s*#\s*lint-pbs:\s*resources\s*=\s*([\w, -]+)", text, re.MULTILINE)
    known = frozenset(resources) | frozenset(name for names in declared for name in re.findall(NAME, names))
    context = Context(read_script(text), site, known)
    found = [Problem(line, level, _name(check), says) for check in RULES for line, level, says in check(context)]
    found += [*_option_values(context.script), *_commands(context.script)]
    return sorted(found, key=lambda problem: (problem.line, problem.level, problem.rule))


def _name(check: Callable) -> str:
    return check.__name__.replace("_", "-")


def _option_values(script: Script) -> Iterator[Problem]:
    for row in table("option_values"):
        for option in script.options:
            if option.known and option.letter in row["options"] and option.value is not None:
                if not re.fullmatch(row["pattern"], option.value.strip()):
                    refused = "is refused; " if row["level"] == "error" else ""
                    says = f"-{option.letter} {option.value}: {refused}{row['says']}."
                    yield Problem(option.line, row["level"], row["rule"], says)


def _commands(script: Script) -> Iterator[Problem]:
    """The first command in the script that each row of the table is about."""
    for row in table("commands"):
        harmless = row["unless"] and any(re.search(row["unless"], line) for _, line in script.body)
        for number, line in script.body if not harmless else ():
            if found := re.search(row["pattern"], line):
                yield Problem(number, "warning", row["rule"], row["says"].format_map(found.groupdict()))
                break


def read_file(path: Path) -> str:
    """The script with its line ends as they are. Raises OSError if it cannot be read; what is no UTF-8 is replaced."""
    return path.read_bytes().decode(errors="replace")


def is_job_script(text: str) -> bool:
    """True if a file is meant for a scheduler at all: it has a line that is, or wants to be, a directive."""
    return re.search(r"^\s*#\s*(PBS|SBATCH|COBALT|BSUB)\s*-", text, re.MULTILINE | re.IGNORECASE) is not None


def as_text(problems: dict[Path, list[Problem]]) -> str:
    """One line per problem, as compilers write them, and a line that counts."""
    lines = [f"{path}:{p.line}: {p.level}: {p.message} [{p.rule}]" for path, found in problems.items() for p in found]
    levels = [problem.level for found in problems.values() for problem in found]
    scripts = f"{len(problems)} script{'s' if len(problems) != 1 else ''}"
    return "\n".join([*lines, f"{scripts}: {levels.count('error')} errors, {levels.count('warning')} warnings"])


def as_json(problems: dict[Path, list[Problem]]) -> str:
    """{path: [{"line", "level", "rule", "message"}]} as text."""
    return json.dumps({str(path): list(map(dataclasses.asdict, found)) for path, found in problems.items()}, indent=1)


def explain_rules() -> str:
    """The name of every rule with what a server does and the source, as text."""
    checked = table("option_values")
    rows = [
        (row["rule"], f"-{', -'.join(row['options'])}: {row['says']} (ecl_verify_values.c; seen)") for row in checked
    ]
    rows += [(row["rule"], row["says"]) for row in table("commands")]
    rows += [(_name(check), " ".join((check.__doc__ or "").split())) for check in RULES]
    return "\n\n".join(f"{name}\n  {says}" for name, says in rows)


def command(files: list[Path], site: str, resources: list[str], strict: bool, rules: bool, want_json: bool) -> int:
    """Run `labkit lint-pbs`; returns its exit status: 1 where there are errors (strict: or warnings), 2 for no
    use."""
    if rules:
        print(explain_rules())
        return 0
    if not files:
        print("labkit: name a job script: labkit lint-pbs job_scripts/pbs/pi.sh", file=sys.stderr)
        return 2
    try:
        cluster = Site.parse(site) if site else None
        texts = {path: read_file(path) for path in files}
    except (OSError, ValueError) as problem:
        print(f"labkit: {problem}", file=sys.stderr)
        return 2
    for path in [path for path, text in texts.items() if not is_job_script(text)]:
        print(f"{path}: has no #PBS line, so it is no job script", file=sys.stderr)
        del texts[path]
    problems = {path: lint(text, cluster, resources) for path, text in texts.items()}
    print(as_json(problems) if want_json else as_text(problems))
    return int(any(strict or problem.level == "error" for found in problems.values() for problem in found))


# The file -------------------------------------------------------------------------------------------------------------


@rule
def crlf(context: Context) -> Found:
    """qsub refuses lines that end in CR LF, as Windows editors write them (qsub_sup.c, check_crlf)."""
    if "\r\n" in context.script.text:
        line = context.script.text[: context.script.text.index("\r\n")].count("\n") + 1
        yield line, "error", "lines end in CR LF and qsub refuses the script. Convert it: sed -i 's/\\r$//' FILE"


@rule
def shebang(context: Context) -> Found:
    """Without #! and without -S the login shell runs the script, which may be csh: qsub(1B), "Using Shells"."""
    if not context.script.text.startswith("#!") and not context.script.option("S"):
        yield (
            1,
            "warning",
            "no #! line: your login shell reads the script, and that may not be bash. Begin with #!/bin/bash",
        )


@rule
def late_directive(context: Context) -> Found:
    """qsub stops looking for directives at the first command (qsub_sup.c, get_script); there is no message."""
    for late in context.script.late:
        says = f"`#PBS{late.text}` stands behind the first command: qsub ignores it. Move it to the top."
        yield late.line, "error", says


@rule
def almost_directive(context: Context) -> Found:
    """A directive begins with exactly #PBS (check_job_script.c, pbs_ispbsdir); everything else with # is a comment."""
    for number, line in enumerate(context.script.text.split("\n"), 1):
        found = re.match(r"\s*(#\s*(PBS|SBATCH|COBALT|BSUB))\s+-", line, re.IGNORECASE)
        if found and found[1] != "#PBS":
            says = f"`{found[1]}` is a comment for PBS; a directive begins with #PBS, without a blank, in capitals."
            yield number, "warning", says


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
            instead = table("slurm_options").get(name)
            instead = f" Write {instead}." if instead else ""
            yield (
                option.line,
                "error",
                f"`{option.letter}` is not PBS: qsub: directive error: {option.letter}.{instead}",
            )


@rule
def unknown_option(context: Context) -> Found:
    """Options that getopt does not know are a directive error: no job (qsub_sup.c, GETOPT_ARGS)."""
    for option in context.script.options:
        if not option.known and not option.letter.startswith("--"):
            hint = table("other_options").get(option.letter, "the options are listed in `man qsub`")
            yield option.line, "error", f"qsub has no option -{option.letter} (qsub: directive error); {hint}."
        elif option.known and option.value is None and option.letter not in "fhIVXzG":
            yield option.line, "error", f"-{option.letter} needs a value (qsub: directive error)."


@rule
def extra_words(context: Context) -> Found:
    """A word that belongs to no option is a directive error (qsub.c, process_opts): a comment, a blank in a list."""
    for line, word in context.script.extra_words[:1]:
        why = "a comment needs a line of its own" if word.startswith("#") else "a value holds no blanks"
        yield line, "error", f"qsub does not know what to do with `{word}` (qsub: directive error): {why}."


for _check in pbs_options.RULES:
    RULES.append(_of_the_script(_check))


# Resources ------------------------------------------------------------------------------------------------------------


@rule
def repeated_resource(context: Context) -> Found:
    """In directives the first request of a resource counts, later ones are dropped (set_resource.c, add = 0)."""
    first: dict[str, str] = {}
    for line, name, value in context.script.requests:
        if first.setdefault(name, value) != value:
            yield line, "error", f"{name}={value} is ignored: {name}={first[name]} above it counts. Keep one of them."


@rule
def select_syntax(context: Context) -> Found:
    """[N:]resource=value[:resource=value...][+...], without blanks (attr_resc_func.c, decode_select; msg_dupresc)."""
    line, value = context.script.request("select") or (0, "")
    if not line:
        return
    try:
        parse_select(value)
    except ValueError as problem:
        hint = "Write select=NODES:ncpus=CORES:mpiprocs=RANKS:ngpus=GPUS"
        if "walltime=" in value:
            hint = "The walltime is a limit of the whole job: a line of its own, -l walltime=HH:MM:SS"
        yield line, "error", f"qsub: Illegal attribute or resource value Resource_List.select: {problem}. {hint}"
    if any(chunk.count < 1 for chunk in context.script.chunks()):
        yield line, "error", f"select={value} is refused: a select statement asks for at least one of each chunk."


@rule
def unknown_resource(context: Context) -> Found:
    """qsub refuses what neither PBS nor the site has defined (req_quejob.c, validate_perm_res_in_select)."""
    known = CHUNK_RESOURCES | JOB_RESOURCES | context.known
    for option in context.script.options:
        if option.letter == "l" and re.search(r"(^|,)\s*=", option.value or ""):
            yield option.line, "error", f"-l {option.value}: a resource without a name (qsub: illegal -l value)."
    for line, name in dict.fromkeys((line, name) for line, name, _ in context.asked()):
        refused = f"PBS knows no resource `{name}` (qsub: Unknown resource)."
        close = difflib.get_close_matches(name, sorted(known), 1, 0.8)
        if name in known:
            continue
        if name in ("excl", "exclhost", "shared"):
            yield line, "error", f"the parts of a place statement are joined by :, not by a comma: place=scatter:{name}"
        elif instead := table("foreign_resources").get(name):
            yield line, "error", f"{refused} Write {instead}."
        elif close:
            yield line, "error", f"{refused} Do you mean `{close[0]}`?"
        else:
            says = (
                f"`{name}` is none of PBS's own resources: refused unless your site has defined it. If it has, say so:"
            )
            yield line, "error" if context.known else "warning", f"{says} # lint-pbs: resources={name}"


@rule
def wrong_level(context: Context) -> Found:
    """Resources of a host belong into select, those of the job outside; old and new style cannot be mixed
    (pbs_resources(7B); req_quejob.c: msg_invaljobresc, msg_invalnodeplace, msg_placenoselect)."""
    script = context.script
    select, placed, nodes = (script.request(name) for name in ("select", "place", "nodes"))
    for chunk in script.chunks():
        for name in sorted(set(chunk.resources) & JOB_RESOURCES):
            says = (
                f"`{name}` is a limit of the whole job: write -l {name}={chunk.resources[name]} in a line of its own."
            )
            yield select[0], "error", says
    if nodes and (select or placed):
        says = (
            "-l nodes cannot be mixed with select or place (qsub: Cannot be used with select or place). Drop -l nodes."
        )
        yield nodes[0], "error", says
    if script.request("storage"):  # NCI's qsub makes the select itself
        return
    if placed and not select and not nodes:
        yield placed[0], "error", 'qsub: Cannot have "place" without "select". Add -l select=...'
    for name in sorted(CHUNK_RESOURCES) if select or placed else ():
        if asked := script.request(name):
            yield (
                *(asked[0], "error"),
                f'qsub: "-lresource=" cannot be used with "select" or "place", resource is: {name}. Move it into the'
                f" chunk: select=...:{name}={asked[1]}",
            )


@rule
def values(context: Context) -> Found:
    """Numbers are whole, sizes a whole number with a unit, times H:M:S (attr_fn_size.c, to_size; attr_fn_time.c,
    decode_time); place is free, pack, scatter or vscatter, then excl, exclhost or shared (resc_attr.c,
    decode_place)."""
    for line, name, value in context.asked():
        refused = f"qsub: Illegal attribute or resource value Resource_List.{name}: {name}={value} is refused; it is"
        if name in NUMBERS and not value.isdecimal():
            yield line, "error", f"{refused} a whole number."
        elif name in SIZES and size_in_bytes(value) is None:
            yield line, "error", f"{refused} a whole number and a unit, for example {name}=16gb."
        elif name in TIMES and seconds(value) is None:
            yield line, "error", f"{refused} HH:MM:SS.{' Slurm: 1-12:00:00 is 36:00:00 here.' * ('-' in value)}"
        elif name == "place" and not re.fullmatch(_PLACE, value, re.IGNORECASE):
            yield (
                line,
                "error",
                f"{refused} one of free, pack, scatter, vscatter, then : and one of excl, exclhost, shared.",
            )


_PLACE = r"(free|pack|v?scatter)?(:?(excl(host)?|shared))?(:?group=[\w-]+)?"


@rule
def walltime(context: Context) -> Found:
    """A number without colons is seconds, two are minutes and seconds (attr_fn_time.c, decode_time); none: 5 years or
    the queue's default (pbs_resources(7B))."""
    asked = context.script.request("walltime")
    if asked is None and not context.script.request("min_walltime"):
        says = "no walltime: the queue's default holds, minutes or years. Write #PBS -l walltime=HH:MM:SS"
        yield 1, "warning", says
    elif asked and (length := seconds(asked[1])) is not None and length < 120:
        yield asked[0], "warning", f"walltime={asked[1]} is {length} s: PBS reads H:M:S, M:S or S. Write HH:MM:SS."


@rule
def no_resources(context: Context) -> Found:
    """A request without select is one chunk of one core unless the site has other defaults: pbs_resources(7B)."""
    if not any(context.script.request(name) for name in ("select", "nodes", "ncpus", "ngpus")):
        says = (
            "nothing says on what to run: the default is one core. Write #PBS -l"
            " select=NODES:ncpus=CORES:mpiprocs=RANKS"
        )
        yield 1, "warning", says


@rule
def old_nodes(context: Context) -> Found:
    """-l nodes=N:ppn=P is deprecated and converted into select=N:ncpus=P:mpiprocs=P, place=scatter (pbs_resources(7B));
    Torque's gpus= is no part of it."""
    line, value = context.script.request("nodes") or (0, "")
    if not line:
        return
    simple = re.fullmatch(r"(\d+):ppn=(\d+)", value)
    new = (
        f"select={simple[1]}:ncpus={simple[2]}:mpiprocs={simple[2]}"
        if simple
        else "select=NODES:ncpus=C:mpiprocs=RANKS"
    )
    if ":gpus=" in value:
        yield line, "error", f"nodes={value}: gpus is Torque's. Write -l {new}:ngpus=GPUS -l place=scatter"
    elif re.match(r"0+(:|$)", value) or re.search(r":ppn=0+(:|$)", value):
        yield line, "error", f"nodes={value} is refused: at least one node, and at least one processor of it."
    else:
        yield line, "warning", f"-l nodes is deprecated and cannot ask for GPUs. Write -l {new} -l place=scatter"


@rule
def packs_nodes(context: Context) -> Found:
    """Without a place statement chunks may share a host. Seen: select=2:ncpus=2 put both on one node."""
    chunks, asked = context.script.chunks(), context.script.request("place")
    arranged = asked and re.search(r"free|pack|scatter", asked[1].lower())
    if sum(chunk.count for chunk in chunks) < 2 or arranged or any(map(_named_host, chunks)):
        return
    line, value = context.script.request("select")
    if context.site is None:
        says = f"select={value} may put all chunks on one node (place is free by default)."
        yield line, "warning", f"{says} For one chunk a node: #PBS -l place=scatter"
    elif any(
        context.site.fitting(chunk, min(chunk.count, 2)) for chunk in chunks if chunk.count > 1 or len(chunks) > 1
    ):
        says = "two of these chunks fit on one node of your site, and PBS may put them there."
        yield line, "error", f"{says} Write #PBS -l place=scatter"


def _named_host(chunk: SelectChunk) -> bool:
    return bool({"host", "vnode"} & set(chunk.resources))


@rule
def never_fits(context: Context) -> Found:
    """A request that no node can ever meet is accepted and stays queued (seen: "Can Never Run"). Needs a described
    site."""
    chunks, asked, site = context.script.chunks(), context.script.request("select"), context.site
    if site is None or not chunks:
        return
    wanted, nodes = sum(chunk.count for chunk in chunks), sum(kind.count for kind in site.kinds)
    scattered = "scatter" in (context.script.request("place") or (0, ""))[1].lower()
    reasons = [
        f"no node of your site holds a chunk of {':'.join(map('='.join, chunk.resources.items()))}"
        for chunk in chunks
        if not site.fitting(chunk)
    ]
    if scattered and (wanted > nodes or any(chunk.count > site.fitting(chunk) for chunk in chunks)):
        reasons.append(f"{wanted} chunks, one a node, but the site has {nodes} nodes that could hold some")
    for name, default in (("ncpus", 1), ("ngpus", 0)):
        total = sum(chunk.count * chunk.number(name, default) for chunk in chunks)
        there = sum(kind.count * kind.number(name) for kind in site.kinds)
        if total > there and not scattered:
            reasons.append(f"{name}={total} in all, but the site has {there}")
    if reasons:
        yield asked[0], "error", f"{reasons[0]}: the job would stay queued for ever."


# The commands ---------------------------------------------------------------------------------------------------------


def _counted(line: str) -> str:
    """NNODES=$(wc -l < $PBS_NODEFILE) -> "NNODES": the variable that gets the number of lines of the node file."""
    found = re.search(
        r"\b(\w+)=[\"']?(?:\$\(|`)(?=.*PBS_NODEFILE)(?=.*\bwc\s+(?:-l|--lines))(?!.*(?:\buniq\b|-u\b))", line
    )
    return found[1] if found else ""


def _named_after_nodes(name: str) -> bool:
    return re.search("node|host", name, re.IGNORECASE) is not None


@rule
def mpiprocs(context: Context) -> Found:
    """$PBS_NODEFILE has mpiprocs lines a chunk; without mpiprocs it is one, however many cores: pbs_resources(7B)."""
    chunks = context.script.chunks()
    if any("mpiprocs" in chunk.resources for chunk in chunks) or all(chunk.number("ncpus") < 2 for chunk in chunks):
        return
    for number, line in context.script.body:
        launches = re.search(r"(^|[;&|(]|\bdo)\s*(mpiexec|mpirun|orterun)\b", line)
        counts = re.search(r"\s--?(n|np|c|ppn|N|npernode|perhost|map-by)\b", line)
        name = _counted(line)
        if name and not _named_after_nodes(name) or launches and not counts:
            yield (
                *(number, "warning"),
                "the node file has one line per chunk, because the chunks say no mpiprocs: one rank each. Write"
                " select=N:ncpus=C:mpiprocs=R for R ranks in a chunk.",
            )
            return


@rule
def counted_nodes(context: Context) -> Found:
    """With mpiprocs=R a host stands R times in $PBS_NODEFILE: its lines are ranks, not nodes (pbs_resources(7B))."""
    several = any(chunk.number("mpiprocs") > 1 for chunk in context.script.chunks())
    for number, line in context.script.body if several else ():
        if (name := _counted(line)) and _named_after_nodes(name):
            says = f"{name} becomes the number of ranks: with mpiprocs each host stands several times in the node file."
            yield number, "warning", f"{says} Count hosts by $(sort -u $PBS_NODEFILE | wc -l)."


@rule
def foreign_variable(context: Context) -> Found:
    """Variables of Slurm, Torque or Grid Engine are not set in an OpenPBS job (start_exec.c, variables_else). A
    default, ${NAME:-value}, makes one harmless."""
    found = {
        name: number
        for number, line in reversed(context.script.body)
        for name, default in re.findall(r"\$\{?(\w+)(:?[-+=])?", line)
        if not default and (name in table("foreign_variables") or name.startswith("SLURM_"))
    }
    for name, number in found.items():
        owner = "Slurm" if name.startswith("SLURM_") else "Grid Engine" if name == "NSLOTS" else "Torque"
        instead = table("foreign_variables").get(name, "what `man qsub` lists")
        yield number, "error", f"${name} is {owner}'s and empty in a PBS job. Use {instead}."


@rule
def foreign_command(context: Context) -> Found:
    """Slurm's commands start nothing in a PBS job."""
    commands = table("slurm_commands")
    for number, line in context.script.body:
        for name in re.findall(rf"(?:^|[;&|(]|\bdo|\bthen)\s*({'|'.join(commands)})(?=\s|$)", line):
            yield number, "error", f"`{name}` is Slurm's; in a PBS job it is {commands[name]}."


_NO_PATHS = r"\s*(module|ml|echo|printf|export|alias|conda|mamba|pip|set|unset|declare|local|for)\s"
_END = r"(?=$|[\s;&|)<>])"
_RELATIVE = (
    r"(?:^|[\s;&|(<>])(?P<file>\.{1,2}/[\w./-]+|(?!-)[\w.-]+(?:/[\w.-]+)*"
    rf"\.(?:py|sh|ipynb|txt|csv|np[yz]|jsonl?|ya?ml|toml|dat|h5|hdf5|pt|log|out)){_END}"
    rf"|^\s*(?P<program>[\w.-]+(?:/[\w.-]+)+){_END}|(?:\bsource|(?:^|\s)\.)\s+(?P<source>[\w.-]+(?:/[\w.-]+)*){_END}"
)


@rule
def home(context: Context) -> Found:
    """The job starts in $HOME, not where qsub was called (start_exec.c: chdir(pwdp->pw_dir); seen). NCI's -l wd and -W
    sandbox=PRIVATE change that; some sites (NCAR) let jobs start where qsub was called, so this is a warning."""
    script = context.script
    sandbox = any(option.letter == "W" and "sandbox" in (option.value or "") for option in script.options)
    for number, line in script.body if not (sandbox or script.request("wd")) else ():
        if re.search(r"\b(cd|pushd)\s+[\"']?[/$~`]", line):
            return
        found = re.search(_RELATIVE, line)
        if found and not re.match(_NO_PATHS, line) and not re.search(r"\s(--?wdir|-C|--chdir)\s", line):
            path = found["file"] or found["program"] or found["source"]
            yield (
                *(number, "warning"),
                f"the job starts in $HOME and looks for `{path}` there, unless your site does otherwise. Write"
                ' cd "$PBS_O_WORKDIR" (where qsub was called) above it.',
            )
            return
