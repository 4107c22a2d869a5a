# verdict: wrong, diagnosis: reads_everything
def shuffle_buffer(stream, size, rng):
    elements = list(stream)
    buffer, out = elements[:size], []
    for element in elements[size:]:
        k = rng.integers(size)
        out.append(buffer[k])
        buffer[k] = element
    return iter(out + [buffer[k] for k in rng.permutation(len(buffer))])
