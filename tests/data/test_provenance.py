from pathlib import Path
from types import MappingProxyType

from polbayes.data.provenance import digest, json_digest, text_digest
from polbayes.measures.resampling import generator
from polbayes.probing.journal import journal_path
from polbayes.respondents.questions import prompt_digest


def test_digests_are_those_in_the_files_of_earlier_runs():
    """A changed value would ask and code everything again when a run is resumed."""
    assert text_digest("ä", "b") == "975f712acb090e520a31abf2f1bc68d3"
    assert text_digest("ä", "b\ud800", size=10) == "d246cc5b266b93a95515"
    assert json_digest({"b": 1, "a": "ä"}) == "6ff9caa66a105e0c1860355babe54725"
    assert json_digest({"b": 1, "a": MappingProxyType({"x": 1})}, size=8) == "5b593555484c19d6"
    assert prompt_digest("p\ud800é") == "0f50252c2a01061d"
    assert journal_path(Path("."), "a/b ä").name == "a_b__-155de95a.jsonl"
    assert generator(3, "items", "ä", 2).integers(10**9) == 253669760


def test_what_is_told_apart():
    assert text_digest("a", "b") != text_digest("ab") != text_digest("b", "a")
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 2, "b": 1})
