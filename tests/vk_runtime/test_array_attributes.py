"""What arrays do not have is said with what to write instead; copies are copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lapilli as lp


@pytest.mark.device
@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy])
def test_a_copy_has_memory_of_its_own(device, take):
    a = lp.asarray(np.arange(6, dtype=np.int32).reshape(2, 3), device=device)
    b = take(a)
    a.fill(7)
    assert b.device is device and b.shape == (2, 3) and b.dtype == np.int32
    np.testing.assert_array_equal(b.numpy(), [[0, 1, 2], [3, 4, 5]])


@pytest.mark.device
def test_a_copy_of_a_released_array_is_refused(device):
    a = lp.zeros(4, device=device)
    a.release()
    with pytest.raises(lp.InvalidError, match="was released"):
        copy.copy(a)


@pytest.mark.device
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("get", "a.numpy()"),
        ("copy_to_host", "a.numpy()"),
        ("clone", "copy.copy(a)"),
        ("mean", "memory for kernels"),
    ],
)
def test_names_of_other_libraries_are_answered(device, name, hint):
    with pytest.raises(AttributeError, match=name) as caught:
        getattr(lp.zeros(4, device=device), name)
    assert hint in str(caught.value)


@pytest.mark.device
def test_other_names_are_plain_errors(device):
    a = lp.zeros(4, device=device)
    with pytest.raises(AttributeError) as caught:
        a.shap  # noqa: B018  # pyright: ignore
    assert str(caught.value) == "'Array' object has no attribute 'shap'"
    assert (caught.value.name, caught.value.obj) == ("shap", a)
    assert not hasattr(a, "__cuda_array_interface__")


@pytest.mark.device
def test_pickling_says_what_to_pickle(device):
    with pytest.raises(TypeError, match=r"pickle a\.numpy\(\)"):
        pickle.dumps(lp.zeros(4, device=device))


@pytest.mark.parametrize("arguments", [(lp.f32,), ([1, 2, 3],), (np.zeros(3), (3,))])
def test_the_class_is_not_called(arguments):
    with pytest.raises(
        lp.InvalidError, match=r"lp\.Array is not called: .* lp\.Array\[lp\.f32\], .* lp\.asarray\(x\)"
    ):
        lp.Array(*arguments)


def test_functions_of_numpy_are_answered():
    with pytest.raises(
        AttributeError, match=r"no attribute 'arange'; write lp\.asarray\(np\.arange\(…\)\), which makes one"
    ):
        lp.arange  # noqa: B018  # pyright: ignore
    with pytest.raises(AttributeError, match=r"no attribute 'uint8'; write lp\.u8$"):
        lp.uint8  # noqa: B018  # pyright: ignore
    with pytest.raises(AttributeError, match=r"no attribute 'synchronize'; write event\.wait\(\) or queue"):
        lp.synchronize  # noqa: B018  # pyright: ignore
    with pytest.raises(AttributeError) as caught:
        lp.gobal_id  # noqa: B018  # pyright: ignore
    assert str(caught.value) == "module 'lapilli' has no attribute 'gobal_id'"
    assert (caught.value.name, caught.value.obj) == ("gobal_id", lp)


@pytest.mark.device
def test_a_released_array_has_no_memory_for_numpy(device):
    x = lp.zeros(3, device=device)
    x.release()
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(lp.InvalidError, match="was released"):
        np.asarray(x)
