# verdict: wrong, diagnosis: rest_in_order
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    yield from buffer
