"""Stop words and phrases of texts."""

import json

import numpy as np
import pytest

from deepnmf.reading import ReadingError, read

TEXTS = ("the red apple and the green pear", "a red apple on the table", "the green pear", "the cat and the dog")


@pytest.fixture
def lines(tmp_path):
    (tmp_path / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in TEXTS))
    return tmp_path / "texts.jsonl"


def test_stop_words_are_left_out_before_phrases_are_made(lines, tmp_path):
    (tmp_path / "stop.txt").write_text("The and\nA on")
    plain, english, own = (read(lines, stop_words=given) for given in (None, "english", str(tmp_path / "stop.txt")))
    assert "the" in plain.feature_names
    assert english.feature_names == own.feature_names == ("apple", "cat", "dog", "green", "pear", "red", "table")
    phrases = read(lines, stop_words="english", ngrams=2)
    assert {"red apple", "apple green", "cat dog"} < set(phrases.feature_names)
    again = read(lines, like=phrases.recipe)
    np.testing.assert_allclose(again.X.toarray(), phrases.X.toarray())
    with pytest.raises(ReadingError, match="--stop-words is 'klingon': expected english, or a text file of words"):
        read(lines, stop_words="klingon")


def test_stop_words_are_for_texts_only(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    with pytest.raises(ReadingError, match="--stop-words cannot be used"):
        read(tmp_path / "X.npy", stop_words="english")
