# verdict: passed
# differs: An address that comes twice is found by comparing the list with itself without doubles.
import json


def tf_config(hosts, index):
    worker = list(dict.fromkeys(hosts))
    if worker != hosts or index < 0 or index >= len(worker):
        raise ValueError("this cluster cannot be")
    config = {"cluster": dict(worker=worker), "task": dict(type="worker", index=int(index))}
    return json.dumps(config, indent=2)
