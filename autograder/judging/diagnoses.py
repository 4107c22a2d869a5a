"""The mistakes that can happen in any exercise: their names, and what a check says of each (why, and how to mend
it)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from autograder.exercise import Diagnosis, Exercise
from labkit.watch import hang

BUILT_IN = {
    "modifies_input": Diagnosis(
        "Your function changes the argument it was given.", "Work on a copy: `x.clone()`, `x.copy()`."
    ),
    "returns_nothing": Diagnosis(
        "Your function returns nothing (None).", "End it with `return ...`, on every rank that should have a result."
    ),
    "not_a_value_error": Diagnosis(
        "Your function ends with another exception where a ValueError is asked for.",
        "`raise ValueError(...)` under an `if`, before anything is computed.",
    ),
    "raises_without_reason": Diagnosis(
        "Your function raises ValueError where there is an answer.",
        "Raise it only where the docstring says so: look at the condition, at its ends, too.",
    ),
    "refuses_everything": Diagnosis(
        "Your function raises ValueError whatever it is given, so raising it here proves nothing.",
        "Raise it only where the docstring says so. This level counts once other cases get an answer.",
    ),
    "wrong_type": Diagnosis(
        "What your function returns is of another type than asked for.", "Read the last line of its docstring."
    ),
    "other_type": Diagnosis(
        "The values are right, but of another type than the signature names.",
        "Convert at the end: `.tolist()` or `list(...)` makes a list, `int(...)` or `//` whole numbers, `float(...)` a "
        "float, `np.asarray(...)` an array.",
    ),
    "not_comparable": Diagnosis(
        "What came back from your function cannot be compared with what is expected: it is of another kind.",
        "Return what the signature names, and leave alone what the function was given.",
    ),
    "wrong_shape": Diagnosis("The result has another shape than asked for."),
    "wrong_dtype": Diagnosis(
        "The numbers are right, but their data type has changed.", "Keep the data type of the argument."
    ),
    "lost_digits": Diagnosis(
        "The numbers are right to about 7 digits, and the others are lost: they went through a type that holds no "
        "more, such as float32.",
        "Compute in the type of the argument, and make buffers of that type: `empty_like`. Whole numbers never go "
        "through floats.",
    ),
    "wrapped": Diagnosis(
        "The last bits are right, the first ones are lost: the integers went through a type of too few bits. int32 "
        "ends at 2,147,483,647.",
        "Make buffers of the type of the argument: `empty_like`.",
    ),
    "wrong_length": Diagnosis("The result has another number of entries than asked for."),
    "unrecognised": Diagnosis(
        "The result is not what it should be.",
        "Compare the two lines above, for the smallest case.",
    ),
    "not_written": Diagnosis(
        "This function is still to be written.", "Replace the line that raises NotImplementedError."
    ),
    "missing": Diagnosis("There is no such function.", "Define it under exactly this name and run its cell."),
    "syntax_error": Diagnosis(
        "The cell that defines this function is no valid Python, so there is no such function.",
        "Run the cell: Python points at the place. Mend it, and run the cell again.",
    ),
    "reused_buffer": Diagnosis(
        "A tensor was changed between isend and its wait(): the receiver may get the old or the new values.",
        "Wait first, or send a copy: `x.clone()`.",
    ),
    "used_before_wait": Diagnosis(
        "The memory of a receive was used before its wait() had returned. Until then nobody knows what it holds: on "
        "one machine the old "
        "numbers, on another the new ones. The same holds for a collective with async_op=True.",
        "Wait first, then read it, change it, send it or receive into it again. Two open receives need two tensors.",
    ),
    "forgot_wait": Diagnosis(
        "An operation was started and never waited for. isend, irecv and collectives with async_op=True return at "
        "once, before anything "
        "has moved; only wait() tells that it has.",
        "Keep the request that they return and call its wait() before you use the tensor or return.",
    ),
    "out_of_memory": Diagnosis(
        "It ran out of memory.", "A check's cases are small: look for something that grows with every step."
    ),
    "too_slow": Diagnosis(
        "It had not returned when its time was up.",
        "A check's cases take milliseconds: look for a loop that never ends.",
    ),
    "rank_died": Diagnosis("A rank's process died.", ""),
    "too_much": Diagnosis(
        "A rank asked for more than a check allows: thousands of messages at a time, or far more bytes or printed "
        "lines than the data has.",
        "Look for a loop that sends or prints in every turn; a whole tensor is one message.",
    ),
    "not_carried": Diagnosis(
        "The numbers are right, but the ranks have not told them each other by the communication that the exercise is "
        "about.",
        "Use messages or collectives of the process group (communicator) for everything one rank has to know of "
        "another.",
    ),
    "keeps_something": Diagnosis(
        "Your function keeps something from call to call: its first call in a process is right, a later one is not.",
        "Look for a default argument that is a list or a dict, for a global variable, and for a cache that overlooks "
        "one of the arguments. Make what a call needs within the call.",
    ),
    "leans_on_another_rank": Diagnosis(
        "Your function is right only while one process calls it for all ranks: the call for one rank uses what the "
        "call for another has left behind.",
        "Ranks are processes of their own and share no variables. Compute a rank's result from the arguments of its "
        "own call, without a global variable, a file, a default argument that is a list, or an attribute of the "
        "function.",
    ),
    "knows_its_cases": Diagnosis(
        "Your function is right for the inputs of its check, and wrong for most others.",
        "Compute the result from the arguments: any that the docstring allows may come.",
    ),
    "protocol": Diagnosis(
        "A rank sent something the relay does not understand.", "Leave the process group's own connection alone."
    ),
}
# the same of functions that no rank calls
_WITHOUT_RANKS = {
    "returns_nothing": Diagnosis(BUILT_IN["returns_nothing"].why, "End it with `return ...`, on every way through it."),
}
# exceptions of `labkit.relay.buffers`
OF_BUFFERS = {"ReusedBuffer": "reused_buffer", "UsedBeforeWait": "used_before_wait", "NeverWaited": "forgot_wait"}
_HOW_OF_EXCEPTIONS = {
    "NameError": "Everything your function uses must be defined or imported in a cell of this notebook.",
    "ModuleNotFoundError": "That module is not installed where checks run.",
    "UnboundLocalError": "A name that a function assigns is local in all of it.",
    "SystemExit": "A rank must not leave: return instead.",
    "IndexError": (
        "p entries have the indices 0 to p - 1, and an empty list has none: print the length and the index in that "
        "line."
    ),
    "KeyError": "Print the keys that are there: `print(list(...))`.",
    "ZeroDivisionError": "Some rank or case divides by nothing: which divisor can be 0 there?",
    "AttributeError": "Print the type of what stands before the dot: it is another one than the line expects.",
    "RecursionError": "A function that calls itself needs a case in which it does not.",
}
_HOW_INSTEAD_OF_VALUE_ERROR = {
    "AssertionError": "Raise ValueError: `assert` raises AssertionError, and `python -O` does not look at it at all.",
    "ZeroDivisionError": (
        "`raise ValueError(...)` under an `if`, before anything is divided: which divisor can be 0 there?"
    ),
}
_NO_GRADIENT = (
    "Nothing that this was computed from asks for a gradient: call `requires_grad_()` on the leaf before the forward "
    "pass, outside of `torch.no_grad()`, and detach nothing on the way."
)
_GRADIENT_IS_NONE = (
    "`.grad` is None until a backward pass has reached that very tensor: it has to be a leaf with `requires_grad_()`, "
    "and the result has to be computed from it."
)
_NOT_IN_ONE_PIECE = (
    "A message's numbers have to lie side by side in memory; those of a column or of every second element do not. Send "
    "`x.contiguous()`, and receive into a tensor of its own, `torch.empty(...)`, to copy from."
)
_HOW_OF_MPI = {  # by the error's name in its text
    "MPI_ERR_OP": (
        "That operation is not made for this data: `Allreduce` takes MPI.SUM and its like, on two arrays of one "
        "numeric type."
    ),
    "MPI_ERR_TRUNCATE": (
        "The message is longer than the room for it: the receiving array needs as many elements as were sent, of one "
        "type."
    ),
    "MPI_ERR_RANK": "There is no such rank: ranks end at `comm.Get_size() - 1`.",
    "MPI_ERR_ROOT": "There is no such rank: ranks end at `comm.Get_size() - 1`.",
    "MPI_ERR_TYPE": "The array's type has no counterpart in MPI: use float64, int64 or another plain numpy type.",
    "MPI_ERR_COUNT": "The number of elements is not what the call needs.",
    "MPI_ERR_BUFFER": "The call needs an array of its own for what arrives: `np.empty(...)`.",
    "MPI_ERR_TAG": "A tag is a small number, not below 0.",
}


def diagnosis_of(exercise: Exercise, name: str) -> Diagnosis:
    """The words for the mistake `name`: the exercise's own, else those of every exercise, else what a hang of this kind
    means."""
    general = _WITHOUT_RANKS.get(name) if exercise.runtime == "plain" else None
    return exercise.diagnoses.get(name) or general or BUILT_IN.get(name) or Diagnosis(hang.KINDS.get(name, ""))


def of_exception(exercise: Exercise, name: str, kind: str) -> Diagnosis:
    """`diagnosis_of` a mistake that an exception of type `kind` comes from."""
    text = diagnosis_of(exercise, name)
    how = _HOW_INSTEAD_OF_VALUE_ERROR.get(kind) if name == "not_a_value_error" else None
    return text if name in exercise.diagnoses or not how else replace(text, how=how)


def how_to_mend(kind: str, text: str, row: str = "") -> str:
    """The sentence on how to mend what raised an exception of type `kind` that says `text`; "" where there is none.
    row: the student's line that did."""
    if "does not require grad and does not have a grad_fn" in text:
        return _NO_GRADIENT
    if "tensor has to be contiguous" in text:
        return _NOT_IN_ONE_PIECE
    if kind in ("AttributeError", "TypeError") and "NoneType" in text and re.search(r"\.grad\b", row):
        return _GRADIENT_IS_NONE
    return next((how for name, how in _HOW_OF_MPI.items() if name in text), _HOW_OF_EXCEPTIONS.get(kind, ""))


# What torch says of its own sources. No bracket within the brackets: a text of nothing else would take its cube.
_SOURCES = re.compile(r" ?\(Triggered internally at [^()]*\)\.?|\[/[^][\s]*/pytorch/[^][]*\] ?")
_INSTALLED = re.compile(r"(?<![^\s'\"(=\[])/[^\s'\"]*/(?:site|dist)-packages/")  # where an environment's packages lie
_OF_A_PACKAGE = re.compile(r"\S+/(?:site|dist)-packages/\S+:\d+: (?=\w*Warning: )")
_LONGEST = 4_000  # characters; torch says less at a time


def without_sources(text: str) -> str:
    """A text of a library's without the places in its sources, of which torch tells those in C++ as well."""
    if len(text) > _LONGEST:
        return text
    return _INSTALLED.sub("", _OF_A_PACKAGE.sub("", _SOURCES.sub("", text)))


def as_shown(printed: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Printed lines, each with its rank, without a library's sources: neither the place of a warning nor the line that
    stands there, which Python prints below it."""
    shown: list[tuple[int, str]] = []
    warned: set[int] = set()  # ranks whose latest line was the warning
    for rank, line in printed:
        if rank in warned and line.startswith("  "):
            warned.discard(rank)
            continue
        (warned.add if len(line) <= _LONGEST and _OF_A_PACKAGE.match(line) else warned.discard)(rank)
        shown.append((rank, without_sources(line)))
    return shown


_SHOWN = re.compile(r"^(?:rank \d+ )?returned (.*)")


def what_to_compare(lines: Sequence[str]) -> str:
    """The sentence on what to compare in the lines of a result that nobody recognises."""
    found = next((match[1] for line in lines if (match := _SHOWN.match(line))), "")
    if re.fullmatch(r"[-+]?(?:\d[\d.e+-]*|inf|nan)", found):
        return "Compare the two numbers above, for the smallest case."
    elements = "element by element, " if found[:1] in ("[", "(", "{") else ""
    return f"Compare the two lines above, {elements}for the smallest case."
