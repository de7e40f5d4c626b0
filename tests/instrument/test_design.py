from itertools import product

import numpy as np
import pytest

from polbayes.data.dataset import CELL_DIMS, MISSING, NOT_ASKED, STATUS, merge
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, check_variants, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant, load_instrument


def item(name, direction, *kinds):
    polarity = {"original": 1, "paraphrase": 1, "negation": -1, "opposite": -1}
    variants = tuple(
        Variant(variant, f"{name} {variant}", kind, polarity[kind])
        for variant, kind in (("original", "original"), *kinds)
    )
    dimension = "economic" if direction else ""
    return Item(name, dimension, direction, f"source of {name}", variants, {}, section="s")


FULL = item("full", -1, ("reformulation", "paraphrase"), ("negation", "negation"))
BARE = item("bare", 1)
OTHER = item("other", 1, ("opposite", "opposite"), ("negation", "negation"))
UNSCORED = item("unscored", 0, ("negation", "negation"))
TINY = Instrument("tiny", "Tiny", "Us (2024)", (FULL, BARE))
MORE = Instrument("more", "More", "Them (2023)", (OTHER, UNSCORED))
PREFIXES = (Prefix("baseline", "", "open"), Prefix("likert", "1 to 5?", "likert"))
MODELS = (
    ModelInfo("m", "{prefix}{statement}", chat=True, family="f", instruct=True, revision="r1"),
    ModelInfo("n", "{statement}:", checkpoint="hub/n"),
)


def made(**choices):
    return design([TINY, MORE], PREFIXES, MODELS, **choices)


def test_every_wording_there_is_will_be_asked():
    data = made(runs=2)
    assert data["status"].dims == CELL_DIMS
    assert dict(data.sizes) == {"model": 2, "item": 4, "variant": 4, "prefix": 2, "run": 2}
    assert data["variant"].values.tolist() == ["original", "reformulation", "negation", "opposite"]
    exists = {
        "full": [1, 1, 1, 0],
        "bare": [1, 0, 0, 0],
        "other": [1, 0, 1, 1],
        "unscored": [1, 0, 1, 0],
    }
    for name, row in exists.items():
        expected = [STATUS["pending"] if there else NOT_ASKED for there in row]
        for model, prefix, run in product(["m", "n"], ["baseline", "likert"], [1, 2]):
            at = {"item": name, "model": model, "prefix": prefix, "run": run}
            assert data["status"].sel(at).values.tolist() == expected
    assert data["status"].dtype == np.int8


def test_keying_is_direction_times_polarity():
    keying = made()["keying"]
    columns = ["original", "reformulation", "negation", "opposite"]
    expected = {
        "full": [-1, -1, 1, 0],
        "bare": [1, 0, 0, 0],
        "other": [1, 0, -1, -1],
        "unscored": [0, 0, 0, 0],
    }
    for name, row in expected.items():
        assert keying.sel(item=name, variant=columns).values.tolist() == row


def test_the_coordinates_say_what_will_be_asked():
    data = made()
    assert str(data["statement"].sel(item="full", variant="negation").item()) == "full negation"
    assert str(data["statement"].sel(item="bare", variant="negation").item()) == ""
    assert str(data["kind"].sel(item="full", variant="reformulation").item()) == "paraphrase"
    assert data["dimension"].values.tolist() == ["economic", "economic", "economic", ""]
    assert data["direction"].values.tolist() == [-1, 1, 1, 0]
    assert data["instrument"].values.tolist() == ["tiny", "tiny", "more", "more"]
    assert data["source"].values[0] == "source of full"
    assert data["prefix_text"].values.tolist() == ["", "1 to 5?"]
    assert data["prefix_answer"].values.tolist() == ["open", "likert"]
    assert data["template"].values.tolist() == ["{prefix}{statement}", "{statement}:"]
    assert data["chat"].values.tolist() == [1, 0]
    assert data["instruct"].values.tolist() == [1, MISSING]
    assert data["family"].values.tolist() == ["f", ""]
    assert data["checkpoint"].values.tolist() == ["", "hub/n"]
    assert data["revision"].values.tolist() == ["r1", ""]
    assert data["run"].values.tolist() == [1]
    assert data.attrs["instruments"] == "tiny: Tiny. Us (2024); more: More. Them (2023)"


def test_items_are_asked_in_the_order_they_are_named_and_once():
    data = made(items=["other", "full", "other"])
    assert data["item"].values.tolist() == ["other", "full"]


def test_wordings_are_chosen_by_id_or_by_kind():
    assert made(variants=["paraphrase"])["variant"].values.tolist() == ["reformulation"]
    assert made(variants=["reformulation"])["variant"].values.tolist() == ["reformulation"]
    assert made(variants=["id:reformulation"])["variant"].values.tolist() == ["reformulation"]
    both = made(variants=["negation", "original"])["variant"].values.tolist()
    assert sorted(both) == ["negation", "original"]


def test_an_item_without_the_wording_stays_and_is_not_asked():
    data = made(variants=["opposite"])
    asked = (data["status"] != NOT_ASKED).any(("model", "variant", "prefix", "run"))
    assert dict(zip(data["item"].values.tolist(), asked.values.tolist(), strict=True)) == {
        "full": False,
        "bare": False,
        "other": True,
        "unscored": False,
    }


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"items": ["fulll"]}, "items: unknown item 'fulll'; did you mean 'full'?"),
        ({"items": []}, "items: the list is empty"),
        ({"variants": ["negatoin"]}, "variants: unknown wording 'negatoin'; did you mean"),
        ({"variants": []}, "variants: the selection leaves no wording to ask"),
        ({"items": ["bare"], "variants": ["negation"]}, "the selection leaves no wording to ask"),
        ({"runs": 0}, "runs: must be from 1 to 32767, not 0"),
        ({"runs": 32768}, "runs: must be from 1 to 32767, not 32768"),
    ],
)
def test_a_selection_that_cannot_be_made_is_named(choices, says):
    with pytest.raises(UserError) as caught:
        made(**choices)
    assert says in str(caught.value)


def test_nobody_to_ask_is_refused():
    with pytest.raises(UserError, match="respondents: there is none"):
        design([TINY], PREFIXES, [])


def test_an_item_of_two_instruments_is_named():
    again = Instrument("again", "Again", "c", (BARE,))
    with pytest.raises(UserError, match="item 'bare' is in 'tiny' and in 'again'"):
        design([TINY, again], PREFIXES, MODELS)


def test_a_kind_that_no_item_has_is_refused():
    check_variants([TINY], ["original", "paraphrase"])
    check_variants([TINY], None)
    with pytest.raises(UserError, match="unknown wording 'opposite'"):
        check_variants([TINY], ["opposite"])


def test_points_of_the_answers_are_laid_out():
    pct = load_instrument("pct")
    data = design([pct], [Prefix("p", "p", "open")], [ModelInfo("m", "{statement}")])
    assert data["axis"].values.tolist() == ["economic", "social"]
    first = data["points"].sel(item="pc-01")
    assert first.sel(axis="economic").values.tolist() == [7, 5, 0, -2]
    assert first.sel(axis="social").isnull().all()
    assert data["points"].sel(item="pc-21").isnull().all()
    wvs = load_instrument("wvs")
    wvs = design([wvs], [Prefix("p", "p", "open")], [ModelInfo("m", "{statement}")])
    assert "points" not in wvs.coords
    both = merge([wvs, data])
    assert both["points"].sel(item="pc-01", axis="economic").values.tolist() == [7, 5, 0, -2]
    assert both["points"].sel(item="wvs-01").isnull().all()


def test_an_id_that_is_a_kind_too_can_be_meant_alone():
    def ids(*variants):
        found = design(
            [load_instrument("pct")], PREFIXES[:1], [MODELS[0]], variants=variants, items=["pc-01"]
        )
        return found["variant"].values.tolist()

    assert ids("opposite") == ["opposite", "opposite_1", "opposite_2", "opposite_3"]
    assert ids("id:opposite") == ["opposite"]
    with pytest.raises(UserError, match="unknown wording 'id:none'"):
        ids("id:none")
