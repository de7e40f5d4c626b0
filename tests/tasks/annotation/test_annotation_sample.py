import numpy as np
import pytest

from polbayes.data.dataset import STATUS
from polbayes.errors import UserError
from polbayes.tasks.annotation.blind import HIDDEN, MOST_SHOWN, ids_of, names_to_hide, shown
from polbayes.tasks.annotation.sample import sample_answers

STRATA = ("model", "prefix", "variant")


def test_the_same_number_from_every_stratum(data):
    """3 models, 2 prefixes, 2 wordings: 12 strata of 2 items by 2 runs."""
    sample = sample_answers(data, strata=STRATA, per_stratum=3, seed=1)
    assert sample.groupby(list(STRATA)).size().tolist() == [3] * 12
    assert set(sample["stratum_size"]) == {4}
    assert sample["weight"].sum() == pytest.approx(48)
    assert not sample["response"].duplicated().any()
    assert sample.attrs == {"n_answers": 48, "n_empty": 0, "n_strata": 12, "n_short": 0}
    kept = data["completion"].stack(cell=data["completion"].dims)
    for row in sample.to_dict(orient="records"):
        where = {d: row[d] for d in ("model", "item", "variant", "prefix", "run")}
        assert kept.sel(**where).item() == row["response"]
        text = data["statement"].sel(item=row["item"], variant=row["variant"]).item()
        assert row["statement"] == text
        assert row["keying"] == (1 if row["variant"] == "original" else -1)


def test_what_cannot_be_labelled_is_counted(data):
    data["completion"][0, 0, 0, 0, :] = "  \n"
    data["status"][1, :, :, 0, :] = STATUS["error"]
    sample = sample_answers(data, strata=["model"], per_stratum=10, seed=1)
    assert sample.groupby("model").size().to_dict() == {"=m1": 10, "left": 8, "zephyr-7b": 10}
    assert sample.attrs == {"n_answers": 38, "n_empty": 2, "n_strata": 3, "n_short": 1}
    assert sample["response"].str.strip().ne("").all()


def test_seed_fixes_sample_and_order(data):
    one, two, other = (
        sample_answers(data, strata=STRATA, per_stratum=2, seed=s) for s in (1, 1, 2)
    )
    assert one.equals(two)
    assert set(one["response"]) != set(other["response"])
    models = one["model"].tolist()
    assert models != sorted(models, key=list(dict.fromkeys(models)).index)


def test_without_strata_every_answer_is_as_likely(data):
    """Over 100 seeds each of 48 answers is drawn 100 * 12 / 48 = 25 times, sd 4.3."""
    drawn = np.concatenate(
        [
            sample_answers(data, strata=(), per_stratum=12, seed=s)["response"].to_numpy()
            for s in range(100)
        ]
    )
    counts = np.unique(drawn, return_counts=True)[1]
    assert len(counts) == 48
    assert counts.min() > 25 - 4 * 4.3
    assert counts.max() < 25 + 4 * 4.3


def test_bad_settings(data):
    with pytest.raises(UserError, match=r"annotation\.strata: unknown coordinate 'modl'; did you"):
        sample_answers(data, strata=["modl"], per_stratum=1, seed=1)
    with pytest.raises(UserError, match="no answers in words"):
        sample_answers(data.drop_vars("completion"), strata=[], per_stratum=1, seed=1)
    with pytest.raises(UserError, match="no answers in words"):
        sample_answers(
            data.assign(completion=data["completion"] * 0), strata=[], per_stratum=1, seed=1
        )


def test_what_annotators_are_shown():
    hide = names_to_hide(["hub/Zephyr-7b", "embedded:left", "org/x.1"], ["OpenAI"])
    assert hide == ["hub/Zephyr-7b", "Zephyr-7b", "org/x.1", "x.1", "OpenAI"]
    text = "I, ZEPHYR-7B by openai, lean left. openaire zephyr-7bb x-1\x00"
    assert shown(text, hide) == (
        f"I, {HIDDEN} by {HIDDEN}, lean left. openaire zephyr-7bb x-1⟨U+0000⟩"
    )
    assert shown("Hey {model_name}!") == f"Hey {HIDDEN}!"
    long = shown("y" * (MOST_SHOWN + 7))
    assert long.endswith("y […] (7 more characters)")
    assert len(long) < 32_767


def test_ids_tell_samples_apart_and_look_like_nothing_else(data):
    one, other = (
        ids_of(sample_answers(data, strata=STRATA, per_stratum=2, seed=s)) for s in (1, 2)
    )
    assert len(set(one)) == len(one) == 24
    assert not set(one) & set(other)
    assert one[0].endswith("-0001")
    assert not set(one[0][:5]) & set("aeiouy0123456789")
