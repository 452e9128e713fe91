"""Location attributes made without their constructor are those that it makes."""

from __future__ import annotations

import copy

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from lapilli.ir.errors import Location
from lapilli.ir.location import file_location, location_of


def test_is_what_the_constructor_makes():
    made = file_location("k.py", 3, 14)
    expected = FileLineColLoc(StringAttr("k.py"), IntAttr(3), IntAttr(14))
    made.verify()
    assert made == expected and hash(made) == hash(expected) and str(made) == str(expected)
    assert type(made) is FileLineColLoc and vars(made) == vars(expected)
    assert made.parameters == expected.parameters and copy.copy(made) == expected


def test_leads_back_to_the_place():
    assert location_of(file_location("k.py", 3, 14)) == Location("k.py", 3, 14)
    assert file_location("k.py", 3, 14) != file_location("k.py", 14, 3)
