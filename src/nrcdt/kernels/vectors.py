"""The instructions that the compiler does not find: four neighbouring numbers at once, at an address from data.

Arrays are contiguous and of float64, places in them of uint64; nothing is checked.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES, NUMBERS = 4, 16

_FOUR = ir.VectorType(ir.DoubleType(), LANES)
_PLACES = ir.VectorType(ir.IntType(32), LANES)
_PAIR = ir.VectorType(ir.DoubleType(), 2)
_SIXTEEN = ir.VectorType(ir.IntType(32), NUMBERS)


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _address(builder, start, place):
    return builder.bitcast(builder.gep(start, [place]), _FOUR.as_pointer())


def _spread(builder, number, kind=_FOUR):
    anything = ir.Constant(kind, ir.Undefined)
    alone = builder.insert_element(anything, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        alone, anything, ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    )


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
        numbers = builder.load(builder.bitcast(builder.gep(numbers, [j]), _PLACES.as_pointer()), align=4)
        t = builder.fmul(builder.load(_address(builder, shares, j), align=8), _spread(builder, total))
        pairs = []
        for lane in range(LANES):
            number = builder.zext(builder.extract_element(numbers, ir.Constant(ir.IntType(32), lane)), ir.IntType(64))
            pair = builder.bitcast(builder.gep(sums, [number]), _PAIR.as_pointer())
            pairs.append(builder.load(pair, align=8))
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
        address = builder.bitcast(builder.gep(start, [i]), _SIXTEEN.as_pointer())
        numbers, zeros = builder.load(address, align=4), ir.Constant(_SIXTEEN, [0] * NUMBERS)
        for step in (1, 2, 4, 8):
            lanes = ir.Constant(_SIXTEEN, [lane - step if lane >= step else NUMBERS for lane in range(NUMBERS)])
            numbers = _larger_number(builder, numbers, builder.shuffle_vector(numbers, zeros, lanes))
        numbers = _larger_number(builder, numbers, _spread(builder, before, _SIXTEEN))
        builder.store(numbers, address, align=4)
        return builder.extract_element(numbers, ir.Constant(ir.IntType(32), NUMBERS - 1))

    return types.int32(array, i, before), write
