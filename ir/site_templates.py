"""What the templates of sites may say: they may come from disk, and Python's formats reach attributes and fill memory.

Loaded only with kernels that print or check.
"""

from __future__ import annotations

import re
import string

_SPEC = r"(.?[<>=^])?[-+ ]?z?#?0?\d{0,3}[,_]?(\.\d{1,3})?[a-zA-Z%]?"
"""A format specification, as a regular expression; few kernels print, so it is compiled when one does."""


def template_problem(text: str, count: int) -> str | None:
    """Returns what is wrong with the template of a site that has `count` values, None where it is right.

    Only values by number, ``!r`` and ``!s``, and short literal format specifications: a template may come from disk.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        return f"the template {text!r} is malformed: {error}"
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if not field.isdecimal() or not field.isascii() or len(field) > 3 or int(field) >= count:
            return f"the template {text!r} names '{field}'; expected a number below {count}"
        if conversion not in (None, "r", "s") or not re.fullmatch(_SPEC, spec or ""):
            return f"the template {text!r} has the format '{conversion or ''}:{spec}', which is not known"
    return None
