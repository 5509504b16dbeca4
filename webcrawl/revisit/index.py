"""What fetching a page again is worth, and when it will be worth so much.

A page that changes as a Poisson process of rate d, of weight w, is worth `w / d * (1 - (1 + d*t) * exp(-d*t))` when its
last fetch was t seconds ago (Azar et al. 2018). The rate is not known: its posterior is Gamma(a, b). So this is the
expectation, which with r = b / (b + t) is `w * (b / (a - 1) * (1 - r ** (a - 1)) - t * r ** a)`. To put the mean
a / b into the formula as if it were the rate loses several times as much (docs/decisions/revisit-policy.md).
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

NARROW = 1e-6  # a shape as near to 1 as this is 1
ENOUGH = 1e-6  # the part of a page's largest value that is never reached: it would take too long
LONGEST = 50.0  # ln(1 + t / b): longer than any crawl
SMALL = 1e-4  # ln(1 + t / b) for which the first approximation is exact enough
STEPS = 2  # of Newton's; the interval is then right within 1 %, mostly within 1e-6


def value(shape: float, span: float, seconds: float) -> float:
    """The expected worth of a visit so long after the last one, for a page of weight 1."""
    power = shape - 1 if abs(shape - 1) > NARROW else NARROW
    stay = log1p(seconds / span)
    return span * (-expm1(-power * stay) / power) - seconds * exp(-shape * stay)


def interval(shape: float, span: float, worth: float) -> float:
    """The seconds after which a page of weight 1 is worth so much; if it never is, more than any crawl has.

    The value depends on t / b alone, in units of b. In x = ln(1 + t / b) it is like a * x * x / 2 for small x, and
    for large x like an exponential function, which rises without limit if a < 1, and to 1 / (a - 1) if a > 1.
    """
    power = shape - 1 if abs(shape - 1) > NARROW else NARROW
    aim = worth / span
    left = 1 - power * aim  # of the largest value, if there is one
    if left < ENOUGH:
        return span * expm1(LONGEST)
    x = sqrt(2 * aim / shape)
    if x < 1.2 and x * shape < 1.2:  # where the two approximations are about as good
        x += x * x * (2 * shape - 1) / 6
        if x < SMALL:
            return span * x
    else:
        x = min(-log(left / shape) / power, LONGEST)
    for _ in range(STEPS):
        faded, fall = exp(-power * x), expm1(-x)
        now = (1 - faded) / power + faded * fall
        slope = -shape * faded * fall
        if power * now > 0.5:  # near its limit, a straight line as the logarithm of what is left
            now = 1 - power * now
            x += log(now / left) * now / (power * slope)
        else:  # and far from it as a logarithm of x
            step = log(aim / now) * now / (slope * x)
            x *= exp(step if -2.0 < step < 2.0 else 2.0 if step > 0.0 else -2.0)
    return span * expm1(min(x, LONGEST))
