"""Numbers for people: three significant digits, and steps in groups of three digits."""

from __future__ import annotations

import math


def as_number(value: float) -> str:
    """Return a number with three significant digits, as ``0.412`` or ``1.23e-09``."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "-∞" if value < 0 else "∞"
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.2e}"
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text else text


def as_tick(value: float) -> str:
    """Return a round number as short as it can be, as ``0.5`` or ``-2e-4``."""
    mantissa, e, power = as_number(value).partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}" if e else mantissa


def as_step(step: int) -> str:
    """Return a step or a count with thin spaces between groups of three digits."""
    return f"{step:,}".replace(",", "\u2009")


def as_bytes(number: int) -> str:
    """Return a number of bytes in the largest unit in which it is at least one, as ``1.2 MB``."""
    size = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{as_number(size)} {unit}"
