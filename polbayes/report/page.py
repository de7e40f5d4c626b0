"""Results as sections, and sections as one HTML page."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from polbayes.data.spreadsheets import SIGNS
from polbayes.report.blocks import Block, Section, pictures
from polbayes.report.charts.parts import clean, packed
from polbayes.report.labels import in_labels, labels_of
from polbayes.report.results import Reported, Results
from polbayes.report.sections import in_order
from polbayes.report.visible import visible

_FOLDER = Path(__file__).resolve().parent
_LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-interpreter.min.js")

BANNERS = {
    "bad": "Do not use the estimates of this report",
    "caution": "Use the estimates of this report with caution",
    "good": "The estimates passed the checks of the sampler",
    "preview": "A preview: the estimates of this report are not to be quoted",
}
_BUT_FOR_STATEMENTS = {
    "kind": "caution",
    "title": "The estimates of models passed the checks of the sampler, those of some single "
    "statements did not",
}


def sections(
    results: Results, made: Callable[[Section], object] | None = None
) -> tuple[list[Section], list[str]]:
    """Make the sections that the results allow, in the order of the page.

    Also returns the names of sections without results that the analysis could have had. `made` is
    called with each section when there is one.
    """
    labels, who = labels_of(results.dimensions), results.who
    present, absent = [], []
    for maker in in_order():
        section = maker.make(results)
        if section is not None:
            present.append(in_labels(section, labels, who))
            if made is not None:
                made(present[-1])
        elif maker.missed(results):
            absent.append(maker.named(who))
    return present, absent


@dataclass(frozen=True)
class Front:
    """The front of a page."""

    title: str
    description: str
    kicker: str  # what is above the title
    made: str  # when and from what the page was made
    facts: Mapping[str, str]  # counts that the page rests on, by name
    # The answer; empty if no question is answered.
    answer: tuple[Block, ...] = ()
    verdict: str = "good"
    verdict_sentences: Sequence[str] = ()
    banner: Mapping[str, str] | None = None  # none where nothing rests on a sampler
    exclusions: Sequence[str] = ()  # what is not in the numbers
    absent: Sequence[str] = ()  # sections that there are not
    notes: Sequence[str] = ()


def drawn_by_page(front: Front, present: Sequence[Section]) -> dict[str, Mapping[str, Any]]:
    """Return the charts by the name of their picture; a warning can only be stamped on pictures."""
    blocks = (front.answer, *(section.blocks for section in present))
    return {
        one.name: {**one.chart, "description": one.alt}
        for one in (picture for part in blocks for picture in pictures(part))
        if one.chart is not None and not (one.posterior and front.verdict == "bad")
    }


def front_of(
    results: Reported, absent: Sequence[str], *, title: str = "", answer: tuple[Block, ...] = ()
) -> Front:
    """Make the front of a run's report, under its title or another."""
    duration = f", duration {results.duration}" if results.duration else ""
    verdict = results.verdict or "good"
    banner = {"kind": verdict, "title": BANNERS[verdict]}
    banner = _BUT_FOR_STATEMENTS if results.but_for_statements else banner
    return Front(
        title=title or results.title or results.name,
        description=results.description,
        kicker=results.kicker,
        made=f"Experiment {results.name}, report made {moment(results.created)}{duration}.",
        facts=results.facts,
        answer=answer,
        verdict=verdict,
        verdict_sentences=results.verdict_sentences,
        banner=banner if results.fitted or verdict != "good" else None,
        exclusions=results.exclusions,
        absent=absent,
        notes=results.notes,
    )


def render_page(
    front: Front,
    present: Sequence[Section],
    images: Mapping[str, bytes],
    narrow: Mapping[str, bytes],
) -> str:
    """Render a page, with the pictures embedded by name, some of them also for narrow screens.

    The HTML loads nothing, and no text of the results can act in it: texts are escaped, control
    characters are visible, and the policy runs only the page's own script.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = drawn_by_page(front, present)
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    scripts = [(_FOLDER / "page.js").read_text(encoding="utf-8")]
    if charts:
        scripts.append(_libraries() + (_FOLDER / "charts.js").read_text(encoding="utf-8"))
    return environment.get_template("page.html").render(
        front=front,
        sections=present,
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(style, scripts),
        charts={name: Markup(_json(chart)) for name, chart in charts.items()},
        signs=SIGNS,
        images={name: _data_uri(image) for name, image in images.items()},
        narrow={name: _data_uri(narrow[name]) for name in narrow.keys() - charts.keys()},
    )


def _shown(value: Any) -> Any:
    """Make every text of the page visible, before it is escaped."""
    return visible(value) if type(value) is str else value


def moment(created: str = "") -> str:
    """Format an ISO time for readers, by default now; return anything else unchanged."""
    try:
        moment = datetime.fromisoformat(created) if created else datetime.now(UTC)
    except ValueError:
        return created
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".strip()


def _libraries() -> str:
    """Return the libraries that draw charts, with what their licences want to be said."""
    folder = _FOLDER / "web"
    texts = [(folder / name).read_text(encoding="utf-8") for name in _LIBRARIES]
    # A source map would be a file to fetch.
    whole = re.sub(r"^//# sourceMappingURL=.*$", "", "\n".join(texts), flags=re.MULTILINE)
    return f"/*\n{(folder / 'NOTICE.txt').read_text(encoding='utf-8')}*/\n{whole}\n"


def _json(chart: Mapping[str, Any]) -> str:
    """Write JSON that can stand in a script element, whatever its texts are."""
    text = json.dumps(packed(clean(chart)), allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _policy(style: str, scripts: Sequence[str]) -> str:
    first, *others = (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (style, *scripts)
    )
    return (
        f"default-src 'none'; img-src data:; style-src {first}; "
        f"script-src {' '.join(others)}; base-uri 'none'; form-action 'none'"
    )


def _data_uri(image: bytes) -> str:
    kind = "webp" if image.startswith(b"RIFF") else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
