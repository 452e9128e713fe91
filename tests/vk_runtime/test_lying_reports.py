"""Reports of images whose records say that a kernel prints more than it does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from lapilli.ir.kernel_info import ReportWord, Site
from lapilli.vk_runtime.reports import KernelReport


def test_a_line_that_ends_behind_the_words_is_none() -> None:
    report = KernelReport.__new__(KernelReport)
    sites = [("{0}", ("u32",)), ("{0} {1}", ("f64", "f64"))]
    report.kernel = SimpleNamespace(
        sites=tuple(Site(kind="print", text=text, dtypes=dtypes) for text, dtypes in sites)
    )
    report.streams, report._readers = {}, {}
    words = np.zeros(ReportWord.LINES + 4, np.uint32)
    words[ReportWord.LINES :] = (1, 7, 2, 0)
    assert [line.text for line in report.lines_of(words)] == ["7"]
