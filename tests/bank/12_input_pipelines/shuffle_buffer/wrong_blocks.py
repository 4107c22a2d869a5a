# verdict: wrong, diagnosis: shuffles_blocks
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        buffer.append(element)
        if len(buffer) == size:
            yield from (buffer[k] for k in rng.permutation(size))
            buffer = []
    yield from (buffer[k] for k in rng.permutation(len(buffer)))
