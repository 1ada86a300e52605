"""The table of a comparison: a work, a peer, both figures, their ratio, the goal and whether it is met.

Each area has a module beside this one, which measures pairs in turns and adds rows.
"""

import statistics
import sys

HEADER = ("work", "peer", "peer's", "ours", "ratio", "range", "goal", "met")
WIDTHS = (44, 24, 12, 12, 7, 15, 8, 4)


def row(cells):
    print(" ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS)).rstrip(), flush=True)


class Table:
    """Prints rows as they are measured. Arguments of the program select works by a part of their name."""

    def __init__(self, title):
        print(f"\n{title}")
        row(HEADER)
        self.chosen = [word for word in sys.argv[1:] if not word.startswith("--")]
        self.missed = 0

    def compare(self, work, peer, goal, theirs, ours, unit, rounds=5):
        """Measures `theirs` and `ours` in turns. Both return seconds per `unit` of work.

        The ratio of a round is the seconds of the peer over our seconds. The medians stand in the table. A unit
        of "s" prints seconds, and any other unit prints the number of units per second.
        """
        if self.has(work):
            pairs = [(theirs(), ours()) for _ in range(rounds)]
            medians = [statistics.median(side) for side in zip(*pairs)]
            self.add(work, peer, goal, medians, [their / our for their, our in pairs], unit)

    def has(self, work):
        return not self.chosen or any(part in work for part in self.chosen)

    def add(self, work, peer, goal, medians, ratios, unit):
        """Adds a row of measured figures. `medians` holds the figure of the peer and ours."""
        ratios = sorted(ratios)
        ratio = statistics.median(ratios)
        figures = [figure(seconds, unit) for seconds in medians]
        is_met = "" if goal is None else "yes" if ratio >= goal else "no"
        self.missed += is_met == "no"
        least, most = f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"
        goal = "" if goal is None else f">= {goal:g}"
        row((work, peer, *figures, f"{ratio:.2f}", f"{least} .. {most}", goal, is_met))


def figure(value, unit):
    """A size in "MB file" or in "B" is plain, as seconds are. Other units become rates."""
    if unit == "MB file":
        return f"{value:.1f} MB"
    if unit == "B":
        return f"{value:.2f} B"
    if unit == "s":
        return f"{value:.4g} s"
    rate = 1 / value
    return f"{rate:,.0f} {unit}/s" if rate >= 1_000 else f"{rate:.3g} {unit}/s"
