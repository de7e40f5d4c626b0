import numpy as np
import pandas as pd
import pytest
import yaml

from polbayes.coding.importer import import_table
from polbayes.coding.responses import code_responses
from polbayes.config.resources import folder
from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import MISSING
from polbayes.errors import UserError
from polbayes.instrument.questionnaires import load_instrument
from polbayes.measures import compass
from polbayes.measures.compass import MANY_WORDINGS, OPPOSITE_ANSWERS, Axis

WORDINGS = ("original", "paraphrase1", "paraphrase2", "negation")
ITEMS = [
    ("a", "economic", "left", WORDINGS),
    ("b", "economic", "right", WORDINGS),
    ("c", "cultural", "right", WORDINGS),
    ("d", "cultural", "left", WORDINGS),
    ("u", "", "", WORDINGS),
]
# economic, then social, from strong disagreement to strong agreement; u has none
POINTS = np.full((5, 2, 4), np.nan)
POINTS[0, 0] = [8, 4, 0, -4]
POINTS[1, 0] = [-8, -4, 0, 4]
POINTS[2, 1] = [-19.5, 0, 0, 39]
POINTS[3, 1] = [19.5, 0, 0, -39]
SCALE = "strongly disagree; disagree; agree; strongly agree"


def answered(data, levels, points=POINTS):
    level = np.broadcast_to(np.asarray(levels, dtype=np.int8), data["status"].shape)
    stance = np.where(level == MISSING, 2, np.where(level >= 2, 1, -1)).astype(np.int8)
    data["stance"] = data["status"].copy(data=stance)
    data["rating"] = data["status"].copy(data=level)
    data["rating"].attrs["rating_points"] = SCALE
    return data.assign_coords(
        axis=["economic", "social"],
        answer_level=SCALE.split("; "),
        points=(("item", "axis", "answer_level"), points),
    )


def estimates(table):
    return table.set_index(["answers", "measure"])["estimate"].to_dict()


def test_hand_derived_positions(coded):
    """Original: a strongly agreed (-4), b agreed (0): -4 / 8; c and d disagreed: 0.

    Opposite answers: a 8, b -4: 4 / 8; c, d agreed: 0. Paraphrase 1 as the original but for
    d, strongly agreed: -39 / 19.5. Paraphrase 2: a missing, b strongly agreed: 4 / 8. The
    negation as the original, so that it is 1 from the opposite answers.
    """
    original = [3, 2, 1, 1, 0]
    levels = np.array([original, [3, 2, 1, 3, 0], [MISSING, 3, 1, 1, 0], original]).T
    table = compass(answered(coded(ITEMS, 0), levels[None, :, :, None, None]), draws=200)
    found = estimates(table)
    economic, social = 0.375, 2.4103
    expected = {
        ("original", "economic"): -0.5 + economic,
        ("original", "social"): social,
        (OPPOSITE_ANSWERS, "economic"): 0.5 + economic,
        (OPPOSITE_ANSWERS, "social"): social,
        ("paraphrase1", "economic_shift"): 0,
        ("paraphrase1", "social_shift"): -2,
        ("paraphrase1", "distance"): 2,
        ("paraphrase2", "economic"): 0.5 + economic,
        ("paraphrase2", "distance"): 1,
        ("all paraphrase", "economic"): economic,
        ("all paraphrase", "social_shift"): -1,
        ("all paraphrase", "distance"): 1.5,
        ("negation", "economic"): -0.5 + economic,
        ("negation", "economic_shift"): -1,
        ("negation", "distance"): 1,
        ("all negation", "distance"): 1,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    second = table[table["answers"] == "paraphrase2"].iloc[0]
    assert second[["n", "n_excluded", "n_items"]].tolist() == [3, 1, 3]
    bounds = table.set_index(["answers", "measure"]).loc[("original", "economic")]
    # Of a and b one, the other or both: sums -8, 0 and -4.
    assert bounds[["lower", "upper"]].tolist() == pytest.approx([-1 + economic, 0 + economic])


def test_a_consistent_model_is_where_the_opposite_answers_are(coded):
    rng = np.random.default_rng(4)
    first = rng.integers(0, 4, size=5)
    levels = np.array([first, first, first, 3 - first]).T
    table = compass(answered(coded(ITEMS, 0), levels[None, :, :, None, None]), draws=50)
    apart = table[table["measure"].isin(["distance", "economic_shift", "social_shift"])]
    assert len(apart)
    assert (apart[["estimate", "lower", "upper"]].abs().to_numpy() < 1e-12).all()


def test_positions_are_averaged_over_prefixes_and_runs(coded):
    levels = np.array([3, 0])[None, None, None, :, None]
    data = answered(coded(ITEMS, 0, prefixes=("p", "q")), levels)
    together = estimates(compass(data, draws=5))
    apart = compass(data, by=("model", "prefix"), draws=5)
    each = apart[(apart["answers"] == "original") & (apart["measure"] == "social")]
    assert together["original", "social"] == pytest.approx(each["estimate"].mean())
    assert each["prefix"].tolist() == ["p", "q"]


def test_many_wordings_are_shown_together(coded):
    wordings = ("original", *(f"paraphrase{k}" for k in range(MANY_WORDINGS)))
    items = [("a", "economic", "left", wordings), ("b", "economic", "left", wordings)]
    points = np.tile(POINTS[:1], (2, 1, 1))
    table = compass(answered(coded(items, 0), 3, points), draws=5)
    assert table["answers"].unique().tolist() == ["original", OPPOSITE_ANSWERS, "all paraphrase"]


def test_the_last_number_of_wordings_that_are_shown_one_by_one(coded):
    """The opposite answers count as a wording."""
    for n, shown in ((MANY_WORDINGS - 2, True), (MANY_WORDINGS - 1, False)):
        wordings = ("original", *(f"paraphrase{k}" for k in range(n)))
        items = [("a", "economic", "left", wordings), ("b", "economic", "left", wordings)]
        points = np.tile(POINTS[:1], (2, 1, 1))
        table = compass(answered(coded(items, 0), 3, points), draws=2)
        assert ("paraphrase0" in set(table["answers"])) == shown


def test_what_is_missing_is_said(coded):
    """Negations of b and c only, of which c has no answer; d has paraphrase 1 alone."""
    items = [
        ("a", "economic", "left", ("original",)),
        ("b", "economic", "right", ("original", "negation")),
        ("c", "cultural", "right", ("original", "negation")),
        ("d", "cultural", "left", ("original", "paraphrase1")),
    ]
    data = coded(items, 0)
    level = np.full(data["status"].shape, 3)
    at = data["variant"].values.tolist().index("negation")
    level[:, 2, at] = MISSING
    data = answered(data, level, POINTS[:4])
    table = compass(data, draws=20).set_index(["answers", "measure"])
    original = table.loc[("original", "economic")]
    assert original[["n", "n_excluded", "n_items", "note"]].tolist() == [4, 0, 4, ""]
    negation = table.loc[("negation", "economic")]
    expected = [1, 1, 1, "only one item: no interval"]
    assert negation[["n", "n_excluded", "n_items", "note"]].tolist() == expected
    assert np.isnan([negation["lower"], negation["upper"]]).all()
    # b strongly agreed alone: 4 / 8.
    assert negation["estimate"] == pytest.approx(0.5 + 0.375)
    nothing = compass(answered(coded(items, 0), MISSING, POINTS[:4]), draws=5)
    assert set(nothing["note"]) == {"no answer to an item with points"}
    assert nothing[["estimate", "lower", "upper"]].isna().all(axis=None)
    level[:, 2, at] = 3
    whole = compass(answered(coded(items, 0), level, POINTS[:4]), draws=5)
    notes = whole.drop_duplicates("answers").set_index("answers")["note"]
    assert notes["negation"] == "2 items with points have no such wording"
    assert notes["original"] == ""
    items[0] = (*items[0][:3], ("original", "negation"))
    nearly = compass(answered(coded(items, 0), level, POINTS[:4]), draws=5)
    notes = nearly.drop_duplicates("answers").set_index("answers")["note"]
    assert notes["negation"] == "1 item with points has no such wording"


def test_wrong_use_is_explained(coded):
    with pytest.raises(UserError, match="points"):
        compass(coded(ITEMS, 1))
    with pytest.raises(UserError, match="model"):
        compass(answered(coded(ITEMS, 1), 2), by=("modle",))


def test_published_positions_are_reproduced(shared_data):
    """All 20 of Röttger et al., as imported and coded; their constants have two decimals."""
    declared = yaml.safe_load((folder("conf") / "importer/rottger_explicit.yaml").read_text())
    declared["path"] = str(shared_data / "rottger" / "explicit_paraphrase.parquet")
    data = import_table(ImportConfig(**declared), instruments=[load_instrument("pct")])
    places = pd.read_csv(shared_data / "rottger" / "published_compass_explicit_paraphrase.csv")
    data = code_responses(data.sel(model=places["model"].unique()), ["lexical"])

    rounded = {"economic": Axis(8, 0.38), "social": Axis(19.5, 2.41)}
    table = compass(data, by=("model", "prefix"), axes=rounded, draws=5)
    found = table[table["answers"] == "original"].pivot_table(
        index=["model", "prefix"], columns="measure", values="estimate"
    )
    wanted = places.set_index(["model", "template_id"])
    assert len(found) == 20
    assert found["economic"].round(4).to_dict() == wanted["econ"].to_dict()
    assert found["social"].round(4).to_dict() == wanted["soc"].to_dict()
