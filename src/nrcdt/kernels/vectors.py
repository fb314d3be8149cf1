"""The one instruction that the compiler does not find: four neighbouring numbers at once, at an address from data."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 4


@intrinsic
def add_quadratics(typing, total, i, table, j, width, t, mass):
    """Add ``mass * (table[j] + t * table[j + width] + t**2 * table[j + 2 * width])`` to ``total[i]``, for four i and j.

    Both arrays are contiguous and of float64, i, j and width of uint64; nothing is checked.
    """

    def write(context, builder, signature, values):
        def first_address(k):
            return context.make_array(signature.args[k])(context, builder, values[k]).data

        def address(start, place):
            return builder.bitcast(builder.gep(start, [place]), four.as_pointer())

        def spread(number):
            alone = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(
                alone, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            )

        def multiply_add(a, b, c):
            return builder.fadd(builder.fmul(a, b, flags=["contract"]), c, flags=["contract"])

        four = ir.VectorType(ir.DoubleType(), LANES)
        nothing = ir.Constant(four, ir.Undefined)
        _, i, _, j, width, t, mass = values
        sums, polynomials, t = first_address(0), first_address(2), spread(t)
        rows = [j, builder.add(j, width), builder.add(j, builder.add(width, width))]
        c0, c1, c2 = (builder.load(address(polynomials, row), align=8) for row in rows)
        share = multiply_add(t, multiply_add(t, c2, c1), c0)
        place = address(sums, i)
        builder.store(multiply_add(spread(mass), share, builder.load(place, align=8)), place, align=8)
        return context.get_dummy_value()

    return types.void(total, i, table, j, width, t, mass), write
