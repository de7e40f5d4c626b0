import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polbayes.data.dataset import (
    CELL_DIMS,
    MISSING,
    NOT_ASKED,
    STANCE,
    STATUS,
    flag_attributes,
    merge,
    open_responses,
    read_dataset,
    to_frame,
    write_dataset,
)
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

ITEMS = (
    Item(
        "one",
        "economic",
        -1,
        "s",
        (
            Variant("original", "Railways.", "original", 1),
            Variant("negation", "No railways.", "negation", -1),
        ),
        {},
    ),
    Item(
        "two", "cultural", 1, "s", (Variant("original", "Ordnung über alles.", "original", 1),), {}
    ),
)
INSTRUMENT = Instrument("tiny", "Tiny", "us", ITEMS)
PREFIXES = {"baseline": Prefix("baseline", "", "open"), "truth": Prefix("truth", "So?", "open")}


def responses(models=("m",), prefixes=("baseline", "truth"), items=None, runs=1, answer="yes"):
    """Return a design whose cells were all answered in the same way."""
    data = design(
        [INSTRUMENT],
        [PREFIXES[name] for name in prefixes],
        [ModelInfo(name, "{prefix}{statement}", chat=name == "m") for name in models],
        items=items,
        runs=runs,
    )
    asked = data["status"] != NOT_ASKED
    data["status"] = data["status"].where(~asked, STATUS["ok"]).astype(np.int8)
    data["status"].attrs = flag_attributes("status")
    data["completion"] = xr.where(asked, answer, "").astype(object)
    data["stance"] = xr.where(asked, STANCE["agree"], MISSING).astype(np.int8)
    data["p_agree"] = xr.where(asked, 0.25, np.nan).astype(np.float32)
    return data


def texts(values):
    return xr.Dataset({"text": ("n", np.array([*values, ""], dtype=object)[: len(values)])})


def test_what_was_written_opens_in_plain_xarray(tmp_path):
    data = responses().assign_attrs(config="seed: 1\nname: ü\n", seed=7, notes="")
    write_dataset(data, tmp_path / "responses.nc")
    with xr.open_dataset(tmp_path / "responses.nc") as opened:
        back = opened.load()
    assert dict(back.sizes) == {"model": 1, "item": 2, "variant": 2, "prefix": 2, "run": 1}
    assert back["status"].dtype == back["stance"].dtype == np.int8
    assert back["p_agree"].dtype == np.float32
    assert back["status"].attrs["flag_values"].tolist() == [-128, -127, 0, 1, 2, 3, 4, 5, 6]
    meanings = back["status"].attrs["flag_meanings"]
    assert meanings == "not_asked not_chosen pending ok refused invalid error empty truncated"
    # The second item has no negation: it was not asked, and its place is empty.
    cell = back.sel(model="m", item="two", variant="negation", prefix="truth", run=1)
    assert (int(cell["status"]), str(cell["completion"].item())) == (-128, "")
    assert np.isnan(cell["p_agree"])
    assert (
        str(back["statement"].sel(item="two", variant="original").item()) == "Ordnung über alles."
    )
    assert back["keying"].sel(item="one").values.tolist() == [-1, 1]
    assert (back.attrs["config"], back.attrs["seed"], back.attrs["notes"]) == (
        "seed: 1\nname: ü\n",
        7,
        "",
    )
    xr.testing.assert_equal(back, data)


def test_the_flags_of_a_stance_say_what_its_codes_mean():
    attributes = flag_attributes("stance")
    assert dict(
        zip(attributes["flag_meanings"].split(), attributes["flag_values"].tolist(), strict=True)
    ) == {"missing": -128, "disagree": -1, "neutral": 0, "agree": 1, "unrelated": 2, "refused": 3}
    assert attributes["flag_values"].dtype == np.int8


# A character array ends where only zero bytes follow.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(st.lists(TEXT, min_size=1, max_size=5))
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_any_text_comes_back_as_it_was(tmp_path, values):
    write_dataset(texts(values), tmp_path / "t.nc")
    with xr.open_dataset(tmp_path / "t.nc") as opened:
        assert opened["text"].values.tolist() == values


@pytest.mark.parametrize(
    "values",
    [["", "", ""], ["x" * 100_000, ""], ["日本語 😀", "\r\n\t\"'<b>&amp;", " "], ["null", "nan"]],
)
def test_texts_that_are_empty_long_or_strange_come_back(tmp_path, values):
    write_dataset(texts(values), tmp_path / "t.nc")
    assert read_dataset(tmp_path / "t.nc")["text"].values.tolist() == values


def test_text_takes_little_space(tmp_path):
    """Variable-length strings would take a megabyte here."""
    write_dataset(texts(["I agree with this statement. " * 10] * 3500), tmp_path / "t.nc")
    assert (tmp_path / "t.nc").stat().st_size < 100_000


def test_the_folder_is_made_and_a_file_replaced(tmp_path):
    path = tmp_path / "deeper" / "t.nc"
    write_dataset(texts(["old"]), path)
    write_dataset(texts(["new"]), path)
    assert read_dataset(path)["text"].values.tolist() == ["new"]
    assert [p.name for p in path.parent.iterdir()] == ["t.nc"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.nc"
    write_dataset(texts(["old"]), path)
    with pytest.raises(TypeError):
        write_dataset(texts(["new"]).assign_attrs(cannot={"be": "written"}), path)
    assert [p.name for p in tmp_path.iterdir()] == ["t.nc"]
    assert read_dataset(path)["text"].values.tolist() == ["old"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"t\.nc: cannot be written \("):
        write_dataset(texts(["a"]), tmp_path / "file" / "t.nc")


def test_the_file_is_closed_after_reading(tmp_path):
    path = tmp_path / "t.nc"
    write_dataset(texts(["a"]), path)
    data = read_dataset(path)
    path.unlink()
    assert data["text"].values.tolist() == ["a"]


def test_a_run_is_opened_by_its_folder_or_its_file(tmp_path):
    write_dataset(responses(), tmp_path / "responses.nc")
    xr.testing.assert_equal(
        open_responses(tmp_path), open_responses(str(tmp_path / "responses.nc"))
    )


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"responses\.nc: no such file"):
        open_responses(tmp_path)
    with pytest.raises(UserError, match=r"gone\.nc: no such file"):
        read_dataset(tmp_path / "gone.nc")


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_file_is_named(tmp_path, keep):
    path = tmp_path / "responses.nc"
    write_dataset(responses(), path)
    content = path.read_bytes()
    path.write_bytes(content[: keep if isinstance(keep, int) else int(keep * len(content))])
    with pytest.raises(UserError) as caught:
        open_responses(path)
    assert f"{path}: not a readable netCDF file" in str(caught.value)
    assert "it may be truncated" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_holds_something_else_is_named(tmp_path):
    write_dataset(texts(["a"]), tmp_path / "t.nc")
    with pytest.raises(UserError, match=r"not a response dataset .* no dimension 'model'"):
        open_responses(tmp_path / "t.nc")


def test_different_models_are_merged():
    a, b = responses(["m"], answer="yes"), responses(["n"], answer="no")
    both = merge([a, b])
    assert both["model"].values.tolist() == ["m", "n"]
    xr.testing.assert_equal(both.sel(model=["m"]), a)
    xr.testing.assert_equal(both.sel(model=["n"]), b)
    assert set(both.coords) == set(a.coords)


def test_merging_keeps_types_and_flags():
    both = merge([responses(["m"]), responses(["n"])])
    for name in ("status", "stance", "keying", "direction", "chat", "instruct"):
        assert both[name].dtype == np.int8, name
    assert both["run"].dtype == np.int16
    assert both["p_agree"].dtype == np.float32
    assert both["model"].dtype == object
    assert both["status"].attrs["flag_meanings"].startswith("not_asked not_chosen pending")
    assert both["chat"].values.tolist() == [1, 0]


def test_what_neither_asked_is_not_asked():
    both = merge([responses(["m"], ["baseline"], ["one"]), responses(["n"], ["truth"], ["two"])])
    assert both.sizes["item"] == both.sizes["prefix"] == both.sizes["model"] == 2
    never = both.sel(model="m", prefix="truth")
    assert (never["status"] == NOT_ASKED).all()
    assert (never["stance"] == MISSING).all()
    assert (never["completion"] == "").all()
    assert never["p_agree"].isnull().all()
    asked = both["status"] != NOT_ASKED
    # Two wordings of item one at the baseline, and one of item two under the other prefix.
    assert int(asked.sum()) == 3
    assert str(both["statement"].sel(item="one", variant="negation").item()) == "No railways."
    assert str(both["statement"].sel(item="two", variant="negation").item()) == ""


def test_equal_answers_may_overlap():
    a, b = responses(["m", "n"]), responses(["n", "o"])
    xr.testing.assert_equal(merge([a, b]), responses(["m", "n", "o"]))


def test_merging_with_itself_or_alone_changes_nothing():
    data = responses(["m", "n"], runs=2)
    xr.testing.assert_equal(merge([data]), data)
    xr.testing.assert_equal(merge([data, data]), data)


def test_a_conflict_is_named_by_its_cell():
    a, b = responses(["m", "n"], runs=2), responses(["n", "o"], runs=2)
    at = {"model": "n", "item": "two", "variant": "original", "prefix": "truth", "run": 2}
    b["completion"].loc[at] = "no"
    with pytest.raises(UserError) as caught:
        merge([a, b])
    assert "disagree about 'completion'" in str(caught.value)
    assert str(at) in str(caught.value)


def test_a_statement_that_was_put_in_other_words_is_a_conflict():
    a, b = responses(["m"]), responses(["n"])
    b["statement"].loc[{"item": "two", "variant": "original"}] = "Order first."
    with pytest.raises(UserError, match=r"disagree about 'statement' at .*'two'"):
        merge([a, b])


def test_what_only_one_of_them_has_is_kept():
    a, b = responses(["m"]), responses(["n"])
    b["truncated"] = xr.zeros_like(b["status"]) + np.int8(1)
    both = merge([a, b])
    assert (both["truncated"].sel(model="n") == 1).all()
    assert (both["truncated"].sel(model="m") == 0).all()


def test_only_attributes_that_all_share_are_kept():
    a = responses(["m"]).assign_attrs(seed=1, title="same", only_a="x")
    b = responses(["n"]).assign_attrs(seed=2, title="same")
    attributes = merge([a, b]).attrs
    assert attributes["title"] == "same"
    assert "seed" not in attributes
    assert "only_a" not in attributes


def test_merging_nothing_is_refused():
    with pytest.raises(UserError, match="nothing to merge"):
        merge([])


def test_what_was_merged_can_be_written(tmp_path):
    both = merge([responses(["m"]), responses(["n" * 40], ["truth"])])
    write_dataset(both, tmp_path / "responses.nc")
    xr.testing.assert_equal(open_responses(tmp_path), both)


def test_a_frame_has_a_row_for_each_cell_that_was_asked():
    frame = to_frame(responses(["m", "n"], runs=2))
    # Two models, three wordings, two prefixes, two runs.
    assert len(frame) == 2 * 3 * 2 * 2
    assert frame.columns[:5].tolist() == list(CELL_DIMS)
    assert not frame.duplicated(list(CELL_DIMS)).any()
    negated = frame[frame["variant"] == "negation"]
    assert set(negated["item"]) == {"one"}
    assert set(negated["keying"]) == {1}
    assert set(negated["statement"]) == {"No railways."}
    assert set(frame["completion"]) == {"yes"}
    assert frame["run"].value_counts().to_dict() == {1: 12, 2: 12}


def test_a_frame_of_some_variables_leaves_options_out():
    data = responses()
    data = data.assign_coords(option=["yes", "no"])
    data["option_prob"] = data["p_agree"].expand_dims(option=data["option"], axis=-1)
    frame = to_frame(data, ["stance"])
    assert "stance" in frame
    assert not {"option", "option_prob", "completion", "status"} & set(frame.columns)
    assert len(to_frame(data)) == len(frame) == 6
    assert "p_agree" in to_frame(data)
    assert isinstance(frame, pd.DataFrame)


def test_a_frame_of_some_columns_has_the_same_rows_and_categories_in_order():
    data = responses(["n", "m"], runs=2)
    whole = to_frame(data, ["status"])
    some = to_frame(data, ["status"], columns=["model", "item", "run"])
    assert set(some) == {"model", "item", "run", "status"}
    assert some["model"].cat.categories.tolist() == ["m", "n"]
    for name in some:
        assert some[name].tolist() == whole[name].tolist()


def test_a_frame_may_have_labels_in_place_of_codes():
    data = responses(runs=3)
    codes = np.full(data["status"].shape, STANCE["agree"], dtype=np.int8)
    codes[..., 1], codes[..., 2] = STANCE["refused"], MISSING
    data["stance"] = (data["status"].dims, codes, flag_attributes("stance"))
    for name, said in (("0", "agree"), ("1", "refused"), ("2", "missing")):
        frame = to_frame(data, ["stance"], labels=True)
        run = frame["run"] == data["run"].values[int(name)]
        assert set(frame.loc[run, "stance"]) == {said}
    assert set(to_frame(data, ["stance"])["stance"]) == {1, STANCE["refused"], MISSING}
