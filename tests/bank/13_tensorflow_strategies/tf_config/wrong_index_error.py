# verdict: raised, diagnosis: IndexError
import json


def tf_config(hosts, index):
    me = hosts[index]
    if index < 0 or len(set(hosts)) < len(hosts):
        raise ValueError(me)
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": hosts.index(me)}})
