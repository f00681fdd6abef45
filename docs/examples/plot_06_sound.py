"""
Notes and chords of a recording
===============================

The spectrum of a chord is the sum of the spectra of its notes, and a piece of music
repeats its chords. Notes and chords are a hierarchy of parts and wholes.
"""

# %%
# The piece consists of three chords and takes forty seconds. The strength of each
# note is random each time it is played. A note is a sum of decaying harmonics.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import stft

rng = np.random.default_rng(0)
rate, beat = 8000, 0.25
notes = {
    "C": 261.6,
    "D": 293.7,
    "E": 329.6,
    "F": 349.2,
    "G": 392.0,
    "A": 440.0,
    "B": 493.9,
}
chords = {"C major": "CEG", "F major": "FAC", "G major": "GBD"}


def tone(frequency, seconds):
    """Return a decaying sound with five harmonics."""
    t = np.arange(int(seconds * rate)) / rate
    return sum(
        0.6**k * np.sin(2 * np.pi * k * frequency * t) for k in range(1, 6)
    ) * np.exp(-3 * t)


piece = np.tile(["C major", "F major", "G major", "C major"], 40)
sound = np.zeros(int(len(piece) * beat * rate) + rate)
for i, chord in enumerate(piece):
    start = int(i * beat * rate)
    for note in chords[chord]:
        played = rng.gamma(4, 0.25) * tone(notes[note], 2 * beat)
        sound[start : start + len(played)] += played

# %%
# The data are magnitudes of short-time spectra, with one row per frame and one
# column per frequency. ``deepnmf fit`` computes such data from a ``.wav`` file.

frequencies, times, spectrum = stft(sound, rate, nperseg=1024)
X = np.abs(spectrum).T[:, frequencies < 2600]
frequencies = frequencies[frequencies < 2600]
print(X.shape)

# %%
# The model has three wholes and eight parts. This is one part more than there are
# notes, because the spectrum of an onset differs from those of all notes.

from deepnmf import DeepNMF

model = DeepNMF((8, 3), random_state=0).fit(X)
parts, wholes = model.features_
pitches = np.array(list(notes.values()))
distances = np.abs(np.log2(frequencies[parts.argmax(axis=1)][:, None] / pitches))
found = np.where(
    distances.min(axis=1) < 1 / 24,
    np.array(list(notes))[distances.argmin(axis=1)],
    "onset",
)
for name, peak in zip(found, frequencies[parts.argmax(axis=1)], strict=True):
    print(f"{name}: strongest at {peak:.0f} Hz")

# %%
# What are the wholes made of? Each whole is a chord, and its row of the factor
# contains the weights of the notes.

figure, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
recipe = model.factors_[1] / model.factors_[1].sum(axis=1, keepdims=True)
order = np.argsort(
    [list(notes).index(name) if name in notes else len(notes) for name in found]
)
picture = axes.imshow(recipe[:, order], cmap="gray_r", vmin=0)
axes.set_xticks(range(len(order)), found[order])
axes.set(
    yticks=range(3), yticklabels=[f"whole {i}" for i in range(3)], xlabel="part"
)
figure.colorbar(picture, label="share")
plt.show()
for i, row in enumerate(recipe):
    print(f"whole {i}:", " ".join(found[row > 0.1]))

# %%
# The next figure shows the spectra of the notes and of the chords.

figure, panels = plt.subplots(
    2, 1, figsize=(8, 5), layout="constrained", sharex=True
)
for axes, features, title in zip(
    panels, (parts, wholes), ("parts", "wholes"), strict=True
):
    axes.plot(frequencies, features.T, linewidth=0.9)
    axes.set(title=title, yticks=[])
panels[1].set_xlabel("frequency, Hz")
plt.show()

# %%
# The codes show when each note and each chord sounds in the first six seconds.

figure, panels = plt.subplots(
    2, 1, figsize=(8, 4), layout="constrained", sharex=True, height_ratios=(8, 3)
)
shown = times < 6
for axes, layer, labels in zip(
    panels, (0, 1), (found[order], [f"whole {i}" for i in range(3)]), strict=True
):
    codes = model.encode(X[shown], layer)
    codes = codes[:, order] if layer == 0 else codes
    axes.imshow(
        codes.T,
        aspect="auto",
        cmap="gray_r",
        extent=(0, 6, len(labels) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(labels)), labels)
panels[1].set_xlabel("seconds")
plt.show()
