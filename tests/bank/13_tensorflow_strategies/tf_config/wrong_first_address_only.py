# verdict: wrong, diagnosis: not_refused
import json


def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or hosts[0] in hosts[1:]:
        raise ValueError("an index that no worker has, or an address that is there twice")
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
