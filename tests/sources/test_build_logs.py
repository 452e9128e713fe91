"""What streams of ``lp.properties.Log`` are told where kernels come from source."""

from __future__ import annotations

import io

import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@pytest.mark.behaviour("CLB-17")
def test_a_stream_gets_what_an_input_bundle_would_tell_it(context):
    text = "@lp.kernel\ndef k(x: lp.Array[lp.i32]): x[0] = 1\n"
    heads = {}
    for transition in (lp.compile, lp.build):
        stream = io.StringIO()
        transition(
            lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text),
            props=[lp.properties.Log(stream)],
        )
        heads[transition.__name__] = [line.partition(":")[0] for line in stream.getvalue().splitlines()]
    (device,) = context.devices
    linked = f"linked k for '{device.selector}'"
    assert heads == {"compile": ["compiled k"], "build": ["compiled k", linked]}
    stream = io.StringIO()
    with pytest.raises(lp.BuildError) as caught:
        lp.build(
            lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text + "+"),
            props=[lp.properties.Log(stream)],
        )
    assert stream.getvalue() == f"{caught.value.log}\n"
