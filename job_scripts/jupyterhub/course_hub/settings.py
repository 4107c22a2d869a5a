"""The settings of a course's hub: read from one TOML file, checked, and said in sentences what is wrong with them."""

from __future__ import annotations

import dataclasses
import grp
import os
import pwd
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FILE = "COURSE_HUB"  # environment: the settings' file


class SettingsError(Exception):
    """Settings an administrator has to change. One line each."""


@dataclass(frozen=True)
class Profile:
    """The limits of one server. cores, gpus, processes: numbers of; memory_gb: in 2**30 bytes; hours: of run time in a
    batch system.
    """

    title: str
    about: str = ""
    cores: int = 2
    memory_gb: float = 4.0
    processes: int = 400
    hours: float = 4
    gpus: int = 0
    queue: str = ""
    account: str = ""


@dataclass(frozen=True)
class Web:
    address: str = "http://127.0.0.1:8000"
    certificate: str = ""
    key: str = ""
    subdomain_host: str = ""
    hub_host: str = "127.0.0.1"
    hub_port: int = 8081
    proxy_port: int = 8001
    grader_port: int = 8082


@dataclass(frozen=True)
class Login:
    by: str = "pam"
    client_id: str = ""
    authorize_url: str = ""
    token_url: str = ""
    userdata_url: str = ""
    username_claim: str = "preferred_username"
    callback_url: str = ""


@dataclass(frozen=True)
class SpawnerSettings:
    kind: str = "local"
    start_timeout_s: int = 120
    submit_prefix: str = "/usr/sbin/runuser -u {username} --"


@dataclass(frozen=True)
class Idle:
    stop_after_minutes: float = 60
    look_every_minutes: float = 5
    at_most_hours: float = 12


@dataclass(frozen=True)
class HubSettings:
    """All of it; the comments in hub.toml say what each is."""

    course: str
    class_root: Path
    shared: Path
    exchange: Path
    state: Path
    grader: str
    instructors: tuple[str, ...]
    students: tuple[str, ...] = ()
    students_group: str = ""
    scratch: Path = Path("/tmp")
    web: Web = field(default_factory=Web)
    login: Login = field(default_factory=Login)
    spawner: SpawnerSettings = field(default_factory=SpawnerSettings)
    idle: Idle = field(default_factory=Idle)
    profiles: dict[str, Profile] = field(default_factory=lambda: {"cpu": Profile("CPU")})

    @property
    def here(self) -> Path:
        """This folder of the course, as everybody sees it."""
        return self.shared / "job_scripts" / "jupyterhub"

    @property
    def bin(self) -> Path:
        return self.shared / ".venv" / "bin"

    @property
    def python(self) -> Path:
        return self.bin / "python"


def load(path: str | Path | None = None) -> HubSettings:
    """The settings in a file (default: the one that the environment names). Raises SettingsError."""
    path = path or os.environ.get(FILE)
    if not path:
        raise SettingsError(f"say which settings: {FILE}=/etc/dl2027-hub.toml (a copy of hub.toml with your changes)")
    try:
        told = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from None
    try:
        return _settings(told)
    except SettingsError as error:
        raise SettingsError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def _settings(told: dict) -> HubSettings:
    parts = {"web": Web, "login": Login, "spawner": SpawnerSettings, "idle": Idle}
    values = {name: value for name, value in told.items() if name not in (*parts, "profiles")}
    for name, kind in parts.items():
        values[name] = _made(kind, told.get(name, {}), f"[{name}] ")
    if "profiles" in told:
        values["profiles"] = {
            name: _made(Profile, part, f"[profiles.{name}] ") for name, part in told["profiles"].items()
        }
    settings = _made(HubSettings, values, "")
    wrong = list(_wrong(settings))
    if wrong:
        raise SettingsError("\n".join(wrong))
    return settings


def _made(kind, values: dict, where: str):
    """An instance of a dataclass; names that it does not have, that are missing or of another type are said."""
    fields = {item.name: item for item in dataclasses.fields(kind)}
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise SettingsError(f"{where}there is no setting {unknown[0]!r}; there are {', '.join(fields)}")
    given = {}
    for name, value in values.items():
        wanted = fields[name].type
        if wanted == "Path" and isinstance(value, str):
            value = Path(value)
        elif wanted.startswith("tuple") and isinstance(value, list):
            value = tuple(map(str, value))
        elif wanted == "float" and isinstance(value, int):
            value = float(value)
        if wanted in ("str", "int", "float") and type(value).__name__ != wanted:
            raise SettingsError(f"{where}{name} should be {_IN_WORDS[wanted]}, not {value!r}")
        given[name] = value
    try:
        return kind(**given)
    except TypeError:
        needed = [
            n for n, f in fields.items() if f.default is f.default_factory is dataclasses.MISSING and n not in given
        ]
        raise SettingsError(f"{where}missing: {', '.join(needed)}") from None


_IN_WORDS = {"str": 'text in "quotes"', "int": "a whole number", "float": "a number"}


def _wrong(settings: HubSettings):
    if not re.fullmatch(r"[A-Za-z]\w*", settings.course):
        yield f"course = {settings.course!r}: letters, digits and _ only"
    for name in ("class_root", "shared", "exchange", "state", "scratch"):
        if not getattr(settings, name).is_absolute():
            yield f"{name} = {str(getattr(settings, name))!r} should be an absolute path"
    if settings.spawner.kind not in ("local", "slurm", "pbs"):
        yield f'[spawner] kind = {settings.spawner.kind!r}: "local", "slurm" or "pbs"'
    if settings.login.by not in ("pam", "oauth"):
        yield f'[login] by = {settings.login.by!r}: "pam" or "oauth"'
    if settings.login.by == "oauth":
        for name in ("client_id", "authorize_url", "token_url", "userdata_url", "callback_url"):
            if not getattr(settings.login, name):
                yield f"[login] {name} is needed for oauth"
        if not os.environ.get("OAUTH_CLIENT_SECRET"):
            yield "the environment has no OAUTH_CLIENT_SECRET: the provider gives it with the client_id"
    if not settings.instructors:
        yield "instructors: name at least one"
    if not settings.profiles:
        yield "there is no profile: [profiles.cpu]"
    if settings.spawner.kind != "local" and settings.web.hub_host in ("127.0.0.1", "localhost"):
        yield (
            "[web] hub_host: a job on a node cannot reach this machine as 127.0.0.1; "
            "write its name on the nodes' network"
        )


def students(settings: HubSettings) -> list[str]:
    """The names of the students: those listed, and the members of the group; instructors and the grader are none."""
    names = set(settings.students)
    if settings.students_group:
        try:
            group = grp.getgrnam(settings.students_group)
        except KeyError:
            raise SettingsError(f"students_group: this machine knows no group {settings.students_group!r}") from None
        names |= set(group.gr_mem) | {entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == group.gr_gid}
    return sorted(names - {settings.grader, *settings.instructors})


def account(name: str) -> pwd.struct_passwd:
    """Raises SettingsError where the machine does not know this account."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise SettingsError(f"this machine knows no account {name!r}: useradd --create-home {name}") from None
