"""Learners beside scikit-learn, Vowpal Wabbit, NumPy, HiGHS and libsvm.

Both sides get the same data, use one thread, and are measured by their processor time. Arguments select works by a
part of their name, for example `winnow`.
"""

import os
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.linear_model import Perceptron  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from vowpalwabbit import Workspace  # noqa: E402

from processes import Worker, example  # noqa: E402
from table import Table  # noqa: E402

warnings.filterwarnings("ignore")


class Ours(Worker):
    """The example `peer_learners` as a process."""

    def seconds(self, work, sample, per=1, **rest):
        request = {"work": work, "data": sample.name, "n": sample.x.shape[1], "real": sample.is_real, **rest}
        return lambda: self.ask(request)["seconds"] / per


class Sample:
    """Examples and labels of 0 and 1, which both sides read."""

    def __init__(self, folder, name, x, y):
        self.name, self.x, self.y = name, x, y
        self.is_real = x.dtype == np.float64
        x.tofile(Path(folder, f"{name}.x"))
        y.astype(np.uint8).tofile(Path(folder, f"{name}.y"))


def timed(work, clock=time.process_time):
    def seconds():
        begin = clock()
        work()
        return clock() - begin

    return seconds


def half_space(folder, name, m, n, noise, real=False, seed=1):
    """Random examples, labelled by a random half-space. A share of the labels is wrong."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((m, n)) if real else random.integers(0, 2, (m, n), dtype=np.uint8)
    signed = x if real else 2.0 * x - 1.0
    y = (signed @ random.standard_normal(n) >= 0) ^ (random.random(m) < noise)
    return Sample(folder, name, x, y)


def scikit_perceptron(x, y, passes):
    def work():
        learner = Perceptron(max_iter=passes, tol=None, shuffle=False)
        learner.fit(x, y)

    seconds = timed(work)
    return lambda: seconds() / passes


def vowpal_wabbit(folder, sample, passes):
    """Plain gradient steps on the hinge loss, which is the loss nearest to the perceptron's.

    The first training writes the cache, which holds the parsed examples for the others.
    """
    data, cache = Path(folder, "examples.vw"), Path(folder, "examples.cache")
    with data.open("w") as lines:
        for row, label in zip(sample.x, sample.y):
            features = " ".join(map(str, np.flatnonzero(row)))
            lines.write(f"{1 if label else -1} | {features}\n")

    def train():
        options = f"--data {data} --cache_file {cache} --passes {passes} --holdout_off --quiet"
        Workspace(f"{options} --sgd --loss_function hinge --bit_precision 10").finish()

    train()
    seconds = timed(train)
    return lambda: seconds() / passes


def perceptrons(table, ours, folder):
    passes = 50
    for noise, words in ((0.0, "without noise"), (0.05, "5 % noise")):
        real = half_space(folder, f"reals{noise}", 100_000, 50, noise, real=True)
        mine = ours.seconds("perceptron", real, passes=passes, per=passes)
        table.compare(
            f"perceptron, reals, 100,000 x 50, {words}", "scikit-learn", 2.5,
            scikit_perceptron(real.x, real.y, passes), mine, "pass",
        )
        table.compare(
            f"perceptron, reals, {words}", "read bandwidth", 0.8,
            ours.seconds("read", real), mine, "pass",
        )
    bits = half_space(folder, "bits", 100_000, 256, 0.05)
    mine = ours.seconds("perceptron", bits, passes=passes, per=passes)
    signed = 2.0 * bits.x - 1.0
    table.compare(
        "perceptron, bits, 100,000 x 256, 5 % noise", "scikit-learn, dense", None,
        scikit_perceptron(signed, bits.y, passes), mine, "pass",
    )
    unsigned = {"passes": passes, "params": {"reading": "unsigned"}}
    mine = ours.seconds("perceptron", bits, per=passes, **unsigned)
    work = "perceptron, bits, 5 % noise, {0, 1}"
    rows = sparse.csr_matrix(bits.x.astype(np.float64))
    table.compare(work, "scikit-learn, csr", 8, scikit_perceptron(rows, bits.y, passes), mine, "pass")
    if table.has(work):
        table.compare(work, "Vowpal Wabbit", None, vowpal_wabbit(folder, bits, passes), mine, "pass")


def winnow(table, ours, folder):
    """Winnow on a disjunction of 20 of 1,000 features, against a loop over the examples in NumPy."""
    random = np.random.default_rng(2)
    m, n, passes = 20_000, 1_000, 5
    x = (random.random((m, n)) < 0.05).astype(np.uint8)
    relevant = random.choice(n, 20, replace=False)
    y = x[:, relevant].any(axis=1) ^ (random.random(m) < 0.02)
    sample = Sample(folder, "winnow", x, y)
    doubles = x.astype(np.float64)

    def loop():
        weights = np.ones(n)
        for _ in range(passes):
            for row, label in zip(doubles, y):
                if (weights @ row >= n / 2) != label:
                    weights *= np.where(row == 1, 2.0 if label else 0.5, 1.0)

    table.compare(
        "winnow, 20,000 x 1,000, 5 passes", "NumPy, loop", 50, timed(loop),
        ours.seconds("winnow/loop", sample, passes=passes), "s",
    )


def kernel_perceptron(table, ours, folder):
    """One pass of the kernel perceptron over all conjunctions, against a Gram matrix in NumPy."""
    m = 5_000
    for n, goal in ((20, 60), (64, 40), (256, 25)):
        sample = half_space(folder, f"kernel{n}", m, n, 0.05, seed=n)

        def gram(x=2.0 * sample.x - 1.0, labels=np.where(sample.y, 1.0, -1.0), n=n):
            values = np.exp2((x @ x.T - n) / 2)
            counts = np.zeros(m)
            for at, label in enumerate(labels):
                if (values[at, :at] @ counts[:at] >= 0) != (label > 0):
                    counts[at] += label

        table.compare(
            f"kernel perceptron, 5,000 x {n}, 1 pass", "NumPy, Gram matrix", goal, timed(gram),
            ours.seconds("kernel-perceptron/loop", sample, passes=1), "s",
        )


def linear_programme(sample):
    """Whether signed examples have a strict separator, by HiGHS."""
    from scipy.optimize import linprog

    x = sample.x if sample.is_real else 2.0 * sample.x - 1.0
    labels = np.where(sample.y, 1.0, -1.0)
    rows = -labels[:, None] * np.hstack([x, np.ones((len(x), 1))])

    def work():
        linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(rows)), bounds=(None, None), method="highs")

    return timed(work)


def exact_answers(table, ours, folder):
    separable = half_space(folder, "separable", 2_000, 200, 0.0, seed=3)
    noisy = half_space(folder, "noisy", 2_000, 200, 0.05, seed=3)
    for sample, name, goal in ((separable, "separable", None), (noisy, "not separable", 3)):
        table.compare(
            f"separability, 2,000 x 200, {name}", "HiGHS", goal, linear_programme(sample),
            ours.seconds("separability", sample), "s",
        )
    x = 2.0 * separable.x - 1.0

    def margin():
        SVC(kernel="linear", C=1e6).fit(x, separable.y)

    table.compare(
        "maximum margin, 2,000 x 200", "libsvm", 3, timed(margin), ours.seconds("maximum-margin", separable), "s",
    )


def products(table, ours, folder):
    random = np.random.default_rng(4)
    m, n = 200_000, 1_024
    x = random.integers(0, 2, (m, n), dtype=np.uint8)
    sample = Sample(folder, "products", x, np.ones(m))
    for work in ("row-sums", "column-sums"):
        table.compare(
            f"{work} of amp, 200,000 x 1,024", "read bandwidth", 0.7, ours.seconds("read", sample),
            ours.seconds(work, sample), "s",
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(example("peer_learners"), folder)
        table = Table("learners: one thread, processor time, medians of alternating pairs")
        for area in (perceptrons, winnow, kernel_perceptron, exact_answers, products):
            area(table, ours, folder)
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
