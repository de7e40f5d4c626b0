"""Thoughts and answers are parted however they are marked, and their absence is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polbayes.roleplay.parts import part


@pytest.mark.parametrize(
    ("text", "thoughts", "answer", "found"),
    [
        ("### THOUGHTS\nHm.\n\n### ANSWER\nYes.", "Hm.", "Yes.", "both"),
        ("**Thoughts:** Hm.\n**Answer:** Yes.", "Hm.", "Yes.", "both"),
        ("Thoughts: Hm.\nMy answer: Yes.\nNo more.", "Hm.", "Yes.\nNo more.", "both"),
        ("## My private thoughts\nHm.\n## Response\nYes.", "Hm.", "Yes.", "both"),
        ("<thoughts>Hm.</thoughts><answer>Yes.</answer>", "Hm.", "Yes.", "both"),
        ("<thinking>Hm.</thinking> Yes.", "Hm.", "Yes.", "both"),
        ("<thoughts>Hm.", "Hm.", "", "no_answer"),
        ("### ANSWER\nYes.", "", "Yes.", "no_thoughts"),
        ("### THOUGHTS\nHm.", "Hm.", "", "no_answer"),
        ("Yes, of course.", "", "Yes, of course.", "neither"),
        ("Sure.\n### THOUGHTS\nHm.\n### ANSWER\nYes.", "Hm.", "Sure.\n\nYes.", "both"),
        ("### THOUGHTS\na\n### ANSWER\nb\n### THOUGHTS\nc", "a\n\nc", "b", "both"),
        ("<think>plan</think>### THOUGHTS\nHm.\n### ANSWER\nYes.", "Hm.", "Yes.", "both"),
        ("", "", "", "neither"),
        ("My answer to you is no. Thoughts are free.", "", None, "neither"),
    ],
)
def test_parts(text, thoughts, answer, found):
    parts = part(text)
    assert parts.thoughts == thoughts
    assert parts.answer == (text if answer is None else answer)
    assert parts.found == found


def test_a_reasoning_model_that_never_came_to_an_answer_has_said_nothing():
    assert part("<think>on and on").answer == ""


@given(st.text(max_size=300))
def test_any_text_is_parted_and_nothing_is_made_up(text):
    parts = part(text)
    for said in (*parts.thoughts.split("\n\n"), *parts.answer.split("\n\n")):
        assert said in text
    assert (parts.found in ("both", "no_answer")) == bool(parts.thoughts)


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("I decline to answer this question.", True),
        ("I'm sorry. As an AI, I do not have personal opinions on this. Both sides matter.", True),
        ("I can't take sides, but I will close the plant.", False),
        ("No. I will not sign. We keep the plant.", False),
        ("I close it. It was hard. I can not answer this question for others.", False),
        ("", False),
    ],
)
def test_a_refusal_is_one_that_comes_at_once(answer, refused):
    assert part(f"### ANSWER\n{answer}").refused is refused
