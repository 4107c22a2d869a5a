# verdict: wrong, diagnosis: stages_added
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return 1 / (read / workers + ranks * decode / cores + step)
