# verdict: passed
class shuffle_buffer:
    def __init__(self, stream, size, rng):
        self.stream, self.size, self.rng, self.buffer, self.rest = iter(stream), size, rng, [], None

    def __iter__(self):
        return self

    def __next__(self):
        while self.rest is None:
            try:
                element = next(self.stream)
            except StopIteration:
                self.rest = [self.buffer[k] for k in self.rng.permutation(len(self.buffer))]
                break
            if len(self.buffer) < self.size:
                self.buffer.append(element)
                continue
            k = self.rng.integers(self.size)
            out, self.buffer[k] = self.buffer[k], element
            return out
        if not self.rest:
            raise StopIteration
        return self.rest.pop(0)
