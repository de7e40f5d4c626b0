"""Dimensions that an instrument declares, and items with weights."""

import copy

import numpy as np
import pytest
import yaml

from polbayes.data.dataset import read_dataset, write_dataset
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension, dimensions_of
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import load_instrument

FOURTH = {"weights": {"civil": 0}, "source": "5", "variants": None}
FOUR = {
    "id": "four",
    "title": "Four axes",
    "citation": "Nobody (2020)",
    "dimensions": {
        "economic": {"negative": "equality", "positive": "markets", "scale": [100, 0]},
        "diplomatic": {"negative": "nation", "positive": "globe", "scale": [0, 100]},
        "civil": {"label": "State and liberty", "negative": "liberty", "positive": "authority"},
        "societal": None,
    },
    "items": [
        {
            "item": "a",
            "text": "Tax the rich.",
            "weights": {"economic": -10, "civil": 5},
            "source": "1",
            "variants": {"negation": "Do not tax the rich."},
        },
        {
            "item": "b",
            "text": "Trade freely.",
            "weights": {"economic": 5, "diplomatic": 10},
            "source": "2",
            "variants": None,
        },
        {
            "item": "c",
            "text": "Obey the police.",
            "dimension": "civil",
            "direction": "authority",
            "source": "3",
            "variants": None,
        },
        {
            "item": "d",
            "text": "Keep traditions.",
            "dimension": "societal",
            "direction": "right",
            "source": "4",
            "variants": None,
        },
        {
            "item": "e",
            "text": "It rains.",
            "weights": {"civil": 0},
            "source": "5",
            "variants": None,
        },
    ],
}


def written(folder, content):
    path = folder / "four.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return str(path)


def laid_out(instruments):
    return design(instruments, [Prefix("baseline", "", "open")], [ModelInfo("m", "")])


def test_a_file_with_four_dimensions_and_weights(tmp_path):
    instrument = load_instrument(written(tmp_path, FOUR))
    assert instrument.dimensions == (
        Dimension("economic", "Economic", "equality", "markets", (100.0, 0.0)),
        Dimension("diplomatic", "Diplomatic", "nation", "globe", (0.0, 100.0)),
        Dimension("civil", "State and liberty", "liberty", "authority"),
        Dimension("societal", "Societal", "left", "right"),
    )
    belongs = [(i.dimension, i.direction) for i in instrument.items]
    assert belongs == [
        ("economic", -1),
        ("diplomatic", 1),
        ("civil", 1),
        ("societal", 1),
        ("", 0),
    ]
    assert instrument.items[1].weights == {"economic": 5.0, "diplomatic": 10.0}


def test_the_dataset_says_what_was_declared(tmp_path):
    instrument = load_instrument(written(tmp_path, FOUR))
    data = laid_out([instrument])
    write_dataset(data, tmp_path / "design.nc")
    for one in (data, read_dataset(tmp_path / "design.nc")):
        assert dimensions_of(one) == instrument.dimensions
        assert one["weight"].sel(item="a").values.tolist() == [-10, 0, 5, 0]
        np.testing.assert_array_equal(one["weight"].sel(item=["c", "d", "e"]), 0)
        assert one["keying"].sel(item="a").values.tolist() == [-1, 1]


def test_the_usual_dimensions_leave_a_dataset_as_it_was():
    data = laid_out([load_instrument("wvs")])
    assert "score" not in data.coords
    assert dimensions_of(data) == ECONOMIC_AND_CULTURAL


def test_instruments_together_agree_on_a_dimension(tmp_path):
    four = load_instrument(written(tmp_path, FOUR))
    with pytest.raises(UserError, match="two of them declare the dimension 'economic'"):
        laid_out([four, load_instrument("wvs")])
    other = copy.deepcopy(FOUR) | {"id": "one", "dimensions": {"taste": None}}
    other["items"] = [FOUR["items"][3] | {"item": "z", "dimension": "taste"}]
    data = laid_out([four, load_instrument(written(tmp_path, other))])
    assert [d.dimension for d in dimensions_of(data)][-1] == "taste"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dimensions": {}}, "dimensions: there is none"),
        ({"dimensions": ["economic"]}, "dimensions: must be a mapping"),
        ({"dimensions": {"total": None}}, "dimensions: total: means something else in tables"),
        ({"dimensions": {"a b": None}}, "'a b' is not a usable id"),
        ({"dimensions": {"x": {"lable": "X"}}}, "unknown key 'lable'; did you mean 'label'"),
        ({"dimensions": {"x": {"negative": "right"}}}, "both poles are called 'right'"),
        ({"dimensions": {"x": {"scale": [1]}}}, "x: scale: must be two numbers"),
        ({"dimensions": {"x": {"scale": [0, True]}}}, "x: scale: must be two numbers"),
        ({"dimensions": {"x": {"scale": [1, 1]}}}, "the scores at the two poles must differ"),
        ({"weights": {"economical": 1}}, "weights: unknown dimension 'economical'; did you mean"),
        ({"weights": {"economic": "much"}}, "weights: economic: must be a number, not 'much'"),
        ({"weights": 3}, "weights: must be a mapping"),
        ({"weights": {"civil": 1}, "dimension": "civil"}, "'weights' stands in place of"),
    ],
)
def test_what_cannot_be_meant(tmp_path, change, says):
    content = copy.deepcopy(FOUR)
    (content if "dimensions" in change else content["items"][0]).update(change)
    with pytest.raises(UserError) as caught:
        load_instrument(written(tmp_path, content))
    assert says in str(caught.value)


def test_a_direction_is_one_of_the_poles(tmp_path):
    content = copy.deepcopy(FOUR)
    content["items"][2]["direction"] = "unknown"
    item = load_instrument(written(tmp_path, content)).items[2]
    assert (bool(item.dimension), item.direction) == (True, 0)
    content["items"][2]["direction"] = "markets"
    with pytest.raises(UserError, match=r"item 'c': unknown direction 'markets'; .*authority"):
        load_instrument(written(tmp_path, content))
