# verdict: wrong, diagnosis: too_many
def samples_needed(error):
    return 1_000_000
