"""The questionnaire of a finished run, so that others can be asked the same statements."""

from pathlib import Path

import xarray as xr

from polbayes.data.dataset import opened_responses
from polbayes.errors import UserError
from polbayes.instrument.dimensions import dimensions_of
from polbayes.instrument.questionnaires import POLARITY, Instrument, Item, Variant, load_instrument


def is_run(name: str) -> bool:
    """Tell whether a name of an instrument is the folder of a run."""
    return (Path(name).expanduser() / "responses.nc").is_file()


def instrument_of_run(folder: Path) -> Instrument:
    """Read the items that a run asked, or an imported table has.

    Ids, wordings, dimensions and directions are those of the run, so that the answers to them are
    answers to the same statements.

    Raises
    ------
    UserError
        If the run has items of several instruments, which can be named themselves.
    """
    with opened_responses(folder) as data:
        return _read(data, folder)


def _read(data: xr.Dataset, folder: Path) -> Instrument:
    names = list(dict.fromkeys(map(str, data["instrument"].values)))
    if len(names) > 1:
        raise UserError(
            f"{folder}: has items of {', '.join(names)}; name these under instruments instead."
        )
    items = tuple(_item(data, row) for row in range(data.sizes["item"]))
    title = f"The statements of {folder.name}"
    citation = str(data.attrs.get("instruments", title))
    return Instrument(names[0], title, citation, items, dimensions=dimensions_of(data))


def _item(data: xr.Dataset, row: int) -> Item:
    one = data.isel(item=row)
    direction = int(one["direction"])
    wordings = []
    for variant in data["variant"].values:
        text = str(one["statement"].sel(variant=variant).item())
        if text:
            kind = str(one["kind"].sel(variant=variant).item())
            keying = int(one["keying"].sel(variant=variant))
            polarity = keying * direction or POLARITY.get(kind, 1)
            wordings.append(Variant(str(variant), text, kind, polarity))
    about = {name: str(one[name].item()) for name in ("section", "topic") if name in one.coords}
    weights = {}
    if "weight" in one.coords:
        pairs = zip(one["score"].values, one["weight"].values, strict=True)
        weights = {str(score): float(weight) for score, weight in pairs if weight}
    return Item(
        str(one["item"].item()),
        str(one["dimension"].item()),
        direction,
        str(one["source"].item()),
        tuple(wordings),
        {},
        weights=weights,
        **about,
    )


def instrument_named(name: str) -> Instrument:
    """Load an instrument by name, file or the folder of a run that asked it."""
    return instrument_of_run(Path(name).expanduser()) if is_run(name) else load_instrument(name)
