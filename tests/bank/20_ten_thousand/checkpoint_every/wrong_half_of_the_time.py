# verdict: wrong, diagnosis: not_the_best
def checkpoint_every(step, save, mtbf, ranks):
    return max(1, int(mtbf / ranks / 2 / step))
