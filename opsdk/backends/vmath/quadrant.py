"""Reduction of an angle: x = k · π/2 + r with |r| ≤ π/4, for every finite x.

The product x · 2/π is taken in integers, from those bits of 2/π that matter at the exponent of x (Payne and Hanek):
with x = m 2ᵉ, only the bits of 2ᵉ · 2/π below 4 and a mantissa or two beyond the fraction have a say. The work is the
same for every x, small or huge, so that a loop over it has no branch and vectorises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.vmath.instructions import funnel, inline, inline_exact, like, narrow, select, to_bits

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

ONE, TWO, THREE, SIX, HALF = (np.uint64(n) for n in (1, 2, 3, 6, 32))
LOW = np.uint64(0xFFFFFFFF)
# A turn is a 64-bit fraction of a full one; without its two upper bits, and signed, it is a fraction of a quarter
QUARTER = (1.5707963267948966, 6.123233995736766e-17)  # π/2 in two parts
FRACTION = 2.0**-64

# 2/π · 2¹⁹⁸ for float32 and 2/π · 2¹¹⁶¹ for float64, as words of 64 bits, the lowest first
W0, W1, W2, W3 = map(np.uint64, (0xD8A5664F10E4107F, 0x09D5F47D4D377036, 0xBE60DB9391054A7F, 0x28))
WORDS = np.array(
    [
        0xF6BF623F1ABA10AC, 0x0E73EF14A525D4D7, 0x4F758FD7CBE2F67A, 0x8C7ECD3CBFD45AEA, 0x6CFD9E4F96136E9E,
        0x5E2316B414DA3EDA, 0xF12FFFBC0B301FDE, 0x08BF177BF250763F, 0x23AC7306A673E939, 0x38E04D68BEFC8273,
        0x046BEA5D768909D3, 0x3BD63962534E7DD1, 0x925DD413A32439FC, 0x48DC74849BA5C00C, 0xA2C757BD778AC36E,
        0xC52B3278872083FC, 0x4EAFA3EA69BB81B6, 0xF306DC9C882A53F8, 0x145, 0, 0, 0,
    ],
    dtype=np.uint64,
)  # fmt: skip


@inline
def quadrant_single(a: Any) -> Any:
    """Returns k, of which two bits count, and r of a ≥ 0 for float32; below 1, k is 0 and r is a itself."""
    bits = to_bits(a)
    m = np.uint64(np.uint32((bits & 0x7FFFFF) | 0x800000))
    lowest = np.uint32(254 - (bits >> 23))  # of the bits of 2/π that matter; 127 where a is 1
    is_large = lowest < np.uint32(64)
    low, middle, high = select(is_large, W0, W1), select(is_large, W1, W2), select(is_large, W2, W3)
    shift = np.uint64(lowest)
    low, high = funnel(middle, low, shift), funnel(high, middle, shift)
    # m times 96 bits of 2/π, of which the upper 64
    turn = ((m * (high & LOW)) << HALF) + m * (low >> HALF) + ((m * (low & LOW)) >> HALF)
    k = (np.uint32(turn >> HALF) + np.uint32(1 << 29)) >> np.uint32(30)
    r = np.float32(np.float64(np.int64(turn << TWO)) * (QUARTER[0] * FRACTION))
    return _chosen(a, np.int32(k), r)


@inline
def quadrant_double(a: Any) -> Any:
    """Returns k, of which two bits count, and r of a ≥ 0 for float64; below 1, k is 0 and r is a itself."""
    bits = to_bits(a)
    m = np.uint64((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000)
    field = bits >> 52
    field = select(field < 1023, 1023, select(field > 2046, 2046, field))
    lowest = np.uint64(2046 - field)
    word = lowest >> SIX
    w0, w1, w2, w3 = WORDS[word], WORDS[word + ONE], WORDS[word + TWO], WORDS[word + THREE]
    w0, w1, w2 = funnel(w1, w0, lowest), funnel(w2, w1, lowest), funnel(w3, w2, lowest)
    upper, lower = _turn(m & LOW, m >> HALF, w0, w1, w2)
    k = (upper + (ONE << np.uint64(61))) >> np.uint64(62)
    rest = np.float64(np.int64(upper << TWO)) + np.float64(np.int64(lower >> ONE)) * 2.0**-61
    r = rest * (QUARTER[0] * FRACTION) + rest * (QUARTER[1] * FRACTION)
    return _chosen(a, np.int64(k), r)


@inline
def _chosen(a: Any, k: Any, r: Any) -> Any:
    is_small = a < like(a, 1.0)
    r = select(is_small, a, select(a < like(a, float("inf")), r, like(a, float("nan"))))
    return select(is_small, narrow(a, 0), k), r


@inline_exact
def _turn(m0: Any, m1: Any, w0: Any, w1: Any, w2: Any) -> Any:
    """Returns bits 64 to 191 of (m1 · 2³² + m0) times the words, as two words, the upper one first.

    Each product is of two halves of 32 bits; no column sum reaches 2⁶⁴.
    """
    a0, a1, a2, a3, a4, a5 = w0 & LOW, w0 >> HALF, w1 & LOW, w1 >> HALF, w2 & LOW, w2 >> HALF
    p1, p2, p3, p4 = m0 * a1, m0 * a2, m0 * a3, m0 * a4
    q0, q1, q2, q3 = m1 * a0, m1 * a1, m1 * a2, m1 * a3
    column = ((m0 * a0) >> HALF) + (p1 & LOW) + (q0 & LOW)
    column = (column >> HALF) + (p1 >> HALF) + (q0 >> HALF) + (p2 & LOW) + (q1 & LOW)
    lower = column & LOW
    column = (column >> HALF) + (p2 >> HALF) + (q1 >> HALF) + (p3 & LOW) + (q2 & LOW)
    lower = lower | (column << HALF)
    column = (column >> HALF) + (p3 >> HALF) + (q2 >> HALF) + (p4 & LOW) + (q3 & LOW)
    upper = column & LOW
    column = (column >> HALF) + (p4 >> HALF) + (q3 >> HALF) + m0 * a5 + m1 * a4
    return upper | (column << HALF), lower
