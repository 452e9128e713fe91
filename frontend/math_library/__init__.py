"""The functions of ``lp.math`` that no instruction computes well enough, written in the kernel language.

GLSL.std.450 has sine and its like for 16 and 32 bits only, and lets devices be off by thousands of units in the last
place, or answer NaN with a number.  These are helpers as a user could write them, compiled into the kernels that
call them; docs/math.md states their accuracy.  Each family is one algorithm for f32 and f64: what differs (widths,
coefficients) is in tuples that name the format.

The reductions of arguments follow the literature (W. J. Cody and W. Waite, Software Manual for the Elementary
Functions, 1980; M. Payne and R. Hanek, 1983; K. C. Ng, 1992).  The polynomials are Chebyshev interpolants of the
functions named beside them, made in 60 digits.
"""
