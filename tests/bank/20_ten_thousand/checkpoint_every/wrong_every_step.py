# verdict: wrong, diagnosis: not_the_best
def checkpoint_every(step, save, mtbf, ranks):
    return 1
