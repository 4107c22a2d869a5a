# verdict: wrong, diagnosis: loses_the_rest
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
