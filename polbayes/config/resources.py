"""Where the shipped configs, instruments and embedded models are.

In a wheel `conf/`, `data/` and `models/` lie in `polbayes/shipped`; in a checkout they lie beside
the package.
"""

from pathlib import Path
from typing import Any, Literal

import yaml

from polbayes.errors import UserError, unknown

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: Literal["conf", "data", "models"]) -> Path:
    """Return the folder of shipped `conf`, `data` or `models`."""
    inside = _PACKAGE / "shipped" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def find(kind: str, name: str) -> Path:
    """Find a file of `data/KIND` by its stem, or a user's own by its path (with / or .yaml)."""
    if name.endswith(".yaml") or "/" in name:
        path = Path(name).expanduser()
        if not path.is_file():
            raise UserError(f"{path}: no such file; give the path of a .yaml file in {kind}.")
        return path
    shipped = folder("data") / kind
    path = shipped / f"{name}.yaml"
    if not path.is_file():
        raise unknown(f"name in data/{kind}", name, (p.stem for p in shipped.glob("*.yaml")))
    return path


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but of two equal keys it does not quietly drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{key.value}' occurs twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Read one YAML file; a key that occurs twice in a mapping is an error, too."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}).") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it is not valid YAML"
        raise UserError(f"{path}:{line} is not valid YAML: {problem}.") from error
