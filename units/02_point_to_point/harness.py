"""The harnesses of unit 02's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import contextlib
import io

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d


# The network sees the same of `isend(...).wait()` as of `send`. So the calls are counted: `calls` is [blocking, not
# blocking].
@contextlib.contextmanager
def counted(f, calls):
    inside = []

    def counting(original, which):
        def call(*arguments, **options):
            calls[which] += not inside  # `send` may be made of `isend`
            inside.append(which)
            try:
                return original(*arguments, **options)
            finally:
                inside.pop()

        return call

    names = {"send": 0, "recv": 0, "isend": 1, "irecv": 1, "batch_isend_irecv": 1}
    originals = {name: getattr(dist, name) for name in names}
    wrappers = {name: counting(original, names[name]) for name, original in originals.items()}
    places = [vars(dist), vars(distributed_c10d), f.__globals__]
    found = [
        (place, key, name)
        for place in places
        for key, held in list(place.items())
        for name, original in originals.items()
        if held is original
    ]
    for place, key, name in found:
        place[key] = wrappers[name]
    try:
        yield
    finally:
        for place, key, name in found:
            place[key] = originals[name]


def sends_counted(f, value, source, destination, calls):
    with counted(f, calls):
        matrix = f(value, source, destination)
    return written_over(matrix)


# What goes to stderr is not printed.
def printed_alone(f, line):
    with contextlib.redirect_stderr(io.StringIO()):
        return f(line)


# A copy of the matrix, which its caller then uses for something else: the next call must make another one.
def written_over(matrix):
    if not isinstance(matrix, torch.Tensor):
        return matrix
    copy = matrix.detach().clone()
    with torch.no_grad(), contextlib.suppress(RuntimeError):  # memory that nobody may write to
        matrix.fill_(-1)
    return copy
