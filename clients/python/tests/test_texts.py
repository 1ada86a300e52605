"""Texts: one model from every form of a body, the words beside those of scikit-learn, and a session that learns them."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import halfspace
import pytest
from sklearn.feature_extraction.text import CountVectorizer

SHARED = Path(__file__).parents[4] / "shared" / "tools" / "docstrings.py"

WORDS = r"(?u)\w(?:\w|(?<=[^\W\d_])[.':\u2019\u00b7](?=[^\W\d_])|(?<=\d)[.,;'\u2019](?=\d))*"
"""The words between the boundaries of Unicode, as far as a pattern of Python can tell. A word also needs a letter or a
digit, so a lone `_` is none."""

PLAIN = str.maketrans(" :", "\u00a0\ua789")
"""A blank and a colon that do not end a name in a line."""


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], list[str]]:
    """Docstrings, and the modules of their origin."""
    if not SHARED.exists():
        pytest.skip("there is no ../shared/tools/docstrings.py, which makes the corpus")
    made = subprocess.run([sys.executable, str(SHARED)], capture_output=True, check=True)
    lines = [json.loads(line) for line in made.stdout.splitlines()]
    return [line["x"]["text"] for line in lines], [line["y"] for line in lines]


def features(client: halfspace.Client, result: Any) -> list[str]:
    names = client.get_model(result.model).features
    assert names is not None
    return names


@pytest.mark.corpus
def test_texts_of_a_corpus_give_one_model_in_every_form(
    client: halfspace.Client, corpus: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = corpus
    options: dict[str, Any] = {"learner": "averaged-perceptron", "max_passes": 3, "progress": False, "seed": 1}
    of_rows = client.train([{"text": text} for text in texts], labels, **options, words="1-2")
    table = tmp_path / "corpus.csv"
    cell = '"{}"'.format
    rows = [f"{label},{cell(text.replace(chr(34), chr(34) * 2))}\n" for text, label in zip(texts, labels)]
    table.write_text("module,text\n" + "".join(rows))
    of_table = client.train(table, **options, labels="module", kinds="text:text", words="1-2")
    assert of_table.document.data_sha256 == of_rows.document.data_sha256
    lines = tmp_path / "corpus.vw"
    lines.write_text("".join(f"{label} |text {' '.join(sequences(text))}\n" for text, label in zip(texts, labels)))
    of_lines = client.train(lines, **options)
    renamed = [
        {name.replace("text:", "text^").translate(PLAIN): weight for name, weight in member.items()}
        for member in weights(of_rows)
    ]
    assert renamed == weights(of_lines)


def sequences(text: str) -> list[str]:
    """The words of a text, and its pairs of words."""
    words = [word for word in re.findall(WORDS, text.lower()) if word != "_"]
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    return [name.translate(PLAIN) for name in words + pairs]


def weights(job: Any) -> list[dict[str, float]]:
    """The weights of the names in each class."""
    model = json.loads(job.model.export())
    return [dict(zip(model["features"], member["weights"])) for member in model["hypothesis"]["members"]]


@pytest.mark.corpus
def test_words_of_a_corpus_are_those_of_scikit_learn(client: halfspace.Client, corpus: tuple[list[str], list[str]]) -> None:
    texts, labels = corpus
    result = client.train([{"text": text} for text in texts], labels, learner="perceptron", max_passes=1, progress=False).result
    own = {name.removeprefix("text:") for name in features(client, result)}
    theirs = set(CountVectorizer(token_pattern=WORDS).fit(texts).vocabulary_)
    assert own - theirs == set()
    # Without a letter or a digit it is no word.
    assert theirs - own <= {"_"}


def test_session_learns_a_filter_from_texts(client: halfspace.Client) -> None:
    """One message at a time, from nothing."""
    messages = [("Win money NOW!", "spam"), ("See you at lunch", "ham"), ("You win a prize", "spam"), ("At home?", "ham")] * 10
    session = client.session("winnow", vocabulary="open", active=20, extraction={}, classes=["ham", "spam"], alpha=2)
    answers = [session.learn({"text": text}, label) for text, label in messages]
    assert session.predict([{"text": "win MONEY, now"}]) == ["spam"]
    document = client.get_session(session.id)
    assert document.mistakes == sum(bool(answer and answer.mistake) for answer in answers)
