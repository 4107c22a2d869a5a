# verdict: wrong, diagnosis: holds_too_many
def two_chunks():
    forward = [f"F{k}.{j}" for j in (0, 1) for k in range(8)]
    backward = [f"B{k}.{j}" for j in (1, 0) for k in range(8)]
    return [" ".join(forward + backward)] * 4
