"""What a check says of a mistake that can happen in any exercise: the names of these mistakes, why and how in words."""

from __future__ import annotations

from autograder.exercise import Diagnosis, Exercise
from labkit.watch import hang

BUILT_IN = {
    "modifies_input": Diagnosis(
        "Your function changes the argument it was given.", "Work on a copy: `x.clone()`, `x.copy()`."
    ),
    "returns_nothing": Diagnosis(
        "Your function returns nothing (None).", "End it with `return ...`, on every rank that should have a result."
    ),
    "raises_without_reason": Diagnosis(
        "Your function raises ValueError where there is an answer.",
        "Raise it only where the docstring says so: look at the condition, at its ends, too.",
    ),
    "wrong_type": Diagnosis(
        "What your function returns is of another type than asked for.", "Read the last line of its docstring."
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
        "Compare the two lines above, element by element, for the smallest case.",
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
    "protocol": Diagnosis(
        "A rank sent something the relay does not understand.", "Leave the process group's own connection alone."
    ),
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
    return exercise.diagnoses.get(name) or BUILT_IN.get(name) or Diagnosis(hang.KINDS.get(name, ""))


def how_to_mend(kind: str, text: str) -> str:
    """The sentence on how to mend what raised an exception of type `kind` that says `text`; "" where there is none."""
    return next((how for name, how in _HOW_OF_MPI.items() if name in text), _HOW_OF_EXCEPTIONS.get(kind, ""))
