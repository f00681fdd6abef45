"""Images keep their values, are rotated upright, and each file contains one."""

import struct

import numpy as np
import pytest
from PIL import Image

from deepnmf.reading import ReadingError, read


def tiff(path, values):
    Image.fromarray(values).save(path)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0, 0.25, 0.5], [0.75, 1, 1e-3]], dtype=np.float32),
        np.array([[-3, 0.25, 1000], [np.nan, 1e20, 255]], dtype=np.float32),
        np.array([[0, 70000, 2**31 - 1], [-5, 255, 65536]], dtype=np.int32),
    ],
    ids=["floats from 0 to 1", "floats of any size", "integers of 32 bits"],
)
def test_float_and_32_bit_images_keep_their_values(tmp_path, values):
    tiff(tmp_path / "a.tif", values)
    data = read(tmp_path)
    np.testing.assert_array_equal(data.X, values.reshape(1, -1).astype(float))
    assert "values as stored" in data.description


def test_unsigned_integers_of_32_bits_do_not_become_negative(tmp_path):
    values = np.array([[0, 2**31 + 5, 2**32 - 1]], dtype=np.uint32)
    path = tmp_path / "a.tif"
    tiff(path, values.view(np.int32))
    signed, unsigned = (struct.pack("<HHIHxx", 339, 3, 1, form) for form in (2, 1))
    assert path.read_bytes().count(signed) == 1
    path.write_bytes(path.read_bytes().replace(signed, unsigned))
    np.testing.assert_array_equal(read(tmp_path).X, values)


def test_resized_values_stay_within_those_of_the_image(tmp_path):
    values = np.zeros((8, 8), dtype=np.float32)
    values[:, 4:] = 1000
    tiff(tmp_path / "a.tif", values)
    X = read(tmp_path, size=(11, 11)).X
    assert (X.min(), X.max()) == (0, 1000)


@pytest.mark.parametrize(
    ("name", "levels", "white"),
    [("a.png", np.uint8, 255), ("a.pgm", np.uint8, 255), ("a.png", np.uint16, 65535), ("a.tif", np.uint16, 65535)],
)
def test_images_of_8_and_16_bits_are_gray_levels_from_0_to_1(tmp_path, name, levels, white):
    values = np.array([[0, 100, white]], dtype=levels)
    Image.fromarray(values).save(tmp_path / name)
    np.testing.assert_array_equal(read(tmp_path).X, values / white)


def test_a_pgm_of_16_bits_is_gray_levels_from_0_to_1(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5 2 1 65535\n" + np.array([100, 65535], dtype=">u2").tobytes())
    np.testing.assert_array_equal(read(tmp_path).X, [[100 / 65535, 1]])


def test_stored_values_and_gray_levels_in_one_folder_are_refused(tmp_path):
    tiff(tmp_path / "b.tif", np.ones((2, 2), dtype=np.float32))
    tiff(tmp_path / "a.png", np.ones((2, 2), dtype=np.uint8))
    with pytest.raises(
        ReadingError, match=r"contains a\.png, which is scaled .* and b\.tif, whose 32-bit .* expected one"
    ):
        read(tmp_path)


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize(("orientation", "n_quarter_turns"), [(1, 0), (3, 2), (6, 3), (8, 1)])
def test_exif_rotation_is_applied(tmp_path, suffix, orientation, n_quarter_turns):
    values = np.zeros((8, 24), dtype=np.uint8)
    values[:, :12] = 255
    values[:4, :12] = 80
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(values).save(tmp_path / f"a.{suffix}", exif=exif, lossless=True, quality=100)
    upright = np.rot90(values, n_quarter_turns)
    data = read(tmp_path)
    assert data.image_shape == upright.shape
    np.testing.assert_allclose(data.X[0].reshape(upright.shape), upright / 255, atol=0.05)


@pytest.mark.parametrize("suffix", ["gif", "png", "tif", "webp"])
def test_an_animation_or_several_pages_are_refused(tmp_path, suffix):
    frames = [Image.new("L", (4, 4), level) for level in (10, 200)]
    path = tmp_path / f"a.{suffix}"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    with pytest.raises(ReadingError) as caught:
        read(tmp_path)
    assert str(caught.value) == f"{path} contains several images, as frames or pages: expected one image per file."


def test_a_photograph_with_a_preview_is_one_image(tmp_path):
    large, small = Image.new("L", (8, 4), 51), Image.new("L", (4, 2), 51)
    large.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[small])
    np.testing.assert_allclose(read(tmp_path).X, np.full((1, 32), 0.2))


def test_an_image_of_an_unknown_format_starts_no_program(tmp_path, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a program was started"))
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png", format="EPS")
    with pytest.raises(ReadingError, match=r"a\.png is not a valid image"):
        read(tmp_path)
