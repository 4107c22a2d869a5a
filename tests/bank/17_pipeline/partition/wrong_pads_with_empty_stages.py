# verdict: wrong, diagnosis: empty_stage
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")

    def stages(limit):
        sizes, have = [0], 0
        for cost in costs:
            if have + cost > limit:
                sizes.append(0)
                have = 0
            sizes[-1] += 1
            have += cost
        return sizes

    low, high = max(costs), sum(costs)
    while low < high:
        middle = (low + high) // 2
        if len(stages(middle)) <= p:
            high = middle
        else:
            low = middle + 1
    sizes = stages(low)
    return sizes + [0] * (p - len(sizes))
