"""Compares test-set certificates with SciPy: the service's limits equal the exact intervals of binomtest."""

import numpy
import scipy
from scipy.stats import binomtest

from service import expect

CASES = 1_000
# SciPy finds the limits by root finding with an absolute error of 2e-12.
WITHIN = 1e-9


def main():
    random = numpy.random.default_rng(17)
    worst = 0.0
    for _ in range(CASES):
        examples = int(10 ** random.uniform(0, 6))
        share = random.choice([0.0, 1.0, random.random(), random.random() / 100])
        errors = int(random.binomial(examples, share))
        confidence = float(random.choice([0.5, 0.9, 0.95, 0.99, 0.999999, random.uniform(0.01, 0.999)]))
        query = f"errors={errors}&examples={examples}&confidence={confidence!r}"
        found = expect(200, "GET", f"/v1/theory/test-set?{query}")
        both = binomtest(errors, examples).proportion_ci(confidence, "exact")
        # The alternative "less" has the interval from 0 to the one-sided upper limit.
        one = binomtest(errors, examples, alternative="less").proportion_ci(confidence, "exact")
        pairs = [(found["at_most"], one.high), (found["low"], both.low), (found["high"], both.high)]
        apart = max(abs(own - other) for own, other in pairs)
        assert apart <= WITHIN, (query, pairs)
        worst = max(worst, apart)
    print(f"scipy {scipy.__version__}: {CASES} test-set intervals equal within {worst:.1e}")


main()
