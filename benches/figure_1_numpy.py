"""The work of Figure 1 in vectorised NumPy: the baseline of `cargo bench --bench experiments`.

Mistakes of Directed Drift in batches (D' and D'') until the hypothesis is the target, from a random
start, on uniform half-space examples of odd n. It takes every advantage that vectorising has:

- all runs of a point advance at once, so that no loop goes over examples, runs or coordinates; as many
  runs in one array as keep it in the cache (a few MiB), since larger arrays are slower;
- examples are drawn as packed bits and unpacked to one byte a bit; products are sums of bytes;
- by symmetry the target is all ones, and a run ends when it is reached, not when it is confident.

The arguments are n, learner (`sync` or `async`), batch size, runs, the most mistakes of a run; the
answer is one line of JSON: the seconds and the mean mistakes. `points FILE` does so for each line.
"""

import json
import sys
import time

import numpy

ARRAY_BYTES = 1 << 22
TESTED_AT_ONCE = 16


def half_space(random, shape, n):
    """Examples of the half-space of (1, .., 1), one byte a bit: shape + (n,)."""
    octets = (n + 7) // 8
    packed = numpy.frombuffer(random.bytes(int(numpy.prod(shape)) * octets), dtype=numpy.uint8)
    bits = numpy.unpackbits(packed.reshape(*shape, octets), axis=-1, count=n)
    negative = 2 * bits.sum(axis=-1, dtype=numpy.uint16) < n
    numpy.bitwise_xor(bits, negative[..., None].view(numpy.uint8), out=bits)
    return bits


def mistaken(random, weights):
    """For each hypothesis an example that it gets wrong: the first of a stream."""
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
    """For each hypothesis and coordinate, the examples of a batch that differ from it."""
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
    """One coordinate of each: that with most votes, ties broken at random."""
    leads = tally == tally.max(axis=1, keepdims=True)
    chosen = numpy.where(leads, random.random(tally.shape), -1.0).argmax(axis=1)
    weights[numpy.arange(len(weights)), chosen] ^= 1


def mistakes(random, n, learner, batch_size, runs, mistakes_max):
    """The mistakes of so many runs."""
    weights = random.integers(0, 2, size=(runs, n), dtype=numpy.uint8)
    counts = numpy.zeros(runs, dtype=numpy.int64)
    active = numpy.flatnonzero(~weights.all(axis=1))
    while active.size:
        at_once = max(1, ARRAY_BYTES // (n * min(batch_size, 64)))
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
    return counts


def point(n, learner, batch_size, runs, mistakes_max):
    """The seconds and the mean of one point."""
    random = numpy.random.Generator(numpy.random.SFC64(1))
    start = time.perf_counter()
    counts = mistakes(random, n, learner, batch_size, runs, mistakes_max)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "mean": float(counts.mean())}


def main():
    for line in sys.stdin:
        n, learner, batch_size, runs, mistakes_max = line.split()
        done = point(int(n), learner, int(batch_size), int(runs), int(mistakes_max))
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
