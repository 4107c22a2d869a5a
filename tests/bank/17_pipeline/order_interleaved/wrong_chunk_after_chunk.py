# verdict: wrong, diagnosis: chunk_after_chunk
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    forward = [("F", k, j) for j in range(v) for k in range(m)]
    return forward + [("B", k, j) for j in reversed(range(v)) for k in range(m)]
