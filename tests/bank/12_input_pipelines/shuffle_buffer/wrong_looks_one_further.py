# verdict: wrong, diagnosis: reads_too_far
def shuffle_buffer(stream, size, rng):
    stream, end = iter(stream), object()
    buffer, coming = [], next(stream, end)
    while coming is not end:
        element, coming = coming, next(stream, end)
        if len(buffer) < size:
            buffer.append(element)
            continue
        k = rng.integers(size)
        leaves, buffer[k] = buffer[k], element
        yield leaves
    for k in rng.permutation(len(buffer)):
        yield buffer[k]
