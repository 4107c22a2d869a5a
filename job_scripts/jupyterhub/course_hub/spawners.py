"""Spawners, which start a server on this machine with limits, or as a job of Slurm or PBS. A student chooses a profile
and nothing else.
"""

from __future__ import annotations

import html
import os
import shutil
from pathlib import Path

from batchspawner import PBSSpawner, SlurmSpawner
from jupyterhub.spawner import LocalProcessSpawner
from tornado import web

from course_hub.limits import UserLimits
from course_hub.settings import HubSettings, Profile

_FORM = """
<p>Choose what your server may use. You can stop it and choose again at any time; your files stay.</p>
{choices}
"""
_CHOICE = """
<div class="form-check mb-2">
  <input class="form-check-input" type="radio" name="profile" id="profile-{name}" value="{name}" {checked}>
  <label class="form-check-label" for="profile-{name}"><strong>{title}</strong><br>{about}<br>
  <span class="text-body-secondary">{means}</span></label>
</div>
"""


class _Chosen:
    """The choice of a profile, for every kind of spawner. `settings` is set by the hub's configuration."""

    settings: HubSettings

    def form(self) -> str:
        """The page's radio buttons; "" where there is nothing to choose."""
        if len(self.settings.profiles) < 2:
            return ""
        first = next(iter(self.settings.profiles))
        choices = [
            _CHOICE.format(
                name=html.escape(name),
                title=html.escape(profile.title),
                about=html.escape(profile.about),
                means=in_words(profile, self.settings.spawner.kind != "local"),
                checked="checked" if name == first else "",
            )
            for name, profile in self.settings.profiles.items()
        ]
        return _FORM.format(choices="".join(choices))

    @property
    def profile(self) -> Profile:
        """The chosen one, the first one if none was chosen. What else a request has put into the options is not looked
        at.

        Raises HTTP 400 for a name that is none of the profiles.
        """
        chosen = (self.user_options or {}).get("profile") or next(iter(self.settings.profiles))
        chosen = chosen[0] if isinstance(chosen, list) and chosen else chosen
        if not isinstance(chosen, str) or chosen not in self.settings.profiles:
            raise web.HTTPError(
                400, f"There is no profile {str(chosen)[:40]!r}; there are {', '.join(self.settings.profiles)}."
            )
        self.user_options = {"profile": chosen}
        return self.settings.profiles[chosen]


def in_words(profile: Profile, batch: bool) -> str:
    """The resources of a profile, in one line."""
    gpus = f", {profile.gpus} GPU{'s' * (profile.gpus > 1)}" if profile.gpus else ""
    time = f", at most {profile.hours:g} hours" if batch else ""
    cores = f"{profile.cores} core{'s' * (profile.cores > 1)}"
    return f"{cores}, {profile.memory_gb:g} GB of memory{gpus}{time}"


class CourseLocalSpawner(_Chosen, LocalProcessSpawner):
    """A server on this machine, within the limits of its profile; nothing of it is left when it is stopped."""

    limits: UserLimits | None = None

    async def start(self):
        profile = self.profile
        self._end_rest()
        tag = f"{self.settings.web.hub_port}-{self.user.name}"
        self.limits = UserLimits(tag, profile.cores, profile.memory_gb, profile.processes)
        self.log.info("%s: %s", self.user.name, self.limits.in_words)
        return await super().start()

    def make_preexec_fn(self, name):
        become, limits = super().make_preexec_fn(name), self.limits

        def preexec():
            limits.enter()
            become()

        return preexec

    async def stop(self, now=False):
        await super().stop(now)
        self._end_rest()

    async def poll(self):
        status = await super().poll()
        if status is not None:
            self._end_rest()
        return status

    def _end_rest(self) -> None:
        if self.limits is not None:
            self.limits.remove()
            self.limits = None
            shutil.rmtree(scratch_folder(self.settings, self.user.name), ignore_errors=True)


def scratch_folder(settings: HubSettings, name: str) -> Path:
    return settings.scratch / f"{settings.course}-{name}"


class _CourseJob(_Chosen):
    """A server as a job: the profile's numbers become the script's."""

    async def start(self):
        profile = self.profile
        self.req_nprocs, self.req_ngpus = str(profile.cores), str(profile.gpus or "")
        self.req_memory = f"{round(profile.memory_gb * 1024)}"
        minutes = round(profile.hours * 60)
        self.req_runtime = f"{minutes // 60:02d}:{minutes % 60:02d}:00"
        self.req_partition = self.req_queue = profile.queue
        self.req_account = profile.account
        self.user_options = {"profile": self.user_options["profile"]}
        return await super().start()

    def get_env(self):
        """The job's environment: of root's own, only what a job may know."""
        env = super().get_env()
        return {name: value for name, value in env.items() if value is not None}


class CourseSlurmSpawner(_CourseJob, SlurmSpawner):
    """A job of Slurm on one node. Every core is a task, so that as many ranks can be started in it; the script itself
    runs once.
    """

    _template = """#!/bin/bash
#SBATCH --job-name={{course}}-lab
#SBATCH --output={{homedir}}/.{{course}}-lab.log
#SBATCH --chdir={{homedir}}
#SBATCH --export={{keepvars}}
#SBATCH --nodes=1 --ntasks={{nprocs}} --cpus-per-task=1
#SBATCH --mem={{memory}}M
#SBATCH --time={{runtime}}
{% if ngpus %}#SBATCH --gres=gpu:{{ngpus}}
{% endif %}{% if partition %}#SBATCH --partition={{partition}}
{% endif %}{% if account %}#SBATCH --account={{account}}
{% endif %}{% if options %}#SBATCH {{options}}
{% endif %}{{prologue}}
exec {{cmd}}
"""


class CoursePBSSpawner(_CourseJob, PBSSpawner):
    """A job of PBS (OpenPBS, PBS Professional) on one node."""

    # One chunk lies on one node by itself; PBS starts a job in $HOME.
    _template = """#!/bin/bash
#PBS -N {{course}}-lab
#PBS -o {{homedir}}/.{{course}}-lab.log
#PBS -j oe
#PBS -v {{keepvars}}
#PBS -l select=1:ncpus={{nprocs}}:mpiprocs={{nprocs}}:mem={{memory}}mb{% if ngpus %}:ngpus={{ngpus}}{% endif %}
#PBS -l walltime={{runtime}}
{% if queue %}#PBS -q {{queue}}
{% endif %}{% if account %}#PBS -A {{account}}
{% endif %}{% if options %}#PBS {{options}}
{% endif %}{{prologue}}
exec {{cmd}}
"""


KINDS = {"local": CourseLocalSpawner, "slurm": CourseSlurmSpawner, "pbs": CoursePBSSpawner}


def configure(c, settings: HubSettings) -> None:
    """The hub's spawner, from the settings."""
    kind = KINDS[settings.spawner.kind]
    kind.settings = settings
    c.JupyterHub.spawner_class = kind
    c.Spawner.options_form = lambda spawner: spawner.form()
    c.Spawner.cmd = [str(settings.python), str(settings.here / "start_server.py")]
    c.Spawner.default_url = "/lab"
    c.Spawner.environment = environment(settings)
    c.Spawner.env_keep = ["LANG", "LC_ALL", "TZ"]
    c.Spawner.start_timeout = c.Spawner.http_timeout = settings.spawner.start_timeout_s
    if settings.spawner.kind == "local":
        c.Spawner.ip = "127.0.0.1"
        return
    c.Spawner.cmd = [str(settings.here / "start_server.py")]  # batchspawner runs it in its own Python
    c.Spawner.env_keep = ["LANG", "LC_ALL", "TZ", "SLURM_CONF", "PBS_CONF_FILE"]
    c.BatchSpawnerBase.exec_prefix = settings.spawner.submit_prefix
    c.BatchSpawnerBase.batchspawner_singleuser_cmd = f"{settings.python} {settings.bin / 'batchspawner-singleuser'}"
    c.BatchSpawnerBase.batch_script = kind._template.replace("{{course}}", settings.course)


def environment(settings: HubSettings) -> dict[str, str]:
    """The environment of every server, a student's and the grader's: where the course is, and which one."""
    return {
        "PATH": os.pathsep.join([str(settings.bin), "/usr/local/bin", "/usr/bin", "/bin"]),
        "VIRTUAL_ENV": str(settings.shared / ".venv"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COURSE_SHARED": str(settings.shared),
        "COURSE_ID": settings.course,
        "COURSE_EXCHANGE": str(settings.exchange),
        "COURSE_SCRATCH": str(settings.scratch),
    }
