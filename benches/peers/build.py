"""A cold build of the release program: the times of the build and the size of the program.

The registry's downloads do not count. `--timings` keeps Cargo's report of the build in target/cargo-timings.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import TARGET
from table import Table

SECONDS_MAX = 300
MEGABYTES_MAX = 40


def main():
    table = Table("cold `cargo build --release`: one run, real time")
    timings = [word for word in sys.argv[1:] if word == "--timings"]
    subprocess.run(["cargo", "fetch", "--quiet", "--locked"], check=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        begin, processor_begin = time.perf_counter(), processor_seconds()
        command = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "halfspace", "--target-dir", folder]
        subprocess.run(command + timings, check=True)
        seconds, processor = time.perf_counter() - begin, processor_seconds() - processor_begin
        megabytes = Path(folder, "release/halfspace").stat().st_size / 1e6
        if timings:
            shutil.copytree(Path(folder, "cargo-timings"), TARGET / "cargo-timings", dirs_exist_ok=True)
    add(table, "cold build", "limit", 1, SECONDS_MAX, seconds, "s")
    # A busy machine lengthens the real time, and the processor time less.
    add(table, "cold build, processor time", "limit on all cores", None, SECONDS_MAX * os.cpu_count(), processor, "s")
    add(table, "size of the program", "limit", 1, MEGABYTES_MAX, megabytes, "MB file")
    return table.missed


def processor_seconds():
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def add(table, work, peer, goal, limit, ours, unit):
    if table.has(work):
        table.add(work, peer, goal, (limit, ours), [limit / ours], unit)


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
