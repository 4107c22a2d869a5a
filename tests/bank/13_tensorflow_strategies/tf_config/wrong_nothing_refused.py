# verdict: wrong, diagnosis: not_refused
import json


def tf_config(hosts, index):
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
