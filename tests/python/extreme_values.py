"""Numbers that break careless arithmetic, for the sweep and for the API fuzzer.

`values` returns those for the schema of one number: the extremes of doubles and of JSON, and the limits of the schema
with their neighbours. They are texts, ready for a query or a JSON document.
"""

import math

# 0, subnormals, numbers whose difference from 1 is lost, the ends of exact integers, and the ends of doubles.
EXTREMES = [
    "0",
    "-1",
    "5e-324",
    "1e-300",
    "1e-17",
    "0.9999999999999999",  # 1 - 2^-53
    "1",
    "9007199254740991",  # 2^53 - 1
    "18446744073709551616",  # 2^64
    "1.7976931348623157e308",
    "9" * 400,
]

# A decimal in a string has no exponent.
DECIMALS = ["0", "1", "0." + "0" * 323 + "5", "0." + "9" * 16, "9" * 16, "9" * 400, "9" * 10_000, "9" * 10_001]


def kinds(schema):
    """Returns the JSON types that a schema without references names."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else named


def is_number(schema):
    """Tells whether a schema describes a number."""
    return bool({"integer", "number"} & set(kinds(schema)))


def is_decimal(schema):
    """Tells whether a schema describes a number in a string."""
    return "string" in kinds(schema) and schema.get("pattern", "").startswith("^[0-9]")


def values(schema):
    """Returns the extreme values of a number or of a decimal string."""
    if is_decimal(schema):
        return DECIMALS
    found = list(EXTREMES)
    for name in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]:
        limit = schema.get(name)
        if limit is None:
            continue
        if "integer" in kinds(schema):
            found += [str(limit - 1), str(limit), str(limit + 1)]
        else:
            down, up = math.nextafter(limit, -math.inf), math.nextafter(limit, math.inf)
            found += [repr(down), repr(limit), repr(up)]
    return list(dict.fromkeys(found))


def fits(value, schema):
    """Tells whether a value is within the limits of the schema of a number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return (
        schema.get("minimum", number) <= number <= schema.get("maximum", number)
        and schema.get("exclusiveMinimum", -math.inf) < number < schema.get("exclusiveMaximum", math.inf)
        and (number.is_integer() or "integer" not in kinds(schema))
    )
