# verdict: wrong, diagnosis: refused
import json


def tf_config(hosts, index):
    ports = {host.split(":")[1] for host in hosts}
    if not 0 <= index < len(hosts) or len(ports) < len(hosts):
        raise ValueError("an index that no worker has, or an address that is there twice")
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
