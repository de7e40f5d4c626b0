"""The plan of the package: which folder may import which, and no circles."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "polbayes"

# From the ground up: a module imports from its own folder and from those before it.
RANKS = (
    *("errors", "config", "data", "instrument", "huggingface", "features", "planted"),
    *("respondents", "probing", "coding", "judging", "measures", "fit", "report"),
    *("run", "tasks", "roleplay", "cli", "__main__"),
)


def modules(package):
    """Return the files of all modules by name, without that of the package itself."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def imports(files, package="polbayes"):
    """Return for each module those that it imports, within functions and for types, too."""
    found = {}
    for name, path in files.items():
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            wanted = []
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{name} imports relative to itself"
                wanted = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [
                    w if w.removeprefix(f"{package}.") in files else node.module for w in wanted
                ]
            for one in wanted:
                short = (one or "").removeprefix(f"{package}.")
                if short in files and short != name:
                    found[name].add(short)
    return found


def circle(graph):
    """Return modules that import each other in a circle, empty if there is none."""
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for after in sorted(graph.get(node, ())):
            if state.get(after) == "open":
                return path[path.index(after) :]
            if after not in state and (found := visit(after)):
                return found
        state[node] = "done"
        path.pop()
        return []

    for node in sorted(graph):
        if node not in state and (found := visit(node)):
            return found
    return []


def against(graph):
    """Return the imports that point from a lower folder to a higher one."""
    rank = {room: n for n, room in enumerate(RANKS)}
    return sorted(
        f"{one} -> {other}"
        for one, others in graph.items()
        for other in others
        if rank[one.split(".")[0]] < rank[other.split(".")[0]]
    )


@pytest.fixture(scope="module")
def graph():
    return imports(modules(PACKAGE))


def test_every_module_is_in_a_folder_of_the_plan(graph):
    assert {name.split(".")[0] for name in graph} == set(RANKS)
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "cli", "errors"}


def test_no_import_points_up_the_ranks(graph):
    assert against(graph) == []


def test_there_is_no_circle_of_modules(graph):
    assert circle(graph) == []


def test_circles_and_wrong_ways_would_be_found(tmp_path):
    texts = {
        "config/a.py": "from polbayes.fit import b\n",
        "fit/b.py": "def f():\n    from polbayes.config.c import x\n",
        "config/c.py": "import polbayes.config.a\n",
        "errors.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = imports(modules(tmp_path))
    assert circle(found) == ["config.a", "fit.b", "config.c"]
    assert against(found) == ["config.a -> fit.b"]


def test_test_files_have_names_of_their_own():
    """Pytest imports test files by their bare names: two alike break a clean checkout's run."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert [name for name in set(names) if names.count(name) > 1] == []
