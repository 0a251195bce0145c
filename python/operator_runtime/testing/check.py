"""Is an output what numerics.md says it must be? And if not, what should its author look at?"""

from dataclasses import dataclass

import numpy as np

from operator_runtime.testing.dtypes import BLOCK, FLOATS, half_ulp, overflow_threshold, rounded

FLOOR = 2.0**-118


def unit(suite, dtype):
    """u of the error bound."""
    return 2.0**-20 if suite.hardware_exp and dtype != "f32" else 2.0**-24


@dataclass
class Wrong:
    """The elements of one output that are not right."""

    mask: np.ndarray
    allowed: np.ndarray | None  # error bound; None where bits or values must be equal


def bits(array):
    array = np.ascontiguousarray(array)
    return array.view(np.dtype(f"u{array.itemsize}"))


def against_bits(got, want, any_nan):
    differ = (bits(got) != bits(want)).reshape(got.shape)
    if any_nan:
        differ &= ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
    return Wrong(differ, None)


def against_values(got, want, dtype):
    """== after rounding, NaN for NaN."""
    want = rounded(np.broadcast_to(want, got.shape), dtype)
    if dtype not in FLOATS:
        return Wrong(got != want, None)
    got, want = got.astype(np.float64), want.astype(np.float64)
    return Wrong(~((got == want) | (np.isnan(got) & np.isnan(want))), None)


def against_bound(got, ref, bound, dtype, u, floor=1.0, outside=None):
    """|got - ref| <= half an ulp + u * bound + 2^-118; bound is c * G * S, the number 0 where nothing is added."""
    exact = np.isscalar(bound) and bound == 0
    parts = [got, ref, bound, floor, False if outside is None else outside]
    flat = [part if np.ndim(part) == 0 else np.broadcast_to(part, ref.shape).reshape(-1) for part in parts]
    mask, allowed = np.empty(got.size, bool), np.empty(got.size)
    for begin in range(0, got.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        some = [part if np.ndim(part) == 0 else part[block] for part in flat]
        mask[block], allowed[block] = _against_bound(*some, exact, dtype, u)
    return Wrong(mask.reshape(got.shape), allowed.reshape(got.shape))


def _against_bound(got, ref, bound, floor, outside, exact, dtype, u):
    with np.errstate(all="ignore"):
        got = got.astype(np.float64)
        more = 0.0 if exact else u * bound + FLOOR * floor
        allowed = half_ulp(ref, dtype) + more
        right = abs(got - ref) <= allowed  # false for a NaN on either side, and for inf - inf
        right |= got == ref
        right |= np.isnan(got) & np.isnan(ref)
        right |= np.isinf(got) & (np.sign(got) == np.sign(ref)) & (abs(ref) + more >= overflow_threshold(dtype))
        right |= outside & (~np.isfinite(got) | (got == 0))
    return ~right, allowed


def explain(name, got, want, wrong, untouched, inputs=()):
    """What a person needs to start looking: the worst element, how many are wrong, and what they have in common.

    inputs: pairs of name and array (None where absent); those that have the output's shape are shown at that element.
    """
    mask = wrong.mask
    values = got.astype(np.float64)
    with np.errstate(all="ignore"):
        error = abs(values - want)
        excess = np.where(mask, error / wrong.allowed if wrong.allowed is not None else error, -1.0)
    excess = np.where(mask & np.isnan(excess), np.inf, excess)
    at = np.unravel_index(int(np.argmax(excess)), mask.shape) if mask.shape else ()
    index = f"[{', '.join(map(str, at))}]" if at else ""
    lines = [f"{name}{index} of shape {list(mask.shape)}: got {values[at]:.9g}, want {want[at]:.9g}"]
    there = [f"{what}{index} = {given[at]:.9g}" for what, given in inputs if fits(given, mask)]
    if there:
        lines.append("from " + ", ".join(there))
    if wrong.allowed is not None and np.isfinite(error[at]):
        ratio = error[at] / wrong.allowed[at]
        lines.append(f"error {error[at]:.3g}, allowed {wrong.allowed[at]:.3g} ({ratio:.3g} times the bound)")
    elif wrong.allowed is None:
        lines.append("these must be equal")
    lines.append(f"{int(mask.sum())} of {mask.size} elements are wrong" + pattern(mask, values, want, untouched))
    return "\n".join(lines)


def fits(values, mask):
    return values is not None and np.shape(values) == mask.shape


def pattern(mask, got, want, untouched):
    """What the wrong elements have in common, where it is plain to see."""
    never = mask & untouched
    if never.any():
        how_many = "all of them" if (never == mask).all() else f"{int(never.sum())} of them"
        return f"; {how_many} were never written{where_in(never)}"
    if np.isnan(got[mask]).all():
        return f"; all are NaN where the reference is not{where_in(mask)}"
    if np.isnan(want[mask]).all():
        return "; all should be NaN: a NaN was swallowed"
    if mask.size > 1 and (got[mask] == 0).all():
        return f"; all are 0{where_in(mask)}"
    return where_in(mask)


def where_in(mask):
    if mask.ndim == 0 or mask.size < 2 or mask.all():
        return ""
    if mask.ndim > 1:
        rows = np.flatnonzero(mask.reshape(mask.shape[0], -1).any(axis=1))
        if len(rows) == 1 and mask.shape[0] > 2:
            last = " (the last)" if rows[0] == mask.shape[0] - 1 else ""
            return f", all at index {rows[0]}{last} of axis 0"
    inner = np.flatnonzero(mask.reshape(-1, mask.shape[-1]).any(axis=0))
    if len(inner) <= mask.shape[-1] // 2:
        return f", all at indices {inner[0]} to {inner[-1]} of the last axis, which has {mask.shape[-1]}"
    return ""


def proves_nothing(suite, references, bounds):
    """A sentence if a wrong kernel could pass these cases, else None.

    references, bounds: float64 arrays of the outputs of the random cases; a bound of None means that bits are compared.
    """
    if not references:
        return "no random case has an output"
    ref = np.concatenate([r.ravel() for r in references])
    zeros = float(np.mean(ref == 0))
    if zeros > suite.most_zeros:
        return f"{zeros:.0%} of the reference is zero: a kernel that writes zeros would nearly pass"
    _, counts = np.unique(ref, return_counts=True)
    if counts.max() > 0.9 * ref.size:
        return f"{counts.max() / ref.size:.0%} of the reference is one value"
    ratios = []
    for r, b in zip(references, bounds, strict=True):
        if b is not None:
            scale = abs(r)[np.isfinite(r) & (r != 0)]
            room = np.broadcast_to(b, r.shape)[np.isfinite(r) & (r != 0)]
            ratios.append(scale / np.maximum(room, 1e-300))
    if ratios and np.concatenate(ratios).size and np.median(np.concatenate(ratios)) < 100:
        return "half of the reference is smaller than 100 error bounds: a wrong kernel could hide in them"
    return None
