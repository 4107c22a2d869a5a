# verdict: wrong, diagnosis: takes_apart
def shuffle_buffer(stream, size, rng):
    held = []
    for one in stream:
        if len(held) < size:
            held.append(one)
            continue
        k = rng.integers(size)
        out, held[k] = held[k], one
        yield out
    yield from rng.permutation(held)
