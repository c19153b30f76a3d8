"""Statistics of timings: percentiles that say when there are too few samples, and whether two cases differ at all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

P99_SAMPLES = 200
"""Below this the 99th percentile rests on one or two samples."""
RESAMPLES = 1000


def percentile(samples: Sequence[float], share: float) -> float:
    """Return a percentile by linear interpolation; *share* from 0 to 1, at least one sample."""
    ordered = sorted(samples)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass(frozen=True)
class Summary:
    """Statistics of one series; times in microseconds, ``None`` where there is nothing or too little to say.

    Attributes:
        n: Samples.
        p50_us: Median.
        p90_us: 90th percentile.
        p99_us: 99th percentile, from 200 samples on.
        max_us: Largest sample.
        min_us: Smallest sample.
        rel_iqr: Interquartile range over the median.
    """

    n: int
    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    max_us: float | None = None
    min_us: float | None = None
    rel_iqr: float | None = None


def summarise(samples: Sequence[float]) -> Summary:
    """Summarise samples in microseconds."""
    if not samples:
        return Summary(0)
    middle = percentile(samples, 0.5)
    spread = percentile(samples, 0.75) - percentile(samples, 0.25)
    return Summary(
        n=len(samples),
        p50_us=middle,
        p90_us=percentile(samples, 0.9),
        p99_us=percentile(samples, 0.99) if len(samples) >= P99_SAMPLES else None,
        max_us=max(samples),
        min_us=min(samples),
        rel_iqr=spread / middle if middle else 0.0,
    )


def bootstrap_difference(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], *, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Return the difference of medians, second minus first, with a 95 % interval.

    Whole rounds are drawn, the same rounds for both series: the machine's slow drift is shared by the samples of
    one round, so it cancels, and neighbouring samples are not taken for independent ones.

    Args:
        first: Samples of one case by round.
        second: Samples of the other case in the same rounds.
        seed: Seed of the draws.

    Returns:
        Difference and ``(low, high)``, in the unit of the samples.

    Raises:
        ValueError: The series have different numbers of rounds, or none.
    """
    if len(first) != len(second) or not first:
        msg = f"{len(first)} and {len(second)} rounds cannot be paired"
        raise ValueError(msg)
    draw = random.Random(seed)  # noqa: S311 - resampling, not secrecy
    differences = []
    for _ in range(RESAMPLES):
        rounds = draw.choices(range(len(first)), k=len(first))
        left = median([x for r in rounds for x in first[r]])
        right = median([x for r in rounds for x in second[r]])
        differences.append(right - left)
    observed = median([x for r in second for x in r]) - median([x for r in first for x in r])
    return observed, (percentile(differences, 0.025), percentile(differences, 0.975))


def fit_alpha_beta(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Fit ``time = alpha + size / beta`` with relative weights, so that small sizes count as much as large ones.

    Args:
        points: ``(size_bytes, time_us)``; size already multiplied by the bus factor.

    Returns:
        ``(alpha_us, beta_gbps)``, or ``None`` where the points do not determine a positive bandwidth.
    """
    usable = [(x, y) for x, y in points if y > 0]
    if len({x for x, _ in usable}) < 2:
        return None
    weights = [1 / (y * y) for _, y in usable]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, usable, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, usable, strict=True)) / total
    covariance = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, usable, strict=True))
    variance = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, usable, strict=True))
    slope = covariance / variance
    if slope <= 0:
        return None
    return max(0.0, mean_y - slope * mean_x), 1 / slope / 1e3
