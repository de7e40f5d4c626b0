"""The mutants of a module: Cosmic Ray's operators, and some that it lacks."""

import ast
import difflib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from parso.python.tree import Name

# Each operation is replaced by the one most easily confused with it, each comparison by the one
# with the other boundary and by its opposite.
_REPLACED = {
    "Binary": (
        ("Add", "Sub"),
        ("Sub", "Add"),
        ("Mul", "Div"),
        ("Div", "Mul"),
        ("FloorDiv", "Mul"),
        ("Mod", "FloorDiv"),
        ("Pow", "Mul"),
        ("BitOr", "BitAnd"),
        ("BitAnd", "BitOr"),
    ),
    "Comparison": (
        ("Eq", "NotEq"),
        ("NotEq", "Eq"),
        ("Lt", "LtE"),
        ("Lt", "GtE"),
        ("LtE", "Lt"),
        ("LtE", "Gt"),
        ("Gt", "GtE"),
        ("Gt", "LtE"),
        ("GtE", "Gt"),
        ("GtE", "Lt"),
        ("Is", "IsNot"),
        ("IsNot", "Is"),
    ),
    "Unary": (("Delete", "USub"), ("Delete", "Invert"), ("Delete", "Not")),
}
_NAMED = (
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
)


class _Ours:
    """An operator like Cosmic Ray's, which changes each node of its kind in one way."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the position of the node if it is of the kind."""
        if self.applies(node):
            yield node.start_pos, node.end_pos

    def applies(self, node: Any) -> bool:
        """Tell whether a node is of the kind."""
        raise NotImplementedError

    def mutate(self, node: Any, index: int) -> Any:
        """Return the node's replacement."""
        raise NotImplementedError


def _leaf(text: str, instead: Any) -> Name:
    """Return a text as a leaf that replaces a node."""
    return Name(text, instead.start_pos, instead.get_first_leaf().prefix)


class _RemoveStatement(_Ours):
    """Removes a call, an assignment to an element, an augmented assignment or a ``raise``."""

    def applies(self, node: Any) -> bool:
        if node.parent is None or node.parent.type != "simple_stmt":
            return False
        if node.type == "expr_stmt":
            target, operation = node.children[0], node.children[1]
            subscript = (
                target.type in {"atom_expr", "power"} and target.children[-1].type == "trailer"
            )
            return bool((operation.type == "operator" and operation.value != "=") or subscript)
        return node.type in {"atom_expr", "power", "raise_stmt", "del_stmt"}

    def mutate(self, node: Any, index: int) -> Any:
        return _leaf("pass", node)


class _SwapAugmented(_Ours):
    """Assigns by the opposite operation."""

    opposite: ClassVar = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}

    def applies(self, node: Any) -> bool:
        return node.type == "operator" and node.value in self.opposite

    def mutate(self, node: Any, index: int) -> Any:
        node.value = self.opposite[node.value]
        return node


class _ReturnNothing(_Ours):
    """Replaces a returned value by None."""

    def applies(self, node: Any) -> bool:
        return node.type == "return_stmt" and len(node.children) == 2

    def mutate(self, node: Any, index: int) -> Any:
        node.children = [node.children[0]]
        return node


class _DropKeyword(_Ours):
    """Calls without one of the keyword arguments."""

    def applies(self, node: Any) -> bool:
        if node.type != "argument" or len(node.children) != 3 or node.children[1].value != "=":
            return False
        return node.parent.type in {"trailer", "arglist"}

    def mutate(self, node: Any, index: int) -> Any:
        # An empty mapping passes no keyword arguments.
        return _leaf("**{}", node)


class _NegateFilter(_Ours):
    """Keeps the elements that a comprehension filters out."""

    def applies(self, node: Any) -> bool:
        return node.type == "comp_if"

    def mutate(self, node: Any, index: int) -> Any:
        condition = node.children[1].get_code().strip()
        node.children[1] = parso.parse(f" not ({condition})")
        return node


def _operators() -> Iterator[tuple[str, Any]]:
    for kind, pairs in _REPLACED.items():
        for old, new in pairs:
            name = f"Replace{kind}Operator_{old}_{new}"
            yield name, get_operator(f"core/{name}")()
    for name in _NAMED:
        yield name, get_operator(f"core/{name}")()
    for ours in (_RemoveStatement, _SwapAugmented, _ReturnNothing, _DropKeyword, _NegateFilter):
        yield ours.__name__.lstrip("_"), ours()


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Parameters
    ----------
    module
        Path of the module.
    line
        Of the change, from 1.
    old, new
        The changed lines, stripped of white space.
    source
        The text of the changed module.
    """

    module: str
    line: int
    old: str
    new: str
    source: str

    @property
    def key(self) -> str:
        """A key that identifies it."""
        return hashlib.sha256(f"{self.module}\n{self.source}".encode()).hexdigest()[:20]


def mutants(root: Path, module: str, *, kept: Path) -> list[Mutant]:
    """Return all mutants of a module that can be parsed, in the order of its lines.

    Parameters
    ----------
    root
        The checkout.
    module
        Path of the module.
    kept
        Folder that caches them, since creating them takes seconds.
    """
    source = (root / module).read_text(encoding="utf-8")
    ours = Path(__file__).read_text(encoding="utf-8")
    name = hashlib.sha256(f"{module}\n{source}\n{ours}".encode()).hexdigest()[:20]
    path = kept / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(mutant) for mutant in _made(module, source)]))
    return [Mutant(**fields) for fields in json.loads(path.read_text())]


def _made(module: str, source: str) -> list[Mutant]:
    seen = {_meaning(source)}
    found = []
    for operator in dict(_operators()).values():
        positions = sum(
            len(list(operator.mutation_positions(node))) for node in ast_nodes(get_ast(source))
        )
        for occurrence in range(positions):
            changed = mutate_code(source, operator, occurrence)
            meaning = changed and _meaning(changed)
            if meaning and meaning not in seen:
                seen.add(meaning)
                found.append(_mutant(module, source, changed))
    return sorted(found, key=lambda mutant: (mutant.line, mutant.new))


class _Without(ast.NodeTransformer):
    """Removes code whose change has no effect, or none worth a test.

    These are annotations, options of dataclasses, keyword-only markers, and explicit
    returns of None.
    """

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        self.generic_visit(node)
        defaults = [value for value in node.kw_defaults if value is not None]
        return ast.arguments(
            posonlyargs=[],
            args=[*node.posonlyargs, *node.args, *node.kwonlyargs],
            vararg=node.vararg,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=node.kwarg,
            defaults=[*node.defaults, *defaults],
        )

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            node.value = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        return self.generic_visit(node)


def _meaning(source: str) -> str:
    """Return the syntax tree of a module as text; empty if there is none."""
    try:
        return ast.dump(_Without().visit(ast.parse(source)))
    except (SyntaxError, ValueError):
        return ""


def _mutant(module: str, source: str, changed: str) -> Mutant:
    before, after = source.splitlines(), changed.splitlines()
    first, old, new = 0, [], []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for tag, start, end, start_new, end_new in matcher.get_opcodes():
        if tag != "equal":
            first = first or start + 1
            old += before[start:end]
            new += after[start_new:end_new]
    return Mutant(module, first, _one_line(old), _one_line(new), changed)


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
