"""Coordinate descent as machine code: sixteen samples side by side in vector registers.

A compiler that is given the loops keeps the running sums of several samples in memory, and numba takes longer to
load its cache than a small fit takes. So the few instructions that count are handed to LLVM as they are, at the first
fit, in hundredths of a second. `deepnmf.solvers.coordinate.visit_rows` is the plain twin; a test holds them equal.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir

from deepnmf.arrays import Array
from deepnmf.forks import free_in_children

LANES = 16
FAST = ("fast",)
INDEX, DOUBLE = ir.IntType(64), ir.DoubleType()
NUMBERS = {"d": DOUBLE, "f": ir.FloatType()}  # by NumPy's letters: names take longer to make than a small block
ADDRESS, COUNT = ctypes.c_void_p, ctypes.c_int64


def descend_rows(H: Array, G: Array, F: Array, n_passes: int, tol: float = 0.0) -> tuple[Array, float]:
    """Lower ½<H G, H> - <F, H> over H >= 0, each row on its own, by passes over its entries.

    Sixteen rows rest together, once a pass moves each of them less than `tol` of its target. Returns the new rows and
    Σ_k (G_kk · change)² of the first passes. Rows may as well lie in memory as columns do: nothing is transposed.
    """
    G, F = np.ascontiguousarray(G, dtype=H.dtype), np.asarray(F, dtype=H.dtype)
    H = np.array(H, order="K")
    room = np.empty((2, len(G), LANES), H.dtype)
    full = len(H) // LANES * LANES
    violation = _call(H[:full], F[:full], G, n_passes, tol, room)
    if full < len(H):
        rest = len(H) - full
        last, target = np.zeros((2, LANES, len(G)), H.dtype)
        last[:rest], target[:rest] = H[full:], F[full:]
        violation += _call(last, target, G, n_passes, tol, room)
        H[full:] = last[:rest]
    return H, violation


def _call(H: Array, F: Array, G: Array, n_passes: int, tol: float, room: Array) -> float:
    addresses = (array.ctypes.data for array in (H, F, G, room))
    strides = (stride // H.itemsize for array in (H, F) for stride in array.strides)
    return machine_code(H.dtype.char).call(*addresses, len(H) // LANES, len(G), n_passes, *strides, tol**2)


class MachineCode(NamedTuple):
    """A function, and the engine that its code lives in."""

    engine: Any
    call: Callable[..., float]


_compiling = RLock()
free_in_children(_compiling)


def machine_code(letter: str) -> MachineCode:
    """Compile at the first call, once: of two that threads made at once, one would be lost while it runs."""
    with _compiling:
        return compiled(letter)


@cache
def compiled(letter: str) -> MachineCode:
    """``descend(H, F, G, room, n_blocks, order, n_passes, strides of H and F, tol²)``; other threads run meanwhile."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    host = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=_vector_instructions(), opt=3
    )
    module = binding.parse_assembly(str(written(NUMBERS[letter])))
    engine = binding.create_mcjit_compiler(module, host)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ADDRESS] * 4, *[COUNT] * 7, ctypes.c_double)
    return MachineCode(engine, kind(engine.get_function_address("descend")))


def _vector_instructions() -> str:
    """What the processor has; LLVM cannot tell on every platform, and the processor's name then says enough."""
    try:
        return str(binding.get_host_cpu_features().flatten())
    except RuntimeError:
        return ""


def written(number: ir.Type) -> ir.Module:
    """The function in LLVM's language, for one kind of number."""
    module = ir.Module("deepnmf")
    pointer = number.as_pointer()
    kind = ir.FunctionType(DOUBLE, [pointer] * 4 + [INDEX] * 7 + [DOUBLE])
    function = ir.Function(module, kind, "descend")
    rows, goals, gram, codes, n_blocks, order, n_passes, *strides, square_tol = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    lanes, doubles = _Lanes(builder, number), _Lanes(builder, DOUBLE)
    moved, violation = builder.alloca(doubles.vector), builder.alloca(doubles.vector)
    builder.store(doubles.zero, violation)
    size = builder.mul(order, INDEX(LANES))  # of sixteen rows
    targets = builder.gep(codes, [size])
    with _counted(builder, n_blocks) as (block, _):
        first = builder.mul(block, INDEX(LANES))
        own_rows, own_goals = _Rows(builder, rows, first, *strides[:2]), _Rows(builder, goals, first, *strides[2:])
        with _counted(builder, order) as (k, _):
            lanes.store(lanes.gather(own_rows, k), codes, k)
            lanes.store(lanes.gather(own_goals, k), targets, k)
        limit = _limit(builder, lanes, doubles, targets, order, square_tol)
        with _counted(builder, n_passes) as (number_of_pass, leave):
            builder.store(doubles.zero, moved)
            with _counted(builder, order) as (k, _):
                _visit(builder, lanes, doubles, codes, targets, gram, order, k, moved)
            with builder.if_then(builder.icmp_unsigned("==", number_of_pass, INDEX(0))):
                total = builder.fadd(builder.load(violation), builder.load(moved), flags=FAST)
                builder.store(total, violation)
            restless = builder.fcmp_ordered(">", builder.load(moved), limit)
            any_restless = builder.bitcast(restless, ir.IntType(LANES))
            leave(builder.icmp_unsigned("==", any_restless, ir.IntType(LANES)(0)))
        with _counted(builder, order) as (k, _):
            lanes.scatter(lanes.load(codes, k), own_rows, k)
    builder.ret(doubles.sum(builder.load(violation)))
    return module


def _limit(
    builder: ir.IRBuilder, lanes: "_Lanes", doubles: "_Lanes", targets: ir.Value, order: ir.Value, square_tol: ir.Value
) -> ir.Value:
    """tol² ‖target‖² of every lane."""
    size = builder.alloca(doubles.vector)
    builder.store(doubles.zero, size)
    with _counted(builder, order) as (k, _):
        target = doubles.widened(lanes.load(targets, k))
        builder.store(builder.fadd(builder.load(size), builder.fmul(target, target, flags=FAST), flags=FAST), size)
    return builder.fmul(doubles.broadcast(square_tol), builder.load(size), flags=FAST)


def _visit(
    builder: ir.IRBuilder,
    lanes: "_Lanes",
    doubles: "_Lanes",
    codes: ir.Value,
    targets: ir.Value,
    gram: ir.Value,
    order: ir.Value,
    k: ir.Value,
    moved: ir.Value,
) -> None:
    """Minimise over the k-th entry of every lane; one that adds nothing goes to 0 if it has a price."""
    gram_row = builder.gep(gram, [builder.mul(k, order)])
    curvature = builder.load(builder.gep(gram_row, [k]))
    old, target = lanes.load(codes, k), lanes.load(targets, k)
    with builder.if_else(builder.fcmp_ordered(">", curvature, ir.Constant(curvature.type, 0.0))) as (curved, flat):
        with curved:
            slope = builder.fsub(target, _dot(builder, lanes, gram_row, codes, order), flags=FAST)
            wide = lanes.broadcast(curvature)
            new = lanes.positive(builder.fadd(old, builder.fdiv(slope, wide, flags=FAST), flags=FAST))
            lanes.store(new, codes, k)
            move = doubles.widened(builder.fmul(wide, builder.fsub(new, old, flags=FAST), flags=FAST))
            square = builder.fmul(move, move, flags=FAST)
            builder.store(builder.fadd(builder.load(moved), square, flags=FAST), moved)
        with flat:
            priced = builder.fcmp_ordered("<", target, lanes.zero)
            lanes.store(builder.select(priced, lanes.zero, old), codes, k)


def _dot(builder: ir.IRBuilder, lanes: "_Lanes", gram_row: ir.Value, codes: ir.Value, order: ir.Value) -> ir.Value:
    """Σ_j G_kj h_j of every lane, in two sums so that one addition need not wait for the other."""

    def added(total: ir.Value, j: ir.Value) -> ir.Value:
        weight = lanes.broadcast(builder.load(builder.gep(gram_row, [j])))
        return builder.fadd(total, builder.fmul(weight, lanes.load(codes, j), flags=FAST), flags=FAST)

    def added_pair(sums: Sequence[ir.Value], pair: ir.Value) -> list[ir.Value]:
        first = builder.shl(pair, INDEX(1))
        return [added(sums[0], first), added(sums[1], builder.add(first, INDEX(1)))]

    even, odd = _folded(builder, builder.lshr(order, INDEX(1)), [lanes.zero, lanes.zero], added_pair)
    rest = builder.and_(order, INDEX(1))
    (odd,) = _folded(builder, rest, [odd], lambda sums, _: [added(sums[0], builder.sub(order, INDEX(1)))])
    return builder.fadd(even, odd, flags=FAST)


def _folded(builder: ir.IRBuilder, count: ir.Value, values: Sequence[ir.Value], step: Any) -> list[ir.Value]:
    """Values in registers after ``values = step(values, i)`` for i = 0..count-1."""
    before = builder.block
    body, after = builder.append_basic_block(), builder.append_basic_block()
    some = builder.icmp_unsigned(">", count, INDEX(0))
    builder.cbranch(some, body, after)
    builder.position_at_end(body)
    index = builder.phi(INDEX)
    running = [builder.phi(value.type) for value in values]
    new = step(running, index)
    following = builder.add(index, INDEX(1))
    builder.cbranch(builder.icmp_unsigned("<", following, count), body, after)
    index.add_incoming(INDEX(0), before)
    index.add_incoming(following, builder.block)
    for phi, first, later in zip(running, values, new, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, builder.block)
    body_end = builder.block
    builder.position_at_end(after)
    results = [builder.phi(value.type) for value in values]
    for phi, first, later in zip(results, values, new, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, body_end)
    return results


@contextmanager
def _counted(builder: ir.IRBuilder, count: ir.Value) -> Iterator[tuple[ir.Value, Any]]:
    """A loop over 0..count-1: its index, and ``leave(condition)``, to be called last if it may end early."""
    before = builder.block
    head, body, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(INDEX)
    index.add_incoming(INDEX(0), before)
    builder.cbranch(builder.icmp_unsigned("<", index, count), body, after)
    builder.position_at_end(body)

    def leave(condition: ir.Value) -> None:
        going_on = builder.append_basic_block()
        builder.cbranch(condition, after, going_on)
        builder.position_at_end(going_on)

    yield index, leave
    following = builder.add(index, INDEX(1))
    index.add_incoming(following, builder.block)
    builder.branch(head)
    builder.position_at_end(after)


class _Rows:
    """Sixteen rows of a matrix, from the first on, whose rows and whose entries lie so many numbers apart."""

    def __init__(
        self, builder: ir.IRBuilder, matrix: ir.Value, first: ir.Value, row_stride: ir.Value, entry_stride: ir.Value
    ) -> None:
        self._builder, self._entry_stride = builder, entry_stride
        rows = [builder.add(first, INDEX(lane)) for lane in range(LANES)]
        self._starts = [builder.gep(matrix, [builder.mul(row, row_stride)]) for row in rows]

    def entries(self, k: ir.Value) -> list[ir.Value]:
        """Where entry k of each lies."""
        offset = self._builder.mul(k, self._entry_stride)
        return [self._builder.gep(start, [offset]) for start in self._starts]


class _Lanes:
    """Vectors of one number a sample."""

    def __init__(self, builder: ir.IRBuilder, number: ir.Type) -> None:
        self._builder = builder
        self._bytes = 8 if number == DOUBLE else 4
        self.vector = ir.VectorType(number, LANES)
        self.zero = ir.Constant(self.vector, [0.0] * LANES)

    def load(self, rows: ir.Value, row: ir.Value) -> ir.Value:
        loaded = self._builder.load(self._pointer(rows, row))
        loaded.align = self._bytes
        return loaded

    def store(self, value: ir.Value, rows: ir.Value, row: ir.Value) -> None:
        self._builder.store(value, self._pointer(rows, row)).align = self._bytes

    def _pointer(self, rows: ir.Value, row: ir.Value) -> ir.Value:
        first = self._builder.gep(rows, [self._builder.mul(row, INDEX(LANES))])
        return self._builder.bitcast(first, self.vector.as_pointer())

    def gather(self, rows: "_Rows", k: ir.Value) -> ir.Value:
        """Entry k of sixteen rows."""
        value = ir.Constant(self.vector, ir.Undefined)
        for lane, entry in enumerate(rows.entries(k)):
            value = self._builder.insert_element(value, self._builder.load(entry), ir.IntType(32)(lane))
        return value

    def scatter(self, value: ir.Value, rows: "_Rows", k: ir.Value) -> None:
        """Write entry k of sixteen rows."""
        for lane, entry in enumerate(rows.entries(k)):
            self._builder.store(self._builder.extract_element(value, ir.IntType(32)(lane)), entry)

    def broadcast(self, number: ir.Value) -> ir.Value:
        nothing = ir.Constant(self.vector, ir.Undefined)
        alone = self._builder.insert_element(nothing, number, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(alone, nothing, everywhere)

    def positive(self, value: ir.Value) -> ir.Value:
        return self._builder.select(self._builder.fcmp_ordered(">", value, self.zero), value, self.zero)

    def widened(self, value: ir.Value) -> ir.Value:
        return value if value.type == self.vector else self._builder.fpext(value, self.vector)

    def sum(self, value: ir.Value) -> ir.Value:
        total = ir.Constant(self.vector.element, 0.0)
        for lane in range(LANES):
            total = self._builder.fadd(total, self._builder.extract_element(value, ir.IntType(32)(lane)))
        return total
