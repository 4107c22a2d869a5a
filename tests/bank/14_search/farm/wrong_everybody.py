# verdict: wrong, diagnosis: trained_twice
def farm(next_job, report, work):
    while (job := next_job()) is not None:
        report(job, work(*job))
