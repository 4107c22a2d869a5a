# verdict: wrong, diagnosis: not_in_its_place
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) == size:
            yield buffer.pop(rng.integers(size))
        buffer.append(element)
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
