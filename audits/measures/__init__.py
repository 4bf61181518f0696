"""What rules measure: one kind of measurement a module, shared by the rules that need it.

    source                        where a record stands in its source
    statistics                    the one error chance, and the tests that keep it
    census, losses, holes, tails  which records came, how often, and which never did
    excuses, added                what may leave records out; rows that even out ranks
    partitions, partition_forms   an order as a merge of contiguous parts
    deliverers, dealing, splits   which worker, rank or split delivered what
    weighted, shares, schedules   declared weights beside realised shares
    replacement, remainders       with or without replacement; what batches leave over
    draws, clones, layouts        draws along workers and ranks, and whether they are copies
    repeats, orders, mixing       what comes again in a later epoch; how well an order is mixed
    conditions, seeds, aspects    what two runs declare otherwise; what they have in common
    enumeration, places           which record stands at which place of the source, in two runs
    delivery, exchange, parting   orders and draws that races change; where runs part for good
    restarts, jumps               where a run was taken up again, and where it went on

A measurement gives numbers and never names a cause: that is the rules' part.
"""

from __future__ import annotations

__all__: list[str] = []
