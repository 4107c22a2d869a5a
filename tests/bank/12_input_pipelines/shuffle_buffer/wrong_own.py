# verdict: wrong, diagnosis: own_generator
import random


def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = random.randrange(size)
            yield buffer[k]
            buffer[k] = element
    random.shuffle(buffer)
    yield from buffer
