"""The study of context-sensitive spelling in `examples`, on a book that the test writes."""

from pathlib import Path

import halfspace
import pytest
import spelling

HEAD = "Title: A Book\n\n*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n\nCHAPTER I\n\n"
FOOT = "\n\n*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n\nThen the licence follows."
PLACES = (
    "An old house\nis larger than a new one.", "And then he went home.", "Then she went\naway, and then she slept.",
    "It is colder than it was.", "We waited, and then it rained.",
)
"""Twice `than` and four times `then`."""


@pytest.fixture
def paragraphs() -> list[str]:
    return spelling.paragraphs_of(HEAD + "\n\n".join(PLACES * 20) + FOOT)


def test_paragraphs_are_those_between_the_marks_of_the_publisher(paragraphs: list[str]) -> None:
    assert len(paragraphs) == 100
    assert paragraphs[0] == "An old house is larger than a new one."
    assert spelling.paragraphs_of("A text [of]\n\nanother  origin.") == ["A text (of)", "another origin."]


def test_places_hide_which_word_was_there() -> None:
    book = "It’s ‘its’ that counts, it's not its' and not its's or sits. ITS"
    places = [*spelling.places_of(("its", "it's"), spelling.paragraphs_of(book))]
    assert [word for _, word in places] == ["it's", "its", "it's", "its", "its"]
    assert places[0][0].startswith("[[word]] ‘its' that counts")
    assert places[-1][0].endswith("or sits. [[word]]")


def test_sets_are_the_first_that_occur_often_enough(paragraphs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert spelling.chosen_sets(paragraphs) == []
    monkeypatch.setattr(spelling, "OCCURRENCES_OF_WORD_MIN", 40)
    monkeypatch.setattr(spelling, "OCCURRENCES_MIN", 121)
    assert spelling.chosen_sets(paragraphs) == []
    monkeypatch.setattr(spelling, "OCCURRENCES_MIN", 120)
    assert spelling.chosen_sets(paragraphs) == [("than", "then")]


def test_systems_learn_from_the_same_names(client: halfspace.Client, paragraphs: list[str], tmp_path: Path) -> None:
    study = spelling.Study(client, tmp_path, window=2)
    examples = study.examples(("than", "then"), paragraphs[:2])
    assert examples.words == ["than", "then"]
    lines = examples.lines.read_text(encoding="utf-8").splitlines()
    labels, names = zip(*(line.split(" | ") for line in lines))
    assert labels == ("1", "2")
    assert set(names[1].split(" ")) == {
        "text\ua789and", "text\ua789he", "text\ua789went", "text@-1\ua789and", "text@1\ua789he",
        "text@-1,1\ua789and\u00a0he", "text@1,2\ua789he\u00a0went",
    }


def test_table_counts_errors_of_each_system(client: halfspace.Client, paragraphs: list[str], tmp_path: Path) -> None:
    study = spelling.Study(client, tmp_path)
    study.systems = {name: (system, choices[-2:]) for name, (system, choices) in study.systems.items()}
    row, together, wrong, right, seconds = spelling.table(study, [("than", "then")], paragraphs)
    # The most frequent word is right at four of six places, and the systems meet the same sentences again.
    assert row == ["than, then", 96, 24, 8, 0, 0, 0, 0]
    assert together[1:] == row[1:]
    assert (wrong[3:], right[3:]) == ([8, 0, 0, 0, 0], [0] * 5)
    assert len(seconds) == len(row)
