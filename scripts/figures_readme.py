"""Writes the page of the gallery from the tables in docs/figures: what each shows, with its numbers.

The arguments are the seed and the names of the figures; the page goes to the standard output.
"""

import csv
import pathlib
import sys

FOLDER = pathlib.Path("docs/figures")


def rows(name):
    """The lines of a figure's table."""
    with open(FOLDER / f"{name}.csv", newline="") as table:
        return list(csv.DictReader(table))


def measured(table, label=""):
    """The measured points whose series has this in its label."""
    return [row for row in table if row["kind"] == "measured" and label in row["label"]]


def labels(table):
    """The labels of the measured series, in their order."""
    return list(dict.fromkeys(row["label"] for row in measured(table)))


def number(text):
    """A number as people write it."""
    return f"{float(text):.4g}"


def value(row):
    """A value with its interval."""
    if int(row["censored"]):
        return f"at least {number(row['y'])}"
    if row["runs"] == "0":
        return f"{number(row['y'])} (exact)"
    return f"{number(row['y'])} ({number(row['low'])} to {number(row['high'])})"


def ends(table):
    """One line a series: its first and its last point."""
    for label in labels(table):
        points = measured(table, label)
        points = [row for row in points if row["label"] == label]
        first, last = points[0], points[-1]
        yield (
            f"| {label} | {number(first['x'])}: {value(first)} | {number(last['x'])}: {value(last)} |"
        )


def near(table, label, x):
    """The point of a series that is nearest to a place."""
    points = [row for row in measured(table) if row["label"] == label]
    return min(points, key=lambda row: abs(float(row["x"]) - x))


def ends_table(table):
    return ["| series | first point | last point |", "|---|---|---|", *ends(table)]


def figure_1(table):
    full = [row for row in measured(table) if float(row["x"]) >= 0.99]
    most = max(float(row["y"]) for row in full)
    censored = sum(int(row["censored"]) for row in measured(table))
    return [
        "Mistakes over n until the hypothesis is the target, against the size of a batch in units of "
        "(pi/2) n ln n. With batches of one unit and more every mean is at most "
        f"{most:.3f} n mistakes; with small batches they grow exponentially. {censored} runs were "
        "given up at the limit: their points have arrows, and are lower bounds.",
        "",
        *ends_table(table),
    ]


def table_1(table):
    return [
        "Mistakes until the hypothesis is the target, against n. D is exact, by its Markov chain, and "
        "grows exponentially; D' and D'' are measured at their own batch sizes: about n/2, and a "
        "constant.",
        "",
        *ends_table(table),
    ]


def cover(table):
    lines = [
        "The share of random dichotomies of normal points that a hyperplane through the origin makes, "
        "each decided with a proof, and Cover's count. At two points a dimension it is one half:",
        "",
        "| series | at P = 2 N |",
        "|---|---|",
    ]
    for label in labels(table):
        lines.append(f"| {label} | {value(near(table, label, 2.0))} |")
    return lines


def false_stops(table):
    lines = [
        "How often a run of D ends at a wrong hypothesis, against the error that its rule is allowed. "
        "Points above the diagonal promised too much: the paper's rule does, `anytime` nowhere.",
        "",
        "| series | at delta 0.05 | allowed |",
        "|---|---|---|",
    ]
    for label in labels(table):
        lines.append(f"| {label} | {value(near(table, label, 0.05))} | 0.05 |")
    return lines


def sample_complexity(table):
    lines = [
        "How often a learner finds hidden binary weights exactly, against examples a dimension.",
        "",
        "| series | at 1.5 | at 2 | at 3 | at 8 | least with 95 % of the runs |",
        "|---|---|---|---|---|---|",
    ]
    for label in labels(table):
        shares = [number(near(table, label, x)["y"]) for x in (1.5, 2.0, 3.0, 8.0)]
        points = [row for row in measured(table) if row["label"] == label]
        enough = [float(row["x"]) for row in points if float(row["y"]) >= 0.95]
        least = f"{min(enough):.3g}" if enough else "none"
        lines.append(f"| {label} | {' | '.join(shares)} | {least} |")
    return lines


SAYS = {
    "fang-venkatesh-figure-1": figure_1,
    "fang-venkatesh-table-1": table_1,
    "cover-figure-1": cover,
    "false-stops": false_stops,
    "sample-complexity": sample_complexity,
}


def main():
    seed, names = sys.argv[1], sys.argv[2:]
    print("# Figures\n")
    print("Each was computed by the service, as a job, and is the same wherever it is computed again")
    print(f"from its seed, which is {seed}. `scripts/figures` makes them all, and this page.")
    print("The tables beside the pictures have every point, its interval of 95 % and its runs.")
    for name in names:
        if not (FOLDER / f"{name}.csv").exists():
            continue
        print(f"\n## {name}\n")
        print(f"![{name}]({name}.svg)\n")
        print("\n".join(SAYS[name](rows(name))))
        print("\n```text")
        print("curl -H 'content-type: application/json' -H 'prefer: wait=60' \\")
        print(f"    localhost:8080/v1/experiments/{name} -d '{{\"seed\": {seed}}}'")
        print("```\n")
        print(f"[Table]({name}.csv)")


if __name__ == "__main__":
    main()
