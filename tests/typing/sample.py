"""User code that strict pyright must accept as it is; checked by test_pyright.py, never imported."""

from __future__ import annotations

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3])
SCALE = lp.SpecializationId(lp.f32, 1.0)


@lp.func
def clamped(value: lp.f32, low: lp.f32, high: lp.f32) -> lp.f32:
    return min(max(value, low), high)


@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]) -> None:
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]


@lp.uses_aspects(lp.Aspect.FP64)
@lp.struct
class Sample:
    value: lp.f32 = 1.0


SAMPLE = lp.SpecializationId(Sample, value=2.0)


@lp.struct
class Ray:
    origin: lp.f32x3
    direction: lp.f32x3 = lp.f32x3(0.0, 0.0, 1.0)  # on the host tuples do too, which checkers refuse
    length: lp.Aligned[lp.f32, 16] = 1.0


@lp.kernel
def turned(rays: lp.Array[Ray], ends: lp.Out[lp.f32x3]) -> None:
    i = lp.global_id(0)
    turn = lp.FixedArray[lp.f32, 2, 2](0, 1, -1, 0)
    ends[i] = rays[i].origin + turn[0, 1] * rays[i].direction


print(np.dtype(Ray).itemsize, 2.0 * Ray(lp.f32x3(0.0)).length)
turned[1](lp.asarray([Ray(lp.f32x3(0.0, 0.0, 0.0))]), lp.empty(1, lp.f32x3))
interpret(turned, 1, (np.zeros(1, np.float32), np.zeros((1, 3), np.float32)))
shared = np.from_dlpack(lp.ones(4))


@lp.device_has(lp.Aspect.FP64, lp.Aspect.FP16)
def halved(value: lp.f64) -> lp.f32:
    return lp.f32(value * 0.5)


@lp.reqd_work_group_size(8, 8)
@lp.reqd_sub_group_size(lp.SubGroupSize.PRIMARY)
@lp.kernel
def decorated(out: lp.Out[lp.f32, 2]) -> None:
    out[lp.global_id(0), lp.global_id(1)] = halved(Sample(2.0).value)


lp.work_group_size_hint(4)(decorated)[8, 8](
    lp.zeros((8, 8), device=lp.device().masked(without=[lp.Aspect.FP64]))
)


@lp.kernel(name="blur", local_size=(8, 8), index=lp.i64, contract=False)
def convolve(
    image: lp.In[lp.f32, 2], out: lp.Out[lp.f32, 2], limit: lp.f32 = 1.0, *, flip: lp.bool_ = False
) -> None:
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = image.shape
    total = 0.0
    for dr in range(3):
        for dc in range(3):
            r = min(max(row + dr - 1, 0), rows - 1)
            c = min(max(column + dc - 1, 0), columns - 1)
            total += COEFF[dr, dc] * image[r, c]
    if flip:
        total = -total
    out[row, column] = clamped(lp.math.sqrt(lp.f32(total)) * SCALE, 0.0, limit)
    lp.barrier()


@lp.kernel
def votes(out: lp.Out[lp.u32], pairs: lp.Array[lp.f32x4]) -> None:
    i = lp.global_id(0)
    out[i] = lp.sub_group.ballot(pairs[i].x > 0.0).x
    pair = pairs[i]
    pair.xy = pair.zw
    pair.z = 0.0
    pairs[i] = pair


@lp.kernel
def blur(source: lp.SampledImage[lp.f32x4, 2], target: lp.UnsampledImage[lp.f32x4, 2]) -> None:
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = target.shape
    pixel = source.sample((row + 0.5) / rows, (column + 0.5) / columns)
    target[row, column] = (pixel + source[row, column]) * 0.5
    target.write((row, column), target.read(row, column))


def picture(
    pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    sampler = lp.ImageSampler("clamp_to_edge", lp.CoordinateNormalizationMode.normalized, "linear")
    source = lp.SampledImage(pixels, sampler, lp.ImageFormat.r8g8b8a8_unorm)
    target = lp.UnsampledImage(shape=source.shape, format="r32g32b32a32_sfloat", device=source.device)
    if source.device.image_support(target.format, 2).writes:
        blur[source.shape](source, target)
    return target.numpy()


@lp.kernel
def sizes(x: lp.In[lp.u8, 3], n: int, y: lp.Array[float]) -> None:
    y[0] = lp.f32(len(x) + x.size + x.ndim + n)
    y[1] = lp.select(lp.local_id(0) > 0, 1.0, 2.0)
    y[2] = lp.bitcast(lp.u32(1), lp.f32)


@lp.kernel(local_size=16)
def tiles(
    it: lp.NdItem[1],
    x: lp.In[lp.f32],
    tile: lp.LocalArray[lp.f32],
    y: lp.Array[lp.f32],
    rounds: lp.Const[lp.i32] = 2,
) -> None:
    lane = it.get_local_id(0)
    tile[lane] = x[it.get_global_id()]
    it.barrier()
    for step in lp.static_range(rounds):
        y[it.get_global_id(0)] += tile[lane] * step


def main() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    x = lp.asarray(np.arange(8, dtype=np.float32))
    y = lp.zeros_like(x)
    z = lp.zeros((4, 4), lp.u8)
    event = saxpy[x.size](2.0, x, y)
    event.wait()
    queue = lp.Queue(x.device)
    convolve[(4, 4)].on(queue, wait=[event]).spec({COEFF: np.ones((3, 3)), SCALE: 2.0})(
        z, y, limit=2.0
    ).wait()
    saxpy[lp.NdRange(8, 4)](2.0, x, y)
    saxpy[lp.Range(8)](2.0, x, y)
    tiles[16](x, lp.local(16), y, rounds=3)
    print(saxpy.inspect("spirv-dialect"), x.shape, z.dtype, [d.name for d in lp.devices()])
    try:
        saxpy[-1](2.0, x, y)
    except lp.NdRangeError as error:
        print(error.code, error.location)
    if lp.device().has(lp.Aspect.FP64):
        print(SCALE.default)
    return y.numpy()


@lp.kernel
def reporting(x: lp.In[lp.f32], w: lp.In[lp.f32, 1, lp.Target.CONSTANT_BUFFER], out: lp.Stream):
    i = lp.global_id(0)
    print("item", i, x[i], lp.f32x8(1.0)[0] * w[0], file=out)
    out = out << "item " << i << lp.Stream.setw(8) << lp.Stream.hex << i << out.endl


def interoperability(module: int, context: lp.Context, queue: lp.Queue) -> bytes:
    code = lp.spirv.assemble("OpCapability Shader")
    assert lp.spirv.disassemble(code)
    lp.vulkan.make_kernel((module, "main", code), context, descriptor_set=3, push_constants=b"")
    semaphore = lp.ExternalSemaphore()
    semaphore.signal(queue, 1)
    lp.import_semaphore_fd(semaphore.export_fd(), kind=semaphore.kind).wait(queue, 1)
    return code


@lp.struct
class Shape:
    size: lp.f32

    def __lt__(self, other: Shape) -> bool:
        return self.size < other.size


@lp.struct
class Box(Shape):
    height: lp.f32 = 1.0


@lp.kernel
def elements(
    x: lp.In[lp.f32], y: lp.Array[lp.i32], m: lp.FixedArray[lp.f32, 2, 2], out: lp.Array[lp.f32x2]
) -> None:
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y, strict=False)):
        total += a * b * i
    for n in y:
        total += n
    box = Box(total, height=2.0)
    if Box(1.0) < box:
        out[0] = m @ m.T @ out[0] * box.height


Matrix = lp.FixedArray[lp.f32, 3, 3]


@lp.kernel
def matrices(m: lp.Array[Matrix, 2], sums: lp.Array[lp.f32, 2]) -> None:
    base = lp.i32x2(lp.global_id(0), lp.global_id(1))
    beside = base + lp.i32x2(0, 1)
    m[base] = m[beside].T @ m[base]
    m[base][1, 2] += sums[beside]
    lp.atomic.add(sums, base, m[base][0, 0])


def launched_from_a_bundle(kernel: lp.Kernel, queue: lp.Queue, x: lp.Array) -> lp.Event:
    first = kernel[x.shape](x)
    return kernel[lp.NdRange(64, 8)].on(queue, wait=[first])(x)
