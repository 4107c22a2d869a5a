# verdict: wrong, diagnosis: own_generator
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        buffer.append(element)
        if len(buffer) > size:
            yield buffer.pop(rng.integers(len(buffer)))
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
