# verdict: wrong, diagnosis: keeps_too_much


def checkpointed(blocks, x, every):
    for block in blocks:
        x = block(x)
    return x
