"""Context-sensitive spelling: which of a few words that writers confuse belongs in a place of a text?

    python spelling.py BOOK

After Golding and Roth, "A Winnow-Based Approach to Context-Sensitive Spelling Correction", Machine Learning 34 (1999).
BOOK is a plain text, for instance War and Peace, <https://www.gutenberg.org/ebooks/2600>. The table in
docs/how-to/texts.md comes from the copy that this page names.

The book is taken to be spelt correctly. Each word of a confusion set is replaced by the same mark, and a learner says
from the words around the mark which word was there. No result on the test part decided any of this:

- Confusion sets: the first five of the paper's list with at least 200 occurrences, of which each word has at least 100.
- Test part: the last fifth of the paragraphs. Chapters at the end of a book differ from those before, so this is harder
  than a random fifth, whose neighbours a learner has seen.
- Settings: each system has twelve. The one with the fewest errors over all sets on the last fifth of the training part,
  after a training on what precedes it, is used for every set, and learns from the whole training part again.

Vowpal Wabbit gets the names that the service has made of the same texts. Needs the packages halfspace and vowpalwabbit.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import halfspace
from vowpalwabbit import Workspace

CONFUSED = (
    "accept except", "affect effect", "among between", "amount number", "begin being", "cite sight site",
    "country county", "fewer less", "I me", "its it's", "lead led", "passed past", "peace piece", "principal principle",
    "quiet quite", "raise rise", "than then", "their there they're", "weather whether", "your you're",
)
"""The sets of the paper in its order, without `maybe, may be`: the mark stands for one word."""

SETS, OCCURRENCES_MIN, OCCURRENCES_OF_WORD_MIN = 5, 200, 100

WINDOW = 10
"""Places on each side whose words are features, as in the paper."""

MARK = "[[word]]"
"""The same for all words of a set, so that no trace of the right one is left, not even a capital letter."""

BLANKS = str.maketrans(" :", "\u00a0\ua789")
"""A blank and a colon that do not end a name in a line of Vowpal Wabbit."""

Setting = dict[str, Any]


@dataclass
class Examples:
    """The places of a confusion set in one part of the book, as the service and Vowpal Wabbit read them."""

    alternatives: Sequence[str]
    texts: list[dict[str, str]]
    words: list[str]
    dataset: halfspace.Dataset
    lines: Path


@dataclass
class Outcome:
    """The words that a system says, and the seconds of its training."""

    words: list[str]
    seconds: float

    def errors(self, test: Examples) -> list[bool]:
        """Whether each word is wrong."""
        return [said != word for said, word in zip(self.words, test.words, strict=True)]


System = Callable[[Examples, Examples, Setting], Outcome]


def paragraphs_of(book: str) -> list[str]:
    """The paragraphs of a text from Project Gutenberg, without headings, which have no small letter."""
    _, _, rest = book.rpartition("*** START OF TH")
    book, _, _ = rest.partition("*** END OF TH")
    # The curly apostrophe of "it’s" becomes the other one, and no bracket may look like a mark.
    book = book.replace("\u2019", "'").replace("[", "(").replace("]", ")")
    found = (" ".join(part.split()) for part in re.split(r"\n\s*\n", book))
    return [part for part in found if part != part.upper()]


def places_of(words: Sequence[str], paragraphs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each occurrence of the words: its paragraph with the mark in this place, and the word."""
    spellings = {word.lower(): word for word in words}
    # An apostrophe between two letters belongs to a word, and one at its end may be a quotation mark.
    word = re.compile(rf"\b(?<!\w')(?:{'|'.join(map(re.escape, words))})\b(?!'\w)", re.IGNORECASE)
    for paragraph in paragraphs:
        for found in word.finditer(paragraph):
            yield paragraph[: found.start()] + MARK + paragraph[found.end() :], spellings[found[0].lower()]


def chosen_sets(paragraphs: Sequence[str]) -> list[tuple[str, ...]]:
    """The first confusion sets that occur often enough."""

    def is_frequent(words: tuple[str, ...]) -> bool:
        counts = Counter(word for _, word in places_of(words, paragraphs))
        return counts.total() >= OCCURRENCES_MIN and all(counts[word] >= OCCURRENCES_OF_WORD_MIN for word in words)

    return [*islice(filter(is_frequent, (tuple(words.split()) for words in CONFUSED)), SETS)]


def split(paragraphs: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The first four fifths, and the last one."""
    middle = len(paragraphs) * 4 // 5
    return paragraphs[:middle], paragraphs[middle:]


class Study:
    """The systems, and the examples that they learn from."""

    def __init__(self, client: halfspace.Client, folder: Path, window: int = WINDOW) -> None:
        self.client, self.folder, self.window = client, folder, window
        of_winnow = settings(alpha=(1.1, 1.3, 1.5), thickness=(0, 0.3), max_passes=(2, 10))
        self.systems: dict[str, tuple[System, list[Setting]]] = {
            "Winnow": (self.winnow, of_winnow),
            "a Winnow per word": (self.winnows, of_winnow),
            "averaged perceptron": (self.perceptron, settings(thickness=(0, 3, 10), max_passes=(2, 5, 10, 20))),
            "VW": (self.vowpal_wabbit, settings(learning_rate=(0.1, 0.5, 2), passes=(2, 5, 10, 20))),
        }

    def examples(self, words: Sequence[str], paragraphs: Sequence[str]) -> Examples:
        """Uploads the examples, and writes the names that the service makes of them for Vowpal Wabbit."""
        marked, right = zip(*places_of(words, paragraphs))
        texts = [{"text": text} for text in marked]
        dataset = self.client.dataset(texts, [*right], window=self.window)
        lines = self.folder / f"{dataset.id}.vw"
        with lines.open("w", encoding="utf-8") as out:
            for word, names in zip(right, self._names(dataset), strict=True):
                out.write(f"{words.index(word) + 1} | {' '.join(name.translate(BLANKS) for name in names)}\n")
        return Examples(words, texts, [*right], dataset, lines)

    def _names(self, dataset: halfspace.Dataset) -> Iterator[list[str]]:
        offset: int | None = 0
        while offset is not None:
            page = self.client.list_dataset_examples(dataset.id, offset=offset)
            yield from (item.x for item in page.items)
            offset = page.next_offset

    def _train(self, learner: str, train: Examples, options: Setting) -> halfspace.Model:
        return self.client.train(train.dataset, learner=learner, seed=1, trace=False, progress=False, **options).model

    def winnow(self, train: Examples, test: Examples, setting: Setting) -> Outcome:
        """One request. Of two words, one is said where the score does not reach the threshold."""
        begun = time.perf_counter()
        model = self._train("winnow", train, setting)
        return Outcome(seconds=time.perf_counter() - begun, words=model.predict(test.texts))

    def winnows(self, train: Examples, test: Examples, setting: Setting) -> Outcome:
        """SNoW: each word has a Winnow against the others, also if there are only two. The largest score wins."""
        words = train.alternatives
        begun = time.perf_counter()
        models = [self._train("winnow", train, {**setting, "positive": word}) for word in words]
        seconds = time.perf_counter() - begun
        scores = zip(*(model.predict_scores(test.texts) for model in models))
        return Outcome(seconds=seconds, words=[words[row.index(max(row))] for row in scores])

    def perceptron(self, train: Examples, test: Examples, setting: Setting) -> Outcome:
        begun = time.perf_counter()
        model = self._train("averaged-perceptron", train, setting)
        return Outcome(seconds=time.perf_counter() - begun, words=model.predict(test.texts))

    def vowpal_wabbit(self, train: Examples, test: Examples, setting: Setting) -> Outcome:
        words = train.alternatives
        model, cache, said = (str(self.folder / name) for name in ("model", "cache", "said"))
        begun = time.perf_counter()
        learning = f"{vw_options(len(words), setting)} --quiet --data {train.lines} --cache_file {cache} -k -f {model}"
        Workspace(learning).finish()
        seconds = time.perf_counter() - begun
        Workspace(f"--quiet -t -i {model} --data {test.lines} -p {said}").finish()
        classes = [int(float(line)) for line in Path(said).read_text().split()]
        return Outcome(seconds=seconds, words=[words[number - 1] for number in classes])


def settings(**values: Sequence[Any]) -> list[Setting]:
    """All combinations of the values."""
    return [dict(zip(values, one)) for one in product(*values.values())]


def vw_options(classes: int, setting: Setting) -> str:
    """What the command line of Vowpal Wabbit says about the learner."""
    changed = " ".join(f"--{name} {value}" for name, value in setting.items())
    return f"--oaa {classes} --loss_function logistic --bit_precision 22 --holdout_off {changed}"


def best_setting(name: str, system: System, choices: Sequence[Setting], parts: Sequence[Sequence[Examples]]) -> Setting:
    """The setting with the fewest errors over all sets, of several the first one."""
    errors = [sum(sum(system(train, check, setting).errors(check)) for train, check in parts) for setting in choices]
    best = errors.index(min(errors))
    print(f"{name}: {choices[best]}, {errors[best]} errors on the last fifth of the training part")
    return choices[best]


def most_frequent(train: Examples, test: Examples) -> Outcome:
    ((word, _),) = Counter(train.words).most_common(1)
    return Outcome(words=[word] * len(test.words), seconds=0.0)


def table(study: Study, sets: Sequence[tuple[str, ...]], paragraphs: Sequence[str]) -> list[list[Any]]:
    """A row for each confusion set, with its words, the examples of both parts, and the errors of each system.

    Then their sums, the places where only one of a system and the last one is wrong, and the seconds of training.
    """
    training, test = split(paragraphs)
    halves = [[study.examples(words, part) for part in split(training)] for words in sets]
    used = {
        name: best_setting(name, system, choices, halves) for name, (system, choices) in study.systems.items()
    }
    rows: list[list[Any]] = []
    # Of each system, whether it errs in each place of the test part.
    errs: list[list[bool]] = [[] for _ in range(len(used) + 1)]
    seconds = [0.0] * len(errs)
    for words in sets:
        learnt, asked = study.examples(words, training), study.examples(words, test)
        systems = [study.systems[name][0](learnt, asked, setting) for name, setting in used.items()]
        outcomes = [most_frequent(learnt, asked), *systems]
        found = [outcome.errors(asked) for outcome in outcomes]
        rows.append([", ".join(words), len(learnt.words), len(asked.words), *map(sum, found)])
        errs = [before + here for before, here in zip(errs, found)]
        seconds = [before + outcome.seconds for before, outcome in zip(seconds, outcomes)]
    sums = [sum(column) for column in [*zip(*rows)][1:]]
    last = [*study.systems][-1]
    wrong = [sum(one and not other for one, other in zip(each, errs[-1])) for each in errs]
    right = [sum(other and not one for one, other in zip(each, errs[-1])) for each in errs]
    return [
        *rows,
        ["together", *sums],
        [f"wrong where {last} is right", "", "", *wrong],
        [f"right where {last} is wrong", "", "", *right],
        ["seconds of training", "", "", *(f"{one:.2f}" for one in seconds)],
    ]


def main(path: Path) -> None:
    content = path.read_bytes()
    paragraphs = paragraphs_of(content.decode("utf-8-sig"))
    print(f"{len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}, {len(paragraphs):,} paragraphs")
    sets = chosen_sets(paragraphs)
    if not sets:
        sys.exit("no confusion set occurs often enough in this book")
    with halfspace.local() as client, tempfile.TemporaryDirectory() as folder:
        study = Study(client, Path(folder))
        head = ["words", "training", "test", "most frequent", *study.systems]
        rows = table(study, sets, paragraphs)
    print("", *(f"| {' | '.join(map(str, row))} |" for row in [head, ["---"] * len(head), *rows]), sep="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
