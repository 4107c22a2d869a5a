"""Options of qsub beyond resources whose values a server refuses, or takes beside another option only: rules of
`labkit.jobs.pbs_lint` that look at nothing but the script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from labkit.jobs.pbs_script import Script

Found = Iterator[tuple[int, str, str]]  # (line, level, message)
RULES: list[Callable[[Script], Found]] = []


def _rule(function: Callable[[Script], Found]) -> Callable[[Script], Found]:
    RULES.append(function)
    return function


_ATTRIBUTES = {
    "block": "true|false|t|f|y|n|1|0",
    "group_list": r"[A-Za-z_][\w-]*(@[\w.-]+)?(,[A-Za-z_][\w-]*(@[\w.-]+)?)*",
    "max_run_subjobs": r"[1-9]\d*",
    "run_count": r"\d+",
    "sandbox": "HOME|PRIVATE|O_WORKDIR",
    "umask": "[0-7]{1,4}",
}
_OTHER_ATTRIBUTES = set(
    "account_name checkpoint create_resv_from_job depend error_path execution_time forward_x11_port hold_types"
    " interactive job_name join_path keep_files mail_points mail_users no_stdio_sockets output_path priority project"
    " pwd release_nodes_on_stageout remove_files rerunable resource_list shell_path_list stagein stageout"
    " tolerate_node_failures user_list variable_list".split()
)


@_rule
def attributes(script: Script) -> Found:
    """-W takes a job's attributes by name, each with values of its own (job_attr_def.xml; seen: "Unknown resource",
    "Illegal attribute or resource value")."""
    for option in script.options:
        if option.letter != "W" or option.value is None:
            continue
        for name, value in re.findall(r"(?:^|,)(\w+)=((?:(?!,\w+=).)*)", option.value.strip()):
            wanted = _ATTRIBUTES.get(name.lower())
            if wanted and not re.fullmatch(wanted, value, re.IGNORECASE):
                yield option.line, "error", f"-W {name}={value}: is refused; {name} has the form {wanted}"
            elif not wanted and name.lower() not in _OTHER_ATTRIBUTES:
                yield option.line, "error", f"-W {name}=...: a job has no such attribute, qsub refuses it (man qsub)."


@_rule
def needs_another(script: Script) -> Found:
    """Options that have a meaning beside another one only. Seen: refused without it, by qsub or the server."""
    array, interactive = script.option("J"), script.option("I")
    for option in script.options:
        value = option.value or ""
        if option.letter == "m" and "j" in value and not array:
            yield option.line, "error", f"-m {value}: j is for the parts of an array; without -J qsub refuses it."
        elif option.letter == "W" and "max_run_subjobs" in value and not array:
            yield option.line, "error", "-W max_run_subjobs is for an array; without -J qsub refuses it."
        elif option.letter == "X" and not interactive:
            yield option.line, "error", "-X forwards windows of an interactive job; without -I qsub refuses it."
        elif option.letter == "G":
            yield option.line, "error", "-G is for interactive jobs on Windows; here qsub refuses it."


@_rule
def array_range(script: Script) -> Found:
    """An array counts upwards and has at least two parts (qsub(1B), -J; seen: 1-1 and 10-1 are refused)."""
    for option in script.options:
        found = re.match(r"(\d+)-(\d+)", option.value or "") if option.letter == "J" else None
        if found and int(found[1]) >= int(found[2]):
            yield option.line, "error", f"-J {option.value}: is refused; FIRST is smaller than LAST."


@_rule
def unset_variable(script: Script) -> Found:
    """-v NAME without a value takes it from the shell that calls qsub, which refuses what is not set there (qsub.c,
    copy_env_value; seen). A comma ends a value unless it stands in quotation marks."""
    for option in script.options:
        if option.letter == "v" and option.value is not None:
            for name in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", option.value.strip()):
                if name and "=" not in name:
                    says = f"-v {option.value}: `{name}` has no value here; qsub refuses it where the shell has none"
                    yield option.line, "warning", f"{says}. A comma within a value: -v 'A=\"a,b\"'."


@_rule
def other_user(script: Script) -> Found:
    """-u NAME runs the job as somebody else, whom only that user's .rhosts or the administrator lets you be (seen: "Bad
    UID for job execution")."""
    for option in script.options:
        if option.letter == "u":
            yield option.line, "warning", f"-u {option.value}: the job of another user, which qsub refuses as a rule."
