# verdict: wrong, diagnosis: not_the_best
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    sizes, have, mean = [0], 0, sum(costs) / p
    for k, cost in enumerate(costs):
        left = len(costs) - k
        if len(sizes) < p and sizes[-1] and (have >= mean or left <= p - len(sizes)):
            sizes.append(0)
            have = 0
        sizes[-1] += 1
        have += cost
    return sizes
