# verdict: passed
def samples_needed(error):
    return 3.14 * 0.86 * error**-2
