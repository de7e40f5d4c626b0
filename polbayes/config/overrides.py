"""Overrides that contradict each other."""

from collections.abc import Sequence

from polbayes.errors import UserError


def check_contradictions(overrides: Sequence[str]) -> None:
    """Refuse a key that is given a plain value, or null, and keys below it as well.

    Hydra would take one of the two, depending on their order, and not say so. Overrides that cannot
    be read are left to it.

    Raises
    ------
    UserError
        Naming both overrides.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except HydraException:
        return
    plain = {}
    for one, text in zip(parsed, overrides, strict=True):
        # The name of a file of a group is text, and keys of that file may be changed.
        if not one.is_delete() and isinstance(one.value(), int | float | bool | None):
            plain[one.key_or_group] = text
    for one, text in zip(parsed, overrides, strict=True):
        parts = one.key_or_group.split(".")
        for size in range(1, len(parts)):
            above = ".".join(parts[:size])
            if above in plain:
                raise UserError(
                    f"{above}: '{plain[above]}' leaves no keys below it, which '{text}' sets; "
                    "leave one of the two out."
                )
