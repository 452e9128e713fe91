# ruff: noqa: B007, B020, E741, RUF021, SIM201 - what programs may do, and seldom should
"""Functions with control flow of all kinds, for kernels and for Python."""

from __future__ import annotations

import lapilli as lp


def first_of_several_exits(i, n, x):
    t = 0
    for k in range(n):
        if x[k & 7] == 4:
            break
        if k == 5:
            continue
        t += k
        if t > 20:
            return -t
    else:
        return 1000 + t
    return t


def the_variable_of_a_loop_in_its_else(i, n, x):
    for k in range(n):
        pass
    else:
        k = -5
    return k


def no_round_keeps_the_variable(i, n, x):
    k = 7
    for k in range(0):
        pass
    return k


def a_variable_changed_in_its_round(i, n, x):
    t = 0
    for k in range(n):
        k *= 2
        t += k
    return t


def an_end_that_the_body_changes(i, n, x):
    t = 0
    m = n
    for k in range(m):
        m = 2
        t += m
    return t * 10 + m


def a_range_is_evaluated_once(i, n, x):
    s, e, st = (0, n, 2)
    t = 0
    for k in range(s, e, st):
        s += 5
        e -= 1
        st = 3
        t += k
    return t + s * 100 + e * 1000 + st


def else_of_loops_in_loops(i, n, x):
    t = 0
    for a in range(n):
        for b in range(a, n):
            if b == 3:
                break
            for c in range(b, -1, -1):
                if c == 1:
                    continue
                t += a * b + c
            else:
                t += 1
        else:
            t += 100
    else:
        t += 5000
    return t


def while_with_else(i, n, x):
    k = n
    while k > 0 and x[k & 7] != 9:
        k -= 1
    else:
        k += 100
    return k


def named_in_or(i, n, x):
    t = 0
    if (t := (n * 2)) > 6 or (t := (t + 1)) > 3:
        t += 100
    return t


def named_in_and(i, n, x):
    a = 0
    b = (a := (a + 1)) and (a := (a + 10)) and 0
    return a * 100 + (1 if b else 0)


def named_in_both(i, n, x):
    u = 0
    c = n > 2 and (u := 5) > 3 or (u := 7) > 100
    return u * 2 + c


def names_of_builtins(i, n, x):
    max_ = 3
    min = n
    abs = min + max_
    return abs * min


def a_range_to_the_last_number(i, n, x):
    t = 0
    c = 0
    for k in range(2147483640, 2147483647, 3):
        t ^= k
        c += 1
    return (t & 1023) * 10 + c


def a_range_over_all_numbers(i, n, x):
    c = 0
    l = 0
    for k in range(-2147483648, 2147483647, 2147483647):
        c += 1
        l = k
    return c * 10 + (l & 7)


def a_range_down_to_the_first_number(i, n, x):
    c = 0
    for k in range(2147483647, -2147483648, -2147483648):
        c += 1
    return c


def loops_without_a_test(i, n, x):
    t = 0
    while True:
        t += 1
        if t > n:
            break
        while True:
            t += 2
            if t & 3 == 0:
                break
            if t > 50:
                return -t
    return t


def continue_out_of_an_else(i, n, x):
    t = 0
    for k in range(n):
        while t < k:
            t += 2
            if t == 4:
                break
        else:
            continue
        t += 10
    return t


def break_out_of_an_else(i, n, x):
    t = 0
    for k in range(n):
        for j in range(n):
            if j > k:
                break
            if (j ^ k) & 1:
                continue
            t += 1
        else:
            t += 100
            break
        t += 1000
    return t


def one_name_for_two_loops(i, n, x):
    t = 0
    for k in range(3, n, 2):
        for k in range(k):
            t += k
        t += k
    return t


def ends_that_helpers_compute(i, n, x):
    t = 0
    for k in range(first_at_least(n, x), first_at_least(n + 3, x) + 4):
        t += k
    return t


def first_at_least(n, x):
    for k in range(8):
        if x[k] >= n:
            return k
    return -1


def a_helper_in_a_test(i, n, x):
    t = 0
    while first_at_least(t, x) >= 0 and t < n:
        t += 2
    return t


def steps_in_both_directions(i, n, x):
    t = 0
    for k in range(-n, n, 3):
        t = t * 2 + k
    for k in range(n, -n, -3):
        t = t - k
    return t


def a_step_known_late(i, n, x):
    step = n - 4
    t = 0
    if step != 0:
        for k in range(0, 20 if step > 0 else -20, step):
            t += k + 1
    return t


def named_in_the_test(i, n, x):
    t = 0
    k = 0
    while (k := (k + 1)) < n:
        t += k
    return t * 10 + k


def short_circuits_guard_loads(i, n, x):
    t = 0
    while x[t] != 6 and (n > t or x[t + 1] > 3):
        t += 1
    return t


def flags_and_breaks(i, n, x):
    t = 0
    ok = True
    for k in range(2, n + 2):
        ok = True
        d = 2
        while d * d <= k:
            if k % d == 0:
                ok = False
                break
            d += 1
        if ok:
            t += k
    return t + ok


def a_return_out_of_three_loops(i, n, x):
    t = 0
    for k in range(n):
        for j in range(k):
            for q in range(j):
                if q == 2:
                    break
                t += 1
                if t > 15:
                    return t * 100 + k * 10 + j
    return t


def continue_past_the_end(i, n, x):
    r = 0
    m = n
    while m >= 0:
        r += m
        m -= 1
        if m == 3:
            m -= 1
            continue
        if r > 30:
            break
    else:
        r += 1000
    return r


def break_of_what_did_not_break(i, n, x):
    t = 0
    c = 0
    while c < 3:
        c += 1
        for k in range(n):
            if k == c:
                break
        else:
            break
        t += k * 10
    return t + c


def starts_that_differ(i, n, x):
    t = i
    for k in range(i, 20, n + 1):
        t += k
    return t


def numbers_as_truths(i, n, x):
    t = 0
    for k in range(n):
        t += (k and 3) + (k or 7)
    return t


def counted(c: lp.Array[lp.i32], at: lp.i32, value: lp.i32):
    c[at] += 1
    return value


def effects(n, c):
    t = 0
    for k in range(counted(c, 0, n)):
        if counted(c, 1, k) > 1 and counted(c, 2, k) < 4 or counted(c, 3, k) == 6:
            t += 1
        while counted(c, 4, t) < k and not counted(c, 5, k) == 3:
            t += 2
        t += counted(c, 6, 1) if k & 1 else counted(c, 7, 2)
    return t


FUNCTIONS = [
    first_of_several_exits,
    the_variable_of_a_loop_in_its_else,
    no_round_keeps_the_variable,
    a_variable_changed_in_its_round,
    an_end_that_the_body_changes,
    a_range_is_evaluated_once,
    else_of_loops_in_loops,
    while_with_else,
    named_in_or,
    named_in_and,
    named_in_both,
    names_of_builtins,
    a_range_to_the_last_number,
    a_range_over_all_numbers,
    a_range_down_to_the_first_number,
    loops_without_a_test,
    continue_out_of_an_else,
    break_out_of_an_else,
    one_name_for_two_loops,
    ends_that_helpers_compute,
    a_helper_in_a_test,
    steps_in_both_directions,
    a_step_known_late,
    named_in_the_test,
    short_circuits_guard_loads,
    flags_and_breaks,
    a_return_out_of_three_loops,
    continue_past_the_end,
    break_of_what_did_not_break,
    starts_that_differ,
    numbers_as_truths,
]
NESTS = [
    else_of_loops_in_loops,
    loops_without_a_test,
    continue_out_of_an_else,
    break_out_of_an_else,
    flags_and_breaks,
    a_return_out_of_three_loops,
    break_of_what_did_not_break,
    a_helper_in_a_test,
    one_name_for_two_loops,
]
