"""What is wrong with the schedule and the time zone of a CronJob, in the words of the libraries that read them.

    minute hour day-of-month month day-of-week    each of them lists of numbers, names, ranges, stars, and steps
    @daily and others, @every 1h30m               a descriptor
    TZ=Europe/Berlin 0 3 * * *                     a time zone before one of them

Source: parser.go of github.com/robfig/cron/v3 at v3.0.1 (ParseStandard); ParseDuration of Go's time/format.go;
pkg/util/parsers of k8s.io/kubernetes at v1.37.1 (ParseCronScheduleWithPanicRecovery); lib/time/zoneinfo.zip of Go 1.26
and LoadLocation of its time/zoneinfo.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from podrules.admission.validation.errors import quoted
from podrules.admission.validation.formats import go_fields, go_trimmed
from podrules.api.model.quantity import whole_number


class _Wrong(ValueError):
    """What is wrong."""


class _Bounds(Struct, frozen=True):
    """The numbers that a field may have, and the names of some, from the least on."""

    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Bounds(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "
_INT_MAX: Final = 2**63 - 1
_INT_MIN: Final = -(2**63)
_MICRO: Final = 10**3
_SECOND: Final = 10**9
_PRECISE: Final = 18
"""Digits of a fraction that count."""
_UNITS: Final = {
    "ns": 1,
    "us": _MICRO,
    "\u00b5s": _MICRO,
    "\u03bcs": _MICRO,
    "ms": 1000 * _MICRO,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
"""The units of a duration, in nanoseconds; micro is written with either of two letters."""
_PART: Final = re.compile(r"(?P<number>[0-9]*)(?P<point>\.?)(?P<fraction>[0-9]*)(?P<unit>[^0-9.]*)", re.DOTALL)


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule; empty: nothing."""
    try:
        _parse(schedule)
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _parse(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = schedule.partition(" ")
        if not space:
            raise _Wrong("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        name = zone.partition("=")[2]
        problem = time_zone_problem(name)
        if problem:
            raise _Wrong(f"provided bad location {name}: {problem}")
        schedule = go_trimmed(rest)
    if schedule in _DESCRIPTORS:
        return
    if schedule.startswith("@"):
        if not schedule.startswith(_EVERY):
            raise _Wrong(f"unrecognized descriptor: {schedule}")
        problem = _duration_problem(schedule.removeprefix(_EVERY))
        if problem:
            raise _Wrong(f"failed to parse duration {schedule}: time: {problem}")
        return
    fields = go_fields(schedule)
    if len(fields) != len(_FIELDS):
        raise _Wrong(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for part in filter(None, field.split(",")):
            span, *steps = part.split("/")
            low, *high = span.split("-")
            if low in {"*", "?"}:
                start, end = bounds.least, bounds.most
            else:
                start = end = _number(low, bounds)
                if len(high) > 1:
                    raise _Wrong(f"too many hyphens: {part}")
                if high:
                    end = _number(high[0], bounds)
            if len(steps) > 1:
                raise _Wrong(f"too many slashes: {part}")
            step = _integer(steps[0]) if steps else 1
            if steps and not high:
                end = bounds.most
            if start < bounds.least:
                raise _Wrong(f"beginning of range ({start}) below minimum ({bounds.least}): {part}")
            if end > bounds.most:
                raise _Wrong(f"end of range ({end}) above maximum ({bounds.most}): {part}")
            if start > end:
                raise _Wrong(f"beginning of range ({start}) beyond end of range ({end}): {part}")
            if step == 0:
                raise _Wrong(f"step of range should be a positive number: {part}")


def _number(text: str, bounds: _Bounds) -> int:
    name = text.lower()
    return bounds.least + bounds.names.index(name) if name in bounds.names else _integer(text)


def _integer(text: str) -> int:
    failed = f"failed to parse int from {text}: strconv.Atoi: parsing {quoted(text)}"
    if not re.fullmatch("[-+]?[0-9]+", text):
        raise _Wrong(f"{failed}: invalid syntax")
    number = whole_number(text)
    if not _INT_MIN <= number <= _INT_MAX:
        raise _Wrong(f"{failed}: value out of range")
    if number < 0:
        raise _Wrong(f"negative number ({number}) not allowed: {text}")
    return number


def _duration_problem(text: str) -> str:
    shown = _quoted(text)
    unsigned = text[1:] if text.startswith(("-", "+")) else text
    if unsigned == "0":
        return ""
    total = 0
    for part in _PART.finditer(unsigned):
        number, fraction, unit = part["number"], part["fraction"], part["unit"]
        if not part[0]:
            break
        if (not number and not fraction) or whole_number(number or "0") > 2**63:
            return f"invalid duration {shown}"
        if not unit:
            return f"missing unit in duration {shown}"
        if unit not in _UNITS:
            return f"unknown unit {_quoted(unit)} in duration {shown}"
        total += whole_number(number or "0") * _UNITS[unit]
        fraction = fraction[:_PRECISE]
        total += int(fraction or 0) * _UNITS[unit] // 10 ** len(fraction)
        if total > 2**63:
            return f"invalid duration {shown}"
    too_long = total > _INT_MAX and not text.startswith("-")
    return f"invalid duration {shown}" if too_long or not unsigned else ""


def _quoted(text: str) -> str:
    """A text as Go's package time quotes it: bytes that are not printable ASCII are numbers."""
    shown = "".join(
        one if " " <= one < "\x80" else "".join(f"\\x{byte:02x}" for byte in one.encode("utf-8", "surrogatepass"))
        for one in text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"{shown}"'


_NAMES: Final[Mapping[str, str]] = {
    "": (
        "CET CST6CDT Cuba EET EST EST5EDT Egypt Eire Factory GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST "
        "Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT "
        "Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu"
    ),
    "Africa": (
        "Abidjan Accra Addis_Ababa Algiers Asmara Asmera Bamako Bangui Banjul Bissau Blantyre Brazzaville "
        "Bujumbura Cairo Casablanca Ceuta Conakry Dakar Dar_es_Salaam Djibouti Douala El_Aaiun Freetown Gaborone "
        "Harare Johannesburg Juba Kampala Khartoum Kigali Kinshasa Lagos Libreville Lome Luanda Lubumbashi Lusaka "
        "Malabo Maputo Maseru Mbabane Mogadishu Monrovia Nairobi Ndjamena Niamey Nouakchott Ouagadougou "
        "Porto-Novo Sao_Tome Timbuktu Tripoli Tunis Windhoek"
    ),
    "America": (
        "Adak Anchorage Anguilla Antigua Araguaina Aruba Asuncion Atikokan Atka Bahia Bahia_Banderas Barbados "
        "Belem Belize Blanc-Sablon Boa_Vista Bogota Boise Buenos_Aires Cambridge_Bay Campo_Grande Cancun Caracas "
        "Catamarca Cayenne Cayman Chicago Chihuahua Ciudad_Juarez Coral_Harbour Cordoba Costa_Rica Coyhaique "
        "Creston Cuiaba Curacao Danmarkshavn Dawson Dawson_Creek Denver Detroit Dominica Edmonton Eirunepe "
        "El_Salvador Ensenada Fort_Nelson Fort_Wayne Fortaleza Glace_Bay Godthab Goose_Bay Grand_Turk Grenada "
        "Guadeloupe Guatemala Guayaquil Guyana Halifax Havana Hermosillo Indianapolis Inuvik Iqaluit Jamaica "
        "Jujuy Juneau Knox_IN Kralendijk La_Paz Lima Los_Angeles Louisville Lower_Princes Maceio Managua Manaus "
        "Marigot Martinique Matamoros Mazatlan Mendoza Menominee Merida Metlakatla Mexico_City Miquelon Moncton "
        "Monterrey Montevideo Montreal Montserrat Nassau New_York Nipigon Nome Noronha Nuuk Ojinaga Panama "
        "Pangnirtung Paramaribo Phoenix Port-au-Prince Port_of_Spain Porto_Acre Porto_Velho Puerto_Rico "
        "Punta_Arenas Rainy_River Rankin_Inlet Recife Regina Resolute Rio_Branco Rosario Santa_Isabel Santarem "
        "Santiago Santo_Domingo Sao_Paulo Scoresbysund Shiprock Sitka St_Barthelemy St_Johns St_Kitts St_Lucia "
        "St_Thomas St_Vincent Swift_Current Tegucigalpa Thule Thunder_Bay Tijuana Toronto Tortola Vancouver "
        "Virgin Whitehorse Winnipeg Yakutat Yellowknife"
    ),
    "America/Argentina": (
        "Buenos_Aires Catamarca ComodRivadavia Cordoba Jujuy La_Rioja Mendoza Rio_Gallegos Salta San_Juan "
        "San_Luis Tucuman Ushuaia"
    ),
    "America/Indiana": "Indianapolis Knox Marengo Petersburg Tell_City Vevay Vincennes Winamac",
    "America/Kentucky": "Louisville Monticello",
    "America/North_Dakota": "Beulah Center New_Salem",
    "Antarctica": "Casey Davis DumontDUrville Macquarie Mawson McMurdo Palmer Rothera South_Pole Syowa Troll Vostok",
    "Arctic": "Longyearbyen",
    "Asia": (
        "Aden Almaty Amman Anadyr Aqtau Aqtobe Ashgabat Ashkhabad Atyrau Baghdad Bahrain Baku Bangkok Barnaul "
        "Beirut Bishkek Brunei Calcutta Chita Choibalsan Chongqing Chungking Colombo Dacca Damascus Dhaka Dili "
        "Dubai Dushanbe Famagusta Gaza Harbin Hebron Ho_Chi_Minh Hong_Kong Hovd Irkutsk Istanbul Jakarta Jayapura "
        "Jerusalem Kabul Kamchatka Karachi Kashgar Kathmandu Katmandu Khandyga Kolkata Krasnoyarsk Kuala_Lumpur "
        "Kuching Kuwait Macao Macau Magadan Makassar Manila Muscat Nicosia Novokuznetsk Novosibirsk Omsk Oral "
        "Phnom_Penh Pontianak Pyongyang Qatar Qostanay Qyzylorda Rangoon Riyadh Saigon Sakhalin Samarkand Seoul "
        "Shanghai Singapore Srednekolymsk Taipei Tashkent Tbilisi Tehran Tel_Aviv Thimbu Thimphu Tokyo Tomsk "
        "Ujung_Pandang Ulaanbaatar Ulan_Bator Urumqi Ust-Nera Vientiane Vladivostok Yakutsk Yangon Yekaterinburg "
        "Yerevan"
    ),
    "Atlantic": (
        "Azores Bermuda Canary Cape_Verde Faeroe Faroe Jan_Mayen Madeira Reykjavik South_Georgia St_Helena Stanley"
    ),
    "Australia": (
        "ACT Adelaide Brisbane Broken_Hill Canberra Currie Darwin Eucla Hobart LHI Lindeman Lord_Howe Melbourne "
        "NSW North Perth Queensland South Sydney Tasmania Victoria West Yancowinna"
    ),
    "Brazil": "Acre DeNoronha East West",
    "Canada": "Atlantic Central Eastern Mountain Newfoundland Pacific Saskatchewan Yukon",
    "Chile": "Continental EasterIsland",
    "Etc": (
        "GMT GMT+0 GMT+1 GMT+10 GMT+11 GMT+12 GMT+2 GMT+3 GMT+4 GMT+5 GMT+6 GMT+7 GMT+8 GMT+9 GMT-0 GMT-1 GMT-10 "
        "GMT-11 GMT-12 GMT-13 GMT-14 GMT-2 GMT-3 GMT-4 GMT-5 GMT-6 GMT-7 GMT-8 GMT-9 GMT0 Greenwich UCT UTC "
        "Universal Zulu"
    ),
    "Europe": (
        "Amsterdam Andorra Astrakhan Athens Belfast Belgrade Berlin Bratislava Brussels Bucharest Budapest "
        "Busingen Chisinau Copenhagen Dublin Gibraltar Guernsey Helsinki Isle_of_Man Istanbul Jersey Kaliningrad "
        "Kiev Kirov Kyiv Lisbon Ljubljana London Luxembourg Madrid Malta Mariehamn Minsk Monaco Moscow Nicosia "
        "Oslo Paris Podgorica Prague Riga Rome Samara San_Marino Sarajevo Saratov Simferopol Skopje Sofia "
        "Stockholm Tallinn Tirane Tiraspol Ulyanovsk Uzhgorod Vaduz Vatican Vienna Vilnius Volgograd Warsaw "
        "Zagreb Zaporozhye Zurich"
    ),
    "Indian": "Antananarivo Chagos Christmas Cocos Comoro Kerguelen Mahe Maldives Mauritius Mayotte Reunion",
    "Mexico": "BajaNorte BajaSur General",
    "Pacific": (
        "Apia Auckland Bougainville Chatham Chuuk Easter Efate Enderbury Fakaofo Fiji Funafuti Galapagos Gambier "
        "Guadalcanal Guam Honolulu Johnston Kanton Kiritimati Kosrae Kwajalein Majuro Marquesas Midway Nauru Niue "
        "Norfolk Noumea Pago_Pago Palau Pitcairn Pohnpei Ponape Port_Moresby Rarotonga Saipan Samoa Tahiti Tarawa "
        "Tongatapu Truk Wake Wallis Yap"
    ),
    "US": (
        "Alaska Aleutian Arizona Central East-Indiana Eastern Hawaii Indiana-Starke Michigan Mountain Pacific Samoa"
    ),
}
"""The names of the time zones of the IANA database by area; an API server has that of its Go version."""
_ZONES: Final = frozenset(
    f"{area}/{name}" if area else name for area, names in _NAMES.items() for name in names.split()
)
_AREAS: Final = frozenset(zone[: place.start()] for zone in _ZONES for place in re.finditer("/", zone))
"""The folders of the database."""


def time_zone_problem(name: str) -> str:
    """Why Go knows no such time zone; empty: it does."""
    if name in _ZONES or name in {"", "Local"}:
        return ""
    if ".." in name or name.startswith(("/", "\\")):
        return "time: invalid location name"
    return "is a directory" if name in _AREAS else f"unknown time zone {name}"
