"""Renders the few features of kustomize that job_scripts/kubernetes uses, so that tests need no kubectl: `resources`
(files and other kustomizations), `images` (newName, newTag) and `patches` (RFC 6902, in a file or inline, with a
target of kind, name, labelSelector).

Anything else is an error, never ignored: what is rendered here is what `kubectl kustomize` renders.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path

import yaml

_FIELDS = {"apiVersion", "kind", "resources", "images", "patches"}


def render(folder: Path) -> list[dict]:
    """The resources of the kustomization in `folder`. Raises ValueError where it uses more than this renderer knows."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    _only(kustomization, _FIELDS, folder)
    found: list[dict] = []
    for name in kustomization.get("resources", []):
        path = folder / name
        found += render(path) if path.is_dir() else list(yaml.safe_load_all(path.read_text()))
    for patch in kustomization.get("patches", []):  # kustomize patches first and names images last
        _only(patch, {"path", "patch", "target"}, folder)
        text = patch["patch"] if "patch" in patch else (folder / patch["path"]).read_text()
        operations = yaml.safe_load(text)
        if not isinstance(operations, list):
            raise ValueError(f"{folder}: not a list of RFC 6902 operations")
        targets = [resource for resource in found if _is_meant(resource, patch["target"])]
        for resource in targets:
            for operation in operations:
                _apply(resource, operation)
    for image in kustomization.get("images", []):
        _only(image, {"name", "newName", "newTag"}, folder)
        for resource in found:
            _set_image(resource, image)
    return found


def _only(mapping: dict, known: set[str], folder: Path) -> None:
    if unknown := set(mapping) - known:
        raise ValueError(f"{folder}: this renderer does not know {sorted(unknown)}")


def _is_meant(resource: dict, target: dict) -> bool:
    _only(target, {"kind", "name", "labelSelector"}, Path("target"))
    metadata = resource["metadata"]
    wanted = dict(pair.split("=") for pair in target.get("labelSelector", "").split(",") if pair)
    return (
        target.get("kind", resource["kind"]) == resource["kind"]
        and re.fullmatch(target.get("name", ".*"), metadata["name"]) is not None
        and wanted.items() <= metadata.get("labels", {}).items()
    )


def _apply(resource: dict, operation: dict) -> None:
    """One RFC 6902 operation, in place. Raises KeyError, IndexError or ValueError where its path leads nowhere."""
    *steps, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
    place = resource
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    what = operation["op"]
    value = copy.deepcopy(operation.get("value"))
    if what not in ("add", "replace", "remove"):
        raise ValueError(f"this renderer does not know the operation {what!r}")
    if isinstance(place, list):
        index = len(place) if last == "-" else int(last)
        if index > len(place) - (what != "add"):
            raise IndexError(operation["path"])
        if what == "add":
            place.insert(index, value)
        elif what == "replace":
            place[index] = value
        else:
            del place[index]
    elif what == "add":
        place[last] = value
    elif last not in place:
        raise KeyError(operation["path"])
    elif what == "replace":
        place[last] = value
    else:
        del place[last]


def _set_image(node: object, image: dict) -> None:
    """Wherever there are containers, as kustomize does: it knows nothing of an MPIJob's fields."""
    if isinstance(node, list):
        for item in node:
            _set_image(item, image)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("containers", "initContainers"):
                for container in value or []:
                    name, _, tag = container["image"].partition(":")
                    if name == image["name"]:
                        tag = image.get("newTag", tag)
                        container["image"] = image.get("newName", name) + (f":{tag}" if tag else "")
            else:
                _set_image(value, image)
