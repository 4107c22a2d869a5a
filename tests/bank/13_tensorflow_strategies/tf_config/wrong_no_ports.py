# verdict: wrong, diagnosis: ports_lost
import json


def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or len(set(hosts)) < len(hosts):
        raise ValueError("no such worker, or an address twice")
    return json.dumps({"cluster": {"worker": [h.split(":")[0] for h in hosts]}, "task": {"type": "worker", "index": index}})
