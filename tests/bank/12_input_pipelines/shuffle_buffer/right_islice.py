# verdict: passed
# differs: The first elements fill the buffer in one call, and then one is exchanged for each that comes.
import itertools


def shuffle_buffer(stream, size, rng):
    stream = iter(stream)
    buffer = list(itertools.islice(stream, size))
    for element in stream:
        k = int(rng.integers(size))
        buffer[k], element = element, buffer[k]
        yield element
    yield from (buffer[k] for k in rng.permutation(len(buffer)))
