"""Texts: one model from every form of a body, the words beside those of scikit-learn, and a session that learns them."""

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import halfspace
import pytest
from halfspace import sklearn as estimators
from halfspace.texts import TextNetwork
from sklearn.base import clone
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
    session = client.session("winnow", vocabulary="open", active=20, extraction={}, classes=["ham", "spam"], relevant=3)
    answers = [session.learn({"text": text}, label) for text, label in messages]
    assert session.predict([{"text": "win MONEY, now"}]) == ["spam"]
    document = client.get_session(session.id)
    assert document.mistakes == sum(bool(answer and answer.mistake) for answer in answers)
    assert document.bound and document.bound.mistakes_at_most and document.mistakes <= document.bound.mistakes_at_most


MESSAGES = ["Win money NOW!", "See you at lunch", "Claim a prize NOW", "At home? See you"] * 5
LABELS = ["spam", "ham"] * 10


@pytest.fixture
def network(client: halfspace.Client) -> Iterator[None]:
    estimators.use(client)
    yield
    estimators.use(None)


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("learner", ["averaged-perceptron", "perceptron", "winnow"])
@pytest.mark.parametrize("options", [{}, {"words": "1-2"}, {"characters": "2-3"}, {"conjunctions": 2}, {"lower_case": False}])
def test_network_learns_texts(learner: str, options: dict[str, Any]) -> None:
    model = TextNetwork(learner=learner, max_passes=50, random_state=1, **options)
    model.fit(MESSAGES, LABELS)
    assert model.predict(MESSAGES).tolist() == LABELS
    assert pickle.loads(pickle.dumps(model)).predict(["WIN money NOW"]).tolist() == ["spam"]
    again: Any = clone(model)
    assert again.get_params() == model.get_params()
    assert model.unseen(["zebra"])[0] > 0
    scores = model.decision_function(MESSAGES)
    assert ((scores >= 0) == [label == "spam" for label in LABELS]).all()
    heaviest = model.heaviest(2)
    assert list(heaviest) == ["ham", "spam"]
    assert all(name in model.feature_names_in_ for names in heaviest.values() for name, _ in names)


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("learner", ["averaged-perceptron", "winnow"])
def test_network_goes_on_with_new_texts_and_classes(learner: str) -> None:
    classes = ["ham", "news", "spam"]
    model = TextNetwork(learner=learner, active=8, words="1-2")
    for _ in range(12):
        model.partial_fit(MESSAGES[:4], LABELS[:4], classes=classes)
        model.partial_fit(["Elections today", "Weather today"], ["news", "news"])
    assert model.predict([*MESSAGES[:2], "elections today"]).tolist() == ["spam", "ham", "news"]
    assert set(model.heaviest(3)) == set(classes)


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("learner", ["averaged-perceptron", "winnow"])
def test_network_leaves_names_out_and_explains_texts(learner: str) -> None:
    whole = TextNetwork(learner=learner, max_passes=50, random_state=1).fit(MESSAGES, LABELS)
    # Each message is there five times, so these names are those of two messages.
    model = TextNetwork(learner=learner, max_passes=50, random_state=1, minimum_count=6).fit(MESSAGES, LABELS)
    assert set(model.feature_names_in_) == {"text:now", "text:see", "text:you", "text:at"}
    assert model.predict(["see, now is now"]).tolist() == model.predict(["other: see now"]).tolist()
    assert model.unseen(["lunch"]).tolist() == [1]
    half = TextNetwork(learner=learner, max_passes=50, random_state=1, discard=0.5).fit(MESSAGES, LABELS)
    assert len(half.feature_names_in_) == len(whole.feature_names_in_) - len(whole.feature_names_in_) // 2
    names = [name for name, _ in whole.explain("Win a prize, zebra", 2)]
    assert 1 <= len(names) <= 2 and set(names) <= {"text:win", "text:a", "text:prize"}
    assert whole.explain("zebra") == []
    with pytest.raises(ValueError, match="label is 'news'"):
        whole.explain("a", label="news")
    options: dict[str, Any]
    for options in ({"minimum_count": 2}, {"discard": 0.5}):
        with pytest.raises(ValueError, match="partial_fit keeps every name"):
            TextNetwork(active=9, **options).partial_fit(MESSAGES, LABELS, classes=["ham", "spam"])


@pytest.mark.usefixtures("network")
def test_network_explains_the_class_that_is_asked_for() -> None:
    texts, labels = [*MESSAGES, "Elections today", "Weather today"], [*LABELS, "news", "news"]
    model = TextNetwork(max_passes=50, random_state=1).fit(texts, labels)
    assert model.predict(["elections today now"]).tolist() == ["news"]
    of_news = dict(model.explain("elections today now"))
    assert float(of_news["text:today"]) > 0 and float(of_news["text:now"]) <= 0
    of_spam = dict(model.explain("elections today now", label="spam"))
    assert float(of_spam["text:now"]) > 0 and float(of_spam.get("text:today", 0)) <= 0


@pytest.mark.usefixtures("network")
def test_network_refuses_what_is_no_text() -> None:
    for X, why in [("a text", "X is a text"), ([["a", "b"]] * 2, "row 0 of X has the type list"), ([1, 2], "needed is a text")]:
        with pytest.raises(halfspace.DataError, match=why):
            TextNetwork().fit(X, ["a", "b"])
    with pytest.raises(ValueError, match="learner is 'snow'"):
        TextNetwork(learner="snow").fit(MESSAGES, LABELS)
    with pytest.raises(ValueError, match="needs active"):
        TextNetwork(learner="winnow").partial_fit(MESSAGES, LABELS, classes=["ham", "spam"])
    with pytest.raises(halfspace.Problem, match="marks no word"):
        TextNetwork(window=2).fit(MESSAGES, LABELS)


@pytest.mark.usefixtures("network")
def test_the_examples_of_the_readme_run(capsys: Any) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    first, second = (block for block in blocks if "messages" in block)
    known: dict[str, Any] = {"halfspace": halfspace}
    exec(first, known)
    assert capsys.readouterr().out.splitlines() == ["['spam']", "True", "False", "True", "False"]
    exec(second, known)
    assert capsys.readouterr().out.startswith("['ham'] {'ham': [(")
