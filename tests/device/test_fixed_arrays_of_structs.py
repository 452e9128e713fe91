"""Fixed arrays of vectors and structs: as values, in memory, and on their way in and out of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Corners = lp.FixedArray[lp.f32x3, 4]


@lp.struct
class Particle:
    mass: lp.f32
    position: lp.f32x3
    counts: lp.FixedArray[lp.i32, 2] = (3, 4)

    def weight(self, g: lp.f32) -> lp.f32:
        return self.mass * g + self.position.y


Group = lp.FixedArray[Particle, 3]
Grid = lp.FixedArray[Particle, 2, 3]


@lp.struct
class World:
    id: lp.i32
    group: Group
    corners: Corners
    grid: lp.FixedArray[lp.FixedArray[lp.i32x2, 3], 2]


def particles(shape: tuple[int, ...], start: int = 0) -> np.ndarray:
    """Returns particles whose numbers differ."""
    found = np.zeros(shape, Particle.dtype)
    size = found.size
    found["mass"] = np.arange(start, start + size).reshape(shape)
    found["position"] = np.arange(10 * start, 10 * start + 3 * size).reshape(*shape, 3)
    found["counts"] = np.arange(start, start + 2 * size).reshape(*shape, 2)
    return found


def worlds(count: int) -> np.ndarray:
    """Returns worlds whose numbers differ."""
    found = np.zeros(count, World.dtype)
    found["id"] = np.arange(count)
    found["group"] = particles((count, 3))
    found["corners"] = np.arange(12 * count).reshape(count, 4, 3)
    found["grid"] = np.arange(12 * count).reshape(count, 2, 3, 2)
    return found


# fmt: off
@lp.kernel
def vectors(k: lp.i32, corners: Corners, out: lp.Out[lp.f32x3, 2]):
    i = lp.global_id(0)
    v, w = corners, Corners()
    v[k].x = 100.0                      # a component at an index known at run time only
    v[k][i] += 7.0                      # which component is not known either
    v[1].zy = v[2].xy
    w[0] = lp.f32x3(1.0, 2.0, 3.0) * 2.0
    w[k], w[3] = v[3], v[k]
    if i % 2:
        w = v
    elif i == 2:
        v[0] = (5.0, 6.0, 7.0)
    for j in range(4):
        w[j] += v[3 - j]
        w[(j + i) % 4].y -= j
    for j in range(4):
        out[i, j] = w[j]
# fmt: on


def expected_vectors(k: int, corners: np.ndarray, i: int) -> np.ndarray:
    v, w = corners.copy(), np.zeros((4, 3), np.float32)
    v[k, 0] = 100
    v[k, i] += 7
    v[1, 2], v[1, 1] = v[2, 0], v[2, 1]
    w[0] = 2, 4, 6
    w[k], w[3] = v[3].copy(), v[k].copy()
    if i % 2:
        w = v.copy()
    elif i == 2:
        v[0] = 5, 6, 7
    for j in range(4):
        w[j] += v[3 - j]
        w[(j + i) % 4, 1] -= j
    return w


@pytest.mark.parametrize("k", range(4))
def test_vectors_as_elements_of_values(device: lp.Device, k: int) -> None:
    corners = np.arange(12, dtype=np.float32).reshape(4, 3)
    out = lp.zeros((3, 4), lp.f32x3, device=device)
    vectors[3](k, corners, out)
    expected = [expected_vectors(k, corners, i) for i in range(3)]
    np.testing.assert_array_equal(out.numpy(), expected)  # small whole numbers


def moved(group: Group, by: lp.f32) -> Group:
    for p in range(3):  # the helper's own copy
        group[p].position.x += by
        group[p].counts[p % 2] *= 10
    return group


def heaviest(group: Group) -> Particle:
    best = group[0]
    for p in group:
        if p.mass > best.mass:
            best = p
    return best


@lp.kernel
def structs(k: lp.i32, group: Group, out: lp.Out[Particle, 2], best: lp.Out[Particle]):
    i = lp.global_id(0)
    a, b = group, Group()
    a[k].mass = 50.0 + i
    a[k].position = lp.f32x3(1.0, 2.0, 3.0)
    a[k].counts[i % 2] += 1
    b[i % 3] = Particle(2.0, counts=(8, 9))
    a[0], a[2] = a[2], a[0]
    if i == 1:
        b = moved(a, 3.0)
    best[i] = heaviest(a) if i else heaviest(b)
    for j in range(3):
        out[i, j] = b[j]
        out[i, 3 + j] = a[j]


def expected_structs(k: int, group: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = group.copy(), np.zeros(3, Particle.dtype)
    b["counts"] = 3, 4
    a["mass"][k] = 50 + i
    a["position"][k] = 1, 2, 3
    a["counts"][k, i % 2] += 1
    b[i % 3] = (2, (0, 0, 0), (8, 9))
    a[[0, 2]] = a[[2, 0]]
    if i == 1:
        b = a.copy()
        b["position"][:, 0] += 3
        for p in range(3):
            b["counts"][p, p % 2] *= 10
    chosen = a if i else b
    return np.concatenate([b, a]), chosen[np.argmax(chosen["mass"])]


@pytest.mark.parametrize("k", range(3))
def test_structs_as_elements_of_values(device: lp.Device, k: int) -> None:
    group = particles((3,), 5)
    out, best = lp.zeros((3, 6), Particle, device=device), lp.zeros(3, Particle, device=device)
    structs[3](k, group, out, best)
    expected = [expected_structs(k, group, i) for i in range(3)]
    np.testing.assert_array_equal(out.numpy(), np.array([rows for rows, _ in expected]))
    np.testing.assert_array_equal(best.numpy(), np.array([found for _, found in expected]))


@lp.kernel
def in_memory(x: lp.Array[World], y: lp.Out[World], k: lp.i32, sums: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    w = x[i]
    w.group[k].mass += 1.0
    w.grid[k % 2, i % 3].y = 77
    y[i] = w
    y[i].corners[k] = x[i].corners[3] + 0.5
    x[i].group[k].position.z = x[i].group[0].mass
    x[i].group[2] = Particle(9.0)
    x[i].grid[1, k][0] += 5
    x[i].corners = Corners(2.0)
    group = x[i].group
    sums[i, 0] = group[k].weight(2.0) + x[i].group[1].weight(3.0)
    sums[i, 1] = lp.f32(len(x[i].grid) * 10 + len(group)) + lp.f32(x[i].group[1].counts[i % 2])


@pytest.mark.parametrize("k", range(3))
def test_members_of_structs_in_arrays(device: lp.Device, k: int) -> None:
    host = worlds(3)
    x, y = lp.asarray(host, device=device), lp.zeros(3, World, device=device)
    sums = lp.zeros((3, 2), lp.f32, device=device)
    in_memory[3](x, y, k, sums)
    copy = host.copy()
    copy["group"]["mass"][:, k] += 1
    copy["grid"][range(3), k % 2, range(3), 1] = 77
    copy["corners"][:, k] = host["corners"][:, 3] + 0.5
    np.testing.assert_array_equal(y.numpy(), copy)
    host["group"]["position"][:, k, 2] = host["group"]["mass"][:, 0]
    host["group"][:, 2] = np.array((9, (0, 0, 0), (3, 4)), Particle.dtype)
    host["grid"][:, 1, k, 0] += 5
    host["corners"] = 2
    np.testing.assert_array_equal(x.numpy(), host)
    group = host["group"]
    weights = group["mass"][:, k] * 2 + group["position"][:, k, 1]
    weights += group["mass"][:, 1] * 3 + group["position"][:, 1, 1]
    np.testing.assert_array_equal(sums.numpy()[:, 0], weights)
    np.testing.assert_array_equal(sums.numpy()[:, 1], 23 + group["counts"][range(3), 1, [0, 1, 0]])


@lp.kernel
def walks(grid: Grid, out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    total, last = 0.0, Particle()
    for row in grid:
        first, _, third = row
        total += first.mass * 100.0 + third.position.x
        for p in row:
            last = p
    for n, row in enumerate(grid):
        for p, q in zip(row, grid[1 - n]):  # noqa: B905 - arrays take no strict
            total += p.mass * q.position.z * n
    flipped = grid
    flipped[0], flipped[i] = flipped[i], flipped[0]
    cell = flipped[1][i]
    while cell.mass > 2.0:
        cell.mass -= 1.0
        flipped[i % 2, 2] = cell
    out[i, 0] = total
    out[i, 1] = last.mass + cell.mass * 10.0 + flipped[i % 2][2].position.y * 100.0
    out[i, 2] = lp.f32(flipped[1, i].counts[i]) + lp.f32(flipped.ndim * flipped.size + flipped.shape[1])


def test_rows_loops_and_unpacking(device: lp.Device) -> None:
    grid = particles((2, 3))
    out = lp.zeros((2, 3), lp.f32, device=device)
    walks[2](grid, out)
    mass, position = grid["mass"], grid["position"]
    total = sum(mass[:, 0] * 100 + position[:, 2, 0]) + sum(mass[1] * position[0, :, 2])
    expected = np.empty((2, 3), np.float32)
    for i in range(2):
        flipped = grid.copy()
        flipped[[0, i]] = flipped[[i, 0]]
        cell = flipped[1, i].copy()
        while cell["mass"] > 2:
            cell["mass"] -= 1
            flipped[i % 2, 2] = cell
        expected[i, 0] = total
        expected[i, 1] = 5 + cell["mass"] * 10 + flipped[i % 2, 2]["position"][1] * 100
        expected[i, 2] = flipped[1, i]["counts"][i] + 2 * 6 + 3
    np.testing.assert_array_equal(out.numpy(), expected)


@lp.kernel
def made(out: lp.Out[lp.f32], x: lp.f32, world: World):
    corners = Corners((x, 1.0, 2.0), lp.f32x3(3.0), 4.0, 5.0, 6.0, (7, 8, 9))
    pair = lp.FixedArray[Particle, 2](Particle(x), world.group[1])
    same = lp.FixedArray[Particle, 2]((pair[0], pair[1]))
    both = lp.FixedArray[Particle, 2, 2](pair, same)
    declared: lp.FixedArray[lp.i32x2, 2] = ((1, 2), (3, 4))
    scaled = 2.0 * corners - corners
    out[0] = corners[0].x + corners[1].z * 10.0 + corners[3].y * 100.0
    out[1] = both[1, 1].mass + both[0][0].mass * 10.0
    out[2] = lp.f32(declared[1].x)
    out[3] = (-scaled)[3].z

    copy = world
    out[4] = 1.0 if copy == world else 0.0
    copy.group[1].counts[1] += 1
    out[5] = 1.0 if copy == world else 0.0
    copy = world
    copy.corners[3].z += 1.0
    out[6] = 1.0 if copy != world else 0.0


def test_what_arrays_are_made_of(device: lp.Device) -> None:
    out = lp.zeros(7, lp.f32, device=device)
    made[1](out, 2.0, worlds(2)[1])
    assert out.numpy().tolist() == [2 + 30 + 800, 4 + 20, 3, -9, 1, 0, 1]


LARGE = 70


@lp.kernel
def large(x: lp.Array[lp.f32], out: lp.Out[lp.f32, 2], rounds: lp.i32):
    i = lp.global_id(0)
    a = lp.FixedArray[Particle, LARGE]()
    for k in range(LARGE):
        a[k].mass = x[k] + i
        a[k].position[k % 3] = x[LARGE - 1 - k]
    b = a
    for k in range(rounds):
        a[(k * 7) % LARGE] = b[(k * 3) % LARGE]
        b[k].counts[1] = k
    for k in range(LARGE):
        out[i, k] = a[k].mass + 100.0 * b[k].position[1] + lp.f32(a[k].counts[0] * 3 + b[k].counts[1])


def test_arrays_of_many_elements(device: lp.Device) -> None:
    x = np.arange(LARGE, dtype=np.float32)
    out = lp.zeros((2, LARGE), lp.f32, device=device)
    large[2](lp.asarray(x, device=device), out, 20)
    for i in range(2):
        a = np.zeros(LARGE, Particle.dtype)
        a["counts"] = 3, 4
        a["mass"] = x + i
        a["position"][range(LARGE), np.arange(LARGE) % 3] = x[::-1]
        b = a.copy()
        for k in range(20):
            a[(k * 7) % LARGE] = b[(k * 3) % LARGE]
            b["counts"][k, 1] = k
        expected = a["mass"] + 100 * b["position"][:, 1] + a["counts"][:, 0] * 3 + b["counts"][:, 1]
        np.testing.assert_array_equal(out.numpy()[i], expected)


Many = lp.FixedArray[Particle, LARGE]


@lp.struct
class Crowd:
    many: Many
    points: lp.FixedArray[lp.f32x2, 1, LARGE]


@lp.kernel
def large_in_memory(x: lp.Array[Crowd], y: lp.Array[Many], k: lp.i32):
    crowd = x[0]
    many, points = crowd.many, crowd.points
    many[k].position.y = 1.0
    points[0, k].x = 2.0
    x[1].many = many
    y[0] = x[0].many
    x[0].many[k + 1] = many[k]
    x[1].points = points
    many = Many()
    y[1] = many


def test_large_arrays_from_and_to_memory(device: lp.Device) -> None:
    host, out = np.zeros(2, Crowd.dtype), np.zeros((2, LARGE), Particle.dtype)
    host["many"] = particles((2, LARGE))
    host["points"] = np.arange(4 * LARGE).reshape(2, 1, LARGE, 2)
    x, y = lp.asarray(host, device=device), lp.asarray(out, Many, device=device)
    large_in_memory[1](x, y, 11)
    out[0] = host["many"][0]
    out[1]["counts"] = 3, 4
    host["many"][1], host["points"][1] = host["many"][0], host["points"][0]
    host["many"]["position"][1, 11, 1] = 1
    host["points"][1, 0, 11, 0] = 2
    host["many"][0, 12] = host["many"][1, 11]
    np.testing.assert_array_equal(x.numpy(), host)
    np.testing.assert_array_equal(y.numpy(), out)


GROUP = lp.SpecializationId(Group, [Particle(1.0, (1, 2, 3)), Particle(2.0), Particle(3.0, counts=(5, 6))])
CORNERS = lp.SpecializationId(Corners)


@lp.kernel
def specialised(out: lp.Out[lp.f32, 2]):
    i = lp.global_id(0)
    changed = GROUP
    changed[i].mass += 10.0
    out[i, 0] = GROUP[i].mass + 100.0 * lp.f32(GROUP[2].counts[i % 2])
    out[i, 1] = CORNERS[i].y + CORNERS[3].z
    out[i, 2] = changed[i].mass + changed[(i + 1) % 3].mass


def test_specialization_constants(device: lp.Device) -> None:
    out = lp.zeros((3, 3), lp.f32, device=device)
    specialised[3](out)
    expected = [[1 + 500, 0, 13], [2 + 600, 0, 15], [3 + 500, 0, 14]]
    np.testing.assert_array_equal(out.numpy(), expected)
    group, corners = particles((3,), 2), np.arange(12).reshape(4, 3)
    with lp.trace() as trace:
        specialised[3].spec({GROUP: group, CORNERS: corners})(out)
    assert trace.count("module") == 0
    mass, counts = group["mass"], group["counts"]
    found = out.numpy()
    np.testing.assert_array_equal(found[:, 0], mass + 100 * counts[2, [0, 1, 0]])
    np.testing.assert_array_equal(found[:, 1], corners[:3, 1] + 11)
    np.testing.assert_array_equal(found[:, 2], mass + 10 + np.roll(mass, -1))


CAPTURED = World(3, [Particle(1.0), Particle(2.0), Particle(4.0, (1, 2, 3))], np.ones((4, 3)))


@lp.kernel
def constants(fixed: lp.Const[Corners], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = fixed[i].z + CAPTURED.group[i].mass * 10.0 + CAPTURED.corners[1].x * 100.0


def test_constants_of_the_code(device: lp.Device) -> None:
    out = lp.zeros(3, lp.f32, device=device)
    constants[3](np.arange(12).reshape(4, 3), out)
    assert out.numpy().tolist() == [112, 125, 148]


@lp.kernel(local_size=4)
def shared(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i, j = lp.global_id(0), lp.local_id(0)
    tile = lp.local.array(4, lp.FixedArray[Particle, 2])
    own = lp.private.array(2, Corners)
    tile[j] = lp.FixedArray[Particle, 2]()
    tile[j][0].mass = x[i]
    tile[j][1] = Particle(x[i] * 2.0, (1, 2, 3))
    own[0] = Corners(x[i])
    own[1] = own[0]
    own[1][j].y = 5.0
    own[1][(j + 1) % 4] = own[0][j]
    lp.barrier()
    other = tile[3 - j]
    out[i] = other[0].mass + other[1].mass * 10.0 + tile[j][1].position.z * 100.0 + own[1][j].y


def test_shared_and_private_arrays_of_them(device: lp.Device) -> None:
    x = np.arange(8, dtype=np.float32)
    out = lp.zeros(8, lp.f32, device=device)
    shared[8](lp.asarray(x, device=device), out)
    np.testing.assert_array_equal(out.numpy(), x.reshape(2, 4)[:, ::-1].reshape(8) * 21 + 305)


@lp.kernel
def printed(group: lp.FixedArray[Particle, 2], k: lp.i32, out: lp.Out[lp.f32]):
    corners = lp.FixedArray[lp.i32x2, 2]()
    corners[k].y = 4
    print(corners)
    print(group)
    out[0] = group[k].mass


def test_prints_and_traps(device: lp.Device, capsys: pytest.CaptureFixture[str]) -> None:
    group = particles((2,), 1)
    out = lp.zeros(1, lp.f32, device=device)
    with lp.config.override(debug=True):
        printed[1](group, 1, out).wait()
        assert capsys.readouterr().out.splitlines() == [
            "[lp.i32x2(0, 0), lp.i32x2(0, 4)]",
            "[Particle(mass=1.0, position=lp.f32x3(10.0, 11.0, 12.0), counts=[1, 2]), "
            "Particle(mass=2.0, position=lp.f32x3(13.0, 14.0, 15.0), counts=[3, 4])]",
        ]
        with pytest.raises(lp.KernelTrap, match="index 2 is out of range"):
            printed[1](group, 2, out).wait()


@lp.struct
class Padded:
    """Has padding in itself, and ends in it in arrays."""

    x: lp.f32
    v: lp.Aligned[lp.f32x3, 16] = (1, 2, 3)
    n: lp.i32 = 7
    last: lp.f32


Pair = lp.FixedArray[Padded, 2]
PAIR = lp.SpecializationId(Pair, [Padded(1.0), Padded(2.0, n=3)])


@lp.external
def doubled(pair: Pair, k: lp.i32) -> Pair:
    pair[k].v *= 2.0
    return pair


@lp.kernel
def of_pairs(a: lp.Array[Pair], b: lp.Array[lp.FixedArray[lp.f32x2, 3], 2], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    pair = a[i]
    pair[i % 2].v.x = 5.0
    a[i] = doubled(pair, 1)
    a[i][1].n += PAIR[1].n
    b[i, 0][1].y = 3.0
    b[0, i][2] = (8.0, 9.0)
    out[i] = PAIR[i % 2].v.z + lp.f32(PAIR[1].n)


def test_arrays_whose_elements_are_such_arrays(device: lp.Device) -> None:
    host = np.zeros((3, 2), Padded.dtype)
    host["x"], host["v"], host["n"] = np.arange(6).reshape(3, 2), np.arange(18).reshape(3, 2, 3), 4
    instances = [[Padded(*record.tolist()) for record in pair] for pair in host]
    b, out = lp.zeros((3, 3), lp.FixedArray[lp.f32x2, 3], device=device), lp.zeros(3, lp.f32, device=device)
    a = lp.asarray(instances, Pair, device=device)
    assert a.shape == (3,)
    np.testing.assert_array_equal(a.numpy(), host)
    of_pairs[3](a, b, out)
    host["v"][[0, 1, 2], [0, 1, 0], 0] = 5
    host["v"][:, 1] *= 2
    host["n"][:, 1] += 3
    np.testing.assert_array_equal(a.numpy(), host)
    assert out.numpy().tolist() == [6, 6, 6]
    expected = np.zeros((3, 3, 3, 2), np.float32)
    expected[:, 0, 1, 1] = 3
    expected[0, :, 2] = 8, 9
    np.testing.assert_array_equal(b.numpy(), expected)
    of_pairs[3].spec({PAIR: host[2]})(a, b, out)
    assert out.numpy().tolist() == [host["v"][2, i % 2, 2] + 7 for i in range(3)]
    with pytest.raises(lp.InvalidError, match=r"takes host shape \(n, 2\); found \(3,\)"):
        lp.asarray([Padded()] * 3, Pair, device=device)
    with pytest.raises(
        lp.KernelArgumentError, match=r"lp.asarray\(x, lp.FixedArray\[S, 2\]\) makes such elements"
    ):
        of_pairs[3](lp.zeros((3, 2), Padded, device=device), b, out)
    filled = lp.full(2, [Padded(1.0), Padded(2.0)], Pair, device=device)
    assert filled.numpy()["x"].tolist() == [[1, 2], [1, 2]]
    with pytest.raises(lp.InvalidError, match="expected 2 structs"):
        filled.fill([Padded()])
