# verdict: wrong, diagnosis: takes_for_a_sign
def shuffle_buffer(stream, size, rng):
    buffer = [None] * size
    for element in stream:
        if None in buffer:
            buffer[buffer.index(None)] = element
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    buffer = [element for element in buffer if element is not None]
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
