"""Hooks of Schemathesis: bodies of the media types that it cannot write itself."""

import base64
import binascii

import schemathesis
from schemathesis.transport.serialization import serialize_binary


WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@schemathesis.serializer(
    "application/octet-stream", "application/x-ndjson", "application/x-npy", WORKBOOK
)
def body(context, value):
    """Returns the bytes of a generated value. The document gives examples of bytes in base64."""
    if context.case.media_type != "application/x-ndjson" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            pass  # A generated text.
    return serialize_binary(value)
