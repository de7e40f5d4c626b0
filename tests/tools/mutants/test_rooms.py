"""The modules that are mutated, and their tests."""

from tools.mutants.rooms import ROOMS, Room


def test_modules_and_their_tests_are_there(request):
    root = request.config.rootpath
    for room in ROOMS:
        assert all((root / path).is_file() for path in (room.module, *room.tests)), room
    assert len({room.module for room in ROOMS}) == len(ROOMS)
    assert Room("a", ("b",)).every == 1
