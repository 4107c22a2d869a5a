# verdict: wrong, diagnosis: not_the_best
def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    if p == 1:
        return [len(costs)]
    first = p // 2

    def difference(cut):
        return abs(sum(costs[:cut]) / first - sum(costs[cut:]) / (p - first))

    cut = min(range(first, len(costs) - (p - first) + 1), key=difference)
    return partition(costs[:cut], first) + partition(costs[cut:], p - first)
