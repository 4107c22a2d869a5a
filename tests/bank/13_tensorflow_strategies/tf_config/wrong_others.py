# verdict: wrong, diagnosis: others_only
import json


def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or len(set(hosts)) < len(hosts):
        raise ValueError("no such worker, or an address twice")
    return json.dumps({"cluster": {"worker": [h for k, h in enumerate(hosts) if k != index]}, "task": {"type": "worker", "index": index}})
