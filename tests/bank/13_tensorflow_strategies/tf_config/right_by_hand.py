# verdict: passed
def tf_config(hosts, index):
    if index not in range(len(hosts)):
        raise ValueError(index)
    for host in hosts:
        if hosts.count(host) > 1:
            raise ValueError(host)
    workers = ", ".join(f'"{host}"' for host in hosts)
    return f'{{"task": {{"index": {index}, "type": "worker"}}, "cluster": {{"worker": [{workers}]}}}}'
