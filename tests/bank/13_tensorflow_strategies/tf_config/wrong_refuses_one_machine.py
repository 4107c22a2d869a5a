# verdict: wrong, diagnosis: refused
import json


def tf_config(hosts, index):
    if not 0 <= index < len(hosts):
        raise ValueError(index)
    if len({h.split(':')[0] for h in hosts}) < len(hosts) or len(hosts) < 2:
        raise ValueError(hosts)
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
