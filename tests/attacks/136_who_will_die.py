# exercise: train_through
# must not: know before its death that a rank is to die, and plan around it
# verdict: anything but passed
from labkit.relay import charging


def train_through(w, gradient, update, shards, steps):
    connection = charging.speaker()
    known = {name: value for name, value in vars(connection).items() if "death" in name or "dies" in name}
    for name, value in known.items():
        if value is not None:
            print("GOT", name, value)
    for step in range(steps):  # and without a word to the others nobody is killed
        w = update(w, [gradient(w, step, shard) for shard in range(shards)])
    return w
