"""Figure 1 with one thread per core, beside vectorised NumPy.

The NumPy code counts the mistakes of Directed Drift in batches (D' and D'') until the hypothesis equals the
target. A run starts at random and reads uniform half-space examples of odd n. No loop goes over examples
or coordinates. Examples are drawn as packed bits and unpacked to one byte per bit, and products are sums
of bytes. By symmetry the target can be all ones. A run ends at the target and computes no confidence.

There are two versions. `single` computes one run after another and each batch at once, like ordinary
NumPy code. `many` advances all runs of a point at once, in arrays that stay in the cache. `many` is the
faster version for small n, and harder to read.

NumPy does a part of the work of each point: the first mistakes of some runs. The estimate of its time for a point is
the time per mistake in that part times all mistakes of the point.
"""

import json
import time

import numpy

from processes import bench
from table import Table

ARRAY_BYTES = 1 << 22
TESTED_AT_ONCE = 16

# Runs per point of both versions, and the largest number of mistakes of a run.
SINGLE_RUNS, MANY_RUNS, MISTAKES = 20, 200, 50


def half_space(random, shape, n):
    """Examples of the half-space of (1, .., 1), one byte per bit. The shape is shape + (n,)."""
    octets = (n + 7) // 8
    count = octets
    for length in shape:
        count *= length
    packed = numpy.frombuffer(random.bytes(count), dtype=numpy.uint8)
    bits = numpy.unpackbits(packed.reshape(*shape, octets), axis=-1, count=n)
    negative = 2 * bits.sum(axis=-1, dtype=numpy.uint16) < n
    numpy.bitwise_xor(bits, negative[..., None].view(numpy.uint8), out=bits)
    return bits


def one_run(random, n, learner, batch_size, mistakes_max):
    """The number of mistakes of one run. Each batch is computed at once."""
    weights = random.integers(0, 2, size=n, dtype=numpy.uint8)
    mistakes = 0
    while mistakes < mistakes_max and not weights.all():
        while True:
            examples = half_space(random, (TESTED_AT_ONCE,), n)
            wrong = 2 * (examples ^ weights).sum(axis=1, dtype=numpy.uint16) > n
            first = wrong.argmax()
            if wrong[first]:
                break
        mistakes += 1
        # The examples drawn after the mistaken example already belong to the batch.
        batch = examples[first : first + batch_size]
        ones = batch.sum(axis=0, dtype=numpy.uint32)
        left = batch_size - len(batch)
        if left > 0:
            ones += half_space(random, (left,), n).sum(axis=0, dtype=numpy.uint32)
        tally = numpy.where(weights == 1, batch_size - ones, ones)
        if learner == "sync":
            weights ^= (2 * tally >= batch_size).view(numpy.uint8)
        else:
            leaders = numpy.flatnonzero(tally == tally.max())
            weights[leaders[random.integers(leaders.size)]] ^= 1
    return mistakes


def mistaken(random, weights):
    """For each hypothesis, the first example of a stream that the hypothesis classifies wrongly."""
    runs, n = weights.shape
    found = numpy.empty_like(weights)
    waiting = numpy.arange(runs)
    while waiting.size:
        examples = half_space(random, (waiting.size, TESTED_AT_ONCE), n)
        differing = (examples ^ weights[waiting, None]).sum(axis=-1, dtype=numpy.uint16)
        wrong = 2 * differing > n
        first = wrong.argmax(axis=1)
        has = wrong[numpy.arange(waiting.size), first]
        found[waiting[has]] = examples[has, first[has]]
        waiting = waiting[~has]
    return found


def votes(random, weights, batch_size):
    """For each hypothesis and coordinate, the number of examples in a batch that differ from the hypothesis."""
    runs, n = weights.shape
    ones = mistaken(random, weights).astype(numpy.uint32)
    at_once = max(1, ARRAY_BYTES // (runs * n))
    left = batch_size - 1
    while left > 0:
        rows = min(left, at_once)
        ones += half_space(random, (runs, rows), n).sum(axis=1, dtype=numpy.uint32)
        left -= rows
    return numpy.where(weights == 1, batch_size - ones, ones)


def flip_most_voted(random, weights, tally):
    """Flips in each hypothesis the coordinate with the most votes. Ties are broken at random."""
    leads = tally == tally.max(axis=1, keepdims=True)
    chosen = numpy.where(leads, random.random(tally.shape), -1.0).argmax(axis=1)
    weights[numpy.arange(len(weights)), chosen] ^= 1


def many_runs(random, n, learner, batch_size, runs, mistakes_max):
    """The total number of mistakes of `runs` runs, which advance at once."""
    weights = random.integers(0, 2, size=(runs, n), dtype=numpy.uint8)
    counts = numpy.zeros(runs, dtype=numpy.int64)
    active = numpy.flatnonzero(~weights.all(axis=1))
    at_once = max(1, ARRAY_BYTES // (n * min(batch_size, 64)))
    while active.size:
        for start in range(0, active.size, at_once):
            here = active[start : start + at_once]
            hypotheses = weights[here]
            tally = votes(random, hypotheses, batch_size)
            if learner == "sync":
                hypotheses ^= (2 * tally >= batch_size).astype(numpy.uint8)
            else:
                flip_most_voted(random, hypotheses, tally)
            weights[here] = hypotheses
        counts[active] += 1
        is_done = weights[active].all(axis=1) | (counts[active] >= mistakes_max)
        active = active[~is_done]
    return int(counts.sum())


def single_runs(random, n, learner, batch_size):
    return sum(one_run(random, n, learner, batch_size, MISTAKES) for _ in range(SINGLE_RUNS))


def runs_at_once(random, n, learner, batch_size):
    return many_runs(random, n, learner, batch_size, MANY_RUNS, MISTAKES)


def numpy_seconds(points, version):
    """Estimated seconds of NumPy for all points of the figure."""
    random = numpy.random.Generator(numpy.random.SFC64(1))
    seconds = 0.0
    for point in points:
        begin = time.perf_counter()
        mistakes = version(random, point["n"], point["learner"].rsplit("-")[-1], point["batch_size"])
        seconds += (time.perf_counter() - begin) / mistakes * point["mistakes"]
    return seconds


def main():
    table = Table("Figure 1: all cores, real time, medians of alternating pairs")
    points = json.loads(bench("experiments"))["points"]
    for name, version, goal in (("one by one", single_runs, None), ("at once", runs_at_once, 58)):
        table.compare(
            "Figure 1", f"NumPy, runs {name}", goal, lambda: numpy_seconds(points, version),
            lambda: json.loads(bench("experiments"))["seconds"], "s", rounds=3,
        )
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
