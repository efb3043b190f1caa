"""Rules that many fields share: a number that is not below zero, a word of an enumeration, a text of some form.

A field that is absent breaks none of them.

Source: pkg/apis/core/validation/validation.go of k8s.io/kubernetes at v1.37.1 (ValidateNonnegativeField).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from podrules.admission.validation.errors import invalid, unsupported
from podrules.admission.validation.formats import Problems
from podrules.admission.validation.view import View
from podrules.api.model.field_error import FieldError


def validate_nonnegative(struct: View, name: str) -> Iterator[FieldError]:
    """Hold a number against the rule that it is not below zero."""
    value = struct.number(name)
    if value is not None and value < 0:
        yield invalid(struct.at(name), value, "must be greater than or equal to 0")


def validate_word(struct: View, name: str, known: Collection[str]) -> Iterator[FieldError]:
    """Hold a pointer to a word against the words that there are; an empty one is none of them."""
    word = struct.pointer(name)
    if word is not None and word not in known:
        yield unsupported(struct.at(name), word, known)


def validate_format(struct: View, name: str, problems: Callable[[str], Problems]) -> Iterator[FieldError]:
    """Hold a text against a form; an empty one is an absent one.

    Args:
        struct: It has the field.
        name: Of the field.
        problems: What is wrong with a text, as of `podrules.admission.validation.formats`.
    """
    text = struct.text(name)
    for problem in problems(text) if text else ():
        yield invalid(struct.at(name), text, problem)
