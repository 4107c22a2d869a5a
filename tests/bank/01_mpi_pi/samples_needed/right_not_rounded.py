# verdict: passed
# differs: The formula with its numbers put in, and not rounded up: a fraction of a dart is no matter here.
def samples_needed(error):
    return 3.14 * 0.86 * error**-2
