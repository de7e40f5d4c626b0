"""The names, files and headings that the documentation mentions are there."""

import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from polbayes.cli import _mode, _split
from polbayes.config.compose import compose
from polbayes.errors import UserError

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FOLDERS = ("benchmarks", "conf", "data", "docs", "models", "polbayes", "tests", "tools")
GROUPS = {"polbayes.coder_kinds"}  # of entry points, which are named like modules

# Its commands are those of the package that it makes (test_extending.py).
OTHERS = "extending.md"

OWN = "# @package _global_\nname: my_table\ninstruments: [wvs]\n"

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def names(text: str) -> set[str]:
    """Return what the examples import of the package and what stands in backticks."""
    imports = re.findall(r"^ *from (polbayes[\w.]*) import (.+)$", text, re.MULTILINE)
    found = {f"{module}.{name.strip()}" for module, some in imports for name in some.split(",")}
    return (found | set(re.findall(r"`(polbayes(?:\.\w+)+)", text))) - GROUPS


def resolved(name: str) -> object:
    """Import a module, or what is in one, which comes first where both have a name."""
    inside, _, last = name.rpartition(".")
    if inside and hasattr(resolved(inside), last):
        return getattr(resolved(inside), last)
    return import_module(name)


def profiles() -> list[str]:
    """Return the names of the shipped profiles of servers."""
    return sorted(path.stem for path in (ROOT / "conf" / "api").glob("*.yaml"))


def headings(text: str) -> set[str]:
    """Return the anchors of the headings."""
    lines = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", ["README.md", "conf/respondents/served.yaml"])
def test_lists_of_the_profiles_of_servers_are_whole(page):
    said = re.search(r"api=openai,[^);]*?llama_cpp", (ROOT / page).read_text(encoding="utf-8"))
    assert said is not None
    assert sorted(re.findall(r"\w+", said[0].removeprefix("api="))) == sorted(
        [*profiles(), *["or"] * said[0].count(" or ")]
    )


def test_the_table_of_the_profiles_of_servers_is_whole():
    text = (ROOT / "docs/guide/models.md").read_text(encoding="utf-8")
    table = text.partition("\n| `api=` |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == profiles()


def test_parts_of_a_text():
    text = "# Of `x` and y\n\n    from polbayes.a import b, c\nSee `polbayes.d.e(f)`, `polbayes`."
    assert names(text) == {"polbayes.a.b", "polbayes.a.c", "polbayes.d.e"}
    assert headings(text) == {"of-x-and-y"}
    with pytest.raises(ModuleNotFoundError):
        resolved("polbayes.measures.no_such_measure")


@pages
def test_names_can_be_imported(page):
    for name in sorted(names(page.read_text())):
        resolved(name)


@pages
def test_links_lead_somewhere(page):
    text = page.read_text()
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        to = page.parent / path if path else page
        assert to.exists(), link
        assert not anchor or anchor in headings(to.read_text()), link


@pages
def test_files_are_there(page):
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]*|[\w/]+\.py)`", page.read_text()):
        pattern = path.replace("NAME", "*").rstrip("/")
        assert [*ROOT.glob(pattern), *ROOT.glob(f"polbayes/{pattern}")], path


def commands(text: str) -> list[list[str]]:
    """Return the arguments of the command lines in the examples for a shell."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    found = [re.match(r"(?:\S*python -m )?polbayes (.*)", line) for line in lines]
    return [shlex.split(line[1], comments=True) for line in found if line]


def test_commands_of_a_text():
    block = "# all\npolbayes a=1 \\\n  'b=[c]' # why\nx/python -m polbayes -q\nls\n"
    text = f"```bash\n{block}```\n`polbayes c=1`\n```yaml\npolbayes d=1\n```"
    assert commands(text) == [["a=1", "b=[c]"], ["-q"]]


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != OTHERS], ids=lambda page: page.name)
def test_commands_are_made_of_what_there_is(page, tmp_path, monkeypatch):
    """Experiments, tasks, keys and values; not files, which are the reader's."""
    monkeypatch.chdir(tmp_path)
    for arguments in commands(page.read_text(encoding="utf-8")):
        overrides, own, _ = _split(_mode([one for one in arguments if one != "..."])[1])
        if own:
            (tmp_path / own / "experiment").mkdir(parents=True, exist_ok=True)
            (tmp_path / own / "experiment" / "my_table.yaml").write_text(OWN)
        compose(overrides, own)


def inline(text: str) -> list[list[str]]:
    """Return the overrides that stand in backticks, but those with a name that is the reader's."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for code in re.findall(r"`([^`]+)`", text):
        words = re.split(r"\s+(?=[+~']*[\w.]+=)", " ".join(code.split()))
        words = [word.strip("'") for word in words]
        if all(re.fullmatch(r"[+~]*[a-z][a-z_.\d]*=(?![A-Z]+$)[^…]+", word) for word in words):
            found.append(words)
    return found


def test_overrides_in_a_text():
    text = "`a.b=1` and `'+a={b: [c,\nd], e: f}' g=h`, not `a.NAME=1`, `a=NAME`, `a=…` or `a=`.\n"
    assert inline(f"{text}```bash\nx `i=j`\n```\n") == [["a.b=1"], ["+a={b: [c, d], e: f}", "g=h"]]


# What overrides on the pages of the guide are added to: one of these, and those of an importer to
# each of the logs'.
USED_WITH = (
    ("+experiment=wvs_prefixes",),
    ("+experiment=imported",),
    ("+experiment=wvs_prefixes", "respondents=served"),
    ("name=mine",),
)
LOGS = ("lm_eval", "lm_eval_text", "inspect", "inspect_logprobs")
# Files that the reader writes.
OWN_FILES = (["language=pt.yaml"], ["+experiment=mine"])


@cache
def composes(*overrides: str) -> bool:
    try:
        compose(overrides)
    except UserError:
        return False
    return True


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/guide/*.md")), ids=lambda page: page.name)
def test_overrides_in_the_guide_are_made_of_what_there_is(page):
    for words in inline(page.read_text(encoding="utf-8")):
        if words in OWN_FILES:
            continue
        if words[0].lstrip("+~").startswith("imported."):
            failed = [log for log in LOGS if not composes(f"+importer={log}", "name=mine", *words)]
            assert not failed, words
        else:
            assert any(composes(*base, *words) for base in USED_WITH), words
