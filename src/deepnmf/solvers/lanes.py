"""One coordinate of sixteen samples at once, in vector registers. Imported at the first fit, with numba.

Left to itself the compiler keeps running sums of several samples in memory. Here they are LLVM vectors, two of them
so that one addition need not wait for the other: no sum across a register, and no loop too short to fill one.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
SUMS = 2
FAST = ("fast",)
INDEX = ir.IntType(64)


@intrinsic
def visit_coordinate(_typing, gram, codes, targets, moved, k):  # type: ignore[no-untyped-def]
    """Minimise ½ h G hᵀ - f h over the k-th entry h_k >= 0 of every lane.

    `gram` (r, r) must be C-contiguous with G_kk > 0; `codes` and `targets` (r, LANES) hold a sample a column, and
    `moved` (1, LANES), of doubles, adds up (G_kk · change)².
    """
    return types.void(gram, codes, targets, moved, k), _visit


def _visit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    gram, codes, targets, moved = (
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args[:4], args[:4], strict=True)
    )
    k = args[4]
    lanes = _Lanes(builder, context.get_value_type(signature.args[1].dtype))
    doubles = _Lanes(builder, ir.DoubleType())
    order = builder.extract_value(codes.shape, 0)
    gram_row = builder.gep(gram.data, [builder.mul(k, order)])

    slope = builder.fsub(lanes.load(targets, k), _dot(builder, lanes, gram_row, codes, order), flags=FAST)
    curvature = lanes.broadcast(builder.load(builder.gep(gram_row, [k])))
    old = lanes.load(codes, k)
    new = lanes.positive(builder.fadd(old, builder.fdiv(slope, curvature, flags=FAST), flags=FAST))
    lanes.store(new, codes, k)

    move = doubles.widen(builder.fmul(curvature, builder.fsub(new, old, flags=FAST), flags=FAST))
    first = INDEX(0)
    square = builder.fmul(move, move, flags=FAST)
    doubles.store(builder.fadd(doubles.load(moved, first), square, flags=FAST), moved, first)
    return context.get_dummy_value()


def _dot(builder: Any, lanes: "_Lanes", gram_row: Any, codes: Any, order: Any) -> Any:
    """Σ_j G_kj h_j of every lane."""
    sums = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(SUMS)]

    def add(j: Any, into: Any) -> None:
        weight = lanes.broadcast(builder.load(builder.gep(gram_row, [j])))
        term = builder.fmul(weight, lanes.load(codes, j), flags=FAST)
        builder.store(builder.fadd(builder.load(into), term, flags=FAST), into)

    even = builder.sub(order, builder.urem(order, INDEX(SUMS)))
    with cgutils.for_range_slice(builder, INDEX(0), even, INDEX(SUMS)) as (j, _):
        for offset, into in enumerate(sums):
            add(builder.add(j, INDEX(offset)), into)
    with cgutils.for_range_slice(builder, even, order, INDEX(1)) as (j, _):
        add(j, sums[0])
    total = builder.load(sums[0])
    for other in sums[1:]:
        total = builder.fadd(total, builder.load(other), flags=FAST)
    return total


class _Lanes:
    """Vectors of one number a sample."""

    def __init__(self, builder: Any, number: Any) -> None:
        self._builder = builder
        self._vector = ir.VectorType(number, LANES)
        self._bytes = 8 if isinstance(number, ir.DoubleType) else 4
        self.zero = ir.Constant(self._vector, [0.0] * LANES)

    def load(self, array: Any, row: Any) -> Any:
        loaded = self._builder.load(self._pointer(array, row))
        loaded.align = self._bytes
        return loaded

    def store(self, value: Any, array: Any, row: Any) -> None:
        self._builder.store(value, self._pointer(array, row)).align = self._bytes

    def _pointer(self, array: Any, row: Any) -> Any:
        first = self._builder.gep(array.data, [self._builder.mul(row, INDEX(LANES))])
        return self._builder.bitcast(first, self._vector.as_pointer())

    def broadcast(self, number: Any) -> Any:
        nothing = ir.Constant(self._vector, ir.Undefined)
        alone = self._builder.insert_element(nothing, number, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(alone, nothing, everywhere)

    def positive(self, value: Any) -> Any:
        return self._builder.select(self._builder.fcmp_ordered(">", value, self.zero), value, self.zero)

    def widen(self, value: Any) -> Any:
        return value if value.type == self._vector else self._builder.fpext(value, self._vector)
