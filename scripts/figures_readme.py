"""Makes the gallery page from the tables in docs/figures, with a description and the main numbers of each figure.

The arguments are the seed and the names of the figures. The page is written to standard output.
"""

import csv
import pathlib
import sys
import textwrap

FOLDER = pathlib.Path("docs/figures")


def rows(name):
    """The rows of a figure's table."""
    with open(FOLDER / f"{name}.csv", newline="") as table:
        return list(csv.DictReader(table))


def measured(table, label=""):
    """The measured points of all series whose labels contain this text."""
    return [row for row in table if row["kind"] == "measured" and label in row["label"]]


def labels(table):
    """The labels of the measured series, in the order of the table."""
    return list(dict.fromkeys(row["label"] for row in measured(table)))


def number(text):
    """A number with four significant digits."""
    return f"{float(text):.4g}"


def value(row):
    """A value with its confidence interval."""
    if int(row["censored"]):
        return f"at least {number(row['y'])}"
    if row["runs"] == "0":
        return f"{number(row['y'])} (exact)"
    return f"{number(row['y'])} ({number(row['low'])} to {number(row['high'])})"


def ends(table):
    """One table row per series: the first and the last point."""
    for label in labels(table):
        points = measured(table, label)
        points = [row for row in points if row["label"] == label]
        first, last = points[0], points[-1]
        yield (
            f"| {label} | {number(first['x'])}: {value(first)} | {number(last['x'])}: {value(last)} |"
        )


def near(table, label, x):
    """The point of a series that is nearest to `x`."""
    points = [row for row in measured(table) if row["label"] == label]
    return min(points, key=lambda row: abs(float(row["x"]) - x))


def ends_table(table):
    return ["| series | first point | last point |", "|---|---|---|", *ends(table)]


def figure_1(table):
    full = [row for row in measured(table) if float(row["x"]) >= 0.99]
    most = max(float(row["y"]) for row in full)
    censored = sum(int(row["censored"]) for row in measured(table))
    return [
        "Mistakes until the hypothesis equals the target, divided by n, against the batch size in units of "
        f"(pi/2) n ln n. From one unit on, no mean exceeds {most:.3f} n mistakes. With small batches the "
        f"mistakes grow exponentially: {censored} runs stopped at the limit of mistakes, so the points with "
        "arrows are lower bounds.",
        "",
        *ends_table(table),
    ]


def table_1(table):
    return [
        "Mistakes until the hypothesis equals the target, against n. For `directed-drift` (D in the paper) they "
        "are exact values from its Markov chain and grow exponentially. The other two are measured at their "
        "default batch sizes: `directed-drift-async` (D') makes about n/2 mistakes, and `directed-drift-sync` "
        "(D'') a constant number.",
        "",
        *ends_table(table),
    ]


def cover(table):
    lines = [
        "The share of random dichotomies of normally distributed points that a hyperplane through the origin "
        "separates, beside Cover's count. Each dichotomy is decided with a proof. At two points per dimension "
        "the share is one half:",
        "",
        "| series | at P = 2 N |",
        "|---|---|",
    ]
    for label in labels(table):
        lines.append(f"| {label} | {value(near(table, label, 2.0))} |")
    return lines


def false_stops(table):
    lines = [
        "The share of runs of `directed-drift` that end at a wrong hypothesis, against the error that the "
        "stopping rule allows. Points above the diagonal exceed this error. Nearly all those of the paper's rule, "
        "`per-hypothesis`, lie there, and none of `anytime`.",
        "",
        "| series | at delta 0.05 | allowed |",
        "|---|---|---|",
    ]
    for label in labels(table):
        lines.append(f"| {label} | {value(near(table, label, 0.05))} | 0.05 |")
    return lines


def coverage(*sentences):
    """Describes a figure of certificate-coverage. The exact shares stand in the rows of the theory."""

    def lines(table):
        exact = {
            row["label"]: row["y"] for row in table if row["kind"] == "theory" and float(row["x"]) == 0.3
        }
        has_exact = any(label.startswith("exact: ") for label in exact)
        yield " ".join(sentences)
        yield ""
        yield f"| series | at delta 0.05 | at delta 0.3 |{' exact at 0.3 |' if has_exact else ''}"
        yield f"|---|---|---|{'---|' if has_exact else ''}"
        for label in labels(table):
            cells = [value(near(table, label, delta)) for delta in (0.05, 0.3)]
            if has_exact:
                cells.append(number(exact[f"exact: {label}"]))
            yield f"| {label} | {' | '.join(cells)} |"

    return lines


def sample_complexity(table):
    lines = [
        "The share of runs that find the hidden binary weights exactly, against examples per dimension.",
        "",
        "| series | at 1.5 | at 2 | at 3 | at 8 | least for 95 % of the runs |",
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
    "coverage-test-set": coverage(
        "The share of test sets of 300 examples whose one-sided limit is below the true error of a perceptron.",
        "The exact share is the mean of the binomial probabilities of this event, given the trained hypotheses.",
    ),
    "coverage-sessions": coverage(
        "The share of sessions of a perceptron whose certificate is false after at least one of 300 examples, or that",
        "the rule `pac` ends at an error above 0.1.",
    ),
    "coverage-learners": coverage(
        "The share of sessions in which the bound of `survival` is below the true error after at least one of 300",
        "examples, for each learner that changes its predictions only after a mistake. A single example has 0.7 of the",
        "probability.",
    ),
    "coverage-samples": coverage(
        "For `unique`, the share of samples that another vector of binary weights fits as well, although they are as",
        "large as uniqueness demands. For `compression`, the share of trainings whose bound is below the true error.",
    ),
    "sample-complexity": sample_complexity,
}


def main():
    seed, names = sys.argv[1], sys.argv[2:]
    print("# Figures\n")
    print(f"Each figure is the result of a job with seed {seed}, and the same seed gives the same figure on every")
    print("machine. The table linked below it lists every point with its 95 % interval and its number of runs.")
    print("`scripts/figures` computes all figures and writes this page.")
    for name in names:
        if not (FOLDER / f"{name}.csv").exists():
            continue
        print(f"\n## {name}\n")
        print(f"![{name}]({name}.svg)\n")
        for line in SAYS[name](rows(name)):
            print(line if line.startswith("|") else textwrap.fill(line, 118, break_on_hyphens=False))
        print("\n```text")
        print("curl -H 'content-type: application/json' -H 'prefer: wait=60' \\")
        print(f"    localhost:8080/v1/experiments/{name} -d '{{\"seed\": {seed}}}'")
        print("```\n")
        print(f"[Table]({name}.csv)")


if __name__ == "__main__":
    main()
