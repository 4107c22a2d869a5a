# verdict: wrong, diagnosis: own_host_only
import json


def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or len(set(hosts)) < len(hosts):
        raise ValueError("no such worker, or an address twice")
    return json.dumps({"cluster": {"worker": [hosts[index]]}, "task": {"type": "worker", "index": index}})
