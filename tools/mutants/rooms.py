"""The mutated modules, and the tests that must detect changes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """A module and its tests.

    Parameters
    ----------
    module
        Path of the module.
    tests
        Paths of its test files.
    every
        Test one mutant in this many; 1 for all.
    compiled
        Whether numba compiles functions of this module.
    """

    module: str
    tests: tuple[str, ...]
    every: int = 1
    compiled: bool = False


def _rooms(folder: str, tests: str, by_module: dict[str, str], *, every: int = 1) -> list[Room]:
    """Return the rooms of a folder, with names of test files separated by spaces."""
    return [
        Room(
            f"polbayes/{folder}/{module}.py",
            tuple(f"tests/{tests}/{name}.py" for name in names.split()),
            every=every,
        )
        for module, names in by_module.items()
    ]


ROOMS = [
    *_rooms("probing", "probing", {"journal": "test_journal"}),
    *_rooms("data", "data", {"files": "test_files"}),
    *_rooms("respondents/chat_api", "respondents/chat_api", {"budget": "test_chat_api_budget"}),
    *_rooms("report", "report", {"visible": "test_report_text"}),
    *_rooms(
        "measures",
        "measures",
        {
            "__init__": "test_measures",
            "agreement": "test_agreement",
            "bias": "test_bias",
            "compass": "test_compass",
            "consistency": "test_consistency",
            "contrasts": "test_contrasts",
            "grouping": "test_measures test_bias test_consistency",
            "kappa": "test_kappa test_krippendorff",
            "krippendorff": "test_krippendorff",
            "labelled": "test_measures_labelled",
            "match_proportion": "test_match_proportion",
            "measure": "test_measures test_measures_labelled",
            "paraphrases": "test_paraphrases",
            "prefix_shift": "test_prefix_shift",
            "ranks": "test_ranks",
            "registry": "test_measures",
            "resampling": "test_resampling",
            "sided": "test_bias",
            "stability": "test_stability test_paraphrases",
            "text_features": "test_text_features",
            "validity": "test_validity",
        },
    ),
    *_rooms(
        "fit/spec",
        "fit",
        {
            "cells": "test_cells test_independent test_two_facets",
            "centring": "test_centring",
            "equation": "test_equation test_signed",
            "formula": "test_formula test_spec",
            "priors": "test_priors",
            "spec": "test_spec",
            "terms": "test_terms",
        },
    ),
    *_rooms(
        "fit/density",
        "fit",
        {
            "observed": "test_likelihood test_start",
            "prior_densities": "test_hyperpriors test_unit_of_statements",
            "layout": "test_layout test_kernel",
            "orientation": "test_start test_signed",
            "clusters": "test_ideology_model",
            "coordinates": "test_joint test_unit_of_statements test_walk",
            "reliability": "test_start test_walk",
        },
        every=10,
    ),
    *(
        Room(f"polbayes/fit/density/{module}.py", (f"tests/fit/{test}.py",), every, compiled=True)
        for module, test, every in (
            ("kernel", "test_kernel", 60),
            ("expansion", "test_expansion", 60),
            ("joint", "test_joint", 60),
            ("crossed", "test_crossed", 60),
            ("scores", "test_likelihood", 60),
        )
    ),
]
