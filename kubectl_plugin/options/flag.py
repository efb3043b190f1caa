"""The declaration of a flag: a field of a command's options. Parser, help, completion and manual pages follow from it.

    class DiedOptions(CommandOptions, command="died", words=_DIED):
        since: float | None = flag("--since", metavar="TIME", type=span, help="only ends within this time")

The fields stand in the order of the help. These structs load in a fiftieth of the time of a NamedTuple, and neither
dataclasses nor msgspec are loaded before kubectl starts.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self, dataclass_transform

POSITIONAL: Final = "positional arguments"
OPTIONS: Final = "options"
SOURCES: Final = "source of objects"
KUBECTL: Final = "connection to the cluster, as in kubectl"
CHANGES: Final = "what if"
CONFIRMATION: Final = "confirmation that the machine is off"
_EXCLUSIVE: Final = frozenset({SOURCES, CONFIRMATION})
"""A command line may have only one flag of each of these groups."""

_NUMBER: Final = r"[-+]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18})"
"""Seconds without a unit; without ``inf``, ``nan`` and exponents, which Python's float would accept."""
_VERSION: Final = r"v?1\.(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,4})?(?:[+-][0-9A-Za-z.+-]{1,60})?"
_WHOLE: Final = r"[-+]?[0-9]+"
_MAX_INT64: Final = 2**63 - 1
"""deletionGracePeriodSeconds is an int64 (meta/v1, types.go)."""
_DIGITS: Final = len(str(-_MAX_INT64))
_MAX_SECONDS: Final = 365 * 86400.0
"""Seconds."""


class Flag:
    """One flag, or the words of a command that are not flags."""

    def __init__(self, names: tuple[str, ...], group: str, settings: Mapping[str, Any], completes: str = "") -> None:
        """Declare it.

        Args:
            names: ``-o``, ``--output``; empty: words.
            group: The heading in the help.
            settings: The arguments of argparse's ``add_argument``.
            completes: The objects with names as values, in the words of `kubectl_plugin.completion`; empty: none.
        """
        self.group, self.settings, self.completes, self._declared = group, settings, completes, names
        self.has_no_form = settings.get("action") is argparse.BooleanOptionalAction
        no_form = (f"--no-{names[0].removeprefix('--')}",) if self.has_no_form else ()
        self.names = (*names, *no_form)
        """As they can be typed."""
        self.help: str = settings.get("help", "")

    @property
    def takes_value(self) -> bool:
        """Whether the next word is its value."""
        return "nargs" not in self.settings and self._has_value

    @property
    def _has_value(self) -> bool:
        return not self.has_no_form and self.settings.get("action") not in {"store_true", "help"}

    @property
    def choices(self) -> tuple[str, ...]:
        """The possible values; a value with = at the end takes more text."""
        return self.settings.get("choices") or tuple(getattr(self.settings.get("type"), "all", ()))

    @property
    def value(self) -> str:
        """The placeholder of its value; empty: it takes none."""
        if not self._has_value:
            return ""
        return self.settings.get("metavar") or f"{{{','.join(self.choices)}}}"

    def but(self, **settings: Any) -> Flag:
        """The same flag with other arguments of ``add_argument``."""
        return Flag(self._declared, self.group, {**self.settings, **settings}, self.completes)

    def add_to(self, group: argparse._ActionsContainer, attribute: str) -> None:
        """Add it to a parser, which sets this attribute."""
        if self._declared:
            group.add_argument(*self._declared, dest=attribute, **self.settings)
        else:
            group.add_argument(attribute, **self.settings)


class FlagField:
    """A field of a struct of options, with the flags that determine its value."""

    def __init__(
        self, flags: Mapping[str, Flag], default: Any, read: Callable[[argparse.Namespace], Any] | None
    ) -> None:
        """Declare it.

        Args:
            flags: The flags by their attribute in argparse's namespace; empty: the attribute has the field's name.
            default: The value in a struct that is not parsed.
            read: The value; None: that of the only flag.
        """
        self.flags, self.default, self._read = flags, default, read

    def value(self, name: str, args: argparse.Namespace) -> Any:
        """The value of the field of this name.

        Raises:
            UsageError: its flags are inconsistent.
        """
        if self._read is not None:
            return self._read(args)
        value = getattr(args, name)
        return tuple(value) if isinstance(value, list) else value


def combined(read: Callable[[argparse.Namespace], Any], default: Any = None, **flags: Any) -> Any:
    """A field with several flags, or with none of its own.

    Args:
        read: The field's value, read from argparse's namespace.
        default: The field's value in a struct that is not parsed.
        flags: `flag`, `switch` or `Flag`, by their attributes in the namespace.
    """
    return FlagField(
        {name: one.flags[""] if isinstance(one, FlagField) else one for name, one in flags.items()}, default, read
    )


def flag(
    *names: str,
    group: str = OPTIONS,
    default: Any = None,
    untyped: Any = None,
    read: Callable[[argparse.Namespace], Any] | None = None,
    completes: str = "",
    **settings: Any,
) -> Any:
    """A field with one flag.

    Args:
        names: ``-o``, ``--output``; none: the words that are not flags.
        group: The heading in the help.
        default: The field's value without the flag.
        untyped: argparse's value without the flag, if it differs and the field is read from it.
        read: The field's value, read from argparse's namespace; None: argparse's value.
        completes: As of `Flag`.
        settings: The other arguments of argparse's ``add_argument``.
    """
    if not names:
        return FlagField({"": Flag((), POSITIONAL, {"nargs": "*", **settings}, completes)}, (), read)
    if settings.get("action") in {"append", "extend"}:
        default, untyped = (), []
    elif untyped is None:
        untyped = default
    return FlagField({"": Flag(names, group, {"default": untyped, **settings}, completes)}, default, read)


def switch(*names: str, group: str = OPTIONS, **settings: Any) -> Any:
    """A field with one flag that takes no value."""
    return flag(*names, group=group, default=False, action="store_true", **settings)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class OptionsStruct:
    """A struct with fields that are declared as flags, and others."""

    declared: ClassVar[Mapping[str, FlagField]] = {}
    """The attributes that have flags. One without a type has no value here, only a place in the help."""
    _defaults: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        """Read the declarations of the class."""
        own = vars(cls)
        cls.declared = {name: value for name, value in own.items() if isinstance(value, FlagField)}
        defaults = {name: own.get(name) for name, kind in cls.__annotations__.items() if not kind.startswith("Class")}
        values = {name: value.default if isinstance(value, FlagField) else value for name, value in defaults.items()}
        cls._defaults = {**cls._defaults, **values}

    def __init__(self, **values: Any) -> None:
        vars(self).update({**self._defaults, **values})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def replace(self, **changes: Any) -> Self:
        """A copy with other values."""
        return type(self)(**{**vars(self), **changes})

    @classmethod
    def all_flags(cls) -> dict[str, Flag]:
        """The flags, by their attribute in argparse's namespace."""
        return {key or name: flag for name, field in cls.declared.items() for key, flag in field.flags.items()}

    @classmethod
    def read(cls, args: argparse.Namespace, **others: Any) -> Self:
        """The struct of a parsed command line.

        Args:
            args: Fields with flags that it lacks keep their defaults.
            others: Other values.

        Raises:
            UsageError: flags are inconsistent.
        """
        typed = {
            name: field.value(name, args)
            for name, field in cls.declared.items()
            if name in cls._defaults and all(hasattr(args, key or name) for key in field.flags)
        }
        return cls(**{**typed, **others})


def add_flags(parser: argparse.ArgumentParser, flags: Mapping[str, Flag]) -> None:
    """Add flags to a parser under their headings."""
    groups: dict[str, argparse._ActionsContainer] = {POSITIONAL: parser, OPTIONS: parser}
    for attribute, one in flags.items():
        if one.group not in groups:
            group = parser.add_argument_group(one.group)
            groups[one.group] = group.add_mutually_exclusive_group() if one.group in _EXCLUSIVE else group
        one.add_to(groups[one.group], attribute)


def version(text: str) -> str:
    """A version of Kubernetes: ``1.35``, ``v1.35.4``.

    Raises:
        argparse.ArgumentTypeError: not a version.
    """
    if not re.fullmatch(_VERSION, text):
        raise argparse.ArgumentTypeError(f'"{text}": not a version of Kubernetes\nWrite e.g. 1.35')
    return text


def grace_seconds(text: str) -> int:
    """Seconds of a grace period, also negative ones.

    Raises:
        argparse.ArgumentTypeError: not a number of seconds, or too large.
    """
    if not re.fullmatch(_WHOLE, text):
        raise argparse.ArgumentTypeError(
            f'"{text[:40]}": not a grace period\nWrite seconds, 0 or more; a negative number means the pod\'s own'
        )
    if len(text) > _DIGITS or abs(int(text)) > _MAX_INT64:
        raise argparse.ArgumentTypeError(f'"{text[:40]}": too large for an int64\nWrite seconds, {_MAX_INT64} at most')
    return int(text)


def seconds(text: str) -> float:
    """The seconds of a time-out; 0 means no limit, which is an hour here.

    Raises:
        argparse.ArgumentTypeError: as of `span`.
    """
    return span(text) or 3600.0


def span(text: str) -> float:
    """A number of seconds, or a duration of Go: ``30``, ``500ms``, ``1h30m``.

    Raises:
        argparse.ArgumentTypeError: it is neither, or it is negative or longer than a year.
    """
    value = float(text) if re.fullmatch(_NUMBER, text) else _go_duration(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'"{text}": negative\nWrite e.g. 30s')
    if value > _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f'"{text}": longer than a year\nWrite e.g. 1h30m')
    return value


def _go_duration(text: str) -> float:
    from podrules.api.model.instant import DurationError, parse_duration

    try:
        return parse_duration(text).total_seconds()
    except DurationError:
        raise argparse.ArgumentTypeError(f'"{text}": not a time\nWrite e.g. 30s, 500ms or 1h30m') from None
