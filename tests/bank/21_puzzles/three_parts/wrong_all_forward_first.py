# verdict: wrong, diagnosis: holds_too_many
def three_parts():
    return [" ".join(f"{what}{k}" for what in "FBW" for k in range(8))] * 4
