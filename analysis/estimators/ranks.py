"""Ranks of samples, and the autocorrelation of a series.

numpy alone: scipy's and statsmodels' own take half a second to import, which short commands do not have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.libraries import fft


def rank_samples(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ranks of finite samples, from 1; equal ones share the mean of theirs."""
    _, indices, counts = np.unique(samples, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[indices]
    return ranks


def correlate_lags(samples: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Autocorrelation of a series that varies at lags 0 to ``lags``, by the Fourier transform.

    Source: Box and Jenkins, Time Series Analysis; the estimate that is divided by n at each lag.
    """
    spectrum = np.fft.fft(samples - samples.mean(), n=fft.next_fast_len(2 * samples.size + 1, real=True))
    products = (np.fft.ifft(spectrum * np.conjugate(spectrum))[: lags + 1] / samples.size).real
    result: NDArray[np.float64] = products / products[0]
    return result
