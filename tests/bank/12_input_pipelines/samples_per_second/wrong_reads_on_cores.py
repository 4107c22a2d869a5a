# verdict: wrong, diagnosis: waiting_takes_a_core
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / (ranks * decode))
    return (
        min(workers, cores / ranks) / (read + decode)
        if min(workers, cores / ranks) / (read + decode) < 1 / step
        else 1 / step
    )
