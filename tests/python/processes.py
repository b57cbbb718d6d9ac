"""A rank of two that are processes; its status is 0 if all was right."""

import sys

import ccs
from support import floats, schedule

ring = schedule("ring_allreduce", 2)
engine = "mpi" if sys.argv[1:] == ["mpi"] else "procs"
if engine == "mpi":
    comm = ccs.Comm.mpi()
elif len(sys.argv) == 1:
    comm = ccs.Comm.procs()
else:
    comm = ccs.Comm.procs(int(sys.argv[1]), 2, job=sys.argv[2])
with comm:
    assert comm.size == 2 and comm.ranks == (comm.rank,) and comm.engine == engine
    assert comm.gather(b"rank %d" % comm.rank) == [b"rank 0", b"rank 1"]
    data = floats(comm.rank, 5)
    ring.run(comm, data, data)
    assert data == floats(1, 10), data
    turned = comm.split(0, -comm.rank)
    assert (turned.rank, turned.size, turned.engine) == (1 - comm.rank, 2, engine)
    assert (comm.split(None if comm.rank else 3) is None) == (comm.rank == 1)
    alone = comm.group([1])
    assert (alone is None) == (comm.rank == 0) and (alone is None or alone.size == 1)
    turned.barrier()
    ring.run(turned, data, data)
    assert data == floats(2, 20), data
    peer, got = 1 - comm.rank, floats(0, 0)
    if comm.rank:
        comm.recv(got, 0)
        comm.send(floats(3, 4), 0)
    else:
        comm.send(floats(1, 2), 1)
        comm.recv(got, 1)
    assert got == (floats(1, 2) if comm.rank else floats(3, 4)), got
    give = comm.isend(floats(*[comm.rank] * 100_000), peer)  # both send first
    long = floats(*[9] * 100_000)
    comm.irecv(long, peer).wait()
    give.wait()
    assert long == floats(*[peer] * 100_000)
    if comm.rank and engine == "procs":
        for tag in (6, 5):
            comm.send(floats(tag, 0), 0, tag=tag)
    elif engine == "procs":
        assert comm.recv(got, tag=5) == 1 and got == floats(5, 0), got
        assert comm.recv(got, 1, tag=6) == 1 and got == floats(6, 0), got
    uneven = schedule("../examples/tutorials/uneven_all_to_all", 2)
    sizes = ([1, 2, 1, 3], [3, 4, 2, 4])[comm.rank]  # how many it sends to each rank, then how many it gets
    mine = floats(*[10 * comm.rank + i for i in range(sum(sizes[:2]))])
    parts = floats(*[0] * sum(sizes[2:]))
    uneven.run(comm, mine, parts, sizes=sizes)
    assert parts == (floats(0, 10, 11, 12), floats(1, 2, 13, 14, 15, 16))[comm.rank], parts
    with comm.batch() as batch:
        batch.send(floats(comm.rank, 8), peer)
        batch.recv(got, peer)
    assert got == floats(peer, 8), got
    for call, wrong, text in (
        ((comm.send, comm.recv)[comm.rank], floats(*[7] * (comm.rank + 2)), "must be the same"),
        (comm.send, floats(1), "own peer"),
    ):
        try:
            call(wrong, peer if text != "own peer" else comm.rank)
        except ccs.CcsError as error:
            assert error.status == ccs.Status.EINVAL and text in str(error), error
        else:
            sys.exit("a message that is wrong went through")
    comm.set_timeout(20)
    try:
        ring.run(comm, data, data, ("sum", "max")[comm.rank])
    except ccs.CcsError as error:
        print(error.status.name, error)
    else:
        sys.exit("calls that differ were run")
