import json

import numpy as np
import pytest
import xarray as xr
import yaml

from polbayes.config.registry import added
from polbayes.config.schema import STAGES
from polbayes.data.files import write_text
from polbayes.data.provenance import digest, file_digest, versions
from polbayes.errors import UserError
from polbayes.run.manifest import Manifest, check_config, stage_keys

CONFIG = {
    "name": "mine",
    "title": "",
    "seed": 1,
    "models": None,
    "instruments": ["wvs"],
    "coding": {"coders": ["lexical"]},
    "measures": {"bootstrap": 100},
    "analysis": {"parts": {"theta": "~ 1"}, "level": 0.9},
    "sampler": {"draws": 100},
    "run_dir": "here",
    "stages": list(STAGES),
    "task": "run",
}


@pytest.fixture
def made(tmp_path):
    """Return a folder that was made with `CONFIG`."""
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(CONFIG))
    return tmp_path


def changed(**values):
    return yaml.safe_dump({**CONFIG, **values})


def test_an_empty_folder_takes_any_config(tmp_path):
    check_config(tmp_path, changed(seed=5), STAGES)


def test_a_file_that_was_cut_short_after_it_was_finished_is_not_done(tmp_path):
    manifest, path = Manifest(tmp_path), tmp_path / "responses.nc"
    xr.Dataset({"stance": ("run", np.zeros(1000))}).to_netcdf(path, engine="netcdf4")
    manifest.finish("probe", "key", ["responses.nc"])
    assert manifest.is_done("probe", "key")
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:100], b"", b"#" + whole[1:]):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"responses\.nc: .* delete it") as caught:
            manifest.is_done("probe", "key")
        assert not manifest.is_done("probe", "other key")
        assert str(caught.value).count(". ") == 0
    path.unlink()
    assert not manifest.is_done("probe", "key")


def test_a_table_that_was_changed_after_it_was_written_is_not_done(tmp_path):
    manifest, path = Manifest(tmp_path), tmp_path / "bias.csv"
    path.write_text("model,estimate\nleft,-0.5\nright,0.5\n", encoding="utf-8")
    manifest.finish("measure", "key", ["bias.csv"])
    assert Manifest(tmp_path).is_done("measure", "key")
    whole = path.read_bytes()
    for damaged in (whole[:-10], b""):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"bias\.csv: .* delete it"):
            Manifest(tmp_path).is_done("measure", "key")
        assert not manifest.is_done("measure", "other key")
    path.unlink()
    assert not manifest.is_done("measure", "key")
    assert manifest.lost("measure", "key") == [path]
    assert manifest.lost("measure", "other key") == manifest.lost("fit", "key") == []


def test_tables_of_a_run_made_before_their_hashes_were_kept_are_taken(tmp_path):
    (tmp_path / "bias.csv").write_text("model\n", encoding="utf-8")
    manifest = Manifest(tmp_path)
    manifest.finish("measure", "key", ["bias.csv"])
    content = json.loads(manifest.path.read_text(encoding="utf-8"))
    del content["stages"]["measure"]["tables"]
    manifest.path.write_text(json.dumps(content), encoding="utf-8")
    assert Manifest(tmp_path).is_done("measure", "key")


def test_the_same_config_is_taken(made):
    check_config(made, changed(), STAGES)


@pytest.mark.parametrize("values", [{"run_dir": "there"}, {"task": "explain"}, {"stages": ["fit"]}])
def test_what_changes_no_result_may_change(made, values):
    check_config(made, changed(**values), STAGES)


def test_changed_answers_are_refused_with_old_and_new_and_the_way_out(made):
    with pytest.raises(UserError) as caught:
        check_config(made, changed(seed=2), STAGES)
    text = str(caught.value)
    assert f"{made} holds a run with seed=1, not 2" in text
    assert "choose another run_dir or go back to seed=1" in text
    assert "stages=" not in text  # answers are not replaced


def test_a_nested_key_is_named_in_full(made):
    with pytest.raises(UserError) as caught:
        check_config(made, changed(sampler={"draws": 500}), STAGES)
    text = str(caught.value)
    assert "holds a run with sampler.draws=100, not 500" in text
    assert "go back to sampler.draws=100" in text
    assert "or add stages=[fit,report] to replace that part of the results" in text


def test_a_key_may_change_until_a_stage_that_depends_on_it_is_finished(made):
    check_config(made, changed(sampler={"draws": 500}), STAGES, finished=["probe", "code"])
    with pytest.raises(UserError, match=r"coding\.coders="):
        check_config(made, changed(coding={"coders": ["likert"]}), STAGES, finished=["fit"])
    with pytest.raises(UserError, match="seed=1, not 2"):
        check_config(made, changed(seed=2), STAGES, finished=[])


def test_an_earlier_stage_offers_all_that_follow(made):
    with pytest.raises(UserError, match=r"stages=\[code,measure,fit,report\]"):
        check_config(made, changed(coding={"coders": ["likert"]}), STAGES)


def test_the_way_out_works(made):
    text = changed(analysis={"parts": {"theta": "~ 0 + dimension"}, "level": 0.9})
    with pytest.raises(UserError, match=r"analysis\.parts\.theta"):
        check_config(made, text, STAGES)
    check_config(made, text, ["fit", "report"])
    check_config(made, text, ["report", "fit"])


@pytest.mark.parametrize("stages", [["fit", "report"], ["report"], ["measure", "fit"]])
def test_a_later_stage_does_not_excuse_other_answers(made, stages):
    with pytest.raises(UserError, match="models=null"):
        check_config(made, changed(models=["left"]), stages)


def test_a_report_alone_does_not_excuse_another_fit(made):
    with pytest.raises(UserError, match=r"sampler\.draws"):
        check_config(made, changed(sampler={"draws": 5}), ["report"])
    check_config(made, changed(title="New"), ["report"])


def test_a_long_value_is_cut(made):
    with pytest.raises(UserError) as caught:
        check_config(made, changed(instruments=["x" * 300]), STAGES)
    assert len(str(caught.value)) < len(str(made)) + 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00"])
def test_a_damaged_config_is_named(made, content):
    (made / ".hydra" / "config.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"config\.yaml: cannot be read"):
        check_config(made, changed(), STAGES)


def test_a_finished_stage_is_remembered(tmp_path):
    (tmp_path / "report.html").write_bytes(b"x")
    manifest = Manifest(tmp_path)
    assert not manifest.is_done("probe", "k1")
    manifest.finish("probe", "k1", ["report.html"], seconds=1.5)
    again = Manifest(tmp_path)
    assert again.is_done("probe", "k1")
    assert not again.is_done("probe", "k2")
    assert not again.is_done("code", "k1")
    assert again.stages["probe"]["seconds"] == 1.5
    (tmp_path / "report.html").unlink()
    assert not again.is_done("probe", "k1")


def test_stages_are_added_to_each_other(tmp_path):
    Manifest(tmp_path).finish("probe", "a", [])
    Manifest(tmp_path).finish("code", "b", [])
    both = Manifest(tmp_path)
    assert both.is_done("probe", "a")
    assert both.is_done("code", "b")
    content = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert set(content["stages"]) == {"probe", "code"}
    assert content["versions"]["python"].startswith("3.")
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "null", '{"stages": 3}', '{"stages": {"fit": 3}}']
)
def test_a_damaged_manifest_is_named(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"manifest\.json: cannot be read .* move it away"):
        Manifest(tmp_path).is_done("fit", "key")


def test_text_is_replaced_whole(tmp_path):
    path = tmp_path / "deeper" / "file.txt"
    write_text(path, "old")
    write_text(path, "nëw")
    assert path.read_text(encoding="utf-8") == "nëw"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_digest_depends_on_content_and_not_on_order(tmp_path):
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest([1, 2]) != digest([2, 1])
    (tmp_path / "x").write_bytes(b"abc")
    # SHA-256 of "abc", from the standard that defines it.
    assert "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".startswith(
        file_digest(tmp_path / "x")
    )


def test_how_many_are_asked_at_once_may_change(tmp_path):
    before, after, other = (
        {**CONFIG, "elicitation": {"batch_size": size, "runs": runs}}
        for size, runs in ((16, 3), (None, 3), (16, 4))
    )
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(before))
    check_config(tmp_path, yaml.safe_dump(after), STAGES)
    assert stage_keys(before, {}) == stage_keys(after, {}) != stage_keys(other, {})
    with pytest.raises(UserError, match=r"elicitation\.runs=3, not 4"):
        check_config(tmp_path, yaml.safe_dump(other), STAGES)


def judged(**api):
    """Return a config with a coder of an earlier kind and a judge."""
    judge = {"backend": "chat_api", "votes": 5, "api": {"base_url": "http://x/v1", **api}}
    models = {"sure": {"kind": "nli", "judge": None}, "gpt": {"kind": "judge", "judge": judge}}
    return {**CONFIG, "coding": {"coders": ["sure", "gpt"], "models": models}}


def test_what_a_judge_may_cost_may_change_and_who_it_is_may_not(tmp_path):
    before, after, other = judged(budget=1), judged(budget=2, concurrency=3), judged(system="Hi")
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(before))
    check_config(tmp_path, yaml.safe_dump(after), STAGES)
    assert stage_keys(before, {}) == stage_keys(after, {}) != stage_keys(other, {})
    with pytest.raises(UserError, match=r"coding\.models\.gpt\.judge\.api\.system=null, not Hi"):
        check_config(tmp_path, yaml.safe_dump(other), STAGES)


def test_a_coding_from_before_there_were_judges_is_the_same(tmp_path):
    after = judged()
    del after["coding"]["models"]["gpt"]
    before = {**CONFIG, "coding": {"coders": ["sure", "gpt"], "models": {"sure": {"kind": "nli"}}}}
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(before))
    check_config(tmp_path, yaml.safe_dump(after), STAGES)
    assert stage_keys(before, {}) == stage_keys(after, {})


def test_keys_that_there_were_not_always_change_nothing_at_their_defaults(tmp_path):
    before = {**CONFIG, "elicitation": {"runs": 3}, "measures": {"bootstrap": 500}}
    how = {"decoding": "sample", "top_p": 1.0, "beams": 5, "penalty_alpha": 0.6}
    after = {
        **before,
        "elicitation": {"runs": 3, **how, "lexicon_size": None, "top_tokens": None},
        "measures": {"bootstrap": 500, "reformulation_sets": None},
        "report": {"study": None},
        "ablation": {"decodings": {}},
    }
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(before))
    check_config(tmp_path, yaml.safe_dump(after), STAGES)
    assert stage_keys(before, {}) == stage_keys(after, {})
    other = {**after, "elicitation": {**after["elicitation"], "decoding": "greedy"}}
    assert stage_keys(other, {})["probe"] != stage_keys(before, {})["probe"]
    with pytest.raises(UserError, match=r"elicitation\.decoding=sample, not greedy"):
        check_config(tmp_path, yaml.safe_dump(other), STAGES)
    shown = {**before, "report": {"study": "haller"}}
    old, new = stage_keys(before, {}), stage_keys(shown, {})
    assert {stage for stage in STAGES if old[stage] != new[stage]} == {"report"}


@pytest.mark.parametrize(
    ("values", "redone"),
    [
        ({}, set()),
        ({"run_dir": "there"}, set()),
        ({"title": "New"}, {"report"}),
        ({"sampler": {"draws": 5}}, {"fit", "report"}),
        ({"measures": {"bootstrap": 200}}, {"measure", "report"}),
        ({"coding": {"coders": []}}, {"code", "measure", "fit", "report"}),
        ({"models": ["left"]}, set(STAGES)),
        ({"seed": 2}, set(STAGES)),
    ],
)
def test_a_stage_is_done_again_when_what_it_is_made_from_changed(values, redone):
    before, after = (
        stage_keys(CONFIG, {"wvs.yaml": "1"}),
        stage_keys({**CONFIG, **values}, {"wvs.yaml": "1"}),
    )
    assert {stage for stage in STAGES if before[stage] != after[stage]} == redone


def test_another_instrument_file_changes_everything():
    before, after = stage_keys(CONFIG, {"wvs.yaml": "1"}), stage_keys(CONFIG, {"wvs.yaml": "2"})
    assert all(before[stage] != after[stage] for stage in STAGES)


def test_what_only_the_report_reads_makes_it_again():
    before = stage_keys(CONFIG, {})
    after = stage_keys(CONFIG, {}, report_inputs={"keying.csv": "1"})
    assert {stage for stage in STAGES if before[stage] != after[stage]} == {"report"}


def test_versions_name_what_results_depend_on():
    assert {"python", "pymc", "numpy", "xarray"} <= set(versions())


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ({"analysis": {"parts": {"theta": "~ 1"}, "level": 0.5}}, True),
        ({"analysis": {"parts": {"theta": "~ 1"}, "level": 0.9, "rope": 0.2}}, True),
        ({"analysis": {"parts": {"theta": "~ 0 + dimension"}, "level": 0.9}}, False),
        ({"sampler": {"draws": 200}}, False),
        ({"coding": {"coders": []}}, False),
        ({"seed": 2}, False),
        ({"measures": {"bootstrap": 200}}, True),
    ],
)
def test_what_is_reported_of_the_draws_does_not_change_them(values, same):
    before, after = stage_keys(CONFIG, {}), stage_keys({**CONFIG, **values}, {})
    assert (before["draws"] == after["draws"]) is same


def test_a_key_that_did_not_exist_then_is_at_its_default(made):
    now = {**CONFIG, "journal": {"sync_seconds": 1.0, "cache": None}, "wordings": []}
    now["sampler"] = {**CONFIG["sampler"], "chains": 4}
    check_config(made, yaml.safe_dump(now), STAGES)
    assert stage_keys(CONFIG, {}) == stage_keys(now, {})
    now["sampler"]["chains"] = 2
    with pytest.raises(UserError, match=r"sampler\.chains=4, not 2"):
        check_config(made, yaml.safe_dump(now), STAGES)
    assert stage_keys(CONFIG, {})["fit"] != stage_keys(now, {})["fit"]


def test_a_key_that_is_left_out_later_is_at_its_default_too(tmp_path):
    then = {**CONFIG, "sampler": {"draws": 100, "chains": 2}}
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(then))
    with pytest.raises(UserError, match=r"sampler\.chains=2, not 4"):
        check_config(tmp_path, changed(), STAGES)


def test_more_is_an_addition_only_where_it_may_be(tmp_path):
    before = {**CONFIG, "elicitation": {"runs": 3}, "respondents": {"a": {"checkpoint": "x"}}}
    more = {"a": {"checkpoint": "x"}, "b": {"checkpoint": "y"}}
    after = yaml.safe_dump({**before, "elicitation": {"runs": 4}, "respondents": more})
    write_text(tmp_path / ".hydra" / "config.yaml", yaml.safe_dump(before))
    new = check_config(tmp_path, after, STAGES, adding=True)
    assert new[0] == "elicitation.runs=4 (was 3)"
    assert new[1].startswith("respondents.b={'checkpoint': 'y', 'backend': 'causal'")
    assert len(new) == 2
    with pytest.raises(UserError, match=r"elicitation\.runs=3, not 4"):
        check_config(tmp_path, after, STAGES)
    other = yaml.safe_dump({**before, "elicitation": {"runs": 4, "top_k": 3}})
    with pytest.raises(UserError, match=r"elicitation\.top_k=10, not 3"):
        check_config(tmp_path, other, STAGES, adding=True)


def test_a_measure_that_a_package_adds_measures_again_and_fits_nothing_again():
    before, after = stage_keys(CONFIG, {}), stage_keys(CONFIG, {}, measure_inputs={"own": "p:M 1"})
    assert {name for name in before if before[name] != after[name]} == {"measure", "report"}


def test_what_a_package_adds_is_told_apart_by_version(tmp_path, monkeypatch):
    about = tmp_path / "parrot-1.2.dist-info"
    write_text(about / "METADATA", "Metadata-Version: 2.1\nName: parrot\nVersion: 1.2\n")
    write_text(about / "entry_points.txt", "[polbayes.measures]\nshort = parrot.measure:MEASURE\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert added("polbayes.measures")["short"] == "parrot.measure:MEASURE 1.2"
    assert "short" not in added("polbayes.sections")
