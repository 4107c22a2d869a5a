# verdict: wrong, diagnosis: not_in_the_background
def prefetch(batches, depth):
    yield from batches
