# shellcheck shell=sh disable=SC2034,SC2154 # what it sets is used there, and what it uses is set
# For preload_test.sh and mpis_test.sh, which source it after support/lib.sh. In: $m, the modules.

all=allreduce:$m/ring_allreduce.so,reduce_scatter_block:$m/ring_reduce_scatter.so
all=$all,allgather:$m/ring_allgather.so,broadcast:$m/binomial_broadcast.so
all=$all,reduce:$m/binomial_reduce.so,alltoall:$m/direct_all_to_all.so
all=$all,gather:$m/binomial_gather.so,scatter:$m/binomial_scatter.so
all=$all,barrier:$m/dissemination_barrier.so
collectives="allreduce reduce_scatter_block allgather broadcast reduce alltoall gather scatter barrier"

# After preload_forms, which prints collective and name of each call: the report has all of them,
# and nothing else that is MPI's.
forms_counted() {
	sort "$tmp/out" | uniq -c | awk '{ print $2, $3, $1 }' | sort >"$tmp/called"
	sed -n 's/^libccs-mpi: \([a-z_]*\): \([0-9]*\) calls* by MPI: \([A-Za-z_]*\).*/\1 \3 \2/p' \
		"$tmp/err" | sort >"$tmp/counted"
	holds "... each is counted by its name" cmp "$tmp/called" "$tmp/counted"
	holds "... and there are some" test "$(wc -l <"$tmp/called")" -ge 21
}

# After preload_fortran: the forms that it calls, and these.
fortran_forms_counted() {
	for form in "allreduce: 1 call by MPI: MPI_Iallreduce is nonblocking" \
		"allgather: 1 call by MPI: MPI_Allgatherv has one count per rank" \
		"alltoall: 1 call by MPI: MPI_Alltoallv has one count per rank" \
		"barrier: 1 call by MPI: MPI_Ibarrier is nonblocking" "$@"; do
		says "... $form" "$tmp/err" "^libccs-mpi: $form\$"
	done
	holds "... and nothing else left to MPI" test "$(grep -c 'by MPI:' "$tmp/err")" = $((4 + $#))
}
