"""What embedded actors write is what embedded judges find."""

from itertools import combinations

import pytest

from polbayes.instrument.values import VALUES
from polbayes.planted.phrases import STEPS, bank, find, statement

STEPS_OF = [step for step in range(-STEPS, STEPS + 1) if step]


def test_no_sentence_says_two_things():
    words = bank()
    leads = [lead for said in words.leads.values() for lead in said]
    clauses = [clause for said in words.clauses.values() for clause in said]
    others = [*words.thoughts, *words.openings, *(s for k in words.commitment.values() for s in k)]
    for texts in (leads, clauses, others):
        assert len(set(texts)) == len(texts)
        assert not any("." in text for text in texts)
    assert len(words.steps) == len(leads) * len(clauses)
    assert not set(words.steps) & set(words.commits)
    for first, second in combinations(words.clauses, 2):
        assert not set(words.clauses[first]) & set(words.clauses[second])


@pytest.mark.parametrize("value", VALUES)
def test_every_step_of_every_value_is_found_again(value):
    for step in STEPS_OF:
        for seed in range(12):
            found = find(f"Well. {statement(value, step, seed)} So be it.")
            assert found.ratings[value] == 10 + 2.5 * step
            assert all(found.ratings[other] == 10 for other in VALUES if other != value)


def test_what_is_not_in_the_bank_is_not_found():
    found = find("I firmly hold that cats are better than dogs. Nobody asked.")
    assert set(found.ratings.values()) == {10}
    assert (found.quoted, found.commitment) == ((), None)


def test_commitment_is_found_in_its_sentence():
    for level, said in bank().commitment.items():
        for sentence in said:
            assert find(f"Now, {sentence[:3]}... {sentence}.").commitment == level


def test_a_refusal_of_the_bank_is_read_as_one():
    from polbayes.roleplay.parts import part

    for sentence in bank().commitment[0]:
        assert part(f"### ANSWER\n{sentence}.").refused
    for level in range(1, 6):
        for sentence in bank().commitment[level]:
            assert not part(f"### ANSWER\n{sentence}.").refused
