"""The templates of the console as text: htm drops white space with a line break, so a space between two words of a
sentence must not stand at the end or the beginning of a line."""

import re
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[2] / "console"
MODULES = sorted(path for path in CONSOLE.rglob("*.mjs") if "vendor" not in path.parts)
# Elements that stand in a line of text. Every other element begins a block, where the white space does not show.
INLINE = {"a", "b", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "${Time}", "${DatasetLink}", "${ModelLink}", "${JobLink}"}
WORD = re.compile(r"[\w.,;:!?)(%–—“”…]")


def template(source: str, at: int) -> tuple[list[tuple[str, str]], int]:
    """The parts of the template literal whose text begins at `at`: texts, elements and values. And its end."""
    parts, text = [], ""
    while source[at] != "`":
        if source.startswith("${", at):
            parts.append(("text", text))
            text = ""
            value, at = expression(source, at + 2)
            parts.append(("value", value))
        elif source[at] == "<" and re.match(r"</?[\w$/]|<\$", source[at:]):
            parts.append(("text", text))
            text = ""
            tag, at = element(source, at)
            parts.append(("tag", tag))
        else:
            text += source[at]
            at += 1
    return [*parts, ("text", text)], at + 1


def element(source: str, at: int) -> tuple[str, int]:
    """The tag at `<`, without its attributes, and its end."""
    start, quote = at, ""
    while quote or source[at] != ">":
        if source.startswith("${", at):
            at = expression(source, at + 2)[1]
            continue
        if source[at] in "\"'":
            quote = "" if quote == source[at] else quote or source[at]
        at += 1
    name = re.match(r"</?\s*(\$\{\w+\}|[\w-]*)", source[start:])
    return ("/" if source[start + 1] == "/" else "") + name[1], at + 1


def expression(source: str, at: int) -> tuple[str, int]:
    """The expression behind `${`, and its end."""
    start, depth = at, 0
    while depth or source[at] != "}":
        if source[at] == "`":
            at = template(source, at + 1)[1]
            continue
        if source[at] in "\"'":
            at = re.compile(r"(\\.|[^\\])*?" + source[at]).match(source, at + 1).end()
            continue
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    return source[start:at], at + 1


def templates(source: str):
    """All templates of a module, also those inside others, with their lines."""
    for found in re.finditer(r"html`", source):
        yield template(source, found.end())[0], source.count("\n", 0, found.start()) + 1


def is_inline(part: tuple[str, str]) -> bool:
    kind, what = part
    if kind == "tag":
        return what.removeprefix("/") in INLINE
    # A value brings a space of its own, or is judged by its first element.
    first = re.search(r"html`\s*<(\$\{\w+\}|[\w-]+)", what)
    has_space = re.search(r"""(["'`]) """, what)
    return kind == "value" and not has_space and (first is None or first[1] in INLINE) and not re.search(r"html`\s*\$\{", what)


def lost(source: str) -> list[str]:
    """The places where a word loses the space to its neighbour."""
    places = []
    for parts, line in templates(source):
        for number, (kind, text) in enumerate(parts):
            if kind != "text" or not text.strip():
                continue
            before, after = parts[number - 1] if number else None, parts[number + 1] if number + 1 < len(parts) else None
            begins = re.match(r"\s*\n\s*", text) and before and is_inline(before) and WORD.match(text.strip())
            ends = re.search(r"\s*\n\s*$", text) and after and is_inline(after) and WORD.search(text.strip()[-1])
            if begins or ends:
                places.append(f"template of line {line}: {' '.join(text.split())[:80]!r} loses a space")
    return places


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(CONSOLE)))
def test_no_space_between_words_is_a_line_break(module):
    assert lost(module.read_text()) == []


@pytest.mark.parametrize(("source", "count"), [
    ("html`<p><strong>The service does not answer.</strong>\n  The page waits.</p>`", 1),
    ("html`<p><strong>The service does not answer.</strong> The page\n  waits.</p>`", 0),
    ("html`<p>${number(3)}\n  jobs</p>`", 1),
    ("html`<p>Read\n  <a href=${href(\"x\")}>this</a></p>`", 1),
    ("html`<p>Read</p>\n  <p>this</p>`", 0),
    ("html`<p>A</p>${isOn && html`<p>B</p>`}\n  text`", 0),
])
def test_lost_finds_spaces_that_a_template_drops(source, count):
    assert len(lost(source)) == count
