# verdict: passed
# differs: The epochs of the rungs are worked out once, downwards, and each bracket is an end of that list.
def hyperband_brackets(R, eta):
    if R < 1 or eta < 2:
        raise ValueError
    epochs = [R]
    while epochs[0] >= eta:
        epochs.insert(0, epochs[0] // eta)
    table = []
    for rungs in range(len(epochs), 0, -1):
        n = len(epochs) // rungs * eta ** (rungs - 1)
        bracket = []
        for r in epochs[-rungs:]:
            bracket.append([n, r])
            n //= eta
        table.append(bracket)
    return table
