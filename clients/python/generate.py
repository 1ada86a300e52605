"""Writes the types and the operations of the client from the OpenAPI document.

    python generate.py

The document is `openapi/openapi.json` of the repository. A test compares the files with a new run.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCUMENT = HERE / "../../openapi/openapi.json"
PACKAGE = HERE / "python/halfspace"
SUCCESS = ("200", "201", "202", "204")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
Schema = dict[str, Any]


def snake(name: str) -> str:
    """A parameter or member as a Python name."""
    name = re.sub(r"\W", "_", name).lower()
    return name + "_" if keyword.iskeyword(name) else name


def docstring(text: str, indent: str, width: int = 116) -> str:
    """A docstring of wrapped paragraphs."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    paragraphs = [textwrap.fill(" ".join(part.split()), width - len(indent)) for part in text.split("\n\n")]
    body = "\n\n".join(paragraphs)
    if "\n" not in body:
        return f'{indent}"""{body}"""\n'
    return textwrap.indent(f'"""{body}\n"""', indent, lambda line: line.strip() != "") + "\n"


class Types:
    """The schemas of the document as types."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = schemas
        self.tags: dict[str, tuple[str, str]] = {}
        for schema in schemas.values():
            discriminator: Schema = schema.get("discriminator", {})
            for value, ref in discriminator.get("mapping", {}).items():
                self.tags[ref.rsplit("/", 1)[1]] = (discriminator["propertyName"], value)

    def hint(self, schema: Schema, prefix: str = "") -> str:
        """The type of a schema. `prefix` is the module of the named types."""
        if "$ref" in schema:
            return prefix + str(schema["$ref"]).rsplit("/", 1)[1]
        if "oneOf" in schema:
            return self.union([self.hint(one, prefix) for one in schema["oneOf"]])
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return self.hint(schema["allOf"][0], prefix)
        if "enum" in schema:
            values = ", ".join(json.dumps(value) for value in schema["enum"])
            return f"Literal[{values}]"
        kind: Any = schema.get("type")
        if isinstance(kind, list):
            kinds = [self.hint({**schema, "type": one}, prefix) for one in kind]
            return self.union(kinds)
        if kind == "array":
            return f"list[{self.hint(schema.get('items', {}), prefix)}]"
        if kind == "object":
            inner: Any = schema.get("additionalProperties")
            return f"dict[str, {self.hint(inner, prefix) if isinstance(inner, dict) else 'Any'}]"
        return SCALARS.get(kind or "", "Any")

    @staticmethod
    def union(hints: list[str]) -> str:
        # Only the bars outside of brackets divide a union.
        parts = [part for hint in hints for part in re.split(r" \| (?![^\[]*\])", hint)]
        unique = list(dict.fromkeys(parts))
        # None stands last.
        unique.sort(key=lambda hint: hint == "None")
        return "Any" if "Any" in unique else " | ".join(unique)

    def members(self, schema: Schema) -> tuple[dict[str, Schema], set[str]]:
        """The properties of an object and the names of the required ones. An `allOf` is one object."""
        properties, required = dict(schema.get("properties", {})), set(schema.get("required", []))
        for part in schema.get("allOf", []):
            if "$ref" in part:
                part = self.schemas[part["$ref"].rsplit("/", 1)[1]]
            inner, needed = self.members(part)
            properties.update(inner)
            required |= needed
        return properties, required

    def is_struct(self, schema: Schema) -> bool:
        return "properties" in schema or "allOf" in schema and len(self.members(schema)[0]) > 0

    def struct(self, name: str, schema: Schema) -> str:
        properties, required = self.members(schema)
        tag, value = self.tags.get(name, ("", ""))
        options = f', tag_field="{tag}", tag="{value}"' if tag else ""
        text = f"class {name}(Struct, kw_only=True, omit_defaults=True{options}):\n"
        text += docstring(schema.get("description", f"{name}."), "    ")
        for member, inner in properties.items():
            if member == tag:
                text += f'\n    {snake(tag)}: ClassVar[Literal["{value}"]] = "{value}"\n'
                text += docstring(inner.get("description", ""), "    ") if inner.get("description") else ""
                continue
            own, hint = snake(member), self.hint(inner)
            renamed = f'name="{member}"' if own != member else ""
            if member in required:
                default = f" = field({renamed})" if renamed else ""
            else:
                hint = self.union([hint, "None"])
                default = f" = field({renamed}, default=None)" if renamed else " = None"
            text += f"\n    {own}: {hint}{default}\n"
            if inner.get("description"):
                text += docstring(inner["description"], "    ")
        return text

    def module(self) -> str:
        structs = {name: schema for name, schema in self.schemas.items() if self.is_struct(schema)}
        text = '"""The types of the requests and answers. `generate.py` wrote this file."""\n\n'
        text += "from __future__ import annotations\n\nfrom typing import Any, ClassVar, Literal, TypeAlias, Union\n\n"
        text += "from msgspec import Struct, field\n\n"
        for name, schema in structs.items():
            text += "\n" + self.struct(name, schema) + "\n"
        aliases = {name: self.hint(schema) for name, schema in self.schemas.items() if name not in structs}
        done = set(structs)
        # An alias stands after the aliases that it names.
        while aliases:
            ready = [name for name, hint in aliases.items() if not (set(re.findall(r"\w+", hint)) & (aliases.keys() - {name}))]
            for name in ready:
                hint = aliases.pop(name)
                parts = hint.split(" | ") if "[" not in hint else [hint]
                hint = f"Union[{', '.join(parts)}]" if len(parts) > 1 else hint
                text += f"\n{name}: TypeAlias = {hint}\n"
                if self.schemas[name].get("description"):
                    text += docstring(self.schemas[name]["description"], "")
            done |= set(ready)
            assert ready, aliases
        return text


class Operation:
    """One operation of the document as a method."""

    def __init__(self, method: str, path: str, operation: Schema, types: Types) -> None:
        self.method, self.path, self.operation, self.types = method.upper(), path, operation, types
        self.name = operation["operationId"]
        own = [p for p in operation.get("parameters", []) if p["name"] not in ("Accept", "Idempotency-Key")]
        self.in_path = [p for p in own if p["in"] == "path"]
        taken = {p["name"] for p in self.in_path}
        self.others = [p for p in own if p["in"] != "path"]
        self.names = {id(p): snake(p["name"]) + ("_" if p["name"] in taken else "") for p in self.others}
        self.body = operation.get("requestBody", {}).get("content", {})

    def answer(self) -> tuple[str, str]:
        """The media type of the answer and the type of the value."""
        for status in SUCCESS:
            content = self.operation["responses"].get(status, {}).get("content", {})
            if "application/json" in content:
                return "application/json", self.types.hint(content["application/json"].get("schema", {}), "types.")
            if content:
                return next(iter(content)), "bytes"
        return "application/problem+json", "None"

    def arguments(self) -> str:
        text = "".join(f", {snake(p['name'])}: str" for p in self.in_path)
        if self.body:
            hints = [self.types.hint(self.body["application/json"]["schema"], "types.")] if "application/json" in self.body else []
            if set(self.body) - {"application/json"}:
                hints.append("Content")
            is_required = self.operation["requestBody"].get("required", False)
            text += f", body: {self.types.union(hints + ([] if is_required else ['None']))}{'' if is_required else ' = None'}"
        if self.others:
            text += ", *"
        for p in sorted(self.others, key=lambda p: not p.get("required", False)):
            hint = self.types.hint(p.get("schema", {}), "types.")
            is_required = p.get("required", False)
            text += f", {self.names[id(p)]}: {self.types.union([hint] + ([] if is_required else ['None']))}"
            text += "" if is_required else " = None"
        return text

    def text(self, is_async: bool) -> str:
        accept, hint = self.answer()
        start, wait = ("async def", "await ") if is_async else ("def", "")
        path = re.sub(r"\{(\w+)\}", lambda found: "{segment(" + snake(found[1]) + ")}", self.path)
        text = f"    {start} {self.name}(self{self.arguments()}) -> {hint}:\n"
        description = self.operation.get("description", "")
        text += docstring(self.operation["summary"] + ("\n\n" + description if description else ""), "        ")
        lines = [f'"{self.method}"', f'f"{path}"' if "{" in path else f'"{path}"', f'accept="{accept}"']
        for place in ("query", "header"):
            pairs = [f'"{p["name"]}": {self.names[id(p)]}' for p in self.others if p["in"] == place]
            if pairs:
                lines.append(f"{place}={{{', '.join(pairs)}}}")
        if self.body:
            lines.append("body=body")
        keyed = any(p["name"] == "Idempotency-Key" for p in self.operation.get("parameters", []))
        if keyed:
            lines.append("creates=True")
        call = f"Call({', '.join(lines)})"
        answer = "type(None)" if hint == "None" else hint
        # `type[T]` has no unions.
        union = self.types.schemas.get(hint.removeprefix("types."), {}).get("oneOf")
        ignored = "  # type: ignore[arg-type]" if union else ""
        return text + f"        return {wait}self._send({call}, {answer}){ignored}\n"


def operations(document: Schema, types: Types) -> str:
    found = [
        Operation(method, path, operation, types)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    text = '"""One method per operation of the document. `generate.py` wrote this file."""\n\n'
    text += "from __future__ import annotations\n\nfrom typing import Any, Literal, TypeVar\n\n"
    text += "from . import types\nfrom .requests import Call, Content, segment\n\nT = TypeVar(\"T\")\n"
    for name, is_async in (("Operations", False), ("AsyncOperations", True)):
        start = "async def" if is_async else "def"
        text += f'\n\nclass {name}:\n    """The operations of a service."""\n\n'
        text += f"    {start} _send(self, call: Call, answer: type[T]) -> T:\n        raise NotImplementedError\n"
        text += "".join("\n" + operation.text(is_async) for operation in found)
    return text


def generated() -> dict[str, str]:
    """The files by their names."""
    document = json.loads(DOCUMENT.read_text())
    types = Types(document["components"]["schemas"])
    version = f'"""The version of the document. `generate.py` wrote this file."""\n\nVERSION = "{document["info"]["version"]}"\n'
    return {"types.py": types.module(), "operations.py": operations(document, types), "version.py": version}


if __name__ == "__main__":
    for name, text in generated().items():
        (PACKAGE / name).write_text(text)
