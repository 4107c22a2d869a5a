# verdict: wrong, diagnosis: holds_too_many
def two_alive():
    return [" ".join(f"{what}{k}" for what in "FB" for k in range(8))] * 4
