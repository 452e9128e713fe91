"""The kernels of the golden files beside this one."""

import lapilli as lp

COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3])


@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.kernel
def convolution(image: lp.In[lp.f32, 2], result: lp.Out[lp.f32, 2]):
    i, j = lp.global_id(0), lp.global_id(1)
    rows, columns = image.shape
    total = 0.0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            row = min(max(i + di, 0), rows - 1)
            column = min(max(j + dj, 0), columns - 1)
            total += COEFF[di + 1][dj + 1] * image[row, column]
    result[i, j] = total


def collatz_step(n):
    if n % 2 == 0:
        return n // 2
    return 3 * n + 1


@lp.kernel
def collatz(n: lp.In[lp.i32], steps: lp.Out[lp.i32], limit: lp.i32):
    i = lp.global_id(0)
    if n[i] <= 0:
        return
    value = n[i]
    for count in range(limit):
        if value == 1:
            steps[i] = count
            break
        value = collatz_step(value)
    else:
        steps[i] = -1


@lp.kernel
def flags(a: lp.In[lp.bool_], b: lp.u8, y: lp.Out[lp.bool_]):
    i = lp.global_id(0)
    y[i] = (a[i] and 1 < b < 5) or i == 0


@lp.kernel
def reverse_in_group(x: lp.Array[lp.f32]):
    i = lp.local_id(0)
    n = lp.local_range(0)
    v = x[n - 1 - i]
    lp.barrier()
    x[i] = v
