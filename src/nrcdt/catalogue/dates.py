"""Dates as people write them, and the years that they speak of."""

from __future__ import annotations

import re

FIRST_YEAR, LAST_YEAR = 0, 9999
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d{2}(?!\d)")
_DAY = re.compile(r"(?<!\d)(\d{4})-\d{1,2}-\d{1,2}(?!\d)")
_SHORT = re.compile(r"(?<!\d)((?:1\d|20)\d{2})\s*[-\u2013/]\s*(\d{2})(?!\d)")
_SIDE = re.compile(
    r"\b(?P<not>nicht |not |non )?(?:(?P<before>vor|bis|before|until|ante|avant|prima del)|"
    r"nach|ab|seit|after|since|from|post|apr[e\u00e8]s|dopo il)\s+(?:ca?\.?\s*)?\d{4}(?!\d)"
)
_NUMBER = r"(2[01]|1?\d|[ivx]+)\.?(?:th|st|nd|rd|e|es|er|eme|\u00e8me)?\.?"
_BEHIND = r"(?:jh|jahrh|cent|c\b|sec|s\.|s\b|saec|si[e\u00e8]c|eeuw)"
_BETWEEN = r"(?:\s*[-\u2013/]\s*(?:[^\W\d]+\s+)?|\s+(?:bis|und|to|or|and)\s+)"
_CENTURY = re.compile(
    rf"\b(?:{_NUMBER}{_BETWEEN})?\b{_NUMBER}[\s-]*{_BEHIND}"
    r"|\b(?:saec|secolo|sec|si[e\u00e8]cle|siglo|s)\b\.?\s*([ivx]+)(?:\s*[-\u2013/]\s*([ivx]+))?\b"
)
_ROMAN = {"i": 1, "v": 5, "x": 10}


def years(date: str) -> tuple[int | None, int | None]:
    """Return the first and the last year that a date may speak of; both None where it tells no year.

    Two digits behind a dash share the century of the year before if they are later; otherwise they are a month. A
    century is given by its number, Arabic or Roman. What is before or after a year has no other end.

    Examples
    --------
    >>> years("1432"), years("ca. 1450-62"), years("Basel, 12.3.1471"), years("1471-03-12"), years("undated")
    ((1432, 1432), (1450, 1462), (1471, 1471), (1471, 1471), (None, None))
    >>> years("15. Jh."), years("late 15th c"), years("XIV-XV sec."), years("vor 1450"), years("after 1500")
    ((1401, 1500), (1401, 1500), (1301, 1500), (0, 1450), (1500, 9999))
    """
    date = _DAY.sub(r"\1", date.casefold())
    found = [int(year) for year in _YEAR.findall(date)]
    if not found:
        return _centuries(date)
    found += [int(first[:2] + last) for first, last in _SHORT.findall(date) if last > first[2:]]
    side = _SIDE.search(date)
    if side and len(found) == 1:
        before = bool(side["before"]) != bool(side["not"])
        return (FIRST_YEAR, found[0]) if before else (found[0], LAST_YEAR)
    return min(found), max(found)


def _centuries(date: str) -> tuple[int | None, int | None]:
    found = _CENTURY.search(date)
    numbers = [_century(number) for number in found.groups() if number] if found else []
    return (100 * min(numbers) - 99, 100 * max(numbers)) if numbers else (None, None)


def _century(number: str) -> int:
    if number.isdigit():
        return int(number)
    values = [_ROMAN[letter] for letter in number]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
