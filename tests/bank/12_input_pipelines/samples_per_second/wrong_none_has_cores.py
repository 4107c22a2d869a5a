# verdict: wrong, diagnosis: cores_to_itself
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return 1 / (read + decode + step)
    return min(workers / (read + decode), cores / (ranks * decode), 1 / step)
