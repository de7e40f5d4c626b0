import os

import pytest

from polbayes.config.resources import find, folder, read_yaml
from polbayes.errors import UserError


@pytest.mark.parametrize("name", ["conf", "data", "models"])
def test_the_shipped_folders_are_there(name):
    assert folder(name).is_dir()
    assert any(folder(name).iterdir())


def test_a_shipped_file_is_found_by_its_stem():
    assert find("instruments", "wvs") == folder("data") / "instruments" / "wvs.yaml"


@pytest.mark.parametrize("name", ["mine.yaml", "./mine.yaml", "sub/other.yaml"])
def test_a_file_of_ones_own_is_found_by_its_path(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for path in ("mine.yaml", "sub/other.yaml"):
        (tmp_path / path).write_text("x: 1", encoding="utf-8")
    assert read_yaml(find("instruments", name)) == {"x": 1}


def test_the_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.yaml").write_text("a", encoding="utf-8")
    assert find("lexicons", "~/mine.yaml") == tmp_path / "mine.yaml"


def test_an_unknown_name_is_compared_to_the_shipped_ones():
    with pytest.raises(UserError) as caught:
        find("instruments", "wvss")
    assert str(caught.value) == (
        "unknown name in data/instruments 'wvss'; did you mean 'wvs'? known: pct, wvs."
    )


@pytest.mark.parametrize("name", ["gone.yaml", "sub/gone", "."])
def test_a_path_that_is_not_there_is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        find("instruments", f"{tmp_path}/{name}")
    assert "no such file; give the path of a .yaml file" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_the_line_that_is_not_yaml_is_named(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("a: 1\nb: [1, 2\nc: 3\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    # The list is still open where the next key comes.
    assert str(caught.value).startswith(f"{path}: line 3 is not valid YAML: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: \xe9\n", b"a: \x00\n"])
def test_what_is_not_text_is_named(tmp_path, content):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tag_that_would_make_an_object_is_refused(tmp_path):
    path = tmp_path / "evil.yaml"
    path.write_text(f"!!python/object/apply:os.mkdir ['{tmp_path}/made']", encoding="utf-8")
    with pytest.raises(UserError, match="not valid YAML"):
        read_yaml(path)
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif(
    os.geteuid() == 0,
    reason="root may read everything: not tested that a file without read permission is named",
)
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_text("a: 1", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(UserError, match=r"secret\.yaml: cannot be read"):
        read_yaml(path)


LAUGHS = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
LAUGHS += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: 2020-99-99", "is not valid YAML: a value cannot be read (month must be in 1..12"),
        ("a: !!bool maybe", "is not valid YAML: a value cannot be read ('maybe')"),
        ("a: !!timestamp x", "is not valid YAML: a value cannot be read"),
        ("a: " + "9" * 5000, "is not valid YAML: a value cannot be read (Exceeds the limit"),
        ("a: " + "[" * 3000 + "]" * 3000, "its values are nested too deeply"),
        ("a: &a [*a]", "line 1 is not valid YAML: a value contains itself"),
        ("a: &a {b: [*a]}", "line 1 is not valid YAML: a value contains itself"),
        ("\n".join(LAUGHS), "line 1 is not valid YAML: it has more than 10,000,000 values"),
    ],
)
def test_values_that_the_parser_trips_over(tmp_path, content, says):
    path = tmp_path / "mine.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


def test_aliases_are_read(tmp_path):
    (tmp_path / "mine.yaml").write_text("a: &a [1, 2]\nb: [*a, *a]\n", encoding="utf-8")
    assert read_yaml(tmp_path / "mine.yaml") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
