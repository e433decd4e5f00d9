import mpmath

from opsdk.backends.vmath import trigonometric


def whole(words):
    return sum(int(word) << (64 * position) for position, word in enumerate(words))


def test_the_bits_of_two_over_pi_are_right_to_the_last_one():
    with mpmath.workprec(1400):
        two_over_pi = 2 / mpmath.pi
        words = [trigonometric.W0, trigonometric.W1, trigonometric.W2, trigonometric.W3]
        assert whole(words) == int(mpmath.floor(two_over_pi * 2**198))
        assert whole(trigonometric.WORDS) == int(mpmath.floor(two_over_pi * 2**1161))


def test_the_two_parts_of_a_quarter_turn_are_half_pi():
    with mpmath.workprec(200):
        assert abs(sum(map(mpmath.mpf, trigonometric.HALF_PI)) - mpmath.pi / 2) < mpmath.mpf(2) ** -107
