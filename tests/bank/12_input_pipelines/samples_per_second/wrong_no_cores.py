# verdict: wrong, diagnosis: more_workers_than_cores
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return 1 / (read + decode + step)
    return min(workers / (read + decode), 1 / step)
