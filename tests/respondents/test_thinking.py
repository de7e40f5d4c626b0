"""What models think is parted from what they answer."""

from pathlib import Path

import pytest

from polbayes.respondents.thinking import BARE_MARKS, MARKS, leaves_open, part

OWN = ("<plan>", "</plan>")
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "models.md"
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}"


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
            *(False, "Well.", "No."),
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


def split(text, **more):
    parted = part(text, **more)
    assert parted.answer == "".join(text[begin:end] for begin, end in parted.spans)
    assert parted.start == (parted.spans[0][0] if parted.spans else None)
    return parted.thoughts, parted.answer


@pytest.mark.parametrize(("begin", "end"), [*MARKS, OWN])
def test_every_pair_of_marks(begin, end):
    own = OWN if (begin, end) == OWN else ()
    whole, cut_off = f"{begin}\nHm. No?\n{end}\n\nI agree.", f"{begin}\nHm. No?"
    assert split(whole, own=own) == ("Hm. No?", "I agree.")
    assert split(whole.lower(), own=own) == ("hm. no?", "i agree.")
    assert split(cut_off, own=own) == ("Hm. No?", "")
    # The chat template opens it.
    assert leaves_open(f"<|assistant|>{begin}\n", own)
    assert not leaves_open(f"<|assistant|>{begin}\n{end}\n", own)
    for opened in (False, True):
        assert split(f"Hm. No?{end}I agree.", own=own, opened=opened) == ("Hm. No?", "I agree.")
        assert part(f"Hm. No?{end}I agree.", own=own, opened=opened).unopened
    # Some models repeat what the prompt ends with, or the end.
    assert split(whole, own=own, opened=True) == ("Hm. No?", "I agree.")
    assert split(f"{begin}{begin}Hm.{end}\n{end}Yes", own=own) == ("Hm.", "Yes")


@pytest.mark.parametrize(("begin", "end"), MARKS)
def test_a_second_block_is_no_part_of_the_answer(begin, end):
    def block(thoughts):
        return f"{begin}{thoughts}{end}"

    first, second = block("Hm."), block("Oh?")
    for between in ("", " ", "\n\n"):
        assert split(f"{first}{between}{second}\nYes.") == ("Hm.\n\nOh?", "Yes.")
    for between in (" ", "\n\n"):
        assert split(f"{first}Yes.{between}{second}\n\nSure.") == (
            "Hm.\n\nOh?",
            f"Yes.{between}Sure.",
        )
        assert split(f"Hm.{end}Yes.{between}{second}Sure.") == (
            "Hm.\n\nOh?",
            f"Yes.{between}Sure.",
        )
    assert split(f"Yes.\n{second}Sure.") == ("Oh?", "Yes.\nSure.")
    # It was cut off.
    assert split(f"{first}\n{begin}Oh?") == ("Hm.\n\nOh?", "")
    assert split(f"{first}Yes.\n\n{begin}Oh?") == ("Hm.\n\nOh?", "Yes.\n\n")


@pytest.mark.parametrize(("begin", "end"), MARKS)
@pytest.mark.parametrize(
    "text",
    [
        "I agree with {begin} tags.",
        "I agree with {begin} and {end} tags.",
        "Put it between `{begin}` and `{end}`.",
        "It says x{begin}y{end} there.",
        "Models write\n{begin}",
    ],
)
def test_marks_within_an_answer_are_words_of_it(begin, end, text):
    said = text.format(begin=begin, end=end)
    assert split(said) == ("", said)


@pytest.mark.parametrize(
    ("text", "thoughts", "answer"),
    [
        ("analysisWe are asked. Hm.assistantfinalI agree.", "We are asked. Hm.", "I agree."),
        ('analysis"Taxes"? No.assistantfinalNo', '"Taxes"? No.', "No"),
        # It was cut off.
        ("analysisWe are asked", "We are asked", ""),
        # Words like others.
        ("analysis of taxes says yes.", "", "analysis of taxes says yes."),
        ("analysis of what assistantfinal means", "", "analysis of what assistantfinal means"),
        ("Analysis: yes.assistantfinalNo", "", "Analysis: yes.assistantfinalNo"),
        (" analysisYes.assistantfinalNo", "", " analysisYes.assistantfinalNo"),
        ("Yes. assistantfinal", "", "Yes. assistantfinal"),
        ("analysis", "", "analysis"),
        ("analysis\nNo.", "", "analysis\nNo."),
        (
            "The thought, the reasoning, the analysis.",
            "",
            "The thought, the reasoning, the analysis.",
        ),
    ],
)
def test_thinking_of_gpt_oss_without_its_special_tokens(text, thoughts, answer):
    assert split(text) == (thoughts, answer)


def test_special_tokens_around_thinking_are_no_part_of_either():
    assert split(HARMONY.format("Hm.", "Yes.")) == ("Hm.", "Yes.")
    twice = HARMONY.format("Hm.<|end|><|start|>assistant<|channel|>analysis<|message|>Oh?", "Yes.")
    assert split(twice)[1] == "Yes."
    assert split("<|start|>assistant" + HARMONY.format("Hm.", "Yes.")) == ("Hm.", "Yes.")
    command = "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes."
    assert split(command) == ("Hm.", "Yes.")


def test_marks_of_two_kinds_do_not_make_a_block():
    assert split("<think>It says </thought> there.</think>Yes.") == (
        "It says </thought> there.",
        "Yes.",
    )
    assert split("<think>Hm.[/THINK]") == ("Hm.[/THINK]", "")


@pytest.mark.parametrize(
    ("piece", "thoughts", "answer"),
    [
        ("<think>", False, False),
        ("x <think>", False, True),
        ("x\n<think>", False, True),
        ("</think>", False, False),
        ("x</think>", True, True),
        ("<think>x</think>\n", True, False),
        ("<|end|><|start|>assistant", False, True),
        ("analysis", False, True),
        ("analysisassistantfinal", False, True),
        ("assistantfinal", False, True),
    ],
)
def test_long_repetitions_are_read_once(piece, thoughts, answer):
    """Read as often as it is long, each of these would take hours."""
    text = piece * 10**5
    parted = part(text)
    assert (bool(parted.thoughts), bool(parted.answer)) == (thoughts, answer)
    assert leaves_open(text) is piece.endswith("<think>")


def test_the_guide_lists_all_marks():
    text = GUIDE.read_text(encoding="utf-8")
    for begin, end in (*MARKS, BARE_MARKS):
        row = f"\n| `{begin}` | `{end}` |".replace("|>", "\\|>").replace("<|", "<\\|")
        assert row in text
