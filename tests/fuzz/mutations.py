"""Ways in which a model file may be damaged or forged. Each takes the file, another file, and a random generator.

`DAMAGES` leave the digest alone. `FORGERIES` compute it anew, so that the change reaches the checks behind it.
"""

import json
import random
import struct
from collections.abc import Callable
from dataclasses import replace

from fuzz.files import Parts, joined, sealed

Mutation = Callable[[bytes, bytes, random.Random], bytes]

HOSTILE = [
    *(None, True, False, 0, -1, 1, 2, 3, 7, 24, 1000, 10**9, 10**18, -(10**18), 2**63, 2**64, 10**30, 10**400),
    *(0.0, 0.5, -0.5, 1.0, 2.5, 1e308, -1e308, 1e-320, float("nan"), float("inf"), -float("inf")),
    *("", "x", "0", "all", "top", "square", "tanh", "shallow", "deep", "head", "custom", "mu", "auto", "RL1", "R"),
    *("O", "|O8", "<U3", "<U99999999", "<i8", "<f8,<f8", "|V8", "<M8[s]", "deepnmf-1", "deepnmf-3", "\ud800", "\0" * 9),
    *(
        "A" * 100_000,
        [],
        [0],
        [1],
        [3],
        [8, 4],
        [6, 3],
        [4, 8],
        [1] * 5000,
        [[1]],
        [None],
        ["a"],
        ["a", "b"],
        [0.1, 0.2],
    ),
    *([-1, 4], [10**18, 4], [1.5, 4], [True, 4], {}, {"a": 1}, {"a": {"b": []}}, ["b", "a"], [0, 0], [0, "a"]),
]
NUMBERS = [float("nan"), float("inf"), -float("inf"), -1.0, -0.0, 0.0, 1e308, -1e308, 1e200, 1e-320, 3e38]
CLASSES = ["NMF", "NSNMF", "SemiNMF", "DeepNSNMF", "SparseDeepNMF", "DeepSemiNMF", "SSNMF", "DeepNMFNetwork", "GDNMF"]
CLASSES += ["CNMF", "GNMF", "WSF", "WSFMA", "DeepWSF", "DiscriminantNMF", "MultilayerNMF", "Pipeline", "os.system"]


# ------------------------------------------------------------------------------------------- damages


def flip_bits(content: bytes, other: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, other: bytes, chance: random.Random) -> bytes:
    begin, length = chance.randrange(len(content)), chance.randrange(1, 64)
    filling = chance.choice([b"\0" * length, b"\xff" * length, chance.randbytes(length)])
    return content[:begin] + filling + content[begin + length :]


def truncate(content: bytes, other: bytes, chance: random.Random) -> bytes:
    return content[: chance.choice([0, 7, 8, 9, len(content) - 1, chance.randrange(len(content))])]


def extend(content: bytes, other: bytes, chance: random.Random) -> bytes:
    return content + chance.choice([b"\0", b"\n", content, chance.randbytes(chance.randrange(1, 999))])


def cut_out(content: bytes, other: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(content))
    return content[:begin] + content[begin + chance.randrange(1, 100) :]


def splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(8, len(content))
    return content[:place] + other[place:]


def declare_a_long_header(content: bytes, other: bytes, chance: random.Random) -> bytes:
    length = chance.choice([0, 1, len(content), 2**24, 2**40, 2**63, 2**64 - 1, chance.randrange(len(content))])
    return length.to_bytes(8, "little") + content[8:]


# ----------------------------------------------------------------------------------------- forgeries


def flip_header(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    return sealed(flip_bits(parts.header.encode(), other, chance), parts.data)


def overwrite_header(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Insert characters of JSON at random positions."""
    parts = Parts.of(content)
    place = chance.randrange(len(parts.header))
    text = chance.choice(['"', "\\", "[", "]", "{", "}", ",", ":", "-", "9", "NaN", "1e999", "null", "\\u0000", "é"])
    cut = chance.choice([0, len(text)])
    return replace(parts, header=parts.header[:place] + text + parts.header[place + cut :]).sealed()


def flip_data(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    return replace(parts, data=flip_bits(parts.data, other, chance)).sealed()


def change_a_number(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    name, entry = _an_array(parts, chance)
    begin, end = entry["data_offsets"]
    form, width = ("<f", 4) if entry["dtype"] == "F32" else ("<d", 8)
    if end - begin < width:
        return parts.sealed()
    place = begin + width * chance.randrange((end - begin) // width)
    number = struct.pack(form, chance.choice(NUMBERS[:-2] if width == 8 else [0.0, -1.0, 3e38, float("nan")]))
    return replace(parts, data=parts.data[:place] + number + parts.data[place + width :]).sealed()


def swap_arrays(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Exchange the entries of two arrays in the header, or one field of these entries."""
    parts = Parts.of(content)
    entries = parts.entries
    (first, _), (second, _) = _an_array(parts, chance), _an_array(parts, chance)
    if chance.random() < 0.5:
        entries[first], entries[second] = entries[second], entries[first]
    else:
        key = chance.choice(["shape", "dtype", "data_offsets"])
        entries[first][key], entries[second][key] = entries[second][key], entries[first][key]
    return parts.with_entries(entries).sealed()


def describe_an_array_wrongly(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    entries = parts.entries
    name, entry = _an_array(parts, chance)
    key = chance.choice(["shape", "dtype", "data_offsets"])
    wrong = {
        "dtype": ["F16", "F32", "F64", "I8", "I64", "U8", "BOOL", "C64", "<f8", "O", "", None, 8],
        "shape": [
            entry["shape"][::-1],
            [-1, -1],
            [2**62, 4],
            [2**32, 2**32],
            [0, 2**62],
            [],
            [1] * 40,
            [0],
            [2.0],
            "8",
        ],
        "data_offsets": [[0, 0], [0, 2**63], [-8, 0], [8, 0], [0, len(parts.data)], [], [0], [0.0, 8.0], None],
    }
    entries[name] = entry | {key: chance.choice([*wrong[key], *HOSTILE])}
    return parts.with_entries(entries).sealed()


def reshape_an_array(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Give an array another shape with as many numbers."""
    parts = Parts.of(content)
    entries = parts.entries
    name, entry = _an_array(parts, chance)
    count = 1
    for length in entry["shape"]:
        count *= length
    entries[name]["shape"] = chance.choice([entry["shape"][::-1], [count], [1, count], [count, 1], [1, 1, count]])
    return parts.with_entries(entries).sealed()


def rename_or_drop_an_array(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    entries = parts.entries
    name, _ = _an_array(parts, chance)
    entry = entries.pop(name)
    called = chance.choice(
        [None, "factor.0", "factor.9", "factor.-1", "factor", "x", "", ".", "codes.1", "norm.0", "\0"]
    )
    if called is not None:
        entries[called] = entry
    return parts.with_entries(entries).sealed()


def drop_the_last_array(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Remove its description and its data, so that the file stays consistent."""
    parts = Parts.of(content)
    entries = parts.entries
    arrays = {name: entry for name, entry in entries.items() if name != "__metadata__"}
    last = max(arrays, key=lambda name: arrays[name]["data_offsets"][1])
    begin, _ = entries.pop(last)["data_offsets"]
    return replace(parts.with_entries(entries), data=parts.data[:begin]).sealed()


def add_an_array(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    entries = parts.entries
    begin = len(parts.data)
    called = chance.choice(
        ["x", "factor.9", "codes.1", "codes.9", "scale.7", "labels.0", "memory.0", "feature_names.0"]
    )
    entries[called] = {"dtype": "F64", "shape": [2, 4], "data_offsets": [begin, begin + 64]}
    return replace(parts.with_entries(entries), data=parts.data + struct.pack("<8d", *range(8))).sealed()


def repeat_a_key(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    if chance.random() < 0.5:
        name, entry = _an_array(parts, chance)
        return replace(parts, header=f'{{"{name}":{json.dumps(entry)},{parts.header[1:]}').sealed()
    return parts.with_description('{"class": "NMF",' + json.dumps(parts.description)[1:]).sealed()


def nest_deeply(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    depth = chance.choice([10, 900, 5000, 99_000, 300_000])
    nested = chance.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth])
    text = json.dumps(parts.description)
    if chance.random() < 0.5:
        return parts.with_description(text[:-1] + f', "x": {nested}}}').sealed()
    return replace(parts, header=parts.header[:-1].rstrip().rstrip("}") + f'}},"x":{nested}}}').sealed()


def change_the_description(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    return parts.with_description(_changed(parts.description, chance)).sealed()


def change_a_parameter(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    description = parts.description
    description["parameters"] = _changed(description["parameters"], chance)
    return parts.with_description(description).sealed()


def change_the_class(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change the class, and keep the parameters that the new class has."""
    parts = Parts.of(content)
    description = parts.description
    description["class"] = chance.choice(CLASSES)
    if chance.random() < 0.7:
        own = Parts.of(other).description["parameters"]
        names = own if chance.random() < 0.5 else ["max_iter", "tol", "layer_sizes", "n_components", "random_state"]
        description["parameters"] = {k: v for k, v in description["parameters"].items() if k in names}
    return parts.with_description(description).sealed()


def use_the_other_description(content: bytes, other: bytes, chance: random.Random) -> bytes:
    return Parts.of(content).with_description(Parts.of(other).description).sealed()


def remove_the_digest(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Remove the digest, as in a file of the first format, and then forge something else."""
    parts = Parts.of(content)
    entries = parts.entries
    entries["__metadata__"].pop("sha256", None)
    parts = parts.with_entries(entries)
    if chance.random() < 0.9:
        parts = parts.with_description(parts.description | {"format": "deepnmf-1"})
    return chance.choice([flip_data, change_a_number, change_the_description, swap_arrays])(
        parts.sealed(), other, chance
    )


def change_the_digest(content: bytes, other: bytes, chance: random.Random) -> bytes:
    parts = Parts.of(content)
    entries = parts.entries
    digest = entries["__metadata__"].get("sha256", "0" * 64)
    entries["__metadata__"]["sha256"] = chance.choice([digest.upper(), "", digest[:-1], "0" * 64, None, 0, "é" * 64])
    return joined(parts.with_entries(entries).header.encode(), parts.data)


def _an_array(parts: Parts, chance: random.Random) -> tuple[str, dict]:
    arrays = sorted((name, entry) for name, entry in parts.entries.items() if name != "__metadata__")
    return chance.choice(arrays)


def _changed(mapping: dict, chance: random.Random) -> dict:
    name = chance.choice([*mapping, "x"])
    if chance.random() < 0.2:
        return {key: value for key, value in mapping.items() if key != name}
    value = mapping.get(name)
    if isinstance(value, dict) and chance.random() < 0.5:
        return mapping | {name: _changed(value, chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return mapping | {name: [*value[:place], chance.choice(HOSTILE), *value[place + 1 :]]}
    return mapping | {name: chance.choice(HOSTILE)}


DAMAGES: list[Mutation] = [flip_bits, overwrite, truncate, extend, cut_out, splice, declare_a_long_header]
FORGERIES: list[Mutation] = [
    flip_header,
    overwrite_header,
    flip_data,
    change_a_number,
    swap_arrays,
    describe_an_array_wrongly,
    reshape_an_array,
    rename_or_drop_an_array,
    drop_the_last_array,
    add_an_array,
    repeat_a_key,
    nest_deeply,
    change_the_description,
    change_a_parameter,
    change_the_class,
    use_the_other_description,
    remove_the_digest,
    change_the_digest,
]
