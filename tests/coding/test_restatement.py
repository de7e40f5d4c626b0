import pytest

from polbayes.coding.restatement import compare
from polbayes.coding.text import words

STATEMENT = "Museums should be free for everybody."


@pytest.mark.parametrize(
    ("clause", "whole", "flipped"),
    [
        ("museums should be free for everybody", True, False),
        ("museums should be free for everybody, because art is for all", True, False),
        ("museums should indeed be free for everybody", True, False),
        ("museums should not be free for everybody", True, True),
        ("museums should never be free for everybody", False, True),
        ("museums could be free for everybody", False, False),
        ("museums should be free for everybody is wrong", False, False),
        ("everybody should be free for museums", False, False),
        ("museums should be closed", False, False),
        ("taxes are too high", False, False),
    ],
)
def test_what_a_clause_says_again(clause, whole, flipped):
    found = compare(words(clause), STATEMENT)
    assert found.is_whole == whole
    assert found.flipped == flipped


def test_spellings_and_forms_of_words_do_not_matter():
    found = compare(
        words("the globalized economies favour labour"), "The globalised economy favors labor"
    )
    assert found.of_clause >= 0.75


def test_nothing_shared():
    found = compare(words("taxes are too high"), STATEMENT)
    assert (found.of_clause, found.of_statement) == (0.0, 0.0)


def test_only_the_part_restated_counts_for_negation():
    # "Nobody" belongs to the part of the statement that the clause leaves out.
    statement = "Nobody picks a family, so it is silly to be ashamed of relatives."
    assert not compare(words("it is silly to be ashamed of relatives"), statement).flipped
