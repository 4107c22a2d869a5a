# verdict: wrong, diagnosis: unrecognised
def samples_needed(error):
    return 1_000_000
