"""Readers of data beside pandas, polars and a copy of the file.

Both sides read the same files, use one thread, and are measured by their processor time. A file is stored and copied
in real time, because the disk takes part. Arguments select works by a part of their name, for example `arff`.
"""

import http.client
import inspect
import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"

import numpy as np  # noqa: E402
import pandas  # noqa: E402
import polars  # noqa: E402
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402

from processes import TARGET, Worker, example, serving_ours  # noqa: E402
from table import Table  # noqa: E402


# The rate before the comparison existed.
UPLOAD_MEGABYTES_PER_SECOND = 340


class Ours(Worker):
    """The example `peer_formats` as a process."""

    def processor_seconds(self):
        """The counter is exact while the process waits for a request."""
        counters = Path(f"/proc/{self.process.pid}/schedstat").read_text()
        return int(counters.split()[0]) / 1e9

    def once(self, work, file, n=0, words=None):
        """Does a work once. Returns real seconds for the works of a disk, and processor seconds for the others."""
        begin = self.processor_seconds()
        answer = self.ask({"work": work, "file": str(file), "n": n, "words": words})
        return answer["seconds"] if work in ("store", "copy") else self.processor_seconds() - begin

    def seconds(self, work, file, n=0, times=1, words=None):
        """Seconds per megabyte of the file. Short works are done several times."""
        megabytes = file.stat().st_size / 1e6 * times
        return lambda: sum(self.once(work, file, n, words) for _ in range(times)) / megabytes


def timed(work, file, times=1, clock=time.process_time):
    megabytes = file.stat().st_size / 1e6 * times

    def seconds():
        begin = clock()
        for _ in range(times):
            work(file)
        return (clock() - begin) / megabytes

    return seconds


def write_rows(path, head, cells, labels_last=False):
    """Writes cells that are one character each. The label stands first or last."""
    rows, columns = cells.shape
    text = np.full((rows, 2 * columns), ord(","), dtype=np.uint8)
    text[:, 0::2] = (np.roll(cells, -1, axis=1) if labels_last else cells) + ord("0")
    text[:, -1] = ord("\n")
    path.write_bytes(head.encode() + text.tobytes())
    return path


def bits(table, ours, folder, random):
    rows, n = 80_000, 256
    cells = random.integers(0, 2, (rows, n + 1), dtype=np.uint8)
    names = ["label", *(f"x{column}" for column in range(n))]
    csv = write_rows(folder / "bits.csv", ",".join(names) + "\n", cells)
    works = [("CSV of 0/1", csv)]
    for kind, values in (("numeric", "numeric"), ("nominal", "{0,1}")):
        attributes = "".join(f"@attribute {name} {values}\n" for name in [*names[1:], names[0]])
        head = f"@relation r\n{attributes}@data\n"
        works.append((f"ARFF of 0/1, {kind}", write_rows(folder / f"{kind}.arff", head, cells, labels_last=True)))
    for work, file in works:
        # No peer reads ARFF, so the peers read the same rows as CSV.
        for peer, read in (("pandas", pandas.read_csv), ("polars", polars.read_csv)):
            table.compare(f"{work}, {n} columns", peer, 2, timed(read, csv), ours.seconds("parse", file), "MB")


def reals(table, ours, folder, random):
    rows, n = 60_000, 50
    cells = random.standard_normal((rows, n))
    labels = random.integers(0, 2, rows)
    for name, spelling in (("4 decimals", "%.4f"), ("17 digits", "%.17g")):
        file = folder / "reals.csv"
        head = ",".join(["label", *(f"x{column}" for column in range(n))])
        form = ["%d", *[spelling] * n]
        np.savetxt(file, np.column_stack([labels, cells]), form, ",", header=head, comments="")
        for peer, read in (("pandas", pandas.read_csv), ("polars", polars.read_csv)):
            goal = 1.5 if peer == "pandas" else None
            work = f"CSV of reals, {name}"
            table.compare(work, peer, goal, timed(read, file), ours.seconds("parse", file), "MB")


def tensors(table, ours, folder, random):
    """Batches of the Open Inference Protocol beside the same examples as bit strings, per batch."""
    rows, n, times = 1_000, 256, 40
    cells = random.integers(0, 2, (rows, n))
    strings = folder / "strings.ndjson"
    strings.write_text("".join(f'"{"".join(map(str, row))}"\n' for row in cells))

    def per_batch(file, work):
        seconds = ours.seconds(work, file, n, times)
        return lambda: seconds() * file.stat().st_size / 1e6

    def decoded(file):
        tensor = json.loads(file.read_bytes())["inputs"][0]
        np.array(tensor["data"]).reshape(tensor["shape"])

    close, spaced = (",", ":"), None
    lists = (
        ("flat", cells.ravel().tolist(), close), ("flat, blanks", cells.ravel().tolist(), spaced),
        ("rows, blanks", cells.tolist(), spaced), ("1.0", cells.ravel().astype(float).tolist(), spaced),
        ("true", cells.ravel().astype(bool).tolist(), spaced),
    )
    for name, data, separators in lists:
        datatype = {"1.0": "FP32", "true": "BOOL"}.get(name, "UINT8")
        tensor = {"name": "x", "shape": [rows, n], "datatype": datatype, "data": data}
        file = folder / "tensor.json"
        file.write_text(json.dumps({"inputs": [tensor]}, separators=separators))
        mine = per_batch(file, "infer")
        work = f"OIP JSON, {name}, 1,000 x 256, read"
        python = timed(decoded, file)
        table.compare(work, "json and NumPy", 5, lambda: python() * file.stat().st_size / 1e6, mine, "batch")
        goal = 0.7 if name == "flat" else None
        table.compare(work, "bit strings, ours", goal, per_batch(strings, "parse"), mine, "batch")


def stored(table, ours, folder, random):
    rows = 400_000
    labels = random.integers(0, 2, (rows, 1)).astype(float)
    file = folder / "doubles.npy"
    np.save(file, np.hstack([random.standard_normal((rows, 126)), labels]))
    work = ".npy of doubles, stored durably"
    table.compare(work, "copy with fsync", 0.6, ours.seconds("copy", file), ours.seconds("store", file), "MB", rounds=7)


def libsvm(table, ours, folder, random):
    starts = np.arange(23) * 126 // 22
    lines = []
    for label in random.integers(0, 2, 200_000):
        indices = random.integers(starts[:-1], starts[1:]) + 1
        lines.append(f"{label} " + " ".join(f"{index}:1" for index in indices))
    file = folder / "agaricus.libsvm"
    file.write_text("\n".join(lines) + "\n")

    def load(file):
        load_svmlight_file(str(file))

    table.compare("LIBSVM, read", "scikit-learn", None, timed(load, file), ours.seconds("parse", file), "MB")
    work = "LIBSVM, upload until durable"
    if table.has(work):
        with serving_ours(folder) as address:
            mine = uploads(address, "text/x-libsvm", file.read_bytes(), times=16)
            read = timed(load, file, clock=time.perf_counter)
            table.compare(work, "scikit-learn, read", None, read, mine, "MB")
            table.compare(work, "rate to keep", 1, lambda: 1 / UPLOAD_MEGABYTES_PER_SECOND, mine, "MB")


def columns(table, ours, folder, random):
    """Uploads of tables until durable, raw cells included, beside pandas, which only reads them."""
    works = ("Parquet, 30 columns, until durable", "CSV of reals, until durable")
    if not any(map(table.has, works)):
        return
    rows, cell_bytes = 1_000_000, 8
    words = np.array(["north", "east", "south", "west", "unknown"])
    frame = pandas.DataFrame({
        **{f"real{j}": random.standard_normal(rows) for j in range(10)},
        **{f"whole{j}": random.integers(0, 1_000, rows) for j in range(10)},
        **{f"flag{j}": random.integers(0, 2, rows).astype(bool) for j in range(4)},
        **{f"word{j}": words[random.integers(0, 5, rows)] for j in range(5)},
        "y": random.integers(0, 2, rows),
    })
    file, decoded = folder / "columns.parquet", frame.size * cell_bytes / 1e6
    frame.to_parquet(file)
    size = file.stat().st_size / 1e6
    media_type, query = "application/vnd.apache.parquet", "?labels=y&numbers=real"

    def dummies():
        begin = time.perf_counter()
        pandas.get_dummies(pandas.read_parquet(file))
        return (time.perf_counter() - begin) / decoded

    reals = folder / "reals.csv"
    head = ",".join([*(f"x{column}" for column in range(30)), "label"]) + "\n"
    values = random.standard_normal((100_000, 30))
    np.savetxt(reals, np.column_stack([values, random.integers(0, 2, 100_000)]), [*["%.6f"] * 30, "%d"], ",", header=head[:-1],
               comments="")
    with serving_ours(folder) as address:
        mine = uploads(address, media_type, file.read_bytes(), 1, query)
        peer = "read_parquet, get_dummies"
        table.compare(works[0], peer, 1, dummies, lambda: mine() * size / decoded, "MB")
        table.compare(works[0], "200 MB/s", 1, lambda: 1 / 200, lambda: mine() * size / decoded, "MB")
        mine = uploads(address, "text/csv", reals.read_bytes(), 1, "?labels=label&numbers=real")
        table.compare(works[1], "pandas", 1, timed(pandas.read_csv, reals, clock=time.perf_counter), mine, "MB")


def texts(table, ours, folder, random):
    """Texts of docstrings to their words and pairs of words, and the same names in lines of Vowpal Wabbit."""
    found = sorted({inspect.getdoc(value) or "" for module in list(sys.modules.values()) for value in vars(module).values()})
    found = [text for text in found if len(text) > 60]
    chosen = [found[place] for place in random.integers(0, len(found), 20_000)]
    bare = sum(len(text.encode()) for text in chosen) / 1e6
    words = CountVectorizer(ngram_range=(1, 2), binary=True)
    lines, file = folder / "texts.ndjson", folder / "texts.vw"
    lines.write_text("".join(json.dumps({"x": {"text": text}, "y": place % 2}, ensure_ascii=False) + "\n" for place, text in enumerate(chosen)))
    # Nothing in a name ends it.
    names = words.build_analyzer()
    file.write_text("".join(f"{2 * (place % 2) - 1} |w {' '.join(name.replace(' ', '_') for name in names(text))}\n"
                            for place, text in enumerate(chosen)))
    own, size = ours.seconds("parse", lines, words="1-2"), lines.stat().st_size / 1e6
    work = "Texts to words and pairs"
    table.compare(work, "CountVectorizer", 10, lambda: timed(lambda _: words.fit_transform(chosen), lines)() * size / bare,
                  lambda: own() * size / bare, "MB")
    table.compare(work, "100 MB/s", 1, lambda: 1 / 100, own, "MB")
    table.compare("Lines of Vowpal Wabbit", "200 MB/s", 1, lambda: 1 / 200, ours.seconds("parse", file), "MB")


def uploads(address, media_type, piece, times, query=""):
    """Seconds per megabyte of a body that repeats a piece, until the answer. The dataset is deleted afterwards."""
    length = len(piece) * times

    def seconds():
        connection = http.client.HTTPConnection(address)
        headers = {"content-type": media_type, "content-length": str(length)}
        begin = time.perf_counter()
        connection.request("POST", f"/v1/datasets{query}", itertools.repeat(piece, times), headers)
        answer = connection.getresponse()
        document = json.load(answer)
        spent = time.perf_counter() - begin
        if answer.status != 201:
            raise RuntimeError(document)
        connection.request("DELETE", f"/v1/datasets/{document['id']}")
        connection.getresponse().read()
        return spent / (length / 1e6)

    return seconds


def main():
    ours = Ours(example("peer_formats"))
    # The folder is on the disk of this project, because the system's own may be in memory.
    with tempfile.TemporaryDirectory(dir=TARGET) as folder:
        table = Table("formats: one thread, processor time, medians of alternating pairs")
        for area in (bits, reals, tensors, stored, libsvm, columns, texts):
            area(table, ours, Path(folder), np.random.default_rng(1))
    return table.missed


if __name__ == "__main__":
    print(f"\n{main()} goals of this table are not met")
