"""Evaluation of a job's rules while the job runs, without the Debugger service.

`evaluation` runs the rules of one job; the local runner uses it, too. `program` is the watcher of a self-managed job.
"""
