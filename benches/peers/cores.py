"""One long computation on all cores beside one core. Arguments select works by a part of their name."""

import os

from processes import bench
from table import Table


def main():
    cores = os.cpu_count()
    table = Table(f"one long computation on {cores} cores: real time, medians of alternating pairs")
    _, *lines = bench("cores", str(cores)).splitlines()
    for line in lines:
        work, *figures = line.rsplit(maxsplit=5)
        one, all_cores, *ratios = map(float, figures)
        if table.has(work):
            table.add(work.strip(), "one core", 1.7, (one, all_cores), ratios, "s")
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
