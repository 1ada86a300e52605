"""The version of the document. `generate.py` wrote this file."""

VERSION = "0.1.0"
