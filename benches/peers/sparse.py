"""Texts as sparse rows: learners, and the whole request, beside scikit-learn and Vowpal Wabbit.

Learners use one thread and are measured by their processor time, the whole request in real time. Arguments select works
by a part of their name, for example `26 classes`.
"""

import http.client
import json
import tempfile
import time
from pathlib import Path

# This module sets the number of threads, so it comes before NumPy.
from learners import Ours, Sample, scikit_perceptron, timed
import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
from vowpalwabbit import Workspace

from formats import uploads
from processes import TARGET, example, serving_ours
from table import Table

TEXTS, ACTIVE, PASSES = 20_000, 60, 20


class Texts(Sample):
    """Rows of so many words each. A file holds the numbers of the words of each row in ascending order."""

    def __init__(self, folder, name, words, n, y):
        self.name, self.y, self.is_real, self.entries = name, y, False, words.shape[1]
        ones = np.ones(words.size)
        starts = np.arange(0, words.size + 1, words.shape[1])
        self.x = sparse.csr_matrix((ones, words.ravel(), starts), shape=(len(words), n))
        words.astype(np.uint32).tofile(Path(folder, f"{name}.x"))
        y.astype(np.uint8).tofile(Path(folder, f"{name}.y"))


def zipf_words(random, m, n, active):
    """The words of texts in which they have Zipf's frequencies."""
    shares = 1 / np.arange(1, n + 1)
    ends = np.cumsum(shares / shares.sum())
    words = np.empty((m, active), dtype=np.int64)
    for row in words:
        found = np.unique(np.searchsorted(ends, random.random(8 * active)))
        row[:] = np.sort(random.choice(found, active, replace=False))
    return words


def texts(folder, m, n, active, noise, seed=5):
    """Texts labelled by random weights. A share of the labels is wrong."""
    random = np.random.default_rng(seed)
    words = zipf_words(random, m, n, active)
    y = (random.standard_normal(n)[words].sum(axis=1) >= 0) ^ (random.random(m) < noise)
    return Texts(folder, f"texts{n}", words, n, y)


def perceptrons(table, ours, sample):
    """The unsigned reading costs the active words only."""
    for reading in ("unsigned", "signed"):
        params = {"reading": reading}
        mine = ours.seconds(
            "perceptron", sample, per=PASSES, passes=PASSES, entries=sample.entries, params=params,
        )
        work = f"perceptron, 20,000 texts of 60 of {sample.x.shape[1]:,} words, {reading}"
        peer = scikit_perceptron(sample.x, sample.y, PASSES)
        table.compare(work, "scikit-learn, csr", 3 if reading == "unsigned" else None, peer, mine, "pass")
        plain = ours.seconds("plain-loop", sample, per=PASSES, passes=PASSES, entries=sample.entries)
        table.compare(work, "a plain loop, csr", None, plain, mine, "pass")


def many_classes(table, ours, folder):
    """Committees on 2,400 texts of 136 of 20,000 words. A run may end before its 20 passes if it converges."""
    random = np.random.default_rng(6)
    classes, passes, n = 26, 20, 20_000
    words = zipf_words(random, 2_400, n, 136)
    sums = random.standard_normal((classes, n))[:, words].sum(axis=2)
    # A tenth of the labels is drawn.
    labels = np.where(random.random(len(words)) < 0.1, random.integers(0, classes, len(words)), sums.argmax(axis=0))
    sample = Texts(folder, "classes", words, n, labels)
    per_pass = scikit_perceptron(sample.x, sample.y, passes)
    # One name makes the sample of sparse rows, the other the same bits packed.
    packed = Sample(folder, "packed", sample.x.toarray().astype(np.uint8), sample.y)
    entries = {"entries": sample.entries}
    for learner, rows, shape, goal in (
        # The peer counts no errors and computes no bounds either.
        ("perceptron/loop", sample, entries, 5),
        ("perceptron", sample, entries, None),
        ("averaged-perceptron", sample, entries, None),
        ("perceptron/loop", packed, {}, None),
    ):
        params = {"reading": "unsigned", "order": "cyclic"}
        mine = ours.seconds(learner, rows, passes=passes, params=params, classes=classes, **shape)
        table.compare(
            f"{learner}, 26 classes, {'sparse' if shape else 'packed'}", "scikit-learn, csr", goal,
            lambda: per_pass() * passes, mine, "s",
        )


def kernel_perceptron(table, ours, folder, sample):
    """The kernel perceptron over monotone conjunctions, beside the same bits as packed words and two figures: its
    seconds before there were sparse rows, and a goal."""
    params = {"kernel.conjunctions": "monotone"}
    work = "kernel perceptron, 2,000 texts, 3 passes"
    small = texts(folder, 2_000, 20_000, 60, 0.05)
    packed = Sample(folder, "packed texts", small.x.toarray().astype(np.uint8), small.y)
    rest = {"passes": 3, "params": params}
    mine = ours.seconds("kernel-perceptron/loop", small, entries=small.entries, **rest)
    table.compare(work, "ours, packed", None, ours.seconds("kernel-perceptron/loop", packed, **rest), mine, "s", rounds=3)
    mine = ours.seconds("kernel-perceptron", sample, entries=sample.entries, **rest)
    work = "kernel perceptron, 20,000 texts, 3 passes"
    table.compare(work, "60 s, before", 20, lambda: 60.0, mine, "s", rounds=3)
    table.compare(work, "5 seconds", 1, lambda: 5.0, mine, "s", rounds=3)


def winnow(table, ours, sample):
    mine = ours.seconds("winnow", sample, per=PASSES, passes=PASSES, entries=sample.entries)
    work = "winnow, 20,000 texts of 60 of 50,000 words"
    table.compare(work, "scikit-learn, csr", None, scikit_perceptron(sample.x, sample.y, PASSES), mine, "pass")


def write_files(folder, sample):
    """The texts as LIBSVM, as names in NDJSON, and in the format of Vowpal Wabbit."""
    files = libsvm, ndjson, vw = [folder / f"texts.{kind}" for kind in ("libsvm", "ndjson", "vw")]
    with libsvm.open("w") as indices, ndjson.open("w") as names, vw.open("w") as words:
        for sign, row in zip(np.where(sample.y, 1, -1), sample.x):
            row = [str(word + 1) for word in row.indices]
            indices.write(f"{sign} {' '.join(f'{word}:1' for word in row)}\n")
            names.write(json.dumps({"x": [f"w{word}" for word in row], "y": int(sign)}, separators=(",", ":")) + "\n")
            words.write(f"{sign} | {' '.join(row)}\n")
    return files


def readers(table, address, libsvm, ndjson, vw):
    """Bytes of a file to a durable dataset, beside the parser of a peer and a rate."""
    def parsed():
        Workspace(f"--data {vw} --noop --quiet").finish()

    per_file = timed(parsed, clock=time.perf_counter)
    for kind, file, media_type, goal in (
        ("LIBSVM", libsvm, "text/x-libsvm", 300), ("NDJSON of names", ndjson, "application/x-ndjson", 150),
    ):
        body = file.read_bytes()
        per_megabyte = uploads(address, media_type, body, times=16)
        size = len(body) / 1e6
        peer = "Vowpal Wabbit's parser"
        table.compare(f"{kind} until durable", peer, None, per_file, lambda: per_megabyte() * size, "s")
        table.compare(f"{kind} until durable", f"{goal} MB/s", 1, lambda: 1 / goal, per_megabyte, "MB")


def memory(table, server, libsvm):
    """Bytes of a process that a training takes in addition, per active entry of its data."""
    if not table.has(work := "memory of a training per entry"):
        return
    dataset = answer(server, "/v1/datasets", libsvm.read_bytes() * 12, "text/x-libsvm")
    entries = 12 * TEXTS * ACTIVE

    def bytes_an_entry():
        Path(f"/proc/{server.pid}/clear_refs").write_text("5")
        before = resident(server.pid, "VmRSS")
        train(server, dataset, passes=2)
        return (resident(server.pid, "VmHWM") - before) / entries

    table.compare(work, "8 bytes, csr", 8 / 6, lambda: 8.0, bytes_an_entry, "B")


def resident(pid, field):
    """Bytes of a field of the system's account of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def whole_request(table, address, folder, libsvm, vw):
    """From the bytes of a file to a stored dataset and a stored result of 20 passes."""
    work, cache = "upload and 20 passes, 20,000 texts", folder / "texts.cache"

    def scikit():
        x, y = load_svmlight_file(str(libsvm))
        # The perceptron takes no indices of 64 bits.
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        Perceptron(max_iter=PASSES, tol=None, shuffle=False).fit(x, y)

    def vowpal_wabbit():
        cache.unlink(missing_ok=True)
        options = f"--data {vw} --cache_file {cache} --passes {PASSES} --holdout_off --quiet"
        Workspace(f"{options} --sgd --loss_function hinge --bit_precision 18").finish()

    body = libsvm.read_bytes()

    def ours():
        begin = time.perf_counter()
        dataset = answer(address, "/v1/datasets", body, "text/x-libsvm")
        train(address, dataset, PASSES)
        return time.perf_counter() - begin

    for peer, goal, work_of in (("Vowpal Wabbit", 4, vowpal_wabbit), ("scikit-learn, load and fit", None, scikit)):
        table.compare(work, peer, goal, timed(work_of, clock=time.perf_counter), ours, "s")
    table.compare(work, "0.15 seconds", 1, lambda: 0.15, ours, "s")


def train(address, dataset, passes):
    """Waits for the end of a training on a stored dataset."""
    request = {"data": {"dataset": dataset["id"]}, "stop": {"max_passes": passes}}
    request["learner"] = {"name": "perceptron", "params": {"reading": "unsigned"}}
    job = answer(address, "/v1/jobs", json.dumps({"train": request}).encode(), "application/json")
    if job["status"] != "succeeded":
        raise RuntimeError(job)


def answer(address, path, body, media_type):
    connection = http.client.HTTPConnection(address)
    connection.request("POST", path, body, {"content-type": media_type, "prefer": "wait=60"})
    answered = connection.getresponse()
    document = json.load(answered)
    if answered.status >= 300:
        raise RuntimeError(document)
    return document


def main():
    with tempfile.TemporaryDirectory(dir=TARGET) as name:
        folder = Path(name)
        ours = Ours(example("peer_learners"), name)
        table = Table("sparse: one thread, processor time, medians of alternating pairs")
        samples = [texts(folder, TEXTS, n, ACTIVE, 0.05) for n in (50_000, 1_000_000)]
        for sample in samples:
            perceptrons(table, ours, sample)
        many_classes(table, ours, folder)
        winnow(table, ours, samples[0])
        kernel_perceptron(table, ours, folder, samples[0])
        libsvm, ndjson, vw = write_files(folder, samples[0])
        with serving_ours(folder) as server:
            readers(table, server, libsvm, ndjson, vw)
            memory(table, server, libsvm)
            whole_request(table, server, folder, libsvm, vw)
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
