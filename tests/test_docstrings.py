"""What users call from Python says what it takes, name by name."""

import dataclasses
import inspect
import re
from importlib import import_module
from itertools import pairwise

import pytest
import test_documentation as documentation

# The Python API: what the documentation imports or names, and what goes with it.
API = {
    "polbayes.coding": ("code_responses", "get_coder"),
    "polbayes.coding.levels": ("four_levels",),
    "polbayes.coding.registry": ("Kind", "nominal_probabilities"),
    "polbayes.config.tasks": ("Call", "Task"),
    "polbayes.data.dataset": (
        "merge",
        "open_responses",
        "opened_responses",
        "to_frame",
        "write_dataset",
    ),
    "polbayes.data.out_of_core": ("by_model", "portions", "reduce_by_model"),
    "polbayes.features": ("text_features",),
    "polbayes.fit.analysis": ("fit_analysis", "parse_analysis"),
    "polbayes.fit.families.base": ("Family", "scored"),
    "polbayes.fit.spec.cells": ("Cells", "gather_cells"),
    "polbayes.fit.spec.spec": ("Spec", "parse_spec"),
    "polbayes.instrument.design": ("ModelInfo", "design"),
    "polbayes.instrument.prompts": ("load_prefixes",),
    "polbayes.instrument.questionnaires": ("load_instrument",),
    "polbayes.instrument.scenarios": ("load_scenarios",),
    "polbayes.measures": None,
    "polbayes.measures.labelled": ("load_measures",),
    "polbayes.measures.measure": ("Job", "Measure", "Shown"),
    "polbayes.probing.probe": ("rendered_prompt",),
    "polbayes.report.blocks": ("Paragraph", "Picture", "Section"),
    "polbayes.report.section": ("SectionMaker",),
    "polbayes.respondents.base": ("Answer", "Backend", "Completion", "Question", "template_text"),
    "polbayes.roleplay.fit.fit": ("fit_ratings",),
    "polbayes.roleplay.measures": None,
    "polbayes.run.pairs.fit": ("fit_pairs",),
    "polbayes.run.pairs.measures": ("measures",),
    "polbayes.run.run": ("load_run",),
    "polbayes.run.notebook": ("Run", "compare", "open_run", "run"),
}
HEADING = re.compile(r"-{3,}")


def names() -> list[str]:
    """Every name of the API; of a module without a list, what it exports."""
    return [
        f"{module}.{name}"
        for module, listed in API.items()
        for name in listed or import_module(module).__all__
    ]


def sections(text: str) -> dict[str, list[str]]:
    """Lines of each section of a numpydoc docstring; the summary's key is empty."""
    lines = inspect.cleandoc(text).split("\n")
    parts: dict[str, list[str]] = {"": []}
    part = parts[""]
    for line, following in pairwise([*lines, ""]):
        if HEADING.fullmatch(following) and line:
            part = parts.setdefault(line, [])
        elif not HEADING.fullmatch(line):
            part.append(line)
    return parts


def described(lines: list[str]) -> list[str]:
    """Names of a section of parameters, each of which must have a description under it."""
    entries = []
    for line, following in pairwise([*lines, ""]):
        if line and not line.startswith(" "):
            assert following.startswith("    "), f"nothing is said about {line}"
            entries += [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
    return entries


def taken(of: object) -> list[str]:
    """What a function takes, or the fields of a dataclass."""
    if dataclasses.is_dataclass(of):
        return [field.name for field in dataclasses.fields(of) if field.init]
    if inspect.isabstract(of):
        return [name for one in of.__mro__ for name in inspect.get_annotations(one)]
    return list(inspect.signature(of).parameters)


def test_sections_of_a_docstring():
    parts = sections(
        """Add.

        Parameters
        ----------
        a, b : int
            The two.
        *more
            The others.

        Returns
        -------
        int
            The sum.
        """
    )
    assert list(parts) == ["", "Parameters", "Returns"]
    assert described(parts["Parameters"]) == ["a", "b", "more"]
    with pytest.raises(AssertionError, match="nothing is said about b"):
        described(["a", "    The one.", "b", ""])


@pytest.mark.parametrize("name", names())
def test_every_parameter_is_described(name):
    of = documentation.resolved(name)
    parts = sections(of.__doc__)
    assert re.match(r"[A-Z].*\.$", parts[""][0]), "the summary is no sentence"
    has = described(parts.get("Attributes" if inspect.isabstract(of) else "Parameters", []))
    assert sorted(has) == sorted(taken(of))


def test_the_list_has_what_the_documentation_names():
    called = {
        name
        for page in documentation.PAGES
        for name in documentation.names(page.read_text())
        if inspect.isfunction(documentation.resolved(name))
        or inspect.isclass(documentation.resolved(name))
    }
    assert len(called) > 20
    inherited = {"polbayes.fit.families.logit_normal.LogitNormal"}
    assert sorted(called - inherited - set(names())) == []
