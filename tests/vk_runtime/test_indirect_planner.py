"""The planner of indirect launches: its words are its text."""

from __future__ import annotations

from lapilli.spirv.tools import spirv_tools
from lapilli.vk_runtime.indirect_assembly import WORDS, assembly


def test_the_planner_is_its_assembly() -> None:
    tools = spirv_tools()
    assert tools.validate(WORDS, "vulkan1.1") is None
    assert tools.assemble(assembly(), "vulkan1.1")[20:] == WORDS[20:]
