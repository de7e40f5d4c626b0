"""What models think is parted from what they answer."""

import pytest

from polbayes.respondents.thinking import leaves_open, part


@pytest.mark.parametrize(
    ("text", "opened", "thoughts", "answer"),
    [
        ("I agree.", False, "", "I agree."),
        (" I agree.\n", False, "", " I agree.\n"),
        ("<think>\nTaxes?\n</think>\n\nI agree.", False, "Taxes?", "I agree."),
        ("\n<THINK>x</Think>No", False, "x", "No"),
        ("[THINK]Well.[/THINK]I agree.", False, "Well.", "I agree."),
        (
            "<|channel|>analysis<|message|>Well.<|end|><|start|>assistant<|channel|>final<|message|>No.",
            *(False, "Well.<|end|><|start|>assistant", "No."),
        ),
        # The prompt has the beginning.
        ("Taxes? I disagree...\n</think>\n\nI agree.", False, "Taxes? I disagree...", "I agree."),
        ("Taxes? I disagree...\n</think>\n\nI agree.", True, "Taxes? I disagree...", "I agree."),
        # It was cut off.
        ("<think>\nI disagree, but", False, "I disagree, but", ""),
        ("I disagree, but", True, "I disagree, but", ""),
        ("<think></think>", False, "", ""),
        # Only at the beginning does it mean that.
        ("I agree with <think> tags.", False, "", "I agree with <think> tags."),
        ("", False, "", ""),
    ],
)
def test_thinking_is_parted_from_the_answer(text, opened, thoughts, answer):
    parted = part(text, opened=opened)
    assert (parted.thoughts, parted.answer) == (thoughts, answer)
    assert text[parted.start :] == answer if parted.start is not None else answer == ""


def test_an_end_without_a_beginning_is_told():
    assert part("Well.</think>Yes").unopened
    assert not part("<think>Well.</think>Yes").unopened
    assert not part("Yes").unopened


@pytest.mark.parametrize(
    ("prompt", "is_open"),
    [
        ("<|assistant|><think>\n", True),
        ("<|assistant|>\n<think>", True),
        ("<|assistant|>\n<think>\n\n</think>\n\n", False),
        ("<|assistant|>\n", False),
    ],
)
def test_prompts_that_end_where_thinking_begins(prompt, is_open):
    assert leaves_open(prompt) is is_open
