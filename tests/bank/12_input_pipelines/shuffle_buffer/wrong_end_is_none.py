# verdict: wrong, diagnosis: takes_for_a_sign
def shuffle_buffer(stream, size, rng):
    buffer, stream = [], iter(stream)
    while True:
        element = next(stream, None)
        if element is None:
            break
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
