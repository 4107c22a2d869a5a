"""An MPIJob (kubeflow.org/v2beta1) as typed models: an unknown field, a wrong type or a value that the operator
refuses is an error.

The fields are those of the custom resource's schema, the rules those by which the operator validates a job (of one
that breaks them it writes an event, and does nothing more). One rule is ours: the operator takes any word for
WaitForWorkersReady, a slip of the pen included. The pods' templates are held against the classes of Kubernetes' own
client.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from kubernetes import client
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Count = Annotated[int, Field(ge=0, lt=2**31)]
QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?\d+))?")
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1035


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class SchedulingPolicy(Strict):
    min_available: Int32 | None = None
    queue: str | None = None
    min_resources: dict[str, str | int] | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: Int32 | None = None


class RunPolicy(Strict):
    clean_pod_policy: Literal["None", "Running", "All"] | None = None
    ttl_seconds_after_finished: Count | None = None
    active_deadline_seconds: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    backoff_limit: Count | None = None
    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    managed_by: Literal["kubeflow.org/mpi-operator", "kueue.x-k8s.io/multikueue"] | None = None


def is_pod_template(template: dict[str, Any]) -> dict[str, Any]:
    check(template, "V1PodTemplateSpec", "template")
    containers = template.get("spec", {}).get("containers")
    if not containers:
        raise ValueError("template.spec.containers: there must be one at least")
    for container in containers:
        for kind in ("requests", "limits"):
            for resource, amount in container.get("resources", {}).get(kind, {}).items():
                if not QUANTITY.fullmatch(amount):
                    raise ValueError(f"resources.{kind}.{resource}: {amount!r} is no quantity")
    return template


class Replicas(Strict):
    replicas: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    restart_policy: Literal["Never", "OnFailure"] | None = None
    template: Annotated[dict[str, Any], AfterValidator(is_pod_template)]


class Launcher(Replicas):
    replicas: Literal[1] | None = None


class ReplicaSpecs(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    Launcher: Launcher
    Worker: Replicas | None = None


class Spec(Strict):
    slots_per_worker: Count | None = None
    run_launcher_as_worker: bool | None = None
    run_policy: RunPolicy | None = None
    mpi_replica_specs: ReplicaSpecs
    ssh_auth_mount_path: str | None = None
    launcher_creation_policy: Literal["AtStartup", "WaitForWorkersReady"] | None = None
    mpi_implementation: Literal["OpenMPI", "Intel", "MPICH"] | None = None


class MPIJob(Strict):
    api_version: Literal["kubeflow.org/v2beta1"]
    kind: Literal["MPIJob"]
    metadata: Annotated[dict[str, Any], AfterValidator(lambda metadata: check(metadata, "V1ObjectMeta", "metadata"))]
    spec: Spec

    @model_validator(mode="after")
    def workers_get_names(self) -> MPIJob:
        """The longest name of a pod, NAME-worker-N, is a host's name, too."""
        workers = self.spec.mpi_replica_specs.Worker
        last = ((workers and workers.replicas) or 1) - 1
        if not _LABEL.fullmatch(f"{self.metadata.get('name', '')}-worker-{last}"):
            raise ValueError(f"metadata.name: {self.metadata.get('name')!r} makes no host name for the workers")
        return self


# --- the models of Kubernetes' client: typed, but by themselves they leave out what they do not know and convert what
# they can


def check(value: Any, type_name: str, where: str) -> Any:
    """Hold a value, as read from YAML, against a type of the client ("V1PodSpec", "List[V1Container]", "Dict[str,
    str]", "int").

    Returns the value. Raises ValueError, naming the place, for an unknown field, a wrong type or a missing required
    field.
    """
    if match := re.fullmatch(r"List\[(.+)\]", type_name):
        _must_be(value, list, where)
        for number, item in enumerate(value):
            check(item, match[1], f"{where}[{number}]")
    elif match := re.fullmatch(r"Dict\[str, (.+)\]", type_name):
        _must_be(value, dict, where)
        for key, item in value.items():
            _must_be(key, str, where)
            check(item, match[1], f"{where}.{key}")
    elif type_name == "object":  # a number or a string, such as a port
        _must_be(value, (int, str, dict, list), where)
    elif type_name in ("str", "datetime"):
        _must_be(value, str, where)
    elif type_name in ("int", "float", "bool"):
        _must_be(value, {"int": int, "float": (int, float), "bool": bool}[type_name], where)
    else:
        _check_model(value, getattr(client, type_name), where)
    return value


def _check_model(value: Any, model: type, where: str) -> None:
    _must_be(value, dict, where)
    names = {json_name: name for name, json_name in model.attribute_map.items()}
    if unknown := [key for key in value if key not in names]:
        raise ValueError(f"{where}: {model.__name__} has no field {unknown[0]!r}")
    for key, item in value.items():
        check(item, model.openapi_types[names[key]], f"{where}.{key}")
    try:
        model(**{names[key]: item for key, item in value.items()})  # the model itself knows which fields are required
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _must_be(value: Any, kind: type | tuple[type, ...], where: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where}: {value!r} has the wrong type")
