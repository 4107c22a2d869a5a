"""The cluster's image and MPIJobs: manifests rendered and held against types, the Dockerfile's steps as far as they
run without Docker, the settings of ssh and sshd as these read them."""

from __future__ import annotations

import copy
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import dockerfile
import kustomize
import pytest
import yaml
from machine import needs
from mpijob_model import QUANTITY, MPIJob, check
from pydantic import ValidationError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "job_scripts" / "kubernetes"
sys.path.insert(0, str(ROOT / "tools"))
import bootstrap  # noqa: E402
import horovod_wheel  # noqa: E402
from course import FULL, Course  # noqa: E402

OVERLAYS = ("cpu", "gpu", "resume")
JOBS = ("pi", "horovod-mnist", "image-lab")
STAGES = dockerfile.read(FOLDER / "Dockerfile")
SYSTEM, ENVIRONMENT, IMAGE = STAGES
IGNORED = dockerfile.ignore_patterns(ROOT / ".dockerignore")
SSHD = "/usr/sbin/sshd"


@functools.cache
def rendered(overlay: str) -> dict[tuple[str, str], dict]:
    return {
        (found["kind"], found["metadata"]["name"]): found for found in kustomize.render(FOLDER / "overlays" / overlay)
    }


def job(name: str, overlay: str = "cpu") -> dict:
    """A copy of an MPIJob as it would be sent to the cluster."""
    return copy.deepcopy(rendered(overlay)["MPIJob", name])


def pods(manifest: dict, role: str) -> dict:
    return manifest["spec"]["mpiReplicaSpecs"][role]


def container(manifest: dict, role: str) -> dict:
    return pods(manifest, role)["template"]["spec"]["containers"][0]


def repository() -> set[str]:
    """Every file that is, or could be, part of the repository."""
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())


every_job = pytest.mark.parametrize(("overlay", "name"), [(overlay, name) for overlay in OVERLAYS for name in JOBS])

# ---------------------------------------------------------------------------------------------------- manifests


@every_job
def test_a_manifest_is_an_mpijob(overlay, name):
    MPIJob.model_validate(job(name, overlay))


def test_an_overlay_holds_every_job_once_and_nothing_unknown():
    for overlay in OVERLAYS:
        others = {kind for kind, _ in rendered(overlay)} - {"MPIJob"}
        assert {name for kind, name in rendered(overlay) if kind == "MPIJob"} == set(JOBS)
        assert others == ({"PersistentVolumeClaim"} if overlay == "resume" else set())
    claim = copy.deepcopy(rendered("resume")["PersistentVolumeClaim", "horovod-mnist-results"])
    check(
        {key: value for key, value in claim.items() if key not in ("apiVersion", "kind")},
        "V1PersistentVolumeClaim",
        "claim",
    )


BROKEN = {
    "an unknown field of the job": (("spec", "slotsPerWorkers"), 1),
    "a text for a number": (("spec", "slotsPerWorker"), "1"),
    "a number that does not fit": (("spec", "slotsPerWorker"), 2**31),
    "a boolean for a number": (("spec", "mpiReplicaSpecs", "Worker", "replicas"), True),
    "fewer than no slots": (("spec", "slotsPerWorker"), -1),
    "an MPI that is not known": (("spec", "mpiImplementation"), "LAM"),
    "an unknown policy": (("spec", "runPolicy", "cleanPodPolicy"), "Never"),
    "an unknown field of the policy": (("spec", "runPolicy", "backOffLimit"), 1),
    "a field of the older version": (("spec", "cleanPodPolicy"), "Running"),
    "an unknown moment": (("spec", "launcherCreationPolicy"), "Later"),
    "a role that is none": (
        ("spec", "mpiReplicaSpecs", "Workers"),
        {"replicas": 1, "template": {"spec": {"containers": [{}]}}},
    ),
    "two launchers": (("spec", "mpiReplicaSpecs", "Launcher", "replicas"), 2),
    "no worker": (("spec", "mpiReplicaSpecs", "Worker", "replicas"), 0),
    "a restart policy of pods alone": (("spec", "mpiReplicaSpecs", "Launcher", "restartPolicy"), "Always"),
    "no container": (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers"), []),
    "a container without a name": (
        ("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers"),
        [{"image": "x"}],
    ),
    "an unknown field of a pod": (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "restart"), "Never"),
    "a list for a text": (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "serviceAccountName"), ["a"]),
    "a text for a boolean": (("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "hostNetwork"), "no"),
    "a text for a list": (("spec", "mpiReplicaSpecs", "Launcher", "template", "spec", "containers", 0, "args"), "-n 2"),
    "numbers among arguments": (
        ("spec", "mpiReplicaSpecs", "Launcher", "template", "spec", "containers", 0, "args"),
        ["-n", 2],
    ),
    "an unknown field of a container": (
        ("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers", 0, "gpus"),
        1,
    ),
    "a quantity that is none": (
        ("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers", 0, "resources", "limits", "memory"),
        "2 GB",
    ),
    "a mount without a place": (
        ("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers", 0, "volumeMounts"),
        [{"name": "shm"}],
    ),
    "a name with a capital": (("metadata", "name"), "Pi"),
    "a name that is too long": (("metadata", "name"), "p" * 60),
    "the older version": (("apiVersion",), "kubeflow.org/v1"),
}


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_broken_manifest_is_refused(mistake):
    path, value = BROKEN[mistake]
    manifest = job("pi")
    place = manifest
    for step in path[:-1]:
        place = place[step]
    assert place.get(path[-1]) != value
    place[path[-1]] = value
    with pytest.raises(ValidationError):
        MPIJob.model_validate(manifest)


def test_quantities_are_those_of_kubernetes():
    assert all(QUANTITY.fullmatch(text) for text in ("1", "100m", "0.5", "16Gi", "1e3", "250M"))
    assert not any(QUANTITY.fullmatch(text) for text in ("", "Gi", "1 Gi", "1GB", "two"))


def test_the_renderer_refuses_what_it_does_not_know(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("namePrefix: x-\nresources: []\n")
    with pytest.raises(ValueError, match="namePrefix"):
        kustomize.render(tmp_path)
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [a.yaml]\npatches:\n- target: {kind: A}\n  patch: '[{op: replace, path: /spec/n, value: 1}]'\n"
    )
    (tmp_path / "a.yaml").write_text("kind: A\nmetadata: {name: a}\nspec: {m: 1}\n")
    with pytest.raises(KeyError, match="/spec/n"):
        kustomize.render(tmp_path)


def test_image_and_number_of_workers_stand_in_one_place(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    overlay = tmp_path / "kubernetes" / "overlays" / "gpu" / "kustomization.yaml"
    text = overlay.read_text()
    for before, after in (
        ("newName: distributed", "newName: registry.example.org/ai/d"),
        ("1-gpu", "7"),
        ("value: 2 ", "value: 5 "),
    ):
        assert text.count(before) == 1
        text = text.replace(before, after)
    overlay.write_text(text)
    for manifest in kustomize.render(overlay.parent):
        assert pods(manifest, "Worker")["replicas"] == 5
        images = {container(manifest, role)["image"] for role in ("Launcher", "Worker")}
        assert images == {"registry.example.org/ai/d-deep-learning:7"}


@every_job
def test_ranks_get_what_they_need(overlay, name):
    manifest = job(name, overlay)
    resources, slots = container(manifest, "Worker")["resources"], manifest["spec"]["slotsPerWorker"]
    assert "-n" not in container(manifest, "Launcher")["args"], "the number of ranks would stand in a second place"
    if overlay == "gpu" and name != "pi":
        assert resources["limits"]["nvidia.com/gpu"] == resources["requests"]["nvidia.com/gpu"] == str(slots)
        assert "NCCL_DEBUG=INFO" in container(manifest, "Launcher")["args"]
        assert container(manifest, "Launcher")["args"][-2:] == ["--device", "gpu"]
    else:
        assert resources["limits"]["cpu"] == str(slots) and "nvidia.com/gpu" not in resources["limits"]
    assert "nvidia.com/gpu" not in json.dumps(pods(manifest, "Launcher"))
    shm = next(mount for mount in container(manifest, "Worker")["volumeMounts"] if mount["mountPath"] == "/dev/shm")
    volumes = {volume["name"]: volume for volume in pods(manifest, "Worker")["template"]["spec"]["volumes"]}
    assert volumes[shm["name"]]["emptyDir"]["medium"] == "Memory"
    assert {mount["name"] for mount in container(manifest, "Worker")["volumeMounts"]} == set(volumes)


@every_job
def test_nothing_runs_for_ever_as_root_or_with_a_token(overlay, name):
    manifest = job(name, overlay)
    policy = manifest["spec"]["runPolicy"]
    assert (
        policy["cleanPodPolicy"] == "Running" and policy["activeDeadlineSeconds"] and policy["ttlSecondsAfterFinished"]
    )
    assert policy["backoffLimit"] == (2 if (overlay, name) == ("resume", "horovod-mnist") else 0)
    for role in ("Launcher", "Worker"):
        pod = pods(manifest, role)["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] == 1000
        context = pod["containers"][0]["securityContext"]
        assert context == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_the_resumed_job_shares_its_checkpoint():
    manifest = job("horovod-mnist", "resume")
    arguments = container(manifest, "Launcher")["args"]
    checkpoint = Path(arguments[arguments.index("--checkpoint") + 1])
    mounts = {mount["mountPath"]: mount["name"] for mount in container(manifest, "Worker")["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pods(manifest, "Worker")["template"]["spec"]["volumes"]}
    claim = volumes[mounts[str(checkpoint.parent)]]["persistentVolumeClaim"]["claimName"]
    assert rendered("resume")["PersistentVolumeClaim", claim]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert "optional" in json.dumps(volumes["port"]), "the job also runs where no port was put into the cluster"


def test_no_solution_is_given_away():
    """What students get to see of the homework and of unit 09 are names of files that they write themselves."""
    for name in JOBS:
        programs = [word for word in container(job(name), "Launcher")["args"] if word.endswith(".py")]
        for program in programs:
            assert program == "/port/port.py" or (ROOT / program.removeprefix("/opt/course/")).is_relative_to(
                ROOT / "job_scripts" / "programs"
            )


# ---------------------------------------------------------------------------------------------------- the image


def test_the_stages_of_the_image():
    assert [(stage.base, stage.name) for stage in STAGES] == [
        ("debian:12", "system"),
        ("system", "environment"),
        ("system", "course"),
    ]
    assert IMAGE.all("USER") == ["student"]
    assert "useradd --create-home --uid 1000" in " ".join(SYSTEM.all("RUN"))


@pytest.mark.parametrize("step", [step for stage in STAGES for step in stage.all("RUN")])
def test_a_step_is_a_command_that_stops_at_its_first_failure(step):
    assert subprocess.run(["sh", "-n", "-c", step], capture_output=True, text=True).stderr == ""
    assert ";" not in re.sub(r"if \[[^]]*\]; then|; *fi\b", "", step), "; goes on after a failure, && does not"


def installed_by(stage: dockerfile.Stage) -> set[str]:
    """The Debian packages of a stage, without those of NVIDIA."""
    lists = re.findall(r"apt-get install -y --no-install-recommends ([^&;]+)", " ".join(stage.all("RUN")))
    return {name for names in lists for name in names.split() if "$" not in name and "nccl" not in name}


@needs("debian")
def test_the_packages_are_debians():
    names = installed_by(SYSTEM) | installed_by(ENVIRONMENT)
    assert {"g++", "make", "openssh-client", "openssh-server", "python3", "python3-dev", "python3-venv"} <= names
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names]
    installed = set(re.findall(r"^(\S+) installed", subprocess.run(query, capture_output=True, text=True).stdout, re.M))
    assert installed, "not even one of them is installed: is this a Debian?"
    others = names - installed
    if others and any(Path("/var/lib/apt/lists").glob("*Packages*")):
        known = subprocess.run(["apt-cache", "show", "--no-all-versions", *others], capture_output=True, text=True)
        assert others == set(re.findall(r"^Package: (\S+)", known.stdout, re.M))


def test_what_is_copied_is_in_the_repository():
    known = repository()
    for stage in STAGES:
        for sources, _ in dockerfile.copies(stage):
            for source in sources:
                if source != ".":
                    files = {name for name in known if name == source or name.startswith(f"{source}/")}
                    assert files, f"{source} is not in the repository"
                    assert not any(dockerfile.is_ignored(name, IGNORED) for name in files)


def test_what_the_image_holds_of_the_course():
    held = {name for name in repository() if not dockerfile.is_ignored(name, IGNORED)}
    needed = [
        "requirements.lock.txt",
        "tools/update_work.py",
        "notebooks/00_start_here/start_here.ipynb",
        "labkit/environment.py",
    ]
    needed += [
        "autograder/check.py",
        "homework/scaling_mnist/README.md",
        "job_scripts/kubernetes/when_workers_answer.sh",
    ]
    assert set(needed) <= held
    top = {name.split("/")[0] for name in held}
    assert top.isdisjoint({"solutions", "tests", ".git", ".venv", "work", ".cache", "var"})
    begin = b"### BEGIN " + b"SOLUTION\n"
    for name in sorted(held):
        content = (ROOT / name).read_bytes()
        assert b"PRIVATE KEY-----" not in content, name
        if name.startswith(("notebooks/", "homework/", "job_scripts/")):
            assert begin not in content and begin.replace(b"\n", b"\\n") not in content, name


def test_no_secrets_in_the_dockerfile():
    names = [rest.partition("=")[0] for stage in STAGES for what in ("ARG", "ENV") for rest in stage.all(what)]
    assert not [name for name in names if re.search(r"TOKEN|SECRET|PASS|KEY", name)]
    assert "rm -f /etc/ssh/ssh_host_*" in " ".join(SYSTEM.all("RUN"))


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        (".git/config", True),
        ("solutions/01_mpi_pi/mpi_pi.ipynb", True),
        ("units/01_mpi_pi/mpi_pi.py", True),
        ("units/01_mpi_pi/answers/fair_share.py", True),
        ("units/01_mpi_pi/exercises.py", False),
        ("labkit/__pycache__/a.pyc", True),
        ("a/b/gradebook.db", True),
        ("id_rsa", True),
        ("notebooks/01_mpi_pi/mpi_pi.ipynb", False),
        ("labkit/solutions.py", False),
    ],
)
def test_what_dockerignore_keeps_out(name, ignored):
    assert dockerfile.is_ignored(name, IGNORED) is ignored


def test_the_set_up_works_with_the_files_copied_for_it(tmp_path):
    """The stage that installs the environment has few of the course's files: they are enough, and name the same wheel
    of Horovod."""
    for sources, destination in dockerfile.copies(ENVIRONMENT):
        for source in sources:
            place = tmp_path / destination / ("" if (ROOT / source).is_dir() else Path(source).name)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / source, place)
    commands = [step.split("python3 tools/bootstrap.py ")[1:] for step in ENVIRONMENT.all("RUN")]
    assert [bootstrap.parse(words.split()).command for command in commands for words in command] == ["horovod"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("HOROVOD_", "CONDA_"))}
    told = subprocess.run(
        [sys.executable, "tools/bootstrap.py", "horovod-status"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["key"] == horovod_wheel.key(Course(tmp_path))
    assert Course(tmp_path).pins() == Course(ROOT, version=FULL).pins(), (
        "the image has everything, whatever Python tests it"
    )


def test_the_image_starts_lab_for_one_person():
    program, script, *arguments = dockerfile.command(IMAGE)
    assert program == "python3" and ROOT / Path(script).relative_to("/opt/course") == ROOT / "tools" / "bootstrap.py"
    options = bootstrap.parse(arguments)
    assert (options.command, options.work, options.rest) == ("lab", "/home/student/work", ["--ip=0.0.0.0"])
    assert IMAGE.all("EXPOSE") == ["8888"]
    command = bootstrap.lab_command(Course(Path("/opt/course")), Path(options.work), options.rest)
    assert command[0] == "/opt/course/.venv/bin/python" and command[-1] == "--ip=0.0.0.0"


def test_the_programs_that_manifests_name_are_in_the_image():
    path = dockerfile.environment(IMAGE)["PATH"].split(":")
    assert path[0] == "/opt/course/.venv/bin"
    for name in JOBS:
        launcher = container(job(name), "Launcher")
        for word in (*launcher["command"], *launcher["args"]):
            if word.startswith("/opt/course/"):
                file = ROOT / word.removeprefix("/opt/course/")
                assert file.is_file() and not dockerfile.is_ignored(str(file.relative_to(ROOT)), IGNORED)
        assert (Path(sys.prefix) / "bin" / launcher["command"][-1]).exists()
        assert os.access(ROOT / launcher["command"][0].removeprefix("/opt/course/"), os.X_OK)
        assert container(job(name), "Worker")["command"][0] == SSHD
        assert container(job(name), "Worker")["command"][-1] in {to for _, to in dockerfile.copies(IMAGE)}


# ---------------------------------------------------------------------------------------------------- sshd and ssh


@needs("ssh")
def test_ssh_trusts_workers_of_the_job_alone():
    command = ["ssh", "-G", "-F", FOLDER / "ssh_config"]
    worker = subprocess.run(
        [*command, "pi-worker-0.pi.default.svc.cluster.local"], capture_output=True, text=True, check=True
    )
    settings = dict(line.split(" ", 1) for line in worker.stdout.splitlines())
    assert (settings["port"], settings["stricthostkeychecking"], settings["batchmode"]) == ("2222", "true", "yes")
    assert settings["knownhostscommand"].endswith("/home/student/.ssh/id_rsa.pub")
    elsewhere = subprocess.run([*command, "example.org"], capture_output=True, text=True, check=True)
    assert dict(line.split(" ", 1) for line in elsewhere.stdout.splitlines())["port"] == "22"


def test_the_launcher_gives_up_where_no_worker_answers(tmp_path):
    (tmp_path / "hostfile").write_text("nobody.invalid slots=1\n")
    (tmp_path / "ssh").write_text("#!/bin/sh\necho 'Could not resolve hostname nobody.invalid' >&2\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    done = subprocess.run(
        [FOLDER / "when_workers_answer.sh", "echo", "started"],
        env={
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "WORKERS_ANSWER_WITHIN": "0",
            "OMPI_MCA_orte_default_hostfile": str(tmp_path / "hostfile"),
        },
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1 and "started" not in done.stdout
    assert "nobody.invalid does not let us in after 0 s: Could not resolve hostname" in done.stderr


@needs("sshd")
def test_sshd_accepts_its_settings():
    """It lets in the job's key and one user, and writes the file that the probe looks for. An ordinary user's."""
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if user:
            os.chown(folder, 65534, 65534)
        keys, config = f"{folder}/id_rsa", f"{folder}/sshd_mpi.conf"
        subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", keys], check=True, **user)
        mounted = job("pi")["spec"]["sshAuthMountPath"]
        Path(config).write_text((FOLDER / "sshd_config").read_text().replace(mounted, folder))
        told = subprocess.run([SSHD, "-T", "-f", config], capture_output=True, text=True, timeout=30, **user)
    assert told.returncode == 0, told.stderr
    settings = dict(line.split(" ", 1) for line in told.stdout.splitlines() if " " in line)
    assert settings["port"] == "2222" and settings["usepam"] == "no" and settings["allowusers"] == "student"
    assert (settings["pubkeyauthentication"], settings["passwordauthentication"]) == ("yes", "no")
    assert settings["kbdinteractiveauthentication"] == "no"
    assert container(job("pi"), "Worker")["readinessProbe"]["exec"]["command"] == ["test", "-f", settings["pidfile"]]
    assert settings["authorizedkeysfile"] == f"{folder}/authorized_keys" and settings["hostkey"] == keys


# ---------------------------------------------------------------------------------------------------- README


def test_the_readme_names_files_and_jobs_that_are_there():
    text = (FOLDER / "README.md").read_text()
    for path in re.findall(r"(?:apply|delete|kustomize)(?: -k)? (job_scripts/[\w/-]+)", text):
        assert (ROOT / path / "kustomization.yaml").is_file(), path
    for name in re.findall(r"-l job=([\w-]+)", text):
        assert name in JOBS
    for name in re.findall(r"\b(?:job|mpijob)/([\w-]+)", text):
        assert name.removesuffix("-launcher") in (*JOBS, "NAME")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (FOLDER / target).exists(), target
    for snippet in re.findall(r"```yaml\n(.*?)```", text, re.S):
        check(yaml.safe_load(snippet), "List[V1Volume]", "README")
