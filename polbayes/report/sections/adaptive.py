"""Which of the design's questions were put, where they were chosen by earlier answers."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from polbayes.data.prose import form
from polbayes.report.blocks import Block, Bullets, Section
from polbayes.report.numbers import count, share
from polbayes.report.prose import plural
from polbayes.report.results import Results
from polbayes.report.section import SectionMaker

# What the choice of questions biases.
BIASED = (
    "The questions were chosen by earlier answers: raw shares, classical measures and bootstrap "
    "intervals are of the questions put, which are not a balanced sample of the design. The "
    "estimates of the ideology model do not depend on how they were chosen."
)

# Mean ratio of the widths of final and quick intervals, and largest distance of their middles in
# widths, with which the quick fit is near the final one.
_RATIO, _APART = (0.9, 1.1), 0.15


def adaptive(results: Results) -> Section | None:
    """Show how questions were chosen, and why asking ended."""
    if "adaptive" not in results.responses.attrs:
        return None
    about = json.loads(results.responses.attrs["adaptive"])
    asked, questions = int(about["put"]), int(about["questions"])
    reading = (
        f"Of the {plural(questions, 'question')} of the design {count(asked)} "
        f"({share(asked / questions)}) {form(asked, 'was', 'were')} put, in "
        f"{plural(len(about['batches']), 'batch')}. The first were drawn at random, "
        "with both sides of each dimension and all prefixes for every model. Each further batch "
        "has the questions whose answers were expected to tell most about the positions "
        "of the models and their differences, given all answers before, per cost.",
        f"Asking ended because {about['ended']}.",
        "The choice rests on recorded answers and the seed alone, so that what was not asked is "
        "missing at random, and the fitted model takes it into account without knowing how the "
        "choice was made. " + BIASED,
    )
    lines, put = [], 0
    for number, (size, width) in enumerate(zip(about["batches"], about["widths"], strict=True), 1):
        put += int(size)
        lines.append(
            (
                f"Batch {number}:",
                f"{plural(size, 'question')}, {count(put)} so far; the widest "
                f"{float(about['level']):.0%} interval of θ, approximately: {float(width):.2f}",
            )
        )
    blocks: tuple[Block, ...] = (Bullets(tuple(lines)),)
    checked = _checked(results, about)
    return Section("adaptive", "Which questions were put", (*reading, *checked), blocks)


def _checked(results: Results, about: Mapping[str, Any]) -> tuple[str, ...]:
    """Compare the last quick fit, by which asking ended, with the final one."""
    final = results.table("theta")
    if final is None:
        return ()
    keys = ["model", "dimension"]
    quick = pd.DataFrame(about["theta"], columns=[*keys, "lower", "upper"])
    both = quick.merge(final[[*keys, "lower", "upper"]], on=keys, suffixes=("_quick", ""))
    if both.empty:
        return ()
    width, before = both["upper"] - both["lower"], both["upper_quick"] - both["lower_quick"]
    middle = (both["upper"] + both["lower"]) - (both["upper_quick"] + both["lower_quick"])
    ratio, apart = width / before, float((middle.abs() / 2 / width).max())
    said = (
        f"By the final fit the intervals of θ are {ratio.min():.2f} to {ratio.max():.2f} times as "
        "wide as by the last quick fit between batches, and their middles at most "
        f"{apart:.2f} widths away from those."
    )
    if results.verdict == "preview":
        said += " The final fit is a quick one, too; sampler=nutpie would check both."
    elif not (_RATIO[0] <= ratio.mean() <= _RATIO[1] and apart <= _APART):
        said += (
            " The quick fit was not near it: other questions might have told more, and asking may "
            "have ended too early or too late. The final estimates do not depend on it."
        )
    wanted = about["wanted"]
    if wanted is not None and width.max() > wanted:
        said += (
            f" The widest interval is {width.max():.2f} and so wider than the {wanted:g} that was "
            "wanted."
        )
    return (said,)


def warning(results: Results) -> tuple[str, ...]:
    """Return a sentence for sections of measures that the choice of questions biases."""
    return (BIASED,) if "adaptive" in results.responses.attrs else ()


SECTION = SectionMaker("Which questions were put", adaptive, optional=True)
