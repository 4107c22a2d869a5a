# verdict: wrong, diagnosis: cores_to_itself
def samples_per_second(read, decode, step, workers, cores, ranks):
    if workers == 0:
        return min(1 / (read + decode + step), cores / decode)
    return min(workers / (read + decode), cores / decode, 1 / step)
