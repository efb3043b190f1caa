"""The suite's test functions as they are written, and which of them are long."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parent


class Written(NamedTuple):
    """A test function."""

    file: Path
    name: str
    long: bool
    """Whether all of its cases run in ``make test-all`` alone."""
    held_by: tuple[str, ...]
    """The reasons of its marks, also of single cases: the tests of ``make test`` that check the same."""


@cache
def written_tests() -> tuple[Written, ...]:
    """All test functions, file by file; read once."""
    return tuple(_read())


def _read() -> Iterator[Written]:
    for file in sorted(TESTS.rglob("test_*.py")):
        body = ast.parse(file.read_text(encoding="utf-8")).body
        of_file = list(_marks_of_the_file(body))
        for function in _functions(body):
            marks = [*of_file, *function.decorator_list]
            reasons = (_reason(node) for mark in marks for node in _with_arguments(mark) if _is_long(node))
            yield Written(file, function.name, any(map(_is_long, marks)), tuple(reasons))


def _marks_of_the_file(body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=ast.List(elts=marks)):
                yield from marks
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=mark):
                yield mark


def _functions(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_"):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body)


def _with_arguments(mark: ast.expr) -> Iterator[ast.AST]:
    """A mark and the marks in what it is given, as those of single cases."""
    called = {id(node.func) for node in ast.walk(mark) if isinstance(node, ast.Call)}
    return (node for node in ast.walk(mark) if id(node) not in called)


def _is_long(node: ast.AST) -> bool:
    """``pytest.mark.long`` with or without arguments."""
    match node:
        case ast.Call(func=mark) | mark:
            return isinstance(mark, ast.Attribute) and ast.unparse(mark).endswith("mark.long")


def _reason(node: ast.AST) -> str:
    match node:
        case ast.Call(args=[ast.Constant(value=str(text))]):
            return text
    return ""
