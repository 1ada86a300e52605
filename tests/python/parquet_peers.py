"""Parquet files of pyarrow, pandas, polars and DuckDB: the service stores each like the CSV file of the same table."""

import datetime
import decimal
import io
import pathlib
import sys
import tempfile
import urllib.parse

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

from service import expect

ROWS = 3_000
PARQUET = "application/vnd.apache.parquet"

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="parquet-peers-"))


def table():
    """Columns of every kind that a table of the service may have, with gaps."""
    gaps = lambda step, value: [None if row % step == 3 else value(row) for row in range(ROWS)]
    return pyarrow.table({
        "real": pyarrow.array(gaps(7, lambda row: (row * 37 % 1001) / 8), pyarrow.float64()),
        "short": pyarrow.array(gaps(9, lambda row: row % 50 / 4), pyarrow.float32()),
        "count": pyarrow.array([row * row for row in range(ROWS)], pyarrow.int64()),
        "byte": pyarrow.array(gaps(5, lambda row: row % 256), pyarrow.uint8()),
        "price": pyarrow.array(gaps(11, lambda row: decimal.Decimal(row) / 4), pyarrow.decimal128(12, 2)),
        "word": pyarrow.array(gaps(13, lambda row: f"w{row % 90}")),
        "kind": pyarrow.array(gaps(17, lambda row: ["a", "b", "c"][row % 3])).dictionary_encode(),
        "day": pyarrow.array(gaps(7, lambda row: datetime.date(2020, 1, 1) + datetime.timedelta(days=row))),
        "at": pyarrow.array([datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=row * 7) for row in range(ROWS)],
                            pyarrow.timestamp("us")),
        "flag": pyarrow.array(gaps(19, lambda row: row % 4 == 0), pyarrow.bool_()),
        "label": pyarrow.array(["yes" if row % 2 else "no" for row in range(ROWS)]),
    })


def csv(rows):
    """The table as CSV."""
    def text(value):
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    lines = [",".join(rows.column_names)]
    lines += [",".join(text(value) for value in row.values()) for row in rows.to_pylist()]
    return "\n".join(lines).encode()


def digest(body, media_type):
    query = urllib.parse.urlencode({"labels": "label", "numbers": "thermometer"})
    dataset = expect(201, "POST", f"/v1/datasets?{query}", body, media_type)
    assert dataset["examples"] == ROWS, dataset
    return dataset["sha256"]


def files(rows):
    """Each file with the program and the settings that wrote it."""
    for compression in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        for version in ["1.0", "2.0"]:
            for dictionary in [True, False]:
                body = io.BytesIO()
                pyarrow.parquet.write_table(rows, body, compression=compression, data_page_version=version,
                                            use_dictionary=dictionary, row_group_size=1000, data_page_size=2000,
                                            write_page_checksum=True)
                yield f"pyarrow {compression} {version} dictionary={dictionary}", body.getvalue()
    body = io.BytesIO()
    encodings = {"real": "BYTE_STREAM_SPLIT", "short": "BYTE_STREAM_SPLIT", "count": "DELTA_BINARY_PACKED",
                 "word": "DELTA_BYTE_ARRAY", "label": "DELTA_LENGTH_BYTE_ARRAY", "price": "BYTE_STREAM_SPLIT"}
    pyarrow.parquet.write_table(rows, body, use_dictionary=False, column_encoding=encodings)
    yield "pyarrow with other encodings", body.getvalue()
    for compression in ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        body = io.BytesIO()
        polars.from_arrow(rows).write_parquet(body, compression=compression, row_group_size=1000)
        yield f"polars {compression}", body.getvalue()
    body = io.BytesIO()
    rows.to_pandas(types_mapper=pandas.ArrowDtype).to_parquet(body, index=False)
    yield "pandas", body.getvalue()
    duckdb.register("rows", rows)
    for compression in ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        for version in ["V1", "V2"]:
            path = FOLDER / f"{compression}{version}.parquet"
            duckdb.sql(f"copy rows to '{path}' (format parquet, compression {compression}, parquet_version {version})")
            yield f"DuckDB {compression} {version}", path.read_bytes()


def refused():
    """Times of day and lists are refused by name, and `ignore` leaves them out."""
    rows = pyarrow.table({"at": [datetime.time(12, 30)] * 2, "list": [[1], [2]], "x": [1, 2], "label": [0, 1]})
    body = io.BytesIO()
    pyarrow.parquet.write_table(rows, body)
    for query, named in [("", "at"), ("?ignore=at", "list")]:
        problem = expect(400, "POST", f"/v1/datasets{query}", body.getvalue(), PARQUET)
        assert f"The column `{named}`" in problem["detail"], problem
    expect(201, "POST", "/v1/datasets?ignore=at,list", body.getvalue(), PARQUET)


def main():
    rows = table()
    expected = digest(csv(rows), "text/csv")
    count = 0
    for name, body in files(rows):
        assert digest(body, PARQUET) == expected, name
        count += 1
    refused()
    print(f"{count} files of four programs give the digest of the CSV file", file=sys.stderr)


main()
