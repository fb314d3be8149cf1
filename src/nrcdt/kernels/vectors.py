"""The instructions that the compiler does not find: several neighbouring numbers at once.

Arrays are contiguous, places in them of uint64; nothing is checked. For images, numbers are of float64 and come in
fours, at an address from data. For clouds, they are of float32 or float64 and come in blocks, or as many as fill a
register.
"""

from __future__ import annotations

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES, EIGHT, NUMBERS, BLOCK = 4, 8, 16, 16
BYTES = 64 if get_host_cpu_features().get("avx512f") else 32  # of a register
ROUNDS = 3

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_PLACES = ir.VectorType(ir.IntType(32), LANES)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_SIXTEEN = ir.VectorType(ir.IntType(32), NUMBERS)
_SHORTS = ir.VectorType(ir.IntType(16), BLOCK)


class Vector(types.Type):
    """Some neighbouring numbers: for variables of a kernel."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(f"Vector({dtype}, {count})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """Tells the compiler that it is one."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, _vector(kind.dtype, kind.count))


def _vector(dtype, count):
    return ir.VectorType(ir.FloatType() if dtype.bitwidth == 32 else ir.DoubleType(), count)


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _address(builder, start, place, kind=_FOUR):
    return builder.bitcast(builder.gep(start, [place]), kind.as_pointer())


def _spread(builder, number, kind=_FOUR):
    anything = ir.Constant(kind, ir.Undefined)
    alone = builder.insert_element(anything, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        alone, anything, ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    )


def _mix(builder, a, b, lanes):
    """Take the given lanes of two vectors put one behind the other."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes)))


def _moved(builder, numbers, zeros, step):
    """The numbers so many lanes further, with zeros before them."""
    return _mix(builder, zeros, numbers, range(NUMBERS - step, 2 * NUMBERS - step))


def _multiply_add(builder, a, b, c):
    return builder.fadd(builder.fmul(a, b, flags=["contract"]), c, flags=["contract"])


def _multiply_subtract(builder, a, b, c):
    return builder.fsub(builder.fmul(a, b, flags=["contract"]), c, flags=["contract"])


def _smaller(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _larger_number(builder, a, b):
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _add(builder, start, place, mass, share):
    address = _address(builder, start, place)
    total = _multiply_add(builder, _spread(builder, mass), share, builder.load(address, align=8))
    builder.store(total, address, align=8)


@intrinsic
def add_quadratics(typing, total, i, table, j, width, t, mass):
    """Add to ``total[i]``, for four i and j, mass times ``table[j] + t table[j + width] + t**2 table[j + 2 width]``."""

    def write(context, builder, signature, values):
        sums = _data(context, builder, signature.args[0], values[0])
        polynomials = _data(context, builder, signature.args[2], values[2])
        _, i, _, j, width, t, mass = values
        t = _spread(builder, t)
        rows = [j, builder.add(j, width), builder.add(j, builder.add(width, width))]
        c0, c1, c2 = (builder.load(_address(builder, polynomials, row), align=8) for row in rows)
        share = _multiply_add(builder, t, _multiply_add(builder, t, c2, c1), c0)
        _add(builder, sums, i, mass, share)
        return context.get_dummy_value()

    return types.void(total, i, table, j, width, t, mass), write


@intrinsic
def add_shares(typing, total, i, edge, mass, short, long):
    """Add to ``total[i]``, for four i, the mass times 2 short long times the share of a shadow before four edges.

    The shadow starts at 0, rises over `short`, is flat up to `long`, falls until ``short + long``; the edges lie at
    `edge` > 0 and one, two and three behind it. Where z is the edge, or the end of the shadow if that comes first, and
    u = min(z, short) and v = max(z - long, 0), the share times 2 short long is u (2 z - u) - v**2.
    """

    def write(context, builder, signature, values):
        sums = _data(context, builder, signature.args[0], values[0])
        _, i, edge, mass, short, long = values
        edge, short, long = (_spread(builder, number) for number in (edge, short, long))
        edges = builder.fadd(edge, ir.Constant(_FOUR, [0.0, 1.0, 2.0, 3.0]))
        z = _smaller(builder, edges, builder.fadd(short, long))
        u = _smaller(builder, z, short)
        v = _larger(builder, builder.fsub(z, long), ir.Constant(_FOUR, [0.0] * LANES))
        rise = _multiply_subtract(builder, ir.Constant(_FOUR, [2.0] * LANES), z, u)
        share = _multiply_subtract(builder, rise, u, builder.fmul(v, v, flags=["contract"]))
        _add(builder, sums, i, mass, share)
        return context.get_dummy_value()

    return types.void(total, i, edge, mass, short, long), write


@intrinsic
def place_levels(typing, cumulative, strips, levels, j, total, nearly, out):
    """Write into ``out[j]``, for four j, where in strip ``strips[j]`` the cumulative mass is ``levels[j] * total``.

    Places are counted in strips. Return whether all four lie inside, short of both ends by a factor of `nearly`.
    """

    def write(context, builder, signature, values):
        sums, numbers, shares, places = (_data(context, builder, signature.args[k], values[k]) for k in (0, 1, 2, 6))
        _, _, _, j, total, nearly, _ = values
        numbers = builder.load(_address(builder, numbers, j, _PLACES), align=4)
        t = builder.fmul(builder.load(_address(builder, shares, j), align=8), _spread(builder, total))
        pairs = []
        for lane in range(LANES):
            number = builder.zext(builder.extract_element(numbers, ir.Constant(ir.IntType(32), lane)), ir.IntType(64))
            pairs.append(builder.load(_address(builder, sums, number, _PAIR), align=8))
        halves = [builder.shuffle_vector(pairs[k], pairs[k + 1], ir.Constant(_PLACES, [0, 2, 1, 3])) for k in (0, 2)]
        below = builder.shuffle_vector(*halves, ir.Constant(_PLACES, [0, 1, 4, 5]))
        above = builder.shuffle_vector(*halves, ir.Constant(_PLACES, [2, 3, 6, 7]))
        share = builder.fdiv(builder.fsub(t, below), builder.fsub(above, below))
        builder.store(builder.fadd(builder.sitofp(numbers, _FOUR), share), _address(builder, places, j), align=8)
        nearly = _spread(builder, nearly)
        later = builder.fcmp_ordered("<", below, builder.fmul(t, nearly))
        before = builder.fcmp_ordered(">", builder.fmul(above, nearly), t)
        inside = builder.bitcast(builder.and_(later, before), ir.IntType(LANES))
        return builder.icmp_unsigned("==", inside, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(cumulative, strips, levels, j, total, nearly, out), write


@intrinsic
def running_maximum(typing, array, i, before):
    """Replace ``array[i]``, for 16 i, by the largest up to there or `before`; return the last. No int32 is negative."""

    def write(context, builder, signature, values):
        start = _data(context, builder, signature.args[0], values[0])
        _, i, before = values
        address = _address(builder, start, i, _SIXTEEN)
        numbers, zeros = builder.load(address, align=4), ir.Constant(_SIXTEEN, [0] * NUMBERS)
        for step in (1, 2, 4, 8):
            numbers = _larger_number(builder, numbers, _moved(builder, numbers, zeros, step))
        numbers = _larger_number(builder, numbers, _spread(builder, before, _SIXTEEN))
        builder.store(numbers, address, align=4)
        return builder.extract_element(numbers, ir.Constant(ir.IntType(32), NUMBERS - 1))

    return types.int32(array, i, before), write


@intrinsic
def running_sum(typing, counts, i, before, limit):
    """Replace ``counts[i]``, for 16 i, by `before` and all counts before i; return the sum with all 16, and bits.

    A bit says that the count was above the limit. Counts, sums and bits are of uint32.
    """

    def write(context, builder, signature, values):
        start = _data(context, builder, signature.args[0], values[0])
        _, i, before, limit = values
        address = _address(builder, start, i, _SIXTEEN)
        counts, zeros = builder.load(address, align=4), ir.Constant(_SIXTEEN, [0] * NUMBERS)
        sums = counts
        for step in (1, 2, 4, 8):
            sums = builder.add(sums, _moved(builder, sums, zeros, step))
        above = builder.icmp_unsigned(">", counts, _spread(builder, limit, _SIXTEEN))
        builder.store(builder.add(builder.sub(sums, counts), _spread(builder, before, _SIXTEEN)), address, align=4)
        total = builder.add(before, builder.extract_element(sums, ir.Constant(ir.IntType(32), NUMBERS - 1)))
        bits = builder.zext(builder.bitcast(above, ir.IntType(NUMBERS)), ir.IntType(32))
        return context.make_tuple(builder, signature.return_type, (total, bits))

    return types.UniTuple(types.uint32, 2)(counts, i, before, limit), write


def _exchanged(builder, numbers, distances):
    """Compare every lane of a block with the one whose number differs by these bits; the smaller number goes first."""
    for distance in distances:
        lanes = [lane ^ distance for lane in range(BLOCK)]
        others = _mix(builder, numbers, numbers, lanes)
        low, high = _smaller(builder, numbers, others), _larger(builder, numbers, others)
        numbers = _mix(builder, low, high, [lane + BLOCK * (lane > lanes[lane]) for lane in range(BLOCK)])
    return numbers


def _sorted(builder, numbers):
    """Sort a block by a bitonic network, which merges sorted lanes, then pairs of them, fours and eights."""
    for distances in ((1,), (3, 1), (7, 2, 1), (15, 4, 2, 1)):
        numbers = _exchanged(builder, numbers, distances)
    return numbers


def _chosen(builder, numbers, choices):
    """Halve a block four times, choosing one of two numbers, and return the last."""
    for choose, half in zip(choices, (8, 4, 2, 1), strict=True):
        numbers = choose(builder, *(_mix(builder, numbers, numbers, range(k, k + half)) for k in (0, half)))
    return builder.extract_element(numbers, ir.Constant(ir.IntType(32), 0))


@intrinsic
def extremes(typing, array):
    """The smallest and the largest of an array that is some blocks long, and both without regard to a few numbers.

    Number k of every block is in sixteenth k. Of four sixteenths the one counts whose extreme is the least so.
    """

    def write(context, builder, signature, values):
        numbers = context.make_array(signature.args[0])(context, builder, values[0])
        (length,) = cgutils.unpack_tuple(builder, numbers.shape)
        kind, size = _vector(array.dtype, BLOCK), array.dtype.bitwidth // 8
        first = builder.load(_address(builder, numbers.data, ir.Constant(length.type, 0), kind), align=size)
        low, high = (cgutils.alloca_once_value(builder, first) for _ in range(2))
        with cgutils.for_range_slice(
            builder, ir.Constant(length.type, BLOCK), length, ir.Constant(length.type, BLOCK), inc=True
        ) as (i, _):
            block = builder.load(_address(builder, numbers.data, i, kind), align=size)
            builder.store(_smaller(builder, builder.load(low), block), low)
            builder.store(_larger(builder, builder.load(high), block), high)
        low, high = builder.load(low), builder.load(high)
        ends = [_chosen(builder, low, [_smaller] * 4), _chosen(builder, high, [_larger] * 4)]
        ends += [_chosen(builder, low, [_larger] * 2 + [_smaller] * 2)]
        ends += [_chosen(builder, high, [_smaller] * 2 + [_larger] * 2)]
        return context.make_tuple(builder, signature.return_type, ends)

    return types.UniTuple(array.dtype, 4)(array), write


@intrinsic
def project_and_number(typing, points, direction, i, scale, values, numbers, j):
    """Write the inner products of a block of points to ``values[j]``, and which buckets they are for to ``numbers[j]``.

    The block begins at place i of the rows of `points`, which are coordinates, three at most; `direction` is three
    numbers, zero where there is no row. The six numbers of `scale` lay the buckets; none of those per unit is negative,
    so that every step is monotone also when rounded, and buckets are in the order of the values.
    """

    def write(context, builder, signature, arguments):
        cloud = context.make_array(signature.args[0])(context, builder, arguments[0])
        heading, factors = (cgutils.unpack_tuple(builder, arguments[k]) for k in (1, 3))
        products, buckets = (_data(context, builder, signature.args[k], arguments[k]) for k in (4, 5))
        i, j = arguments[2], arguments[6]
        kind, size = _vector(values.dtype, BLOCK), values.dtype.bitwidth // 8
        n_rows, length = cgutils.unpack_tuple(builder, cloud.shape)
        value = None
        for r, component in enumerate(heading):
            row = ir.Constant(n_rows.type, r)
            row = builder.select(builder.icmp_signed("<", row, n_rows), row, ir.Constant(n_rows.type, 0))
            place = builder.add(builder.mul(row, length), i)
            block = builder.load(_address(builder, cloud.data, place, kind), align=size)
            term = builder.fmul(block, _spread(builder, component, kind))
            value = builder.fadd(value, term) if value else term
        builder.store(value, _address(builder, products, j, kind), align=size)
        middle, reach, outer, extra, centre, top = (_spread(builder, factor, kind) for factor in factors)
        t = builder.fsub(value, middle)
        inner = _larger(builder, _smaller(builder, t, reach), builder.fneg(reach))
        u = _multiply_add(builder, inner, extra, _multiply_add(builder, t, outer, centre))
        u = _smaller(builder, _larger(builder, u, ir.Constant(kind, [0.0] * BLOCK)), top)
        places = builder.trunc(builder.fptosi(u, _SIXTEEN), _SHORTS)
        builder.store(places, _address(builder, buckets, j, _SHORTS), align=2)
        return context.get_dummy_value()

    return types.void(points, direction, i, scale, values, numbers, j), write


@intrinsic
def sort_block(typing, array, i):
    """Sort the block of numbers from ``array[i]`` on."""

    def write(context, builder, signature, values):
        kind, size = _vector(array.dtype, BLOCK), array.dtype.bitwidth // 8
        address = _address(builder, _data(context, builder, signature.args[0], values[0]), values[1], kind)
        builder.store(_sorted(builder, builder.load(address, align=size)), address, align=size)
        return context.get_dummy_value()

    return types.void(array, i), write


@intrinsic
def load_block(typing, array, i):
    """The block of numbers from ``array[i]`` on, as one variable."""
    vector = Vector(array.dtype, BLOCK)

    def write(context, builder, signature, values):
        address = _address(builder, _data(context, builder, array, values[0]), values[1], _vector(array.dtype, BLOCK))
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return vector(array, i), write


@intrinsic
def store_block(typing, block, array, i):
    """Write a block of numbers to ``array[i]``."""

    def write(context, builder, signature, values):
        address = _address(builder, _data(context, builder, array, values[1]), values[2], _vector(array.dtype, BLOCK))
        builder.store(values[0], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(block, array, i), write


@intrinsic
def merge_blocks(typing, first, second):
    """The smaller half of the numbers in two sorted blocks, and the larger half; both are sorted."""

    def write(context, builder, signature, values):
        a, b = values[0], _mix(builder, values[1], values[1], range(BLOCK - 1, -1, -1))
        halves = [_exchanged(builder, half, (8, 4, 2, 1)) for half in (_smaller(builder, a, b), _larger(builder, a, b))]
        return context.make_tuple(builder, signature.return_type, halves)

    return types.UniTuple(first, 2)(first, second), write


@intrinsic
def count_up_to(typing, array, i, number):
    """How many of the eight numbers from ``array[i]`` on are not above the given one, as uint64."""

    def write(context, builder, signature, values):
        start = _data(context, builder, signature.args[0], values[0])
        kind, size = _vector(array.dtype, EIGHT), array.dtype.bitwidth // 8
        numbers = builder.load(_address(builder, start, values[1], kind), align=size)
        below = builder.fcmp_ordered("<=", numbers, _spread(builder, values[2], kind))
        return builder.zext(builder.ctpop(builder.bitcast(below, ir.IntType(EIGHT))), ir.IntType(64))

    return types.uint64(array, i, number), write


@intrinsic
def nothing_compared(typing, like):
    """What `compare_neighbours` takes first: minus infinities of the dtype of an array."""
    vector = Vector(like.dtype, 8 * BYTES // like.dtype.bitwidth)

    def write(context, builder, signature, values):
        lowest = ir.Constant(_vector(vector.dtype, vector.count), [float("-inf")] * vector.count)
        return context.make_tuple(builder, signature.return_type, [lowest] * (5 * ROUNDS))

    return types.UniTuple(vector, 5 * ROUNDS)(like), write


@intrinsic
def compare_neighbours(typing, compared, values, out, i):
    """One step of a network along an array: take two vectors of values from place i on, write two to ``out[i]``.

    A phase compares every other pair of neighbours and puts the smaller one first: one phase, then ROUNDS of two. Even
    and odd places lie in vectors of their own. A round needs the vectors behind its own, and takes what the one before
    it made a step ago, so that no round waits for another. What is written is therefore 2 ROUNDS steps old. `compared`
    is all that is remembered, and is returned for the next step.
    """
    n = compared.dtype.count

    def write(context, builder, signature, arguments):
        source, target = (_data(context, builder, signature.args[k], arguments[k]) for k in (1, 2))
        remembered, i = cgutils.unpack_tuple(builder, arguments[0]), arguments[3]
        kind, size = _vector(values.dtype, n), values.dtype.bitwidth // 8
        places = i, builder.add(i, ir.Constant(i.type, n))

        def sort(a, b):
            return _smaller(builder, a, b), _larger(builder, a, b)

        vectors = [builder.load(_address(builder, source, place, kind), align=size) for place in places]
        taken = sort(_mix(builder, *vectors, range(0, 2 * n, 2)), _mix(builder, *vectors, range(1, 2 * n, 2)))
        remember = []
        for r in range(ROUNDS):
            even, odd, last_odd, last_low, last_high = remembered[5 * r : 5 * r + 5]
            low, high = sort(_mix(builder, last_odd, odd, range(n - 1, 2 * n - 1)), even)
            remember += [*taken, odd, low, high]
            taken = sort(last_high, _mix(builder, last_low, low, range(1, n + 1)))
        in_turn = [lane // 2 + n * (lane % 2) for lane in range(2 * n)]
        for place, lanes in zip(places, (in_turn[:n], in_turn[n:]), strict=True):
            builder.store(_mix(builder, *taken, lanes), _address(builder, target, place, kind), align=size)
        return context.make_tuple(builder, signature.return_type, remember)

    return compared(compared, values, out, i), write
