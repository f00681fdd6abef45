"""The data inside a report, and the pictures inside the data."""

import base64
import io
import json
import re
import zlib

import numpy as np

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def text_of(path) -> str:
    return path.read_text(encoding="utf-8")


def data_of(path) -> dict:
    """Return the data that the scripts of the page read."""
    (found,) = DATA.findall(text_of(path))
    return json.loads(found)


def pictures_of(pack, count) -> np.ndarray:
    """Return the pictures of a sheet as RGBA arrays, as a browser would show them."""
    from matplotlib.image import imread

    image = np.round(255 * imread(io.BytesIO(base64.b64decode(pack["png"].partition(",")[2]))))
    height, width, columns = pack["height"], pack["width"], pack["columns"]
    corners = [(place // columns * height, place % columns * width) for place in range(count)]
    return np.array([image[top : top + height, left : left + width] for top, left in corners])


def curves_of(pack) -> np.ndarray:
    """Return the curves of a pack in the scale of the data, NaN for unobserved points."""
    numbers = np.frombuffer(base64.b64decode(pack["points"]), "<i2").reshape(len(pack["scales"]), -1)
    return np.where(numbers == -32768, np.nan, numbers / 32767 * np.array(pack["scales"])[:, None])


def numbers_of(pack) -> np.ndarray:
    """Return deflated numbers."""
    content = zlib.decompress(base64.b64decode(pack["deflated"]))
    return np.frombuffer(content, {"Int8": "i1", "Int16": "<i2", "Uint16": "<u2", "Uint32": "<u4"}[pack["array"]])


def words_of(pack) -> list:
    """Return the words of each vector with their weights, the heaviest first."""
    return [[(pack["vocabulary"][entry[0]], entry[1]) for entry in words] for words in pack["words"]]
