"""The ways in which a mutant differs from a right answer: each operator looks at a node and says what replaces it.

Each finds small changes that people make by mistake: a boundary, an index off by one, half a condition, a copy that is
forgotten. What is changed is the text of one node; everything else in the file stays as it was written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Found = tuple[ast.AST, str]  # a node, and the text in its place


@dataclass(frozen=True)
class NodePlace:
    """A node of an answer, what it stands in, and how the text of any node is read. returned: whether the node is what
    the exercise's own function returns."""

    node: ast.AST
    parent: ast.AST
    text: Callable[[ast.AST], str]
    returned: bool = False

    def part(self, node: ast.AST) -> str:
        """The text of a part of the node, in brackets where it would otherwise fall apart in another place."""
        loose = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.UnaryOp, ast.NamedExpr, ast.Tuple)
        return f"({self.text(node)})" if isinstance(node, loose) else self.text(node)


Operator = Callable[[NodePlace], Iterator[Found]]
OPERATORS: dict[str, Operator] = {}


def operator(name: str) -> Callable[[Operator], Operator]:
    """A decorator that enters a function among the operators, by its name."""

    def enter(function: Operator) -> Operator:
        OPERATORS[name] = function
        return function

    return enter


# --- comparisons, conditions, branches --------------------------------------------------------------------------------

_TURNED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


@operator("comparison turned")
def _comparison(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Compare):
        values = [node.left, *node.comparators]
        for k, old in enumerate(node.ops):
            signs = [_SIGNS[type(sign)] for sign in node.ops]
            signs[k] = _TURNED[type(old)]
            text = place.part(values[0])
            for sign, value in zip(signs, values[1:], strict=True):
                text += f" {sign} {place.part(value)}"
            yield node, text


_SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


@operator("branch always taken")
def _always(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, (ast.If, ast.IfExp)) and not isinstance(place.node.test, ast.Constant):
        yield place.node.test, "True"
    if isinstance(place.node, ast.comprehension):
        for test in place.node.ifs:
            yield test, "True"


@operator("branch never taken")
def _never(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, (ast.If, ast.IfExp, ast.While)):
        yield place.node.test, "False"


@operator("and for or")
def _and_for_or(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.BoolOp):
        sign = "or" if isinstance(place.node.op, ast.And) else "and"
        yield place.node, "(" + f" {sign} ".join(place.part(value) for value in place.node.values) + ")"


@operator("part of a condition dropped")
def _half(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.BoolOp):
        for k in range(len(node.values)):
            rest = [place.part(value) for n, value in enumerate(node.values) if n != k]
            text = f" {'and' if isinstance(node.op, ast.And) else 'or'} ".join(rest)
            yield node, text if len(rest) == 1 else f"({text})"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        values = [node.left, *node.comparators]
        for k in (0, len(node.ops) - 1):
            yield node, f"{place.part(values[k])} {_SIGNS[type(node.ops[k])]} {place.part(values[k + 1])}"


@operator("not dropped")
def _not(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.UnaryOp) and isinstance(place.node.op, (ast.Not, ast.USub, ast.Invert)):
        if not isinstance(place.node.operand, ast.Constant):
            yield place.node, place.part(place.node.operand)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _is_whole(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


@operator("one more")
def _one_more(place: NodePlace) -> Iterator[Found]:
    if _is_whole(place.node):
        yield place.node, str(place.node.value + 1)


@operator("one less")
def _one_less(place: NodePlace) -> Iterator[Found]:
    if _is_whole(place.node):
        yield place.node, str(place.node.value - 1) if place.node.value else "-1"


@operator("index one further")
def _index(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.Subscript) and isinstance(place.node.slice, (ast.Name, ast.Attribute, ast.BinOp)):
        yield place.node.slice, f"{place.text(place.node.slice)} + 1"


@operator("range one shorter")
def _range(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        if not _is_whole(end := node.args[0 if len(node.args) == 1 else 1]):
            yield end, f"{place.part(end)} - 1"
        if len(node.args) > 1 and not _is_whole(node.args[0]):
            yield node.args[0], f"{place.part(node.args[0])} + 1"


@operator("true for false")
def _boolean(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.Constant) and type(place.node.value) is bool:
        if not isinstance(place.parent, (ast.If, ast.While)):
            yield place.node, str(not place.node.value)


@operator("term dropped")
def _term(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.BitOr, ast.BitXor)):
        yield node, place.part(node.left)
        if isinstance(node.op, ast.Add):
            yield node, place.part(node.right)


@operator("factor dropped")
def _factor(place: NodePlace) -> Iterator[Found]:
    node = place.node
    divided = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult, ast.BitAnd)
    if isinstance(node, ast.BinOp) and isinstance(node.op, divided) and not isinstance(node.left, ast.JoinedStr):
        yield node, place.part(node.left)
        if isinstance(node.op, (ast.Mult, ast.MatMult)):
            yield node, place.part(node.right)


@operator("minus for plus")
def _minus(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign = "-" if isinstance(node.op, ast.Add) else "+"
        yield node, f"{place.part(node.left)} {sign} {place.part(node.right)}"


@operator("// for /")
def _whole_division(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.FloorDiv)):
        sign = "//" if isinstance(node.op, ast.Div) else "/"
        yield node, f"{place.part(node.left)} {sign} {place.part(node.right)}"


# --- names ------------------------------------------------------------------------------------------------------------

_PAIRS = [
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("amin", "amax"), ("floor", "ceil"), ("any", "all"),
    ("isnan", "isinf"), ("MIN", "MAX"), ("bisect_left", "bisect_right"), ("sum", "mean"), ("std", "var"),
]  # fmt: skip
_OTHERS = {a: b for one, other in _PAIRS for a, b in ((one, other), (other, one))} | {
    "isfinite": "isnan", "SUM": "MAX", "PRODUCT": "SUM", "Sum": "Average", "round": "int", "popleft": "pop",
}  # fmt: skip
_NARROWER = {"float64": "float32", "double": "float", "int64": "int32", "long": "int", "float32": "float16"}


def _renamed(place: NodePlace, names: dict[str, str], of_calls: bool) -> Iterator[Found]:
    node = place.node
    if of_calls and not (isinstance(place.parent, ast.Call) and place.parent.func is node):
        if not (isinstance(node, ast.Attribute) and node.attr.isupper()):
            return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        yield node, names[node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in names:
        yield node, f"{place.part(node.value)}.{names[node.attr]}"


@operator("min for max")
def _min_for_max(place: NodePlace) -> Iterator[Found]:
    yield from _renamed(place, _OTHERS, of_calls=True)


@operator("narrower type")
def _narrower(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.Attribute):
        yield from _renamed(place, _NARROWER, of_calls=False)


_MATTERS = {  # what a call is made around: dropped, its argument is left
    "sorted", "reversed", "list", "tuple", "set", "abs", "int", "float", "bool", "deepcopy", "copy", "round", "str",
    "ascontiguousarray", "array", "asarray", "tensor", "as_tensor", "sqrt", "log2", "floor", "ceil", "clone",
}  # fmt: skip


@operator("call around dropped")
def _around(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Call) and len(node.args) >= 1 and not isinstance(node.args[0], (ast.Starred, ast.Constant)):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in _MATTERS and not isinstance(node.args[0], ast.GeneratorExp):
            yield node, place.part(node.args[0])


_OF_ITSELF = {
    "clone", "copy", "contiguous", "detach", "cpu", "float", "double", "half", "int", "long", "sqrt",
    "flatten", "ravel", "abs", "t", "square", "keys", "strip", "exp", "log",
}  # fmt: skip


@operator("method dropped")
def _method(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr in _OF_ITSELF and not node.keywords:
            yield node, place.part(node.func.value)


@operator("len for numel")
def _len(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Attribute) and node.attr == "size" and not isinstance(place.parent, ast.Call):
        yield node, f"len({place.text(node.value)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        if node.func.attr in ("numel", "nelement"):
            yield node, f"len({place.text(node.func.value)})"


# --- arguments, slices ------------------------------------------------------------------------------------------------


@operator("argument dropped")
def _keyword(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Call):
        for k, one in enumerate(node.keywords):
            if one.arg is not None:
                rest = [*node.args, *(other for n, other in enumerate(node.keywords) if n != k)]
                yield node, f"{place.text(node.func)}({', '.join(map(place.text, rest))})"


@operator("default removed")
def _default(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.FunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args]
        plain = [(arguments[-len(node.args.defaults)], node.args.defaults[0])] if node.args.defaults else []
        keyword_only = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        for argument, default in [*plain, *((a, d) for a, d in keyword_only if d is not None)]:
            yield _Span(argument, default), argument.arg


class _Span(ast.AST):
    """The text from the beginning of one node to the end of another."""

    def __init__(self, first: ast.AST, last: ast.AST):
        super().__init__()
        self.lineno, self.col_offset = first.lineno, first.col_offset
        self.end_lineno, self.end_col_offset = last.end_lineno, last.end_col_offset


@operator("end of a slice dropped")
def _slice(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Slice):
        parts = [place.text(part) if part is not None else "" for part in (node.lower, node.upper, node.step)]
        for k in range(3):
            if parts[k]:
                lower, upper, step = ("" if n == k else part for n, part in enumerate(parts))
                yield node, f"{lower}:{upper}{':' + step if step else ''}"


@operator("slice from the end")
def _from_the_end(place: NodePlace) -> Iterator[Found]:
    """`x[len(x) - k:]` as `x[-k:]`, which is all of x where k is 0; `x[:n - k]` as `x[:-k]` likewise."""
    if isinstance(place.node, ast.Slice):
        for part in (place.node.lower, place.node.upper):
            if (
                isinstance(part, ast.BinOp)
                and isinstance(part.op, ast.Sub)
                and not isinstance(part.right, ast.Constant)
            ):
                yield part, f"-{place.part(part.right)}"


# --- statements -------------------------------------------------------------------------------------------------------


def _reads(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@operator("statement dropped")
def _statement(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)):
        yield node, "pass"
    if isinstance(node, (ast.AugAssign, ast.Delete, ast.Assert)):
        yield node, "pass"
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        again = isinstance(target, ast.Name) and target.id in _reads(node.value)
        if again or isinstance(target, (ast.Subscript, ast.Attribute)):
            yield node, "pass"


@operator("not raised")
def _raise(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, ast.Raise):
        yield place.node, "pass"


@operator("break for continue")
def _break(place: NodePlace) -> Iterator[Found]:
    if isinstance(place.node, (ast.Break, ast.Continue)):
        yield place.node, "continue" if isinstance(place.node, ast.Break) else "break"
        yield place.node, "pass"


_SIGN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//"}


@operator("in place")
def _in_place(place: NodePlace) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        value = node.value
        if isinstance(value, ast.BinOp) and type(value.op) in _SIGN and isinstance(value.left, ast.Name):
            if value.left.id == node.targets[0].id:
                yield node, f"{value.left.id} {_SIGN[type(value.op)]}= {place.text(value.right)}"


# --- what is returned -------------------------------------------------------------------------------------------------

_RETURNED = {
    "returned as a list": "list({})",
    "returned as a tuple": "tuple({})",
    "returned as an array": '__import__("numpy").asarray({})',
    "returned as a numpy scalar": '__import__("numpy").float64({})',
    "returned as a tensor": '__import__("torch").as_tensor({})',
    "returned as a 0-d tensor": '__import__("torch").tensor(float({}))',
}


def _returned(how: str) -> Operator:
    def of_return(place: NodePlace) -> Iterator[Found]:
        if place.returned:
            yield place.node, how.format(place.text(place.node))

    return of_return


OPERATORS.update({name: _returned(how) for name, how in _RETURNED.items()})
