"""Random expressions of the kernel language, as Python source."""

from __future__ import annotations

from hypothesis import strategies as st

INT_BINARY = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FLOAT_BINARY = ("+", "-", "*")


def _conditions(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    comparison = st.builds(lambda a, op, b: f"({a} {op} {b})", values, st.sampled_from(COMPARISONS), values)
    chained = st.builds(
        lambda a, p, b, q, c: f"({a} {p} {b} {q} {c})",
        values,
        st.sampled_from(COMPARISONS),
        values,
        st.sampled_from(COMPARISONS),
        values,
    )
    both = st.builds(
        lambda a, op, b: f"({a} {op} {b})", comparison, st.sampled_from(("and", "or")), comparison
    )
    return st.one_of(comparison, chained, both, comparison.map(lambda c: f"(not {c})"))


def _extend(operators: tuple[str, ...], unary: tuple[str, ...]):
    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(operators), inner),
            st.builds(lambda op, a: f"({op}{a})", st.sampled_from(unary), inner),
            st.builds(lambda a, c, b: f"({a} if {c} else {b})", inner, _conditions(inner), inner),
            st.builds(lambda f, a, b: f"{f}({a}, {b})", st.sampled_from(("min", "max")), inner, inner),
            st.builds(lambda a: f"abs({a})", inner),
        )

    return extend


def int_expressions(names: tuple[str, ...], *, signed: bool) -> st.SearchStrategy[str]:
    """Expressions over integer variables; a literal stands only beside a variable (literals are weak)."""
    literal = st.integers(0, 2**31 - 1) | st.integers(0, 40)
    leaf = st.sampled_from(names) | st.builds(
        lambda n, op, v: f"({n} {op} {v})", st.sampled_from(names), st.sampled_from(INT_BINARY), literal
    )
    return st.recursive(leaf, _extend(INT_BINARY, ("-", "~") if signed else ("~",)), max_leaves=8)


def float_expressions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Expressions over float variables whose operations IEEE 754 defines exactly."""
    literal = st.sampled_from(("0.5", "1.25", "-3.0", "2", "0.1"))
    leaf = st.sampled_from(names) | st.builds(
        lambda n, op, v: f"({n} {op} {v})", st.sampled_from(names), st.sampled_from(FLOAT_BINARY), literal
    )
    return st.recursive(leaf, _extend(FLOAT_BINARY, ("-",)), max_leaves=8)
