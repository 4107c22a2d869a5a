# verdict: wrong, diagnosis: one_after_the_other
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return 1 / ((read + decode) / workers + step)
