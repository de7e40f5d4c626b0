from dataclasses import replace

import numpy as np
import pytest

from polbayes.config.compose import compose
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import MISSING, merge
from polbayes.errors import UserError
from polbayes.instrument.covariates import (
    attribute_coordinates,
    check_given,
    checked_attributes,
    model_attributes,
    read_attribute,
)
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix, load_prefixes, load_template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import describe
from polbayes.run.plan import plan

LLAMA = {"lab": "meta", "size": 7, "chat_tuned": True}


def made(*attributes, **own):
    infos = [ModelInfo(f"m{k}", "", attributes=a, **own) for k, a in enumerate(attributes)]
    wvs = [load_instrument("wvs")]
    return design(wvs, [Prefix("baseline", "", "open")], infos, items=["wvs-01"])


def test_text_numbers_and_truth_values_are_kept_as_what_they_are():
    assert checked_attributes({**LLAMA, "none": None, "empty": ""}, where="x") == {
        "lab": "meta",
        "size": 7.0,
        "chat_tuned": True,
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"the size": 7}, "x: 'the size' cannot be the name of an attribute"),
        ({3: 7}, "x: '3' cannot be the name"),
        ({"family": "f"}, "x: family has a key of its own"),
        ({"dimension": "f"}, "x: 'dimension' means something else"),
        ({"size": [7]}, "x.size: must be a text, a number, true or false"),
        ({"size": float("inf")}, "x.size: must be a text, a number"),
    ],
)
def test_what_cannot_be_a_predictor_is_refused(given, says):
    with pytest.raises(UserError, match="^" + says.replace("(", r"\(")):
        checked_attributes(given, where="x")


def test_attributes_become_coordinates_with_gaps_where_a_model_has_none():
    data = made({"lab": "meta", "size": 7.0}, {"open": True, "size": 70.0})
    assert model_attributes(data) == ("lab", "size", "open")
    assert data["lab"].values.tolist() == ["meta", ""]
    assert data["size"].values.tolist() == [7.0, 70.0]
    assert data["open"].values.tolist() == [MISSING, 1]
    assert data["open"].dtype == np.int8


def test_one_kind_of_value_for_all_models():
    with pytest.raises(UserError, match="'size' is a number for 'a' but a text for 'b'"):
        attribute_coordinates({"a": {"size": 7.0}, "b": {"size": "big"}})


def test_gaps_survive_a_merge():
    one = made({"lab": "meta", "size": 7.0, "open": True})
    other = made({}).assign_coords(model=np.array(["n"], dtype=object))
    both = merge([one, other])
    assert both["lab"].values.tolist() == ["meta", ""]
    assert both["open"].values.tolist() == [1, MISSING]
    assert np.isnan(both["size"].values[1])


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["7", "70.5", ""], [7.0, 70.5, None]),
        (["true", "No", " "], [True, False, None]),
        (["7", "7b"], ["7", "7b"]),
        (["nan", "1"], ["nan", "1"]),
        (["", ""], [None, None]),
    ],
)
def test_a_column_of_text_is_read_as_what_all_of_it_is(texts, values):
    assert read_attribute(texts) == values


@pytest.mark.parametrize("name", ["lab", "size", "open"])
def test_a_model_without_what_a_formula_uses_is_named(name):
    data = made({"lab": "meta", "size": 7.0, "open": True}, {})
    with pytest.raises(
        UserError,
        match=rf"uses? '{name}', which model 'm1' does not have; give it "
        rf"as respondents\.m1\.attributes\.{name}",
    ):
        check_given(data, ["item", name], ["m0", "m1"])
    check_given(data, ["item", name, "revision"], ["m0"])


def test_family_and_instruct_are_asked_for_under_their_own_keys():
    with pytest.raises(UserError, match=r"model 'm0' \(and 1 more\).*respondents\.m0\.family"):
        check_given(made({}, {}), ["family"], ["m0", "m1"])
    with pytest.raises(UserError, match=r"respondents\.m0\.instruct \(for"):
        check_given(made({}), ["instruct"], ["m0"])
    check_given(made({}, family="f", instruct=False), ["family", "instruct"], ["m0"])


def test_a_respondent_is_described_with_its_attributes():
    elicitation = ElicitationConfig()
    config = RespondentConfig("simulated", "planted:left", attributes=dict(LLAMA))
    info = describe("left", config, load_template(elicitation.template))
    assert info.attributes == {"lab": "meta", "size": 7.0, "chat_tuned": True}
    config.attributes = {"item": 1}
    with pytest.raises(UserError, match=r"respondents\.left\.attributes: 'item' means something"):
        describe("left", config, load_template(elicitation.template))


POLITE = {"polite": True, "persona": "nurse"}


def asked(*prefixes, wordings=()):
    items = [
        replace(
            item,
            variants=tuple(
                replace(v, attributes=dict(wordings).get(v.variant, {})) for v in item.variants
            ),
        )
        for item in load_instrument("wvs").items[:2]
    ]
    instrument = replace(load_instrument("wvs"), items=tuple(items))
    return design([instrument], prefixes, [ModelInfo("m", "")])


def test_prefixes_and_wordings_have_attributes_too():
    data = asked(
        *(Prefix("plain", "", "open"), Prefix("kind", "Please.", "open", POLITE)),
        wordings={"opposite": {"negated": True}, "original": {"negated": False}},
    )
    assert data["persona"].dims == ("prefix",)
    assert data["persona"].values.tolist() == ["", "nurse"]
    assert data["polite"].values.tolist() == [MISSING, 1]
    assert data["negated"].dims == ("item", "variant")
    assert (data["negated"].sel(variant="opposite") == 1).all()
    assert (data["negated"].sel(variant="reformulation") == MISSING).all()
    assert data["topic"].values.tolist()[0] == "income differences as incentives"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("persona", "which prefix 'plain' does not have; give it as attributes.persona"),
        ("negated", "which wording 'wvs-01 / reformulation' does not have"),
    ],
)
def test_a_prefix_or_wording_without_what_a_formula_uses_is_named(name, says):
    data = asked(
        *(Prefix("plain", "", "open"), Prefix("kind", "Please.", "open", POLITE)),
        wordings={"opposite": {"negated": True}, "original": {"negated": False}},
    )
    with pytest.raises(UserError, match=says):
        check_given(data, [name], ["m"])


def test_one_name_for_two_kinds_of_things_is_refused():
    with pytest.raises(UserError, match="'polite' is declared for prefixes and for wordings"):
        asked(Prefix("kind", "", "open", POLITE), wordings={"original": {"polite": True}})


def test_prefixes_declare_attributes_in_their_file(tmp_path):
    path = tmp_path / "prefixes.yaml"
    path.write_text("prefixes:\n  kind: {text: Please., attributes: {polite: true}}\n")
    assert load_prefixes(str(path))[0].attributes == {"polite": True}
    path.write_text("prefixes:\n  kind: {text: Please., attributes: {prefix: true}}\n")
    with pytest.raises(UserError, match="prefix 'kind': attributes: 'prefix' means something"):
        load_prefixes(str(path))


SIMULATED = "+respondents.drawn={backend: simulated, checkpoint: 'planted:left'}"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["models=[left,drawn]", SIMULATED, "elicitation.temperature=0"], ["greedy", ""]),
        (["models=[left,right]", "elicitation.decoding=beam"], ["beam", "beam"]),
        (["models=[left,right]", "elicitation.decoding=beam",
          "+respondents.left.attributes.decoding=mine"], ["mine", "beam"]),
        (["models=[left,right]"], None),
    ],
)  # fmt: skip
def test_the_design_says_whose_runs_are_one_answer(overrides, expected):
    """A simulated respondent draws its answers whatever the temperature."""
    data = plan(compose(["+experiment=wvs_prefixes", *overrides])[0]).design
    if expected is None:
        assert "decoding" not in data.coords
    else:
        assert data["decoding"].values.tolist() == expected
