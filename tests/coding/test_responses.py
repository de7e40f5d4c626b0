import numpy as np
import pytest
import xarray as xr

from polbayes.coding import code_responses
from polbayes.coding.responses import decided
from polbayes.config.schema import CoderConfig
from polbayes.data.dataset import CELL_DIMS, MISSING, NOT_ASKED, STATUS, read_dataset, write_dataset
from polbayes.errors import UserError

OK, REFUSED, INVALID = STATUS["ok"], STATUS["refused"], STATUS["invalid"]


def dataset(completions, status=None, **coords):
    """One model, one item, one variant, one prefix per completion, one run."""
    n = len(completions)
    shape = (1, 1, 1, n, 1)
    status = np.array([OK] * n if status is None else status, dtype=np.int8).reshape(shape)
    return xr.Dataset(
        {
            "status": (CELL_DIMS, status),
            "completion": (CELL_DIMS, np.array(completions, dtype=object).reshape(shape)),
        },
        coords={
            "model": ["m"],
            "item": ["i"],
            "variant": ["original"],
            "prefix": [f"p{k}" for k in range(n)],
            "run": [1],
            "statement": (("item", "variant"), np.array([["Museums are too dear."]], dtype=object)),
            **coords,
        },
    )


def values(data, name):
    return data[name].values.ravel().tolist()


def test_stances_statuses_and_coders():
    data = dataset(["I agree.", "I disagree.", "Neutral", "No comment", "Bananas.", ""])
    coded = code_responses(data, ["likert", "lexical"])
    assert values(coded, "stance") == [1, -1, 0, 3, MISSING, MISSING]
    assert values(coded, "status") == [OK, OK, OK, REFUSED, INVALID, INVALID]
    names = coded["coder"].attrs["flag_meanings"].split()
    codes = coded["coder"].attrs["flag_values"].tolist()
    decided = [names[codes.index(code)] for code in values(coded, "coder")]
    assert decided == ["lexical"] * 4 + ["none"] * 2
    assert coded["stance_prob"].dims == (*CELL_DIMS, "stance_class")
    assert coded["stance_prob"].dtype == np.float32
    assert np.isnan(coded["stance_prob"].isel(prefix=4)).all()
    assert coded["stance_prob"].isel(prefix=0).sel(stance_class="agree").item() == pytest.approx(
        0.98
    )
    assert coded["stance"].attrs["flag_meanings"].startswith("missing disagree")


def test_what_nobody_can_read_was_empty_or_cut_off_or_neither():
    texts = ["Well, as far as", "Well, as far as", " ", "I agree and", "", "No comment"]
    status = [OK, OK, STATUS["empty"], OK, STATUS["error"], OK]
    data = dataset(texts, status)
    cut = np.array([1, 0, 1, 1, 0, 1], dtype=np.int8).reshape(data["status"].shape)
    coded = code_responses(data.assign(truncated=(CELL_DIMS, cut)), ["likert", "lexical"])
    names = ["truncated", "invalid", "empty", "ok", "error", "refused"]
    assert values(coded, "status") == [STATUS[name] for name in names]
    again = code_responses(coded, ["likert", "lexical"])
    assert values(again, "status") == values(coded, "status")


def test_numbers_count_only_where_they_were_asked_for():
    asked = {"prefix_answer": ("prefix", np.array(["likert", "open"], dtype=object))}
    coded = code_responses(dataset(["4", "4"], **asked), ["likert", "lexical"])
    assert values(coded, "stance") == [1, MISSING]
    assert values(code_responses(dataset(["4"]), ["likert"]), "stance") == [MISSING]


def test_cells_without_an_answer_are_left_alone():
    status = [STATUS["pending"], STATUS["error"], NOT_ASKED]
    coded = code_responses(dataset(["I agree."] * 3, status), ["lexical"])
    assert values(coded, "status") == status
    assert values(coded, "stance") == [MISSING] * 3


def test_the_input_is_not_changed():
    data = dataset(["I agree.", ""])
    before = data.copy(deep=True)
    code_responses(data, ["lexical"])
    assert data.identical(before)


def test_coding_again_gives_the_same():
    data = dataset(["I agree.", "", "Nothing to read", "I cannot give an opinion"])
    once = code_responses(data, ["lexical"])
    assert code_responses(once, ["lexical"]).identical(once)


def test_other_coders_start_afresh():
    once = code_responses(dataset(["I agree."]), ["likert"])
    assert values(once, "status") == [INVALID]
    assert values(code_responses(once, ["lexical"]), "stance") == [1]


def test_it_survives_the_file(tmp_path):
    once = code_responses(dataset(["I agree.", ""]), ["lexical"])
    write_dataset(once, tmp_path / "responses.nc")
    again = code_responses(read_dataset(tmp_path / "responses.nc"), ["lexical"])
    for name in ("stance", "status", "coder"):
        assert values(again, name) == values(once, name)


def test_unknown_coder():
    with pytest.raises(UserError, match="unknown coder 'nil'"):
        code_responses(dataset([""]), ["nil"])


def probabilities(agree, disagree, neutral=None):
    """Option probabilities without a run dimension, one prefix per number."""
    data = dataset([""] * len(agree)).drop_vars("completion")
    dims = CELL_DIMS[:-1]
    shape = (1, 1, 1, len(agree))
    data["p_agree"] = (dims, np.array(agree, dtype=np.float32).reshape(shape))
    data["p_disagree"] = (dims, np.array(disagree, dtype=np.float32).reshape(shape))
    if neutral is not None:
        prob = np.array([agree, disagree, neutral], dtype=np.float32).T.reshape(*shape, 3)
        data["option_prob"] = ((*dims, "option"), prob)
        data = data.assign_coords(
            option=["yes", "no", "maybe"], option_stance=("option", [1, -1, 0])
        )
    return data


def test_probabilities_become_shares():
    coded = code_responses(probabilities([0.6, 0.1, 0.25], [0.2, 0.3, 0.25]), ["lexical"])
    assert values(coded, "r_plus") == pytest.approx([0.75, 0.25, 0.5])
    assert coded["r_plus"].dtype == np.float32
    assert values(coded, "stance") == [1, -1, 1]
    first = coded["stance_prob"].isel(prefix=0).values.ravel()
    assert first == pytest.approx([0.25, 0, 0.75, 0, 0])


def test_a_neutral_option_takes_its_part():
    coded = code_responses(probabilities([0.3], [0.1], [0.6]), [])
    assert values(coded, "r_plus") == pytest.approx([0.75])
    assert values(coded, "stance") == [1]
    assert coded["stance_prob"].values.ravel() == pytest.approx([0.1, 0.6, 0.3, 0, 0])


def test_no_mass_is_invalid():
    coded = code_responses(probabilities([0.0, np.nan, np.inf], [0.0, 0.1, 0.1]), ["lexical"])
    assert values(coded, "status") == [INVALID] * 3
    assert values(coded, "stance") == [MISSING] * 3
    assert np.isnan(values(coded, "r_plus")).all()
    assert code_responses(coded, ["lexical"]).identical(coded)


def test_a_rating_keeps_its_stance():
    data = dataset(["I agree.", "I agree."])
    data["rating"] = (CELL_DIMS, np.array([0, MISSING], dtype=np.int8).reshape(1, 1, 1, 2, 1))
    data["stance"] = (CELL_DIMS, np.array([-1, MISSING], dtype=np.int8).reshape(1, 1, 1, 2, 1))
    coded = code_responses(data, ["lexical"])
    assert values(coded, "stance") == [-1, 1]
    assert values(coded, "status") == [OK, OK]


def test_coders_are_a_cascade(classifier_checkpoint, tmp_path):
    path = str(classifier_checkpoint("bert", ("agree", "disagree", "neutral")))
    answers = ["I agree.", "Ich stimme nicht zu.", "Bananas.", "**Ja**, museums.", ""]
    models = {
        "trained": CoderConfig(kind="classifier", checkpoint=path, device="cpu"),
        "sure": CoderConfig(kind="classifier", checkpoint=path, device="cpu"),
    }
    alone = code_responses(dataset(answers), ["trained"], models=models)
    best = alone["stance_prob"].max("stance_class").values.ravel()
    models["sure"].threshold = float(np.sort(best[1:4])[:2].mean())
    coded = code_responses(
        dataset(answers), ["lexical", "sure", "trained"], models=models, journal_dir=tmp_path
    )
    names = coded["coder"].attrs["flag_meanings"].split()
    codes = coded["coder"].attrs["flag_values"].tolist()
    found = [names[codes.index(code)] for code in values(coded, "coder")]
    unsure = int(np.argsort(best[1:4])[0]) + 1
    expected = ["lexical", "sure", "sure", "sure", "none"]
    expected[unsure] = "trained"
    assert found == expected
    assert decided(coded) == {"none": 1, "lexical": 1, "sure": 2, "trained": 1}
    # Where they were not coded by rule they have the probabilities of the checkpoint.
    ours, theirs = (x["stance_prob"].values.reshape(5, 5)[1:4] for x in (coded, alone))
    assert ours == pytest.approx(theirs, abs=2e-6)
    # Both coders are the same way of reading, so that one journal serves them.
    assert len(list(tmp_path.glob("classifier-*.jsonl"))) == 1
    again = code_responses(
        coded, ["lexical", "sure", "trained"], models=models, journal_dir=tmp_path
    )
    assert values(again, "stance") == values(coded, "stance")
