"""What is wrong with a name, a label, a port or a path: the API server's sentences, none where the value is right.

Lengths are bytes of UTF-8, as Go counts them.

Source: pkg/util/validation/{validation,ip}.go, pkg/api/validate/content and pkg/api/validation/generic.go of
k8s.io/apimachinery at v0.37.1.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from podrules.admission.validation.view import Rules

Problems = tuple[str, ...]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN: Final = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_LABEL_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_LABEL_KEY})?"
_CONFIG_MAP_KEY: Final = "[-._a-zA-Z0-9]+"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"
_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
_PORT_NAME_LENGTH: Final = 15
_SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""What Go's strings.TrimSpace takes off; Python's strip takes off more."""
_LABEL_KEY_SINCE: Final = 35
"""Before it a label's key is called a qualified name, and what labels are made of has characters instead of bytes."""


def size(text: str) -> int:
    """The length of a text in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _too_long(most: int, unit: str = "characters") -> str:
    return f"must be no more than {most} {unit}"


def _unit(rules: Rules) -> str:
    return "bytes" if rules.minor >= _LABEL_KEY_SINCE else "characters"


def _regex(words: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def _is(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value) is not None


@lru_cache(4096)
def dns_label(value: str) -> Problems:
    """A label of DNS (RFC 1123)."""
    found = [_too_long(_LABEL_LENGTH)] if size(value) > _LABEL_LENGTH else []
    if not _is(_LABEL, value):
        words = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character"
        )
        dotted = _is(_SUBDOMAIN, value)
        found.append("must not contain dots" if dotted else _regex(words, _LABEL, "my-name", "123-abc"))
    return tuple(found)


@lru_cache(4096)
def dns_subdomain(value: str) -> Problems:
    """A name of DNS (RFC 1123)."""
    words = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character"
    )
    return _name(value, _SUBDOMAIN_LENGTH, words, _SUBDOMAIN, "example.com")


def long_name(value: str) -> Problems:
    """A name of DNS (RFC 1123), where the rule for it is declared: its length is one of bytes."""
    characters = _too_long(_SUBDOMAIN_LENGTH)
    return tuple(_too_long(_SUBDOMAIN_LENGTH, "bytes") if one == characters else one for one in dns_subdomain(value))


def dns_subdomain_with_underscore(value: str) -> Problems:
    """A name of DNS in which underscores may stand."""
    words = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
        "start and end with an alphanumeric character"
    )
    return _name(value, _SUBDOMAIN_LENGTH, words, _UNDERSCORED_SUBDOMAIN, "example.com")


def _name(value: str, most: int, words: str, pattern: str, *examples: str) -> Problems:
    found = [_too_long(most)] if size(value) > most else []
    if not _is(pattern, value):
        found.append(_regex(words, pattern, *examples))
    return tuple(found)


def name_prefix(value: str, check: Callable[[str], Problems]) -> Problems:
    """A generateName: what is drawn at random follows, so that it may end with a dash."""
    return check(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)


@lru_cache(4096)
def qualified_name(value: str, rules: Rules) -> Problems:
    """The key of a label: a name, and a subdomain before it."""
    words = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    problem = _regex(f"{words} character", _LABEL_KEY, "MyName", "my.name", "123-abc")
    found: list[str] = []
    unit = _unit(rules)
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        kind = "valid label key" if rules.minor >= _LABEL_KEY_SINCE else "qualified name"
        return (f"a {kind} {problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    if slash:
        problems = dns_subdomain(prefix) if prefix else ("must be non-empty",)
        longest = _too_long(_SUBDOMAIN_LENGTH)
        found.extend(f"prefix part {_too_long(_SUBDOMAIN_LENGTH, unit) if one == longest else one}" for one in problems)
    if not name:
        found.append("name part must be non-empty")
    elif size(name) > _LABEL_LENGTH:
        found.append(f"name part {_too_long(_LABEL_LENGTH, unit)}")
    if not _is(_LABEL_KEY, name):
        found.append(f"name part {problem}")
    return tuple(found)


@lru_cache(4096)
def label_value(value: str, rules: Rules) -> Problems:
    """The value of a label."""
    words = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character"
    )
    found = [_too_long(_LABEL_LENGTH, _unit(rules))] if size(value) > _LABEL_LENGTH else []
    if not _is(_LABEL_VALUE, value):
        found.append(_regex(words, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(found)


def config_map_key(value: str) -> Problems:
    """A key of a ConfigMap or a Secret."""
    words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    found = _name(value, _SUBDOMAIN_LENGTH, words, _CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name")
    if value in {".", ".."}:
        return (*found, f"must not be '{value}'")
    return (*found, "must not start with '..'") if value.startswith("..") else found


def env_var_name(value: str) -> Problems:
    """The name of an environment variable."""
    if not value:
        return ("environment variable name must be non-empty",)
    if all(" " <= one <= "~" and one != "=" for one in value):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def http_header_name(value: str) -> Problems:
    """The name of a header of HTTP."""
    if _is(_HTTP_HEADER, value):
        return ()
    return (
        _regex("a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name"),
    )


def percent(value: str) -> Problems:
    """A share: digits and a percent sign."""
    if _is(_PERCENT, value):
        return ()
    words = "a valid percent string must be a numeric string followed by an ending '%'"
    return (_regex(words, _PERCENT, "1%", "93%"),)


def go_fields(value: str) -> list[str]:
    """The words of a text, as Go's strings.Fields takes it apart."""
    return [word for word in re.split(f"[{_SPACES}]+", value) if word]


def go_trimmed(value: str) -> str:
    """A text without the spaces around it, as Go's strings.TrimSpace leaves it."""
    return value.strip(_SPACES)


def path_segment_name(value: str) -> Problems:
    """A name that stands in a URL as it is."""
    if value in {".", ".."}:
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{sign}'" for sign in "/%" if sign in value)


def in_range(value: int, least: int, most: int) -> Problems:
    """A number between two others."""
    return () if least <= value <= most else (f"must be between {least} and {most}, inclusive",)


def port_number(value: int) -> Problems:
    """The number of a port."""
    return in_range(value, 1, 65535)


def port_name(value: str) -> Problems:
    """The name of a port."""
    found = [_too_long(_PORT_NAME_LENGTH)] if size(value) > _PORT_NAME_LENGTH else []
    if not _is("[-a-z0-9]+", value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def path_without_backsteps(value: str) -> Problems:
    """A path that does not lead out of where it begins."""
    return ("must not contain '..'",) if ".." in value.split("/") else ()


def relative_path(value: str) -> Problems:
    """A path below where it begins."""
    absolute = ("must be a relative path",) if value.startswith("/") else ()
    return absolute + path_without_backsteps(value)


def unreserved_path(value: str) -> Problems:
    """A path below a directory in which names that begin with two dots are kept for others."""
    found = relative_path(value)
    reserved = value.startswith("..") and not value.startswith("../")
    return (*found, "must not start with '..'") if reserved else found


def is_padded(value: str) -> bool:
    """Whether whitespace is around a text."""
    return value != value.strip(_SPACES)


def ip_address(value: str, rules: Rules) -> Problems:
    """An address of IP in a field that once took zeros before its numbers."""
    if _parsed_ip(re.sub("(?<![0-9A-Fa-f])0+(?=[0-9A-Fa-f])", "", value)) is None:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if not rules.on("StrictIPCIDRValidation"):
        return ()
    found = _parsed_ip(value)
    if found is None:
        return ("must not have leading 0s",)
    mapped = isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None
    return ("must not be an IPv4-mapped IPv6 address",) if mapped else ()


def _parsed_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if "%" in value else ipaddress.ip_address(value)
    except ValueError:
        return None
