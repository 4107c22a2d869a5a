# verdict: wrong, diagnosis: reads_too_far
from itertools import islice


def shuffle_buffer(stream, size, rng):
    stream = iter(stream)
    buffer = list(islice(stream, size))
    while block := list(islice(stream, size)):
        for element in block:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
