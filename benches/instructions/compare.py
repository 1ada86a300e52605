"""Compares counted instructions with a file of counts. Counts of another compiler are printed and not judged.

The arguments are the folder of the counter, the file and the version of the compiler. `--write` writes the file.
"""

import json
import sys
from pathlib import Path

TOLERANCE = 0.03


def counted(folder):
    """The instructions of each work, from the summaries of the counter."""
    counts = {}
    for path in folder.rglob("summary.json"):
        summary = json.loads(path.read_text())
        (profile,) = summary["profiles"]
        name = f"{summary['function_name']}/{summary['id']}"
        counts[name] = profile["data"]["total"]["metrics"]["Ir"]["values"]["new"]
    return counts


def read(file):
    """The compiler of the file, and its counts."""
    compiler, *lines = file.read_text().splitlines()
    counts = {}
    for line in lines:
        name, count = line.split()
        counts[name] = int(count.replace("_", ""))
    return compiler.removeprefix("# "), counts


def main(folder, file, compiler, *options):
    counts, file = counted(Path(folder)), Path(file)
    if options == ("--write",):
        lines = [f"{name:<28} {count:>13_}" for name, count in sorted(counts.items())]
        file.write_text("\n".join([f"# {compiler}", *lines, ""]))
    written_by, expected = read(file)
    print(f"{'work':<28} {'instructions':>13} {'expected':>13} {'change':>8}")
    failed = counts.keys() ^ expected.keys()
    for name, count in sorted(counts.items()):
        change = count / expected.get(name, count) - 1
        is_far = abs(change) > TOLERANCE
        failed |= {name} if is_far else set()
        print(f"{name:<28} {count:>13_} {expected.get(name, 0):>13_} {change:>+8.1%}{'  !' if is_far else ''}")
    if written_by != compiler:
        print(f"not judged: the expected counts are those of {written_by}, and this is {compiler}")
        return 0
    if failed:
        print(f"more than {TOLERANCE:.0%} away from {file}: {', '.join(sorted(failed))}", file=sys.stderr)
        print("if the change is intended: scripts/instructions --write", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
