"""The pages of every kind of result in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browsing import Visit, check_quiet, in_sizes_and_themes, needs_chromium, opened_browser

from polbayes.cli import _main

pytestmark = [needs_chromium, pytest.mark.slow]

EVIL = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
FEW = ["sampler.chains=2", "sampler.tune=60", "sampler.draws=50", "measures.bootstrap=100"]
# Both instruments, so that the section that compares them is there, and that of the study.
STUDY = [
    *("+experiment=faulborn", "respondents=simulated", "models=[left,right,centre]"),
    *("coding.coders=[likert,lexical]", "~coding.models", "prefixes.only=[baseline,truth,likert]"),
    "items=[wvs-01,wvs-02,wvs-20,wvs-21,pc-01,pc-02,pc-30,pc-31]",
]


def done(folder: Path, *arguments: str) -> Path:
    assert _main([*arguments, f"run_dir={folder}"]) == 0
    return folder


def study(folder: Path) -> Path:
    return done(folder, *STUDY, *FEW) / "report" / "index.html"


def comparison(folder: Path) -> Path:
    runs = [done(folder / f"seed_{n}", *STUDY, *FEW, f"seed={n}") for n in (1, 2)]
    named = f"runs=[{runs[0]},{runs[1]}]"
    return done(folder / "both", "task=compare", named, *FEW) / "report" / "index.html"


def ablation(folder: Path) -> Path:
    base = ["+experiment=lunardi", "respondents=embedded", "models=[left]", "items=[pc-01,pc-02]"]
    rules = ["coding.coders=[lexical]", "~coding.models", "~ablation.coders"]
    ways = [
        "~ablation.decodings.beam",
        "~ablation.decodings.top_k",
        "elicitation.max_new_tokens=12",
    ]
    done(folder, *base, *rules, *ways, "task=ablate", "measures.bootstrap=100")
    return folder / "ablation" / "report" / "index.html"


def validation(folder: Path) -> Path:
    folder.mkdir()
    labels = ["agree", "disagree", "neutral", "agree"] * 5
    said = {"agree": "I agree.", "disagree": "I disagree.", "neutral": "Hm."}
    rows = [
        {"statement": f"S {k}. {EVIL}", "response": f"{said[label]} {EVIL}", "label": label}
        | {"item": f"q{k}{EVIL}", "model": f"m{k % 2}{EVIL}", "keying": 1 if k % 3 else -1}
        for k, label in enumerate(labels)
    ]
    pd.DataFrame(rows).to_csv(folder / "labelled.csv", index=False)
    table = f"validation.table={folder / 'labelled.csv'}"
    coders = "validation.coders=[lexical,likert]"
    done(folder, "task=validate_coder", table, coders, "measures.bootstrap=100")
    return folder / "validation" / "index.html"


def roleplay(folder: Path) -> Path:
    few = ["roleplay.scenarios=[union,guns]", "roleplay.wordings=[original]", "judging.sample=20"]
    return done(folder, "+experiment=politicsbench", *few, *FEW) / "report" / "index.html"


def imported(folder: Path) -> Path:
    """Ids of items, models and prefixes are as hostile as the texts."""
    folder.mkdir()
    rows = [
        {"model": m, "item": f"i{k}{EVIL}", "statement": f"S {k} {EVIL}", "prefix": p}
        | {"dimension": ("economic", "cultural")[k % 2], "direction": ("left", "right")[k // 2 % 2]}
        | {"answer": ("agree", "disagree")[(k * n + len(p)) % 3 % 2], "condition": EVIL}
        for n, m in enumerate((f"m{EVIL}", "n", "o"), 1)
        for k in range(8)
        for p in (f"p{EVIL}", "q")
    ]
    pd.DataFrame(rows).to_csv(folder / "answers.csv", index=False)
    columns = ",".join(f"{c}:{c}" for c in rows[0] if c != "condition")
    table = [f"+imported.path={folder / 'answers.csv'}", f"+imported.columns={{{columns}}}"]
    more = ["+imported.points=[disagree,agree]", "+imported.show=[condition]", "name=hostile"]
    done(folder / "run", *table, *more, "instruments=[]", "respondents=none", *FEW)
    return folder / "run" / "report" / "index.html"


MADE = (study, comparison, ablation, validation, roleplay, imported)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module", params=MADE, ids=[one.__name__ for one in MADE])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = request.param(tmp_path_factory.mktemp("pages") / "run")
    return path


@in_sizes_and_themes
def test_it_is_quiet_fits_and_has_no_grave_fault(
    browser: Any, page: Path, width: int, dark: bool
) -> None:
    check_quiet(browser, page, width=width, dark=dark)


def test_it_prints_and_works_without_scripts(browser: Any, page: Path) -> None:
    visit = Visit(browser, page)
    visit.page.emulate_media(media="print")
    assert visit.page.pdf().startswith(b"%PDF")
    assert not any(tools.is_visible() for tools in visit.page.locator(".tools").all())
    visit.context.close()
    plain = browser.new_context(java_script_enabled=False)
    still = plain.new_page()
    still.goto(page.as_uri())
    images = still.locator("figure img").all()
    assert all(one.get_attribute("alt") for one in images)
    assert all(
        one.is_visible() for one in images if not one.locator("xpath=ancestor::details").count()
    )
    plain.close()


def test_no_section_is_much_higher_than_a_screen(browser: Any, page: Path) -> None:
    """Before anything is opened; what is higher is a table of many rows, cropped elsewhere."""
    visit = Visit(browser, page)
    heights = visit.page.evaluate(
        "[...document.querySelectorAll('main > section')].map("
        "(one) => [one.id, one.getBoundingClientRect().height])"
    )
    assert [one for one in heights if one[1] > 1.8 * 900] == []
    visit.context.close()
