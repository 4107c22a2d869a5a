# Right and wrong answers to `tf_config`. In files of their own: autograder bank --write DIR
import json

# %% right_by_hand: passed
def tf_config(hosts, index):
    if index not in range(len(hosts)):
        raise ValueError(index)
    for host in hosts:
        if hosts.count(host) > 1:
            raise ValueError(host)
    workers = ", ".join(f'"{host}"' for host in hosts)
    return f'{{"task": {{"index": {index}, "type": "worker"}}, "cluster": {{"worker": [{workers}]}}}}'

# %% right_json: passed
def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or len(set(hosts)) < len(hosts):
        raise ValueError("no such worker, or an address twice")
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% right_simple_resolver: passed
# differs: An address that comes twice is found by comparing the list with itself without doubles.
def tf_config(hosts, index):
    worker = list(dict.fromkeys(hosts))
    if worker != hosts or index < 0 or index >= len(worker):
        raise ValueError("this cluster cannot be")
    config = {"cluster": dict(worker=worker), "task": dict(type="worker", index=int(index))}
    return json.dumps(config, indent=2)

# %% wrong_a_dict (right_json): wrong, no_text, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}

# %% wrong_address (right_json): wrong, address_as_index, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": hosts[index]}})

# %% wrong_always_zero (right_json): wrong, always_zero, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": 0}})

# %% wrong_chief (right_json): wrong, a_chief_of_its_own, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker" if index else "chief", "index": index}})

# %% wrong_chief_in_the_cluster (right_json): wrong, a_chief_of_its_own, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    cluster = {"chief": hosts[:1], "worker": hosts[1:]}
+    task = {"type": "worker", "index": index - 1} if index else {"type": "chief", "index": 0}
+    return json.dumps({"cluster": cluster, "task": task})

# %% wrong_counts_in_the_text: wrong, refused, levels 0 1
def tf_config(hosts, index):
    if index < 0 or index >= len(hosts):
        raise ValueError(f"there is no worker {index}")
    text = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
    if any(text.count(host) > 1 for host in hosts):
        raise ValueError("an address appears twice")
    return text

# %% wrong_first_address_only: wrong, not_refused, levels 1 0
def tf_config(hosts, index):
    if not 0 <= index < len(hosts) or hosts[0] in hosts[1:]:
        raise ValueError("an index that no worker has, or an address that is there twice")
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% wrong_from_one (right_json): wrong, counted_from_one, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index + 1}})

# %% wrong_index_error: raised, IndexError, levels 1 0
def tf_config(hosts, index):
    me = hosts[index]
    if index < 0 or len(set(hosts)) < len(hosts):
        raise ValueError(me)
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": hosts.index(me)}})

# %% wrong_looks_at_the_last_only (right_json): wrong, not_refused, levels 1 0
-    if not 0 <= index < len(hosts) or len(set(hosts)) < len(hosts):
+    if not 0 <= index < len(hosts) or hosts.index(hosts[-1]) < len(hosts) - 1:

# %% wrong_no_ports (right_json): wrong, ports_lost, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": [h.split(":")[0] for h in hosts]}, "task": {"type": "worker", "index": index}})

# %% wrong_nothing_refused: wrong, not_refused, levels 1 0
def tf_config(hosts, index):
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% wrong_others (right_json): wrong, others_only, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": [h for k, h in enumerate(hosts) if k != index]}, "task": {"type": "worker", "index": index}})

# %% wrong_own_first (right_json): wrong, own_host_first, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts[index:] + hosts[:index]}, "task": {"type": "worker", "index": index}})

# %% wrong_own_host (right_json): wrong, own_host_only, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": [hosts[index]]}, "task": {"type": "worker", "index": index}})

# %% wrong_ports_must_differ: wrong, refused, levels 0 1
def tf_config(hosts, index):
    ports = {host.split(":")[1] for host in hosts}
    if not 0 <= index < len(hosts) or len(ports) < len(hosts):
        raise ValueError("an index that no worker has, or an address that is there twice")
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% wrong_refuses_everything: wrong, refused, levels 0 0
def tf_config(*arguments, **options):
    raise ValueError("not today")

# %% wrong_refuses_one_machine: wrong, refused, levels 0 1
def tf_config(hosts, index):
    if not 0 <= index < len(hosts):
        raise ValueError(index)
    if len({h.split(':')[0] for h in hosts}) < len(hosts) or len(hosts) < 2:
        raise ValueError(hosts)
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% wrong_sorted (right_json): wrong, sorted, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": sorted(set(hosts))}, "task": {"type": "worker", "index": index}})

# %% wrong_str (right_json): wrong, no_json, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return str({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})

# %% wrong_text_index (right_json): wrong, index_as_text, levels 0 1
-    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
+    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": str(index)}})

# %% wrong_twice_allowed: wrong, not_refused, levels 1 0
def tf_config(hosts, index):
    if not 0 <= index < len(hosts):
        raise ValueError(index)
    return json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}})
