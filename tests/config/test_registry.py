from importlib.metadata import EntryPoint

import pytest

from polbayes.config import registry
from polbayes.config.registry import Registry
from polbayes.errors import UserError


@pytest.fixture
def installed(monkeypatch):
    """Return the entry points of installed packages, to be added to."""
    found = []
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [e for e in found if e.group == group]
    )
    return found


def made(**own):
    return Registry("polbayes.things", "thing", own)


def test_things_are_imported_when_they_are_asked_for(installed):
    things = made(dumps="json:dumps", broken="no.such.module:x", here=3)
    assert list(things) == ["dumps", "broken", "here"]
    assert things["dumps"]([1]) == "[1]"
    assert things["here"] == 3
    with pytest.raises(UserError, match=r"thing 'broken': no.such.module:x cannot be imported"):
        things["broken"]


def test_an_entry_point_of_the_group_adds_one(installed):
    installed += [
        EntryPoint("loads", "json:loads", "polbayes.things"),
        EntryPoint("other", "json:dump", "polbayes.coders"),
    ]
    things = made(dumps="json:dumps")
    assert sorted(things) == ["dumps", "loads"]
    assert things.chosen("loads")("[2]") == [2]


def test_a_name_that_is_taken_is_refused(installed):
    installed.append(EntryPoint("dumps", "marshal:dumps", "polbayes.things"))
    with pytest.raises(UserError, match=r"thing 'dumps' of marshal:dumps has the name of another"):
        list(made(dumps="json:dumps"))


def test_an_unknown_name_is_said_with_those_there_are(installed):
    with pytest.raises(UserError, match=r"^coding: unknown thing 'dump'; did you mean 'dumps'"):
        made(dumps="json:dumps").chosen("dump", where="coding")


def test_a_script_adds_and_removes(installed):
    things = made()
    things["x"] = 1
    assert dict(things) == {"x": 1}
    del things["x"]
    assert "x" not in things
