"""The shipped configs, instruments and embedded models.

In a wheel `conf/`, `data/` and `models/` are in `polbayes/shipped`; in a checkout they are beside
the package.
"""

from collections.abc import Iterator
from contextlib import contextmanager
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


# Maximum number of values in a file, aliases written out, and maximum depth of nesting.
_MOST_VALUES, _DEEPEST = 10_000_000, 100


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, except that it refuses duplicate keys instead of dropping the first.

    It also refuses values that contain themselves, excessive nesting, and aliases of aliases that
    would exceed memory.
    """

    _deep = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._deep += 1
        if self._deep > _DEEPEST:
            raise yaml.composer.ComposerError(
                problem="its values are nested too deeply",
                problem_mark=self.peek_event().start_mark,
            )
        node = super().compose_node(parent, index)
        self._deep -= 1
        return node

    def construct_document(self, node: yaml.Node) -> Any:
        _bound(node, _MOST_VALUES)
        return super().construct_document(node)

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


def _bound(node: yaml.Node, most: int) -> None:
    if _size(node, {}) > most:
        raise yaml.constructor.ConstructorError(
            problem=f"it has more than {most:,} values, those of aliases counted each time",
            problem_mark=node.start_mark,
        )


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values of a node, including those of an alias each time."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = -1
        pairs = isinstance(node, yaml.MappingNode)
        inner = [x for pair in node.value for x in pair] if pairs else node.value
        known[id(node)] = 1 + sum(_size(one, known) for one in inner)
    if known[id(node)] < 0:
        raise yaml.constructor.ConstructorError(
            problem="a value contains itself", problem_mark=node.start_mark
        )
    return known[id(node)]


def read_yaml(path: Path) -> Any:
    """Read one YAML file; duplicate keys of a mapping are an error, too."""
    with _explained(path):
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)


def check_size(path: Path, most: int) -> None:
    """Refuse a YAML file with more values than that, aliases written out, without building them."""
    with _explained(path):
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
        if node is not None:
            _bound(node, most)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Name the file that cannot be read, and the reason."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}).") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it is not valid YAML"
        raise UserError(f"{path}:{line} is not valid YAML: {problem}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # Errors that the parser passes on: an impossible date, a number of a million digits, a tag
        # that does not fit its value.
        said = " ".join(str(error).split()).rstrip(".")
        raise UserError(f"{path}: is not valid YAML: a value cannot be read ({said}).") from error
