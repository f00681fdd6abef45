"""Recordings as magnitudes of short-time spectra: each frame is a row, each recording a group."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.classes import class_count_text
from deepnmf.reading.dataset import Dataset, ReadingError, Request, count_text, description_of, library_message
from deepnmf.reading.folder_files import Files

SUFFIXES = (".wav",)
WINDOW_SECONDS = 0.05  # about the time for which a note or a syllable is stationary


def read_wav(request: Request) -> Dataset:
    """Read one recording."""
    return read_sounds(Files(request.path.parent, (request.path,)), request, request.path)


def read_sounds(files: Files, request: Request, name_source: Path | None = None) -> Dataset:
    """Read the frames of all recordings at one sample rate: that of the model, or the lowest one."""
    recordings = [_recording(path) for path in files.paths]
    rates = [rate for rate, _ in recordings]
    rate = int(request.recipe_setting("sample_rate") or min(rates))
    window = _window(rate)
    waves = [_resampled(wave, own, rate) for own, wave in recordings]
    frames = [_magnitudes(wave, window) for wave in waves]
    groups = np.repeat(np.arange(len(frames)), [len(rows) for rows in frames])
    y, class_names, source = files.classes()
    frequencies = np.arange(window // 2 + 1) * rate / window
    X = np.vstack(frames)
    resampled = sum(own != rate for own in rates)
    return Dataset(
        X,
        "sounds",
        description_of(
            name_source or files.folder,
            f"{count_text(len(X), 'frame')} of {X.shape[1]} frequencies "
            f"from {count_text(len(frames), 'recording')} at {rate} Hz",
            f"{resampled} of them resampled" if resampled else "",
            class_count_text(y, source),
        ),
        y=None if y is None else y[groups],
        class_names=class_names,
        feature_names=tuple(f"{frequency:.1f} Hz" for frequency in frequencies),
        sample_names=_frame_names(files.names, frames, window / 2 / rate),
        groups=groups,
        group_names=files.names,
        axis=frequencies,
        settings={"sample_rate": rate},
    )


def _window(rate: int) -> int:
    """Return the window length in samples, rounded to a power of two."""
    return max(2, 2 ** round(math.log2(WINDOW_SECONDS * rate)))


def _recording(path: Path) -> tuple[int, Array]:
    """Return the sample rate, and the mean of the channels as samples from -1 to 1."""
    from scipy.io import wavfile

    try:
        rate, samples = wavfile.read(path)
    except (ValueError, EOFError, KeyError, TypeError, OSError) as error:
        raise ReadingError(f"{path} is not a valid .wav file: {library_message(error)}.") from error
    if not samples.size:
        raise ReadingError(f"{path} contains no samples.")
    wave = _from_integers(samples)
    return rate, wave.mean(axis=1) if wave.ndim == 2 else wave


def _from_integers(samples: Array) -> Array:
    if samples.dtype.kind == "f":
        return samples.astype(np.float64)
    if samples.dtype == np.uint8:  # 8-bit samples are unsigned
        return samples.astype(np.float64) / 128 - 1
    return samples / -float(np.iinfo(samples.dtype).min)


def _resampled(wave: Array, own: int, rate: int) -> Array:
    from scipy.signal import resample_poly

    ratio = Fraction(rate, own)
    return wave if own == rate else np.asarray(resample_poly(wave, ratio.numerator, ratio.denominator))


def _magnitudes(wave: Array, window: int) -> Array:
    """Return |STFT| with Hann windows that overlap by half, one frame per row."""
    from scipy.signal import ShortTimeFFT
    from scipy.signal.windows import hann

    padded = np.pad(wave, (0, max(0, window - len(wave))))
    spectra = ShortTimeFFT(hann(window, sym=False), window // 2, fs=1.0, scale_to="magnitude").stft(padded)
    return np.abs(spectra).T


def _frame_names(names: Sequence[str], frames: Sequence[Array], step: float) -> tuple[str, ...]:
    return tuple(
        f"{name} at {k * step:.2f} s" for name, rows in zip(names, frames, strict=True) for k in range(len(rows))
    )
