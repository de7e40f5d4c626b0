import numpy as np
import pytest
import xarray as xr

from polbayes.coding import code_responses
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import CELL_DIMS, open_responses, opened_responses, write_dataset
from polbayes.data.out_of_core import (
    by_model,
    portions,
    reduce_by_model,
    text_bytes,
    write_by_model,
)
from polbayes.errors import UserError
from polbayes.instrument.design import design
from polbayes.instrument.prompts import load_prefixes, load_template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.measures import bias, validity
from polbayes.probing.probe import probe
from polbayes.respondents import describe

NAMES = ["left", "right", "yes_sayer", "fickle", "centre"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return answers in words of five simulated models, coded."""
    respondents = {n: RespondentConfig("simulated", f"planted:{n}") for n in NAMES}
    template = load_template("faulborn")
    prefixes = load_prefixes(only=["baseline", "likert"])
    infos = [describe(name, config, template) for name, config in respondents.items()]
    items = [item.item for item in load_instrument("wvs").items[:6]]
    asked = design([load_instrument("wvs")], prefixes, infos, items=items, runs=2)
    data = probe(
        asked,
        respondents,
        elicitation=ElicitationConfig(),
        lexicon=None,
        prefixes=prefixes,
        seed=1,
        journal_dir=tmp_path_factory.mktemp("journal"),
        progress=False,
    )
    data["completion"].values[0, 0, 0, 0, 0] = "Größtenteils “ja” – 同意します"
    return code_responses(data, ["likert", "lexical"])


@pytest.fixture
def written(whole, tmp_path):
    path = tmp_path / "responses.nc"
    parts = (whole.isel(model=part) for part in (slice(0, 1), slice(1, 3), slice(3, 5)))
    longest = max(len(x.encode()) for x in whole["completion"].values.ravel())
    write_by_model(whole, parts, path, text_bytes={"completion": longest})
    return path


def test_what_was_written_in_parts_is_the_same_as_written_whole(whole, written, tmp_path):
    write_dataset(whole, tmp_path / "whole.nc")
    xr.testing.assert_identical(open_responses(written), open_responses(tmp_path / "whole.nc"))
    xr.testing.assert_identical(open_responses(written), whole)
    assert text_bytes(written) == text_bytes(tmp_path / "whole.nc")
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []


def test_models_are_opened_by_name_in_the_order_wanted(whole, written):
    for names in (["fickle"], ["right", "left"]):
        xr.testing.assert_identical(open_responses(written, models=names), whole.sel(model=names))
    with pytest.raises(UserError, match="unknown model 'lfet'; did you mean 'left'"):
        open_responses(written, models=["lfet"])


@pytest.mark.parametrize(("cells", "sizes"), [(1, [1] * 5), (10**9, [5]), (-1, [1] * 5)])
def test_portions_are_of_whole_models(whole, written, cells, sizes):
    parts = list(portions(written, cells=cells))
    assert [part.sizes["model"] for part in parts] == sizes
    xr.testing.assert_identical(xr.concat(parts, "model", data_vars="minimal"), whole)


def test_a_portion_has_as_many_models_as_have_no_more_cells(whole, written):
    each = whole["status"].isel(model=0).size
    assert [part.sizes["model"] for part in portions(written, cells=2 * each)] == [2, 2, 1]
    assert [part.sizes["model"] for part in portions(written, cells=2 * each - 1)] == [1] * 5


@pytest.mark.parametrize("measure", [bias, validity])
def test_measures_by_model_are_the_same_one_model_at_a_time(whole, written, measure):
    table = reduce_by_model(written, lambda data: measure(data, draws=200))
    keys = [name for name in ("model", "dimension", "measure") if name in table]
    expected = measure(whole, draws=200).set_index(keys).sort_index()
    found = table.set_index(keys).sort_index()
    assert found.index.equals(expected.index)
    for column in expected.columns:
        assert found[column].tolist() == pytest.approx(expected[column].tolist(), nan_ok=True)


def test_a_piece_of_the_file_belongs_to_one_model(written):
    with xr.open_dataset(written) as data:
        over = [name for name, values in data.data_vars.items() if values.dims[0] == "model"]
        assert {"status", "completion", "stance_prob"} <= set(over)
        assert {data[name].encoding["chunksizes"][0] for name in over} == {1}
        assert all(data[name].encoding["zlib"] for name in over)


def test_parts_that_do_not_begin_with_the_model_are_refused(whole, tmp_path):
    turned = whole[["stance"]].transpose(*reversed(CELL_DIMS))
    with pytest.raises(ValueError, match="stance: model must be its first dimension"):
        write_by_model(whole, [turned], tmp_path / "responses.nc", text_bytes={})
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_no_bytes_is_empty(whole, tmp_path):
    silent = whole[["completion"]].copy(deep=True)
    silent["completion"].values[:] = ""
    write_by_model(silent, [silent], tmp_path / "r.nc", text_bytes={})
    assert set(open_responses(tmp_path / "r.nc")["completion"].values.ravel()) == {""}
    assert np.array_equal(open_responses(tmp_path / "r.nc")["model"], NAMES)


def test_of_an_opened_dataset_only_what_is_asked_for_is_read(whole, written):
    with opened_responses(written) as data:
        assert all(data.variables[name]._in_memory for name in data.coords)
        parts = list(by_model(data, ("stance", "completion", "nothing")))
        assert not any(data.variables[name]._in_memory for name in data.data_vars)
    assert [set(part.data_vars) for part in parts] == [{"stance", "completion"}] * len(NAMES)
    names = ["stance", "completion"]
    again = xr.concat(parts, "model", data_vars="minimal", coords="minimal", compat="override")
    for name in names:
        xr.testing.assert_identical(again[name].variable, whole[name].variable)
    for one, other in zip(by_model(whole, names), parts, strict=True):
        xr.testing.assert_identical(one, other)


def test_what_fails_while_a_dataset_is_open_is_not_taken_for_a_damaged_file(written):
    with pytest.raises(ValueError, match="mine"), opened_responses(written):
        raise ValueError("mine")


def test_answers_damaged_in_the_middle_of_the_file_are_an_error(written):
    content = bytearray(written.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = bytes(4000)
    written.write_bytes(content)
    with (
        pytest.raises(UserError, match="not a readable netCDF file"),
        opened_responses(written) as data,
    ):
        list(by_model(data, set(map(str, data.data_vars))))
