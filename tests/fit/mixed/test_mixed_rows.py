"""The rows that a mixed model is fitted to, and whether they identify it."""

import numpy as np
import pytest

from polbayes.data.dataset import MISSING, STANCE, STATUS
from polbayes.errors import UserError
from polbayes.fit.mixed.columns import RESPONSE
from polbayes.fit.mixed.fit import reduced
from polbayes.fit.mixed.rows import TRIALS, gather_rows, strata

# The builder's four items have two wordings each, two models answer under two prefixes: 32 cells.
CELLS = 32


def test_a_row_an_answer_with_its_predictors(coded, mixed):
    data = coded(r_plus=0.25)
    rows = gather_rows(data, mixed("~ keying + kind + (1 | item) + (1 | model:prefix)"))
    assert len(rows.frame) == CELLS
    assert rows.frame[RESPONSE].unique() == [0.25]
    assert set(rows.frame["keying"]) == {-1, 1}
    assert set(rows.frame["polbayes_group0"]) == {"e1", "e2", "c1", "c2"}
    assert set(rows.frame["polbayes_group1"]) == {
        f"{m}|{p}" for m in ("m1", "m2") for p in ("baseline", "please")
    }
    assert rows.notes == ()


def test_the_original_wording_is_what_kinds_are_compared_to(coded, mixed):
    rows = gather_rows(coded(r_plus=0.25), mixed("~ kind + prefix"))
    kinds = ["original", "negation", "opposite", "paraphrase"]
    assert rows.frame["kind"].cat.categories.tolist() == kinds
    assert rows.frame["prefix"].cat.categories.tolist() == ["baseline", "please"]


def with_text(data, text):
    texts = data["statement"].values.copy()
    texts[0, 0] = text
    return data.assign_coords(statement=(data["statement"].dims, texts))


def test_features_of_the_statement_are_there(coded, mixed):
    data = with_text(coded(r_plus=0.25), "one  two three\nfour")
    formula = "~ sentence_length + word_length"
    rows = gather_rows(data, mixed(formula, select={"item": "e1", "variant": "original"}))
    assert rows.frame["sentence_length"].unique().tolist() == [4.0]
    assert rows.frame["word_length"].unique().tolist() == [15 / 4]
    assert "lexical_frequency" not in rows.frame


def test_a_statement_without_the_feature_is_left_out_and_counted(coded, mixed):
    data = with_text(coded(r_plus=0.25), "?!")
    rows = gather_rows(data, mixed("~ word_length"))
    # Two models under two prefixes.
    assert len(rows.frame) == CELLS - 4
    assert rows.notes == ("4 answers without a value of word_length are left out.",)


def test_a_feature_can_be_the_response(coded, mixed):
    rows = gather_rows(coded(r_plus=0.25), mixed("~ kind", response="sentence_length"))
    assert rows.frame[RESPONSE].notna().all()


def test_a_feature_that_is_not_there_is_suggested(coded, mixed):
    with pytest.raises(UserError, match="did you mean 'word_length'"):
        gather_rows(coded(r_plus=0.25), mixed("~ word_lenght"))


def test_a_variable_of_the_data_comes_before_a_feature_of_its_name(coded, mixed):
    data = coded(r_plus=0.25).assign_coords(word_length=("item", [1.0, 2.0, 4.0, 7.0]))
    rows = gather_rows(data, mixed("~ word_length"))
    assert sorted(rows.frame["word_length"].unique()) == [1, 2, 4, 7]


@pytest.mark.parametrize(
    ("response", "expected"),
    [("stance", [-1, 0, 1]), ("agree", [0, 1]), ("usable", [0, 1])],
)
def test_stances_as_responses(coded, mixed, response, expected):
    codes = [STANCE[s] for s in ("disagree", "neutral", "agree", "unrelated", "refused")]
    stance = np.resize([*codes, MISSING], (2, 4, 4, 2, 1))
    family = "cumulative" if response == "stance" else "bernoulli"
    rows = gather_rows(coded(stance), mixed("~ 1", family=family, response=response))
    assert sorted(rows.frame[RESPONSE].unique()) == expected
    asked = coded(stance)["stance"].values
    kept = {"stance": [-1, 0, 1], "agree": [-1, 1], "usable": [-1, 0, 1, 2, 3, MISSING]}[response]
    existing = coded(stance)["status"].values == STATUS["ok"]
    assert len(rows.frame) == np.isin(asked[existing], kept).sum()
    # What is left out is said, model by model.
    assert len(rows.notes) == (0 if response == "usable" else 2)
    assert all(f": no {response} in " in note for note in rows.notes)


def test_counts_are_those_of_the_answers_with_the_same_predictors(coded, mixed):
    rng = np.random.default_rng(2)
    stance = rng.choice([-1, 0, 1], (2, 4, 4, 2, 5))
    spec = mixed("~ keying + (1 | model)", family="binomial", response="agree")
    data = coded(stance, runs=5)
    rows = gather_rows(data, spec)
    assert len(rows.frame) == 4  # two keyings by two models
    for row in rows.frame.to_dict(orient="records"):
        given = data["stance"].sel(model=row["polbayes_group0"])
        given = given.where(data["keying"] == row["keying"])
        agree, disagree = int((given == 1).sum()), int((given == -1).sum())
        assert (row[RESPONSE], row[TRIALS]) == (agree, agree + disagree)


def test_counts_without_predictors_are_one_row(coded, mixed):
    spec = mixed("~ 1", family="binomial", response="agree")
    rows = gather_rows(coded(1), spec)
    assert rows.frame[[RESPONSE, TRIALS]].to_numpy().tolist() == [[CELLS, CELLS]]


def test_beta_answers_are_squeezed_inside_and_that_is_said(coded, mixed):
    r_plus = np.resize([0.0, 0.5, 1.0, 0.5], (2, 4, 4, 2, 1))
    rows = gather_rows(coded(r_plus=r_plus), mixed("~ 1", family="beta"))
    assert sorted(rows.frame[RESPONSE].unique()) == [0.0005, 0.5, 0.9995]
    assert rows.notes == ("16 answers of exactly 0 or 1 are moved inside by 0.0005.",)


def test_one_answer_that_is_moved_or_left_out_is_one(coded, mixed):
    r_plus = np.full((2, 4, 4, 2, 1), 0.5)
    r_plus[0, 0, 0, 0, 0] = 1
    (note,) = gather_rows(coded(r_plus=r_plus), mixed("~ 1", family="beta")).notes
    assert note == "1 answer of exactly 0 or 1 is moved inside by 0.0005."
    data = with_text(coded(r_plus=0.25), "?!").isel(model=[0], prefix=[0])
    (note,) = gather_rows(data, mixed("~ word_length")).notes
    assert note == "1 answer without a value of word_length is left out."


def test_beta_refuses_what_is_no_share(coded, mixed):
    with pytest.raises(UserError, match="not always between 0 and 1"):
        gather_rows(coded(r_plus=1.5), mixed("~ 1", family="beta"))


def test_cells_that_failed_are_left_out_and_counted(coded, mixed):
    data = coded(r_plus=0.25)
    data["status"][0, 0, 0, 0, 0] = STATUS["error"]
    rows = gather_rows(data, mixed("~ 1"))
    assert len(rows.frame) == CELLS - 1
    assert rows.notes == ("1 cell was not asked yet, or failed, and left out.",)


@pytest.mark.parametrize(
    ("formula", "settings", "says"),
    [
        ("~ keyin", {}, "unknown variable 'keyin'; did you mean 'keying'"),
        ("~ (1 | itm)", {}, "did you mean 'item'"),
        ("~ keying", {"by": "modl"}, "did you mean 'model'"),
        ("~ keying", {"select": {"model": "m3"}}, "unknown value 'm3'; known: m1, m2"),
        ("~ keying", {"response": "r_pls"}, "unknown response 'r_pls'; did you mean 'r_plus'"),
        ("~ keying", {"response": "rating", "family": "cumulative"}, "unknown response 'rating'"),
        ("~ model", {"by": "model"}, "is also in the formula"),
        ("~ kind:statemen", {}, "did you mean 'statement'"),
    ],
)
def test_unknown_names_are_refused_with_the_right_ones(coded, mixed, formula, settings, says):
    with pytest.raises(UserError, match=says):
        reduced(coded(r_plus=0.25), mixed(formula, **settings))


@pytest.mark.parametrize(
    ("formula", "settings", "says"),
    [
        ("~ keying + direction:kind + direction", {}, "cannot be told from those of"),
        ("~ scale(run)", {}, "not a finite number in every row"),
        ("~ log(keying)", {}, "not a finite number in every row"),
        ("~ keying + (1 | instrument)", {}, "has only one level"),
        ("~ (0 + kind | model)", {}, "would fit as if they were independent"),
        ("~ (1 | model:item:variant:prefix)", {}, "every row is a level of its own"),
        ("~ instruct", {}, "'instruct' is 0 in every row"),
        ("~ run", {}, "the coefficient of 'run' cannot be told from those of Intercept"),
        ("~ item:model", {"select": {"item": "e1"}, "by": "model"}, "is also in the formula"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_the_data_cannot_identify_is_refused(coded, mixed, formula, settings, says):
    with pytest.raises(UserError, match=says):
        reduced(coded(r_plus=0.25), mixed(formula, **settings))


def test_thresholds_take_the_place_of_the_intercept(coded, mixed):
    spec = mixed("~ run", family="cumulative", response="stance")
    with pytest.raises(UserError, match=r"'run'.*the thresholds take the place of the intercept"):
        reduced(coded(1), spec)


@pytest.mark.parametrize("formula", ["~ (keying || model)", "~ (0 + keying | model)"])
def test_independent_coefficients_are_let_through(coded, mixed, formula):
    assert reduced(coded(r_plus=0.25), mixed(formula))[1]


def test_every_stratum_is_checked_and_named(coded, mixed):
    data = coded(r_plus=0.25)
    data["r_plus"][1, :, 1:] = np.nan  # m2 answered the originals only
    spec = mixed("~ kind", by="model")
    assert [name for name, _ in strata(gather_rows(data, spec), spec)] == ["m1", "m2"]
    with pytest.raises(UserError, match=r"\(model = m2\): 'kind' has only the level 'original'"):
        reduced(data, spec)


LENIENT = {"unidentified": "leave_out"}


@pytest.mark.parametrize(
    ("formula", "left", "why"),
    [
        ("~ keying + instrument", "~ 1 + keying", "instrument: there is only one instrument, tiny"),
        ("~ keying + (1 | instrument)", "~ keying", "(1 | instrument): there is only one instr"),
        ("~ keying + run", "~ 1 + keying", "run: the coefficient of run cannot be told from those"),
        ("~ keying + instruct", "~ 1 + keying", "instruct: instruct is 0 in every row"),
        (
            "~ keying + (1 | model:item:variant:prefix)",
            "~ keying",
            "(1 | model:item:variant:prefix): every answer has its own",
        ),
    ],
)
def test_what_the_data_cannot_identify_is_left_out(coded, mixed, formula, left, why):
    data = coded(r_plus=0.25)
    less, split, (note,) = reduced(data, mixed(formula, **LENIENT))
    assert less.formula.text == left
    assert note.startswith(f"analysis.parts.mu is without {why}")
    with pytest.raises(UserError):
        reduced(data, mixed(formula))
    assert len(split[0][1].frame) == CELLS


def test_strata_keep_the_same_terms(coded, mixed):
    data = coded(r_plus=0.25)
    data["r_plus"][1, :, 1:] = np.nan  # m2 answered the originals only
    less, split, (*_, note) = reduced(data, mixed("~ keying + kind", by="model", **LENIENT))
    assert note == (
        "analysis.parts.mu is without kind: there is only one kind, original (model = m2)."
    )
    assert less.formula.common == "1 + keying"
    assert [name for name, _ in split] == ["m1", "m2"]


def test_a_spec_without_any_term_left_is_refused(coded, mixed):
    spec = mixed("~ 0 + (1 | instrument)", **LENIENT)
    with pytest.raises(UserError, match="'instrument' has only one level"):
        reduced(coded(r_plus=0.25), spec)


def test_where_there_is_one_value_nothing_is_selected(coded, mixed):
    data = coded(r_plus=0.25).sel(prefix=["please"])
    _, split, (note,) = reduced(data, mixed("~ keying", select={"prefix": "baseline"}, **LENIENT))
    assert note == "analysis.select is without prefix: there is only one prefix, please."
    assert len(split[0][1].frame) == CELLS / 2
    with pytest.raises(UserError, match=r"analysis\.select\.prefix: unknown value 'baseline'"):
        reduced(data, mixed("~ keying", select={"prefix": "baseline"}))
    with pytest.raises(UserError, match=r"analysis\.select\.model: unknown value 'm3'"):
        reduced(data, mixed("~ keying", select={"model": "m3"}, **LENIENT))


def test_a_design_is_checked_before_anything_is_asked(coded, mixed):
    data = coded(r_plus=0.25).drop_vars(["r_plus", "stance"])
    data["status"] = data["status"].where(data["status"] != STATUS["ok"], STATUS["pending"])
    assert reduced(data, mixed("~ keying + (1 | item)"), answered=False)[1]
    rows = gather_rows(data, mixed("~ keying"), answered=False)
    assert rows.frame[RESPONSE].mean() == 0
    assert rows.frame[RESPONSE].std(ddof=0) == 1
    with pytest.raises(UserError, match="unknown response"):
        reduced(data, mixed("~ keying", response="lenght"), answered=False)


class TestTable:
    """Columns joined from a table of the user's."""

    def rows(self, coded, mixed, path, formula="~ length", **settings):
        return gather_rows(coded(r_plus=0.25), mixed(formula, table=str(path), **settings))

    def test_columns_are_joined_by_the_names_that_are_shared(self, coded, mixed, tmp_path):
        path = tmp_path / "more.csv"
        path.write_text("item,variant,length,mood\ne1,original,3.5,sad\ne1,opposite,4,glad\n")
        rows = self.rows(coded, mixed, path, "~ length + mood")
        assert len(rows.frame) == 2 * 2 * 2
        pairs = set(zip(rows.frame["length"], rows.frame["mood"], strict=True))
        assert pairs == {(3.5, "sad"), (4.0, "glad")}
        assert rows.notes == ("24 answers without a value of length, mood are left out.",)

    def test_a_column_may_be_the_response(self, coded, mixed, tmp_path):
        path = tmp_path / "more.csv"
        path.write_text("item,length\ne1,3\ne2,4\nc1,5\nc2,6\n")
        rows = self.rows(coded, mixed, path, "~ keying", response="length")
        assert sorted(rows.frame[RESPONSE].unique()) == [3, 4, 5, 6]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("length\n3\n", "has none of the columns model, item"),
            ("item,length\ne1,3\ne1,4\n", "more than one row for"),
            ("item,keying,length\ne1,1,3\n", "which the answers have already"),
            ("item,length\nz1,3\n", "no row of .* belongs to an answer"),
        ],
    )
    def test_a_table_that_does_not_fit_is_refused(self, coded, mixed, tmp_path, text, says):
        path = tmp_path / "more.csv"
        path.write_text(text)
        with pytest.raises(UserError, match=says):
            self.rows(coded, mixed, path)

    def test_a_table_that_is_not_there_is_refused(self, coded, mixed, tmp_path):
        with pytest.raises(UserError, match=r"analysis\.table: .* no such file"):
            self.rows(coded, mixed, tmp_path / "none.csv")
