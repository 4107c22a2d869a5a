# verdict: wrong, diagnosis: not_each_once
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            yield buffer[rng.integers(size)]
            buffer[rng.integers(size)] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
