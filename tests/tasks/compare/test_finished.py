import pytest

from polbayes.errors import UserError
from polbayes.run.manifest import Manifest
from polbayes.tasks.compare.finished import check_finished, digests, load_finished, read_config


@pytest.fixture
def pair(finished, answers, tmp_path):
    first = finished(tmp_path / "x" / "jan", answers({"a": 1.0, "b": -1.0}))
    return first, finished(tmp_path / "y" / "jan", answers({"a": 1.0}))


def refused(call, *arguments):
    with pytest.raises(UserError) as caught:
        call(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_a_run_is_loaded_with_what_it_left(pair):
    labels = check_finished([str(folder) for folder in pair])
    assert list(labels) == ["x/jan", "y/jan"]  # "jan" would be either
    run = load_finished("x/jan", pair[0])
    assert run.config.name == "jan"
    assert run.responses["model"].values.tolist() == ["a", "b"]
    assert run.posterior["theta"].sizes["draw"] == 50
    assert run.stages["fit"]["verdict"] == "good"


@pytest.mark.parametrize("given", [[], ["one"]])
def test_one_run_is_nothing_to_compare(given):
    assert "at least two finished runs" in refused(check_finished, given)


def test_what_is_not_a_finished_run_is_refused(pair, tmp_path):
    first = str(pair[0])
    assert "no such folder" in refused(check_finished, [first, str(tmp_path / "none")])
    (tmp_path / "empty").mkdir()
    text = refused(check_finished, [first, str(tmp_path / "empty")])
    assert "is not the folder of a run" in text
    assert "is named twice" in refused(check_finished, [first, first])
    Manifest(tmp_path / "half").finish("probe", "key", [])
    text = refused(check_finished, [first, str(tmp_path / "half")])
    assert "half is not finished (stage code was not done)" in text


def test_damaged_files_are_named(pair):
    folder = pair[0]
    (folder / ".hydra" / "config.yaml").write_text("instruments: {a: [")
    assert "config.yaml: is not the config of a run" in refused(load_finished, "jan", folder)
    (folder / "posterior.nc").write_bytes(b"half")
    assert "posterior.nc: not a readable posterior" in refused(load_finished, "jan", folder)
    (folder / "posterior.nc").unlink()
    assert "posterior.nc: no such file" in refused(digests, {"jan": folder})


def test_a_config_with_unknown_keys_is_refused(tmp_path):
    (tmp_path / "config.yaml").write_text("instrumens: [wvs]\n")
    assert "is not the config of a run" in refused(read_config, tmp_path / "config.yaml")


def test_a_run_that_changed_has_other_digests(pair, answers):
    from polbayes.data.dataset import write_dataset

    before = digests({"jan": pair[0]})
    assert digests({"jan": pair[0]}) == before
    write_dataset(answers({"a": 1.0, "b": -1.0}, seed=2), pair[0] / "responses.nc")
    assert digests({"jan": pair[0]}) != before
