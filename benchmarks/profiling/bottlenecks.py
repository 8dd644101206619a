"""Which profiler rules fire on sound jobs, and which name the bottlenecks of slow ones.

    python benchmarks/profiling/bottlenecks.py --json results.json     # needs torch, xgboost and psutil; ten minutes

20 jobs are sound, 13 have a bottleneck. Each runs a few seconds under ``sagemaker-debug profile run`` at ten samples a
second. See `jobs.py` for what is real in them. The job with a long initialization is written data, since its rule
counts in minutes. The limit of processor time is that of a real control group, which takes root to make.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARAMETERS = {
    "BatchSize": {"patience_seconds": 2, "window": 20},
    "CPUBottleneck": {"patience_seconds": 2},
    "IOBottleneck": {"patience_seconds": 2},
    "LowGPUUtilization": {"patience_seconds": 2, "window": 20},
    "IdleGPU": {"seconds": 4},
}
"""Patience for jobs of some seconds instead of hours."""

NAMED_BY = {
    "slow loader": {"DataloaderStall": "workers would do"},
    "too few loader workers": {"DataloaderStall": "with 1 data loader workers"},
    "slow disk": {"DataloaderStall": "", "IOBottleneck": ""},
    "one slow rank": {"Straggler": "algo-1-1 takes"},
    "loader of one rank slow": {"Straggler": "in its data loader"},
    "evaluation on the host": {"IdleGPU": ""},
    "idle while nothing runs": {"IdleGPU": "without any step"},
    "leak of GPU memory": {"GPUMemoryLeak": ""},
    "tiny batches": {"BatchSize": "", "LowGPUUtilization": "is underused"},
    "long initialization": {"MaxInitializationTime": ""},
    "decoding on one core": {"DataloaderStall": "workers would do"},
    "overheated GPU": {"GPUThrottled": "by heat"},
    "limit of processor time": {"CPUThrottled": "of its limit"},
}
"""The rules that name each bottleneck, and a part of their message."""

SOUND = (
    "plain",
    "two loader workers",
    "small waits",
    "loader workers just fast enough",
    "large steps",
    "short steps",
    "three epochs with evaluation",
    "checkpoints",
    "evaluation and checkpoints",
    "gradient accumulation",
    "stream of data",
    "two models",
    "own loop",
    "boosted trees",
    "slow first step",
    "uneven steps",
    "two replicas",
    "replicas that differ a little",
    "steady memory",
    "memory that fills once",
)


CONTROL_GROUPS = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def limit_of_processor_time(cores):
    """Yield the files to which a process writes its number to have a limit."""
    is_new = (CONTROL_GROUPS / "cgroup.controllers").exists()
    name = f"sagemaker-debug-{os.getpid()}"
    folders = [CONTROL_GROUPS / parent / name for parent in ([""] if is_new else ["cpu", "cpuacct"])]
    for folder in folders:
        folder.mkdir()
    try:
        quota = str(int(100_000 * cores))
        (folders[0] / ("cpu.max" if is_new else "cpu.cfs_quota_us")).write_text(f"{quota} 100000" if is_new else quota)
        yield [folder / "cgroup.procs" for folder in folders]
    finally:
        for folder in folders:
            folder.rmdir()


def run(name, folder):
    """Run a job, and return the folder of its profile."""
    output, state = folder / "profiler-output", folder / "gpu"
    sys.path.insert(0, str(HERE / "simulated"))
    import device

    device.create(state)
    paths = os.pathsep.join([str(HERE / "simulated"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "SIMULATED_GPU": str(state), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "profile", "run", "--output", str(output)]
    command += ["--interval-millis", "100", sys.executable, str(HERE / "jobs.py"), name]
    limit = limit_of_processor_time(0.4) if name == "limit of processor time" else contextlib.nullcontext([])
    with limit as groups:
        join = "".join(f"echo $$ > {group}; " for group in groups)
        command = ["sh", "-c", f'{join}exec "$@"', "sh", *command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return output


def write_long_initialization(folder):
    """Write 25 minutes of system metrics at one sample in five seconds, and steps after them."""
    from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
    from sagemaker_debug_ext.profiler.sampler.writer import SystemFileWriter
    from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan

    start = 1_700_000_040
    writer = SystemFileWriter(str(folder), "algo-1")
    writer.start(start)
    for second in range(0, 1560, 5):
        value = 90.0 if second > 1500 else 0.0
        writer.write([SystemRow("gpu", "gpu0", "GPUUtilization", value, "algo-1", start + second)])
    writer.end()
    trace = TraceFileWriter(str(folder), "7-algo-1", start * 10**6, "pythontimeline.json")
    steps = range(1500, 1560)
    phase = "Step:ModeKeys.TRAIN"
    trace.write(TraceSpan(phase, phase, (start + at) * 10**6, 900_000, {"step_num": str(at - 1500)}) for at in steps)
    trace.close()
    return folder


def findings(path):
    """Return the first finding of each rule that fires."""
    from sagemaker_debug_ext.profiler.rules import RULES, create_profiler_rule, evaluate_profile

    rules = evaluate_profile(path, [create_profiler_rule(name, PARAMETERS.get(name)) for name in sorted(RULES)])
    return {rule.name: rule.findings[0].message if rule.findings else "" for rule in rules if rule.triggered}


def evaluate(name, folder):
    """Return what the rules say of a job."""
    began = time.monotonic()
    path = write_long_initialization(folder) if name == "long initialization" else run(name, folder)
    return {"job": name, "seconds": time.monotonic() - began, "found": findings(path)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only jobs whose name contains this")
    parser.add_argument("--json", metavar="FILE", help="write the results to this file as well")
    options = parser.parse_args()
    from sagemaker_debug_ext.profiler.rules.registry import EXTRA_RULES

    results = []
    for name in filter(lambda name: options.only in name, (*SOUND, *NAMED_BY)):
        with tempfile.TemporaryDirectory() as folder:
            result = evaluate(name, Path(folder))
        own = sorted(set(result["found"]) & set(EXTRA_RULES))
        wanted = NAMED_BY.get(name)
        found = result["found"]
        result["right"] = (
            not own if wanted is None else any(rule in found and text in found[rule] for rule, text in wanted.items())
        )
        results.append(result)
        others = sorted(set(result["found"]) - set(EXTRA_RULES))
        print(
            f"{'ok ' if result['right'] else 'NO '} {name}: {', '.join(own) or '-'}; {', '.join(others) or '-'}",
            flush=True,
        )
    sound = [result for result in results if result["job"] not in NAMED_BY]
    slow = [result for result in results if result["job"] in NAMED_BY]
    print(f"sound jobs with an alarm of our own rules: {sum(not r['right'] for r in sound)} of {len(sound)}")
    print(f"bottlenecks named: {sum(r['right'] for r in slow)} of {len(slow)}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
