"""Bundle files and file tables from strangers: an error each, never a crash, a hang or an internal error."""

from __future__ import annotations

import json
import random

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.spirv import file_table
from lapilli.spirv.file_table import HEADER, read_table
from lapilli.spirv.lpk import MAGIC, MAX_HEADER_BYTES, LpkFile
from lapilli.tools.inspect import command as inspect_command

from .conftest import Project
from .hostile import PREFIX, flipped, joined, mutated, split

pytestmark = pytest.mark.device

INPUT = lp.BundleState.INPUT


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a file with two images and native code where there are drivers for it."""
    folder = tmp_path_factory.mktemp("hostile")
    project = Project(folder)
    names = ",".join(sorted({device.selector for device in lp.devices()}))
    project.build("-o", folder / "good.lpk", *(("--targets", names) if names else ()))
    return (folder / "good.lpk").read_bytes()


def load(path, data):
    """Loads bytes in two states; returns the error."""
    path.write_bytes(data)
    context = lp.Context([lp.devices()[0]])
    try:
        lp.load_kernel_bundle(context, path, state=INPUT)
        lp.load_kernel_bundle(context, path)
    except lp.Error as error:
        return error
    return None


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.lpk"


def test_the_file_itself_loads(good, path):
    assert load(path, good) is None


def test_an_error_says_once_what_to_do(good, path):
    for wrong in (good[:-1], good + b"x"):
        error = load(path, wrong)
        assert error is not None and "bytes of code" in str(error)
        assert str(error).count("bundle file") == 1 and str(error).count("make it again") == 1


def test_every_cut(good, path):
    cuts = {*range(80), *random.Random(1).sample(range(80, len(good)), 40), len(good) - 1}
    for size in sorted(cuts):
        error = load(path, good[:size])
        assert isinstance(error, lp.InvalidError) and error.code == "LP1060", size
    assert isinstance(load(path, good + b"\0"), lp.InvalidError)


def test_every_flipped_bit_of_the_header(good, path):
    header_end = len(good) - len(split(good)[1])
    for position in random.Random(2).sample(range(header_end), 100):
        data = bytearray(good)
        data[position] ^= 1 << position % 8
        assert isinstance(load(path, bytes(data)), lp.InvalidError), position


def test_flipped_code_of_spirv(good, path):
    header, code = split(good)
    spirv = {image["code"] for image in header["images"] if image["native"] is None}
    for number in spirv:
        blob = header["blobs"][number]
        data = bytearray(good)
        data[len(good) - len(code) + blob["offset_bytes"] + 30] ^= 4
        with pytest.raises(lp.InvalidError, match="damaged"):
            file = LpkFile(bytes(data), "file")
            file.blob(number)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no bundle file"),
        (b"[Code|Properties|Symbols]\nk_0.spv|k_0.json|k_0.sym\n", "a file table, for other tools"),
        (b"\x7fELF" + bytes(100), "no bundle file"),
        (MAGIC.replace(b"\r\n", b"\n") + bytes(100), "no bundle file"),
        (PREFIX.pack(MAGIC, 2, 0, bytes(32)), "format version 2"),
        (PREFIX.pack(MAGIC, 1, MAX_HEADER_BYTES + 1, bytes(32)), "claims"),
        (PREFIX.pack(MAGIC, 1, 0xFFFFFFFF, bytes(32)), "claims"),
        (joined(b"[" * 100000, b""), "cannot be read"),
        (joined(b"{}", b""), "missing or unknown fields"),
        (joined(b"\xff\xfe", b""), "cannot be read"),
    ],
)
def test_other_bytes(path, data, message):
    error = load(path, data)
    assert isinstance(error, lp.InvalidError) and message in str(error), error


def test_a_file_of_an_older_lapilli_lacks_what_it_did_not_know(good, path):
    header, code = split(good)
    for image in header["images"]:
        del image["target_env"]["packs_tables"], image["target_env"]["masks_indices"]
    older = joined(json.dumps(header).encode(), code)
    assert load(path, older) is None
    assert [image.target_env for image in LpkFile(older, "older").header.images] == [
        image.target_env for image in LpkFile(good, "good").header.images
    ]
    header["images"][0]["target_env"]["of_the_future"] = True
    assert "missing or unknown fields of_the_future" in str(
        load(path, joined(json.dumps(header).encode(), code))
    )


def change(data, *keys, value):
    header, code = split(data)
    place = header
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return joined(header, code)


def test_hostile_fields(good, path):
    struct_ = split(good)[0]["kernels"]
    shifted = next(n for n, kernel in enumerate(struct_) if kernel["name"] == "shifted")
    tiled = next(n for n, kernel in enumerate(struct_) if kernel["name"] == "tiled")
    type_ = ("kernels", shifted, "parameters", 0, "type")
    size = ("kernels", tiled, "local_size", 0)
    for keys, value in (
        (("blobs", 0, "size_bytes"), 2**62),
        (("blobs", 0, "offset_bytes"), 8),
        (("images", 0, "code"), 99),
        (("images", 0, "ids"), [0, 0, 0]),
        (("images", 0, "target"), "lavapipe"),
        ((*type_, "alignment"), 3),
        ((*type_, "size_bytes"), 2**40),
        ((*type_, "fields", 0, "offset_bytes"), -4),
        ((*type_, "fields", 0, "name"), "__init__"),
        ((*type_, "fields", 1, "type", "shape"), [2**30]),
        (("kernels", shifted, "parameters", 0, "name"), "not a name"),
        ((*size, "text"), "__import__('os').abort()"),
        ((*size, "text"), "9**9**9"),
        ((*size, "text"), "(" * 900),
        ((*size, "text"), "TILE + other"),
        ((*size, "names"), []),
        (("constants", 0, "default"), "00"),
    ):
        error = load(path, change(good, *keys, value=value))
        assert isinstance(error, lp.InvalidError) and error.code == "LP1060", (keys, value, error)


def test_code_that_is_not_what_the_header_says(good, path):
    header, code = split(good)
    first = next(image for image in header["images"] if image["native"] is None)
    for keys, value in (
        (("kernels", 0, "entry_point"), "other"),
        (("kernels", 0, "abi", "argument_block_bytes"), 0),
        (("kernels", 0, "abi", "local_size_spec_ids"), [7, 8, 9]),
    ):
        changed = json.loads(json.dumps(header))
        place = changed["images"][header["images"].index(first)]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        assert isinstance(load(path, joined(changed, code)), lp.InvalidError), keys


def test_spirv_that_is_invalid_never_reaches_a_driver(good, path):
    header, code = split(good)
    spirv = sorted({image["code"] for image in header["images"] if image["native"] is None})
    first = header["blobs"][spirv[0]]["offset_bytes"]
    pick = random.Random(3)
    refused = 0
    for _ in range(60):
        data = bytearray(code)
        position = first + pick.randrange(0, header["blobs"][spirv[0]]["size_bytes"]) // 4 * 4
        data[position : position + 4] = pick.randrange(1 << 32).to_bytes(4, "little")
        refused += load(path, joined(json.loads(json.dumps(header)), bytes(data))) is not None
    assert refused > 40  # the rest changed names and numbers only


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_random_headers_and_code(good, tmp_path, seed):
    """Whatever a header says with right checksums: it loads, or it is an error of ours."""
    pick = random.Random(seed)
    header, code = split(good)
    data = joined(mutated(header, pick), code if pick.random() < 0.5 else flipped(code, pick))
    load(tmp_path / "file.lpk", data)
    (tmp_path / "file.lpk").write_bytes(data)
    shown = CliRunner().invoke(inspect_command, [str(tmp_path / "file.lpk"), "--json"])
    assert shown.exception is None or isinstance(shown.exception, SystemExit), shown.exception


@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(row=st.text(max_size=60), properties=st.binary(max_size=60))
def test_random_tables(tmp_path, row, properties):
    (tmp_path / "p.json").write_bytes(properties)
    (tmp_path / "c.spv").write_bytes(properties)
    for line in (row, "c.spv|p.json|c.spv"):
        (tmp_path / "x.table").write_text(f"{HEADER}\n{line}\n", "utf-8", errors="surrogatepass")
        with pytest.raises(lp.InvalidError):
            read_table(tmp_path / "x.table")
            raise lp.InvalidError("a table that was read whole is no finding")


@pytest.mark.parametrize(
    "name", ["../secret.spv", "/etc/passwd", "a/b.spv", "..", ".hidden", "c:x", "a\\b", ""]
)
def test_tables_name_files_beside_them_only(tmp_path, name):
    (tmp_path / "x.table").write_text(f"{HEADER}\n{name}|p.json|s.sym\n", "utf-8")
    with pytest.raises(lp.InvalidError, match="beside the table"):
        read_table(tmp_path / "x.table")


def test_tables_are_bounded_in_memory(tmp_path, monkeypatch):
    """Rows may name one file again and again, and a file of line breaks is as many symbols."""
    (tmp_path / "c.spv").write_bytes(b"\x03\x02\x23\x07" * 256)
    (tmp_path / "p.json").write_text("{}")
    (tmp_path / "s.sym").write_text("k\n")
    table = tmp_path / "x.table"
    table.write_text("\n".join([HEADER, *["c.spv|p.json|s.sym"] * 10]) + "\n")
    assert len(read_table(table)) == 10
    monkeypatch.setattr(file_table, "MAX_TABLE_BYTES", 5000)
    with pytest.raises(lp.InvalidError, match=r"x\.table:6: expected at most 5000 bytes of code in all rows"):
        read_table(table)
    monkeypatch.undo()
    for name in ("s.sym", "p.json", "x.table"):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(b"\n" * (file_table.MAX_TEXT_BYTES + 1))
        with pytest.raises(lp.InvalidError, match="expected at most"):
            read_table(table)
        (tmp_path / name).write_bytes(before)
