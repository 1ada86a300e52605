"""Hooks of Schemathesis, for bodies of media types that it cannot write itself and for extreme values of numbers."""

import base64
import binascii

import schemathesis
from extreme_values import fits, is_number, values
from hypothesis import strategies
from schemathesis.transport.serialization import serialize_binary


WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"


@schemathesis.serializer(
    "application/octet-stream", "application/x-ndjson", "application/x-npy", WORKBOOK, PARQUET
)
def body(context, value):
    """Returns the bytes of a generated value. The document gives examples of bytes in base64."""
    if context.case.media_type != "application/x-ndjson" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            pass  # A generated text.
    return serialize_binary(value)


@schemathesis.hook
def flatmap_query(context, query):
    """Replaces some numbers of a query by extreme values. A number that the fuzzer made invalid stays."""
    schemas = {}
    for parameter in context.operation.query:
        name, schema = parameter.definition.get("name"), parameter.definition.get("schema", {})
        if is_number(schema) and fits((query or {}).get(name), schema):
            schemas[name] = schema
    if not schemas:
        return strategies.just(query)
    drawn = {name: strategies.sampled_from([query[name], *values(schema)]) for name, schema in schemas.items()}
    return strategies.fixed_dictionaries(drawn).map(lambda extreme: {**query, **extreme})
