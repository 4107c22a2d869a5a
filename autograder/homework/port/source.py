"""Reads a script without running it: does it use Horovod at all, and how does it choose its GPU?

No grader of this course needs a GPU, so how a rank pins its own is the one step that is taken from the text: the calls
that choose a device, and whether what they are given comes from the local rank, through whatever names and functions.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass

import autograder.homework.inside as inside

LOCAL, GLOBAL = "local_rank", "rank"
_VARIABLES = ("LOCAL_RANK", "LOCALID", "LOCAL_ID")  # in names of environment variables: of MPI, Slurm, Horovod
_VISIBLE, _GROWTH = "CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH"
_DISTRIBUTED = {"torch.distributed", "torch.nn.parallel.DistributedDataParallel"}


@dataclass
class Source:
    """The facts read from a script. pinned: "local_rank", "rank", "same" (the same device for all) or "" (none).
    growth: memory grows as needed. uses_horovod, uses_distributed, uses_torch: whether Horovod, torch.distributed,
    PyTorch are imported; horovod_for_torch: Horovod for PyTorch and not for TensorFlow. error: why the text is no
    program, or "".
    """

    uses_horovod: bool = False
    uses_distributed: bool = False
    uses_torch: bool = False
    horovod_for_torch: bool = False
    pinned: str = ""
    growth: bool = False
    error: str = ""
    line: int = 0


@functools.lru_cache(maxsize=4)
def read(text: str) -> Source:
    """Reads the text of a script, once for all that ask."""
    try:
        return inside.bounded(_parsed, text)
    except inside.Overdue as error:
        return Source(error=f"it is too large ({error})")


def _parsed(text: str) -> Source:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return Source(error=f"{type(error).__name__}: {error.msg}", line=error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        return Source(error=f"{type(error).__name__}: {error}")
    try:
        return _read(tree)
    except RecursionError:
        return Source(uses_horovod=True, error="it is nested too deeply")


def _read(tree: ast.Module) -> Source:
    _drop_unused(tree)
    origins = {kind: _names_from(tree, kind) for kind in (LOCAL, GLOBAL)}
    imported = {name for node in ast.walk(tree) for name in _imported(node)}
    found = Source("horovod" in imported, _DISTRIBUTED & imported != set(), "torch" in imported)
    found.horovod_for_torch = "horovod.torch" in imported and "horovod.tensorflow" not in imported
    found.growth = found.uses_torch and not found.uses_horovod  # PyTorch takes a GPU's memory as it needs it
    chosen: list[str] = []
    for node in ast.walk(tree):
        for what in [*_choices(node), *_choices_of_torch(node, origins)]:
            if isinstance(what, (ast.List, ast.Tuple)) and not what.elts:
                continue  # no GPU at all, for a run on processors
            chosen.append(next((kind for kind in (LOCAL, GLOBAL) if _comes_from(what, kind, origins[kind])), "same"))
        found.growth = found.growth or _grows(node)
    found.pinned = next((kind for kind in (LOCAL, GLOBAL, "same") if kind in chosen), "")
    return found


def _imported(node: ast.AST) -> set[str]:
    """The modules that a node imports, and the packages they are in; `torch.distributed` where it is only used, too."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Attribute) and node.attr == "distributed" and _name_of(node.value) == "torch":
        names += ["torch.distributed"]
    if isinstance(node, ast.Call) and _name_of(node.func) in ("import_module", "__import__") and node.args:
        names += [str(node.args[0].value)] if isinstance(node.args[0], ast.Constant) else []
    return {".".join(name.split(".")[:k]) for name in names for k in range(1, 5)}


def _name_of(node: ast.AST) -> str:
    """The last name of `a.b.c` or `c`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _drop_unused(tree: ast.Module) -> None:
    """Take away what never happens: what stands behind a false constant, and functions whose names are never used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value:
            node.body = [ast.Pass()]
    used = {_name_of(node) for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Load)}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.ClassDef):
            kept = [one for one in body if not isinstance(one, ast.FunctionDef) or one.name in used]
            node.body = kept or [ast.Pass()]


def _choices(node: ast.AST) -> list[ast.AST]:
    """The expressions that say which GPUs this process sees, if `node` says so."""
    if isinstance(node, ast.Call):
        name = _name_of(node.func)
        if name == "set_visible_devices":
            named = [keyword.value for keyword in node.keywords if keyword.arg == "devices"]
            kinds = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "device_type")]
            if any(isinstance(kind, ast.Constant) and str(kind.value).upper() != "GPU" for kind in kinds):
                return []
            return [*node.args[:1], *named]
        if name in ("setdefault", "putenv") and len(node.args) == 2 and _is_text(node.args[0], _VISIBLE):
            return [node.args[1]]
        if name == "update":
            return [keyword.value for keyword in node.keywords if keyword.arg == _VISIBLE]
    if isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Subscript) and _is_text(t.slice, _VISIBLE) for t in node.targets
    ):
        return [] if _is_text(node.value, "") or _is_text(node.value, "-1") else [node.value]
    return []


def _choices_of_torch(node: ast.AST, origins: dict[str, set[str]]) -> list[ast.AST]:
    """The same for PyTorch: `torch.cuda.set_device(i)`, `torch.device("cuda", i)`, `device_ids=[i]`, and `.to(i)` or
    `.cuda(i)` of a number that comes from a rank."""
    if not isinstance(node, ast.Call):
        return []
    name, given = _name_of(node.func), [*node.args, *(keyword.value for keyword in node.keywords)]
    found = [k.value for k in node.keywords if k.arg == "device_ids" and isinstance(k.value, (ast.List, ast.Tuple))]
    if name == "set_device":
        found += given[:1]
    elif name == "device" and any(_is_cuda(one) for one in given):
        found.append(node)
    elif name in ("to", "cuda"):
        found += [one for one in given if any(_comes_from(one, kind, names) for kind, names in origins.items())]
    return found


def _is_cuda(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and str(part.value).startswith("cuda") for part in ast.walk(node))


def _is_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _grows(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and _name_of(node.func) == "set_memory_growth":
        values = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "enable")]
        return bool(values) and not (isinstance(values[0], ast.Constant) and not values[0].value)
    if isinstance(node, ast.Assign):
        target = any(isinstance(t, ast.Subscript) and _is_text(t.slice, _GROWTH) for t in node.targets)
        return target and isinstance(node.value, ast.Constant) and str(node.value.value).lower() in ("true", "1")
    if isinstance(node, ast.Call) and _name_of(node.func) in ("setdefault", "putenv") and len(node.args) == 2:
        value = node.args[1]
        return (
            _is_text(node.args[0], _GROWTH)
            and isinstance(value, ast.Constant)
            and str(value.value).lower() in ("true", "1")
        )
    return False


def _is_origin(node: ast.AST, kind: str) -> bool:
    if _name_of(node) == kind or kind == GLOBAL and _name_of(node) == "get_rank":
        return True
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (node.value.endswith(_VARIABLES) if kind == LOCAL else node.value == "RANK")
    )


def _comes_from(node: ast.AST, kind: str, names: set[str]) -> bool:
    return any(_is_origin(part, kind) or isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _names_from(tree: ast.Module, kind: str) -> set[str]:
    """Names whose values may come from `hvd.local_rank()` (or `hvd.rank()`): assigned from it, a parameter given it, a
    function returning it."""
    names: set[str] = set()
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    if (
        kind == GLOBAL
    ):  # the name of Horovod's function says nothing of a variable that is called the same, but nearly always it is it
        names.add("rank")
    for _ in range(20):
        before = len(names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _comes_from(node.value, kind, names):
                names |= _pairs(node, kind, names)
            elif (
                isinstance(node, (ast.AnnAssign, ast.NamedExpr))
                and node.value is not None
                and _comes_from(node.value, kind, names)
            ):
                names.add(_name_of(node.target))
            elif isinstance(node, ast.FunctionDef):
                returned = [
                    one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None
                ]
                if any(_comes_from(value, kind, names) for value in returned):
                    names.add(node.name)
            elif isinstance(node, ast.Call) and _name_of(node.func) in functions:
                names |= _parameters(functions[_name_of(node.func)], node, kind, names)
        if len(names) == before:
            break
    return names - {""}


def _pairs(node: ast.Assign, kind: str, names: set[str]) -> set[str]:
    """The names that an assignment gives such a value; `a, b = x, y` one by one."""
    found = set()
    for target in node.targets:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            found |= {
                _name_of(t) for t, v in zip(target.elts, node.value.elts, strict=True) if _comes_from(v, kind, names)
            }
        elif isinstance(target, ast.Tuple):
            found |= {_name_of(one) for one in target.elts}
        else:
            found.add(_name_of(target))
    return found


def _parameters(function: ast.FunctionDef, call: ast.Call, kind: str, names: set[str]) -> set[str]:
    """The parameters of `function` that this call gives such a value."""
    given = list(zip([argument.arg for argument in function.args.args], call.args, strict=False))
    given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    return {name for name, value in given if _comes_from(value, kind, names)}
