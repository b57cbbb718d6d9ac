! A program of MPI's in Fortran, for preload_test.sh: each collective that can be taken, also in
! place, and other forms that are not, with results that follow from the ranks alone. By `use mpi`; -D_f08: by `use mpi_f08`.
program preload_fortran
#ifdef _f08
	use mpi_f08
	implicit none
	type(MPI_Comm) :: turned
	type(MPI_Request) :: request
#else
	use mpi
	implicit none
	integer :: turned, request
#endif
	integer, parameter :: m = 100
	integer :: e, rank, n, wrong, q, provided
	integer, allocatable :: one(:), all(:), blocks(:), counts(:), places(:)

	call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided, e)
	call MPI_Comm_size(MPI_COMM_WORLD, n, e)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, e)
	allocate(one(m), all(m * n), blocks(m * n))
	wrong = 0

	one = rank + 1
	call MPI_Allreduce(one, all, m, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
	call check(all(:m), n * (n + 1) / 2)
	call MPI_Allreduce(MPI_IN_PLACE, one, m, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, e)
	call check(one, n)

	all = rank + 1
	call MPI_Reduce_scatter_block(all, one, m, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, e)
	call check(one, n * (n + 1) / 2)

	one = rank
	all = -1
	call MPI_Allgather(one, m, MPI_INTEGER, all, m, MPI_INTEGER, MPI_COMM_WORLD, e)
	call check_blocks(all)
	all = -1
	all(m * rank + 1 : m * rank + m) = rank
	call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, all, m, MPI_INTEGER, MPI_COMM_WORLD, e)
	call check_blocks(all)

	one = rank
	call MPI_Bcast(one, m, MPI_INTEGER, n - 1, MPI_COMM_WORLD, e)
	call check(one, n - 1)

	one = rank + 1
	call MPI_Reduce(one, all, m, MPI_INTEGER, MPI_SUM, n - 1, MPI_COMM_WORLD, e)
	if (rank == n - 1) call check(all(:m), n * (n + 1) / 2)

	blocks = rank
	call MPI_Alltoall(blocks, m, MPI_INTEGER, all, m, MPI_INTEGER, MPI_COMM_WORLD, e)
	call check_blocks(all)
	call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, blocks, m, MPI_INTEGER, MPI_COMM_WORLD, e)
	call check_blocks(blocks)

	one = rank
	all = -1
	call MPI_Gather(one, m, MPI_INTEGER, all, m, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
	if (rank == 0) call check_blocks(all)
	one = -1
	call MPI_Scatter(all, m, MPI_INTEGER, one, m, MPI_INTEGER, 0, MPI_COMM_WORLD, e)
	call check(one, rank)

	call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, turned, e)
	one = rank
	call MPI_Bcast(one, m, MPI_INTEGER, 0, turned, e)
	call check(one, n - 1)
	call MPI_Comm_free(turned, e)

	one = rank + 1
	call MPI_Iallreduce(MPI_IN_PLACE, one, m, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, e)
	call MPI_Wait(request, MPI_STATUS_IGNORE, e)
	call check(one, n * (n + 1) / 2)
	counts = [(m, q = 0, n - 1)]
	places = [(m * q, q = 0, n - 1)]
	one = rank
	call MPI_Allgatherv(one, m, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, e)
	call check_blocks(all)
	blocks = rank
	call MPI_Alltoallv(blocks, counts, places, MPI_INTEGER, all, counts, places, MPI_INTEGER, &
		MPI_COMM_WORLD, e)
	call check_blocks(all)
	call MPI_Ibarrier(MPI_COMM_WORLD, request, e)
	call MPI_Wait(request, MPI_STATUS_IGNORE, e)
	call MPI_Barrier(MPI_COMM_WORLD, e)
#ifdef _persistent
	one = rank + 1
	call MPI_Allreduce_init(MPI_IN_PLACE, one, m, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
		MPI_INFO_NULL, request, e)
	call MPI_Start(request, e)
	call MPI_Wait(request, MPI_STATUS_IGNORE, e)
	call MPI_Request_free(request, e)
	call check(one, n * (n + 1) / 2)
#endif
	call MPI_Finalize(e)
	if (wrong /= 0) stop 1

contains
	subroutine check(values, wanted)
		integer, intent(in) :: values(:), wanted

		if (any(values /= wanted)) then
			print *, 'rank', rank, ': wanted', wanted, ', got', values(1)
			wrong = wrong + 1
		end if
	end subroutine

	! A block from each rank.
	subroutine check_blocks(values)
		integer, intent(in) :: values(:)

		do q = 0, n - 1
			call check(values(m * q + 1 : m * q + m), q)
		end do
	end subroutine
end program
