# Right and wrong answers to `farm`. In files of their own: autograder bank --write DIR
import torch
import torch.distributed as dist

# %% right_idle_list: passed
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
            dist.send(message, 0)
    idle, out = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop()
            out[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not out:
            break
        worker = dist.recv(message)
        report(out.pop(worker), message[2].item())
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)

# %% right_objects: passed
# differs: Jobs travel as pickled objects, None for the end: no number has to be set aside as a sign.
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if rank:
        while True:
            box = [None]
            dist.recv_object_list(box, src=0)
            if box[0] is None:
                return
            loss = torch.tensor(work(*box[0]), dtype=torch.float64)
            dist.send(loss, 0)
    out, idle = {}, set(range(1, p))
    loss = torch.zeros((), dtype=torch.float64)
    while True:
        for worker in sorted(idle):
            job = next_job()
            if job is None:
                break
            dist.send_object_list([job], dst=worker)
            out[worker] = job
        idle -= set(out)
        if p == 1:
            job = next_job()
            if job is None:
                return
            report(job, work(*job))
        elif out:
            source = dist.recv(loss)
            report(out.pop(source), float(loss))
            idle.add(source)
        else:
            break
    for worker in range(1, p):
        dist.send_object_list([None], dst=worker)

# %% right_workers_ask: passed
def farm(next_job, report, work):
    # A worker's first message carries no result; it asks.
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        job = next_job()
        while job is not None:
            report(job, work(*job))
            job = next_job()
    elif rank == 0:
        manage(next_job, report, p)
    else:
        serve(work)


def manage(next_job, report, p):
    waiting, busy, stopped = [], 0, 0
    answer = torch.empty(4, dtype=torch.double)
    while stopped < p - 1:
        source = dist.recv(answer)
        has_result, config, epochs, loss = answer.tolist()
        if has_result:
            report((int(config), int(epochs)), loss)
            busy -= 1
        waiting.append(source)
        while waiting:
            job = next_job()
            if job is None:
                break
            dist.send(torch.tensor([1, *job], dtype=torch.int64), waiting.pop(0))
            busy += 1
        if busy == 0 and len(waiting) == p - 1:
            for worker in waiting:
                dist.send(torch.tensor([0, 0, 0]), worker)
                stopped += 1


def serve(work):
    dist.send(torch.zeros(4, dtype=torch.double), 0)
    job = torch.empty(3, dtype=torch.int64)
    while True:
        dist.recv(job, 0)
        go_on, config, epochs = job.tolist()
        if not go_on:
            return
        loss = work(config, epochs)
        dist.send(torch.tensor([1, config, epochs, loss], dtype=torch.double), 0)

# %% wrong_all_jobs_first (right_idle_list): wrong, jobs_lost, levels 1 1 0
             dist.send(message, 0)
+    jobs = []
+    while (job := next_job()) is not None:
+        jobs.append(job)
@@
-    while True:
-        while idle and (job := next_job()) is not None:
-            worker = idle.pop()
+    while jobs or out:
+        while idle and jobs:
+            worker, job = idle.pop(), jobs.pop(0)
@@
-        if not out:
-            break

# %% wrong_alone_nobody_works: wrong, nobody_works_alone, levels 0 1 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if config < 0:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), float(message[2]))
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_config_0_ends_it: hung, deadlock, levels 0 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if not config:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), float(message[2]))
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.zeros(3, dtype=torch.float64), worker)

# %% wrong_epochs_in_int32: raised, RuntimeError, levels 1 0 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            number, epochs = torch.empty(1, dtype=torch.int64), torch.empty(1, dtype=torch.int32)
            dist.recv(number, 0)
            if number < 0:
                return
            dist.recv(epochs, 0)
            config, epochs = number.item(), epochs.item()
            dist.send(torch.tensor([work(config, epochs)], dtype=torch.float64), 0)
    idle, running = list(range(1, p)), {}
    result = torch.empty(1, dtype=torch.float64)
    while True:
        while idle and (job := next_job()) is not None:
            w = idle.pop(0)
            running[w] = job
            dist.send(torch.tensor([job[0]]), w)
            dist.send(torch.tensor([job[1]], dtype=torch.int32), w)
        if not running:
            break
        w = dist.recv(result)
        idle.append(w)
        report(running.pop(w), result.item())
    for w in range(1, p):
        dist.send(torch.tensor([-1]), w)

# %% wrong_everybody: wrong, trained_twice, levels 0 0 0
def farm(next_job, report, work):
    while (job := next_job()) is not None:
        report(job, work(*job))

# %% wrong_float32 (right_idle_list): wrong, lost_digits, levels 0 0 0
-    message = torch.zeros(3, dtype=torch.float64)
+    message = torch.zeros(3, dtype=torch.float32)
@@
-            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
+            dist.send(torch.tensor([*job, 0], dtype=torch.float32), worker)
@@
-        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)
+        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float32), worker)

# %% wrong_in_turn (right_idle_list): wrong, workers_idle, levels 1 0 0
-    idle, out = list(range(1, p)), {}
+    out = {}
+    worker = 1
@@
-        while idle and (job := next_job()) is not None:
-            worker = idle.pop()
+        if worker in out:
+            dist.recv(message, worker)
+            report(out.pop(worker), message[2].item())
+        job = next_job()
+        if job is not None:
+            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
@@
-            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
-        if not out:
+        elif not out:
@@
-        worker = dist.recv(message)
-        report(out.pop(worker), message[2].item())
-        idle.append(worker)
+        worker = worker % (p - 1) + 1

# %% wrong_inf_is_hello: wrong, not_reported, levels 0 1 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        message[2] = float("inf")
        while True:
            dist.send(message, 0)
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
    waiting = []
    while len(waiting) < p - 1:
        source = dist.recv(message)
        config, epochs, loss = message.tolist()
        if loss != float("inf"):
            report((int(config), int(epochs)), loss)
        waiting.append(source)
        while waiting and (job := next_job()) is not None:
            dist.send(torch.tensor([*job, 0.0], dtype=torch.float64), waiting.pop())
    for worker in waiting:
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_int32: raised, NoSuchJob, levels 1 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            job = torch.empty(3, dtype=torch.int32)
            dist.recv(job, 0)
            if not job[2]:
                return
            c, e = job[:2].tolist()
            dist.send(torch.tensor([work(c, e)], dtype=torch.float64), 0)
    idle, busy = list(range(1, p)), {}
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            busy[w] = job
            dist.send(torch.tensor([*job, 1]).int(), w)
        if not busy:
            break
        loss = torch.empty(1, dtype=torch.float64)
        w = dist.recv(loss)
        report(busy.pop(w), loss.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.zeros(3, dtype=torch.int32), w)

# %% wrong_jobs_in_float32: raised, NoSuchJob, levels 1 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            job = torch.empty(2)
            dist.recv(job, 0)
            if job[0] < 0:
                return
            loss = work(int(job[0]), int(job[1]))
            dist.send(torch.tensor([loss], dtype=torch.float64), 0)
    idle, out = list(range(1, p)), {}
    answer = torch.empty(1, dtype=torch.float64)
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            out[w] = job
            dist.send(torch.tensor(job, dtype=torch.float32), w)
        if not out:
            break
        w = dist.recv(answer)
        report(out.pop(w), answer.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.tensor([-1., -1.]), w)

# %% wrong_minus_one_is_hello: wrong, not_reported, levels 0 1 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        message[2] = -1.0
        while True:
            dist.send(message, 0)
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
    waiting = []
    while len(waiting) < p - 1:
        source = dist.recv(message)
        config, epochs, loss = message.tolist()
        if loss != -1.0:
            report((int(config), int(epochs)), loss)
        waiting.append(source)
        while waiting and (job := next_job()) is not None:
            dist.send(torch.tensor([*job, 0.0], dtype=torch.float64), waiting.pop())
    for worker in waiting:
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_nan_is_hello: wrong, not_reported, levels 0 1 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank > 0:
        message[2] = float("nan")
        while True:
            dist.send(message, 0)
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
    waiting = []
    while len(waiting) < p - 1:
        source = dist.recv(message)
        config, epochs, loss = message.tolist()
        if loss == loss:
            report((int(config), int(epochs)), loss)
        waiting.append(source)
        while waiting and (job := next_job()) is not None:
            dist.send(torch.tensor([*job, 0.0], dtype=torch.float64), waiting.pop())
    for worker in waiting:
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_never_stops (right_idle_list): hung, returned_early, levels 0 0 0
-    for worker in range(1, p):
-        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)

# %% wrong_no_report (right_idle_list): wrong, not_reported, levels 0 0 0
-        report(out.pop(worker), message[2].item())
+        out.pop(worker)

# %% wrong_numbers_of_a_tensor (right_idle_list): raised, NotAnInt, levels 0 0 0
-            message[2] = work(int(message[0]), int(message[1]))
+            message[2] = work(*message[:2].tolist())

# %% wrong_one_number_for_both: raised, NoSuchJob, levels 1 0 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            code = torch.empty(1, dtype=torch.int64)
            dist.recv(code, 0)
            if code < 0:
                return
            config, epochs = divmod(code.item(), 1000)
            dist.send(torch.tensor([work(config, epochs)], dtype=torch.float64), 0)
    idle, running = list(range(1, p)), {}
    result = torch.empty(1, dtype=torch.float64)
    while True:
        while idle and (job := next_job()) is not None:
            w = idle.pop(0)
            running[w] = job
            dist.send(torch.tensor([1000 * job[0] + job[1]]), w)
        if not running:
            break
        w = dist.recv(result)
        idle.append(w)
        report(running.pop(w), result.item())
    for w in range(1, p):
        dist.send(torch.tensor([-1]), w)

# %% wrong_order_of_going_out (right_idle_list): wrong, wrong_job, levels 0 0 0
-    idle, out = list(range(1, p)), {}
+    idle, out = list(range(1, p)), []
@@
-            out[worker] = job
+            out.append(job)
@@
-        worker = dist.recv(message)
-        report(out.pop(worker), message[2].item())
-        idle.append(worker)
+        idle.append(dist.recv(message))
+        report(out.pop(0), message[2].item())

# %% wrong_rank_0_helps (right_idle_list): wrong, rank_0_works, levels 0 0 0
             dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
+        if not idle and (job := next_job()) is not None:
+            report(job, work(*job))

# %% wrong_report_twice (right_idle_list): wrong, reported_twice, levels 0 0 0
         worker = dist.recv(message)
+        report(out[worker], message[2].item())

# %% wrong_reports_the_buffer: wrong, reports_the_buffer, levels 0 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if config < 0:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), message[2])
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_rounds (right_idle_list): wrong, workers_idle, levels 1 0 0
-    idle, out = list(range(1, p)), {}
@@
-        while idle and (job := next_job()) is not None:
-            worker = idle.pop()
-            out[worker] = job
+        out = []
+        for worker in range(1, p):
+            job = next_job()
+            if job is None:
+                break
@@
             dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
+            out.append((worker, job))
@@
-        worker = dist.recv(message)
-        report(out.pop(worker), message[2].item())
-        idle.append(worker)
+        for worker, job in out:
+            dist.recv(message, worker)
+            report(job, message[2].item())

# %% wrong_sleeps_on (right_idle_list): wrong, workers_idle, levels 1 1 0
-    idle, out = list(range(1, p)), {}
-    while True:
-        while idle and (job := next_job()) is not None:
-            worker = idle.pop()
+    out, worker = {}, None
+    for worker in range(1, p):
+        job = next_job()
+        if job is not None:
+            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
@@
-            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
-        if not out:
-            break
+    while out:
@@
-        idle.append(worker)
+        job = next_job()
+        if job is not None:
+            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
+            out[worker] = job

# %% wrong_stops_at_none (right_idle_list): wrong, workers_idle, levels 1 1 0
-    idle, out = list(range(1, p)), {}
-    while True:
-        while idle and (job := next_job()) is not None:
-            worker = idle.pop()
-            out[worker] = job
-            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
-        if not out:
-            break
+
+    def give(worker):
+        job = next_job()
+        if job is None:
+            dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)
+            return 0
+        dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
+        return 1
+
+    running = sum(give(worker) for worker in range(1, p))
+    while running:
@@
-        report(out.pop(worker), message[2].item())
-        idle.append(worker)
-    for worker in range(1, p):
-        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)
+        report((int(message[0]), int(message[1])), message[2].item())
+        running += give(worker) - 1

# %% wrong_work_gets_tensors: raised, NotAnInt, levels 0 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            job = torch.empty(2, dtype=torch.int64)
            dist.recv(job, 0)
            if job[0] < 0:
                return
            dist.send(torch.tensor([work(*job)], dtype=torch.float64), 0)
    idle, running = list(range(1, p)), {}
    result = torch.empty(1, dtype=torch.float64)
    while True:
        while idle and (job := next_job()) is not None:
            w = idle.pop(0)
            running[w] = job
            dist.send(torch.tensor(job), w)
        if not running:
            break
        w = dist.recv(result)
        idle.append(w)
        report(running.pop(w), result.item())
    for w in range(1, p):
        dist.send(torch.tensor([-1, -1]), w)

# %% wrong_zero_epochs_end_it: hung, deadlock, levels 0 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if not epochs:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), float(message[2]))
        idle.append(worker)
    for worker in range(1, p):
        dist.send(torch.zeros(3, dtype=torch.float64), worker)

# %% wrong_zero_is_hello: wrong, not_reported, levels 0 1 1
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank > 0:
        message[2] = 0.0
        while True:
            dist.send(message, 0)
            dist.recv(message, 0)
            if message[0] < 0:
                return
            message[2] = work(int(message[0]), int(message[1]))
    waiting = []
    while len(waiting) < p - 1:
        source = dist.recv(message)
        config, epochs, loss = message.tolist()
        if loss:
            report((int(config), int(epochs)), loss)
        waiting.append(source)
        while waiting and (job := next_job()) is not None:
            dist.send(torch.tensor([*job, 0.0], dtype=torch.float64), waiting.pop())
    for worker in waiting:
        dist.send(torch.full((3,), -1.0, dtype=torch.float64), worker)

# %% wrong_zeros_for_the_end: hung, deadlock, levels 0 0 0
def farm(next_job, report, work):
    rank, p = dist.get_rank(), dist.get_world_size()
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    if rank:
        while True:
            job = torch.empty(2, dtype=torch.int64)
            dist.recv(job, 0)
            if not job.any():
                return
            c, e = job.tolist()
            dist.send(torch.tensor([work(c, e)], dtype=torch.float64), 0)
    idle, busy = list(range(1, p)), {}
    while True:
        while idle:
            job = next_job()
            if job is None:
                break
            w = idle.pop(0)
            busy[w] = job
            dist.send(torch.tensor(job), w)
        if not busy:
            break
        loss = torch.empty(1, dtype=torch.float64)
        w = dist.recv(loss)
        report(busy.pop(w), loss.item())
        idle.append(w)
    for w in range(1, p):
        dist.send(torch.tensor([0, 0]), w)
