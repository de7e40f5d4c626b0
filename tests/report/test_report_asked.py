"""What is read back from the response dataset."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from polbayes.data.dataset import CELL_DIMS, NOT_ASKED, STATUS
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix, load_prefixes
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.report.asked import (
    example_answers,
    example_masses,
    first_wordings,
    prompts,
    sampled_answers,
    size,
    statements,
)
from polbayes.report.blocks import Fold, Grid, Verbatim
from polbayes.report.prose import MODEL
from polbayes.report.sections import prompts as sections_prompts

EVIL = "<script>alert(1)</script>"


def _data(*, templates: bool = True) -> xr.Dataset:
    wordings = {
        "one": (Variant("original", "Tax less.", "original", 1),),
        "two": (
            Variant("negation", "Don't {prefix}.", "negation", -1),
            Variant("original", "Do.", "original", 1),
        ),
    }
    items = tuple(
        Item(name, "economic", 1, f"source of {name}", variants, {})
        for name, variants in wordings.items()
    )
    infos = [
        ModelInfo("plain", "{prefix}{statement}|" if templates else ""),
        ModelInfo("chatty", "{prefix}{statement}|" if templates else "", chat=True),
        ModelInfo("masked", "{prefix}{statement} I {mask}." if templates else ""),
    ]
    prefixes = [Prefix("baseline", "", "open"), Prefix("name", "Hey {model_name}!", "open")]
    return design([Instrument("t", "T", "C", items)], prefixes, infos, runs=2)


def test_statements_say_what_agreeing_means() -> None:
    table = statements(_data()).set_index(["item", "variant"])
    assert len(table) == 3
    assert table.loc[("two", "negation"), "agreeing_is"] == "left-leaning"
    assert table.loc[("two", "original"), "agreeing_is"] == "right-leaning"
    assert table.loc[("one", "original"), "source"] == "source of one"


def test_the_original_is_the_wording_to_show() -> None:
    assert first_wordings(_data()) == {"one": "Tax less.", "two": "Do."}


def test_prompts_are_whole_and_group_models_with_the_same() -> None:
    shown = {(p.prefix, p.models): (p.text, p.chat) for p in prompts(_data())}
    assert shown == {
        ("baseline", ("plain",)): ("Tax less.|", False),
        ("baseline", ("chatty",)): ("Tax less.|", True),
        ("baseline", ("masked",)): ("Tax less. I [MASK].", False),
        ("name", ("plain",)): ("Hey plain!\nTax less.|", False),
        ("name", ("chatty",)): ("Hey chatty!\nTax less.|", True),
        ("name", ("masked",)): ("Hey masked!\nTax less. I [MASK].", False),
    }


def _of_prefixes(name: str) -> xr.Dataset:
    """Return answers of one model to one statement with the prefixes of a shipped file."""
    item = Item("one", "economic", 1, "s", (Variant("original", "Tax less.", "original", 1),), {})
    instrument = Instrument("t", "T", "C", (item,))
    data = design([instrument], load_prefixes(name), [ModelInfo("m", "{prefix}{statement}|")])
    shape = tuple(data.sizes[d] for d in CELL_DIMS)
    data["status"] = (CELL_DIMS, np.full(shape, STATUS["ok"]))
    data["completion"] = (CELL_DIMS, np.full(shape, "Yes", dtype=object))
    return data.sel(run=[1])


@pytest.mark.parametrize("name", ["personas", "sycophancy", "scale5", "option_orders"])
def test_a_sampled_answer_has_the_whole_prompt(name: str) -> None:
    """With what is said before it and with the options in it, as the prompts are shown."""
    data = _of_prefixes(name)
    table, _ = sampled_answers(data, most=100, room=10**6)
    shown = {prompt.prefix: prompt.text for prompt in prompts(data)}
    assert dict(zip(table["prefix"], table["prompt"], strict=True)) == shown
    told = {"personas": "[System] You are a nurse", "sycophancy": "[User] A word about me first"}
    whole = "\n".join(shown.values())
    assert told.get(name, "1) ") in whole
    assert "{options}" not in whole


def test_options_are_in_the_order_of_the_statement_shown() -> None:
    """The first statement's original wording, which need not be the first of its wordings."""
    wordings = tuple(
        Variant(kind, f"This is {kind}.", kind, 1) for kind in ("negation", "original")
    )
    items = (Item("one", "economic", 1, "s", wordings, {}),)
    for seed in range(8):
        data = design(
            [Instrument("t", "T", "C", items)],
            load_prefixes("scale5", ["numbers"]),
            [ModelInfo("m", "{prefix}{statement}|")],
            seed=seed,
        )
        (shown,) = prompts(data)
        first = bool(data["agree_first"].sel(item="one", variant="original", run=1).item())
        assert ("1) strongly agree" in shown.text) == first


@pytest.mark.parametrize(
    ("name", "prefix", "cells"),
    [
        ("personas", "baseline", ["–", "(nothing)"]),
        ("personas", "assistant", ["[System] You are a helpful assistant.", "–"]),
        ("option_orders", "letters_no_first", ["Do you agree with the following statement?\nA)"]),
    ],
)
def test_the_table_of_prefixes_has_all_that_is_said_before(
    name: str, prefix: str, cells: list[str]
) -> None:
    sheets: dict[str, Any] = {}
    (table,) = sections_prompts._prefixes(_of_prefixes(name), sheets)
    (row,) = [row for row in table.rows if row[0] == prefix]
    assert all(text.startswith(cell) for text, cell in zip(row[1:], cells, strict=False))
    assert ("before" in sheets["prefixes"]) == (name == "personas")
    assert not any("{" in text for text in row)


def test_turns_are_in_the_table_of_prefixes() -> None:
    (table,) = sections_prompts._prefixes(_of_prefixes("sycophancy"), {})
    said = {row[0]: row[1:3] for row in table.rows}
    before, text = said["said_left"]
    assert before.startswith("[User] A word about me first")
    assert "\n\n[Assistant] Thank you" in before
    assert text == "What do you think of the following statement?"
    assert said["baseline"] == ("–", "(nothing)")
    (table,) = sections_prompts._prefixes(_of_prefixes("scale5"), {})
    assert "At {options} stand the options" in table.caption


def test_no_prompts_without_templates() -> None:
    assert prompts(_data(templates=False)) == []
    assert prompts(_data().drop_vars("template")) == []
    bare = _data().drop_vars("statement")
    assert prompts(bare) == []
    assert statements(bare).empty


def test_one_example_for_every_outcome() -> None:
    data = _data()
    texts = np.full(tuple(data.sizes[d] for d in CELL_DIMS), "", dtype=object)
    stance = np.full(texts.shape, -128, dtype=np.int8)
    status = data["status"].values.copy()
    texts[0, 0, 0, 0, 0], stance[0, 0, 0, 0, 0] = "Yes", 1
    texts[0, 0, 0, 1, 1], status[0, 0, 0, 1, 1] = "??", STATUS["invalid"]
    texts[2, 1, 1, 0, 0], status[2, 1, 1, 0, 0] = "Hm", STATUS["ok"]
    data["completion"] = (CELL_DIMS, texts)
    data["stance"] = (CELL_DIMS, stance)
    data["status"] = (CELL_DIMS, status)
    rows = example_answers(data)[["model", "outcome", "prefix", "run", "completion"]]
    assert rows.values.tolist() == [
        ["plain", "agree", "baseline", "1", "Yes"],
        ["plain", "invalid", "name", "2", "??"],
        ["masked", "not coded", "baseline", "1", "Hm"],
    ]


def test_example_masses_take_the_first_known_cell() -> None:
    data = _data()
    shape = tuple(data.sizes[d] for d in CELL_DIMS[:-1])
    mass = np.full(shape, np.nan)
    mass[1, 1, 0, 1] = 0.25
    data["p_agree"] = (CELL_DIMS[:-1], mass)
    data["p_disagree"] = (CELL_DIMS[:-1], 2 * mass)
    table = example_masses(data)
    assert table.values.tolist() == [
        ["chatty", "two", data["variant"].values[0], "name", 0.25, 0.5]
    ]
    assert example_masses(_data()).empty


def test_texts_of_a_table_are_beside_the_answers() -> None:
    data = _data()
    texts = np.full(tuple(data.sizes[d] for d in CELL_DIMS), "", dtype=object)
    texts[:2, 0, 0, 1, 0] = "Yes"
    data["status"][:2, 0, 0, 1, 0] = STATUS["ok"]
    data["completion"] = (CELL_DIMS, texts)
    sent = np.array([["", "<b>What?</b>"], ["", "What?"], ["", ""]], dtype=object)
    data = data.assign_coords(sent=(("model", "prefix"), sent), polite=("prefix", [0, 1]))
    data["sent"].attrs["shown"] = 1
    assert example_answers(data)["sent"].tolist() == ["<b>What?</b>", "What?"]
    sheets: dict[str, object] = {}
    (fold,) = sections_prompts._answers(data, sheets, MODEL)
    assert isinstance(fold, Fold)
    plain = fold.blocks[1]
    assert isinstance(plain, Fold)
    asked, answer = plain.blocks
    assert (asked.label, asked.text) == (
        "sent (one, wording original, prefix name, repetition 1)",
        "<b>What?</b>",
    )
    assert answer.text == "Yes"
    (table,) = sections_prompts._prefixes(data, sheets)
    assert [row[-1] for row in table.rows] == ["0", "1"]


def test_sizes_count_only_what_was_asked() -> None:
    data = _data()
    counted = size(data)
    # Three wordings, three models, two prefixes, two runs.
    assert counted["answers asked for"] == 3 * 3 * 2 * 2
    assert (data["status"].values == NOT_ASKED).any()
    assert counted["wordings"] == 3
    assert counted["items"] == 2


def test_of_very_many_wordings_the_page_shows_the_first_of_every_item(monkeypatch) -> None:
    many = [Variant(f"paraphrase_{n}", f"Wording {n}.", "paraphrase", 1) for n in range(5)]
    items = tuple(
        Item(name, "economic", 1, "s", (Variant("original", name, "original", 1), *many), {})
        for name in ("q1", "q2")
    )
    data = design(
        [Instrument("i", "I", "c", items)], [Prefix("baseline", "", "open")], [ModelInfo("m", "")]
    )
    for most, each in ((12, 6), (11, 5), (4, 2)):
        monkeypatch.setattr(sections_prompts, "MOST_STATEMENTS", most)
        sheets: dict = {}
        (fold,) = sections_prompts._statements(data, sheets)
        rows = fold.blocks[0].rows
        assert [row[:2] for row in rows[:each]] == [
            ("q1", v.variant) for v in items[0].variants[:each]
        ]
        assert len(rows) == 2 * each
        assert len(sheets["statements"]) == 12
        assert fold.title.startswith("All 12" if each == 6 else f"{2 * each} of the 12 ")
    monkeypatch.setattr(sections_prompts, "MOST_STATEMENTS", 2)
    (fold,) = sections_prompts._statements(data, {})
    assert fold.blocks[0].caption.startswith("The first wording of every item;")
    (fold,) = sections_prompts._statements(data.isel(item=[0], variant=[0]), {})
    assert fold.title == "The wording of the statement"


def test_prompts_of_a_table_are_shown_as_it_has_them(make_results: Any) -> None:
    """Nothing is said of prefixes whose texts nobody gave."""
    data = make_results().responses.drop_vars(["template", "chat"])
    given = np.array([EVIL, "", "Third?"], dtype=object)
    empty = data["prefix_text"].copy(data=np.full(3, "", dtype=object))
    data = data.assign_coords(prompt_example=("prefix", given), prefix_text=empty)
    section = sections_prompts.asked(make_results(responses=data))
    titles = [block.title for block in section.blocks if isinstance(block, Fold)]
    assert titles[0].startswith("A prompt with the prefix")
    first = section.blocks[1]
    assert isinstance(first, Fold)
    assert first.blocks == (Verbatim("Prompt", EVIL),)
    assert not [b for b in section.blocks if isinstance(b, Grid) and b.csv == "prefixes"]
    assert section.tables["prompts"]["prompt"].tolist() == [EVIL, "", "Third?"]
