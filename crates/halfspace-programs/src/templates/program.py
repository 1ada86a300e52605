@@ table head

`predict` labels one row. As a program, this file reads CSV from standard input and writes one label per row.
"""
@@ names head

`predict` labels one example, given by its names. As a program, this file reads CSV from standard input and writes one
label per example. The first line is row,name,value, and each other line has one name of an example. The lines of an
example have the same row and follow each other. An empty value means 1, and an empty name none.
"""
@@ imports

import csv
import math
import re
import sys
from fractions import Fraction

@@ sum


def scores(x):
    """Returns the sums of the weights of the features that are 1, and of the constant."""
    ones = [j for j, value in x if value]
    return [constant + sum(weights[j] for j in ones) for constant, weights in zip(CONSTANTS, WEIGHTS)]
@@ kernel


def scores(x):
    """Returns the sums of the labels times the kernels."""
    ones = {j for j, value in x if value}
    return [score(ones, support) for support in SUPPORTS]


def score(ones, support):
    total = 0
    for net, vector in support:
        count = sum(j in ones for j in vector)
        if COUNTS_AGREEMENTS:
            count = FEATURES + 2 * count - len(vector) - len(ones)
        total += net * KERNEL[count]
    return total
@@ monomials


def scores(x):
    """Returns the powers of all monomials that are true, minus the threshold."""
    active = [j for j, value in x if value and j < KNOWN]
    if len(active) > ACTIVE_MAX:
        raise ValueError(f"{len(active)} features are 1, and the model takes {ACTIVE_MAX}")
    return [score(active, support) for support in SUPPORTS]


def score(active, support):
    # The exponent of a monomial is the sum over the examples that contain the monomial.
    cube = [0] * (1 << len(active))
    for net, ones in support:
        cube[sum(1 << at for at, j in enumerate(active) if j in ones)] += net
    for at in range(len(active)):
        for subset in range(len(cube)):
            if not subset >> at & 1:
                cube[subset] += cube[subset | 1 << at]
    counts = {}
    for exponent in (cube[subset] for subset in range(1, len(cube)) if bin(subset).count("1") <= LITERALS_MAX):
        counts[exponent] = counts.get(exponent, 0) + 1
    return sum(count * BASE**exponent for exponent, count in counts.items()) - THETA
@@ real


def scores(x):
    """Returns the products of weights and features. They are added in lanes, and the lanes by halves."""
    return [score(x, weights) / DIVISOR + offset for weights, offset in zip(WEIGHTS, OFFSETS)]


def score(x, weights):
    sums = [0.0] * LANES
    for j, value in x:
        sums[j % LANES] += weights[j] * value
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [sums[lane] + sums[lane + half] for lane in range(half)]
    return sums[0]
@@ reading


def label(x):
    """Returns the label of an example, which is a list of its features with their values, in ascending order."""
    own = scores(x)
    # Several classes have a score each, and the first of the largest wins.
    return CLASSES[own.index(max(own)) if len(own) > 1 else own[0] >= 0]


BLANKS = " \t\n\r\f"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def number(cell):
    """Returns the finite number that a text spells, or None."""
    value = float(cell) if NUMBER.fullmatch(cell) else math.inf
    return value if math.isfinite(value) else None


def rows(lines):
    """Returns the rows of CSV. Only a line of blanks is no row: a quoted empty cell is a row."""
    taken = []

    def noted():
        for line in lines:
            taken.append(line)
            yield line

    csv.field_size_limit(2**31 - 1)
    for row in csv.reader(noted()):
        line = "".join(taken)
        taken.clear()
        if line.count('"') % 2:
            raise ValueError("a quote is not closed")
        if line.strip(BLANKS):
            yield row
@@ table


def text(cell):
    """Returns the text of a cell. None is a missing cell."""
    if cell is None:
        return ""
    return str(cell).strip(BLANKS)


def is_word(cell, words):
    """Whether a text is one of the words."""
    for kind, word in words:
        if kind == "number":
            if number(cell) == word:
                return True
        elif word == (cell.lower() if kind == "any case" else cell):
            return True
    return False


def encode(column, cell, x):
    """Sets the features of a cell."""
    first = column["first"]
    value = number(cell)
    if cell == "" or cell in MISSING or column["of_numbers"] and cell in MISSING_AMONG_NUMBERS:
        if column["missing"] is None:
            raise ValueError(f"column {column['name']!r}: a cell is missing")
        x[column["missing"]] = 1
    elif "values" in column:
        if cell not in column["values"]:
            raise ValueError(f"column {column['name']!r}: the value {cell!r} is unknown")
        x[first + column["values"].index(cell)] = 1
    elif "on" in column:
        if is_word(cell, column["on"]):
            x[first] = 1
        elif is_word(cell, column["off"]):
            x[first] = column.get("off_value", REST)
        else:
            raise ValueError(f"column {column['name']!r}: the value {cell!r} is unknown")
    elif value is None:
        raise ValueError(f"column {column['name']!r}: {cell!r} is not a number")
    elif "number" in column:
        x[first] = MINUS_ONE if value == -1 else value
    else:
        for at, threshold in enumerate(column["thresholds"]):
            if value >= threshold:
                x[first + at] = 1


def predict(row):
    """Returns the label of a row, which is a mapping from column names to cells, or a list of the cells of COLUMNS."""
    x = [REST] * FEATURES
    for at, column in enumerate(COLUMNS):
        cell = row[column["name"]] if isinstance(row, dict) else row[at]
        encode(column, text(cell), x)
    return label([*enumerate(x)])


def places(row):
    """Returns the places of the columns in a file whose first row this is."""
    if HAS_NAMES:
        names = [text(name) for name in row]
        for column in COLUMNS:
            if names.count(column["name"]) != 1:
                found = "several columns" if column["name"] in names else "no column"
                raise ValueError(f"the file has {found} {column['name']!r}")
        return [names.index(column["name"]) for column in COLUMNS]
    if len(row) == FILE_COLUMNS:
        return [column["place"] for column in COLUMNS]
    if len(row) == len(COLUMNS):
        return list(range(len(COLUMNS)))
    raise ValueError(f"a row has {len(row)} cells instead of {FILE_COLUMNS} or {len(COLUMNS)}")


def main():
    sys.stdin.reconfigure(encoding="utf-8-sig", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8")
    at, width, number_of_row = None, 0, 0
    try:
        for row in rows(sys.stdin):
            if at is None:
                at, width = places(row), len(row)
                if HAS_NAMES:
                    continue
            number_of_row += 1
            if len(row) != width:
                raise ValueError(f"the row has {len(row)} cells instead of {width}")
            print(predict([row[place] for place in at]))
    except (ValueError, csv.Error) as error:
        sys.exit(f"row {number_of_row}: {error}")


if __name__ == "__main__":
    main()
@@ names


def predict(example):
    """Returns the label of an example, which is a mapping from names to values, or the names whose values are all 1."""
    values = example if isinstance(example, dict) else dict.fromkeys(example, 1)
    x = []
    for name, value in values.items():
        if not math.isfinite(value) or IS_PRESENCE and value not in (0, 1):
            raise ValueError(f"name {name!r}: the model does not take the value {value}")
        if value:
            # The last feature stands for every name that the model does not know.
            x.append((NAMES.get(name, FEATURES - 1), value))
    return label(sorted(x))


def examples(lines):
    """Returns the examples of CSV: the row, and the values of its names."""
    row, values = None, {}
    for at, cells in enumerate(rows(lines)):
        if at == 0:
            if cells != ["row", "name", "value"]:
                raise ValueError("the first line is not row,name,value")
            continue
        if len(cells) != 3:
            raise ValueError(f"line {at + 1} has {len(cells)} cells instead of 3")
        if at > 1 and cells[0] != row:
            yield row, values
            values = {}
        row, name, text = cells
        value = number(text.strip(BLANKS) or "1")
        if value is None:
            raise ValueError(f"row {row!r}: name {name!r}: {text!r} is not a number")
        if name and values.setdefault(name, value) != value:
            raise ValueError(f"row {row!r}: name {name!r} has two values")
    if row is not None:
        yield row, values


def main():
    sys.stdin.reconfigure(encoding="utf-8-sig", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        for row, values in examples(sys.stdin):
            try:
                print(predict(values))
            except ValueError as error:
                raise ValueError(f"row {row!r}: {error}") from None
    except (ValueError, csv.Error) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
