#!/bin/sh
# Makes the pictures that the documents show, and docs/schedules.md, which shows each schedule of the library.
# A test compares these files with those in the repository.     usage: docs/pictures.sh CCC FOLDER
set -eu
ccc=$1 to=$2
mkdir -p "$to/pictures/library"

# picture NAME ARGUMENTS: of a schedule that is right, or wrong
picture() {
	name=$1
	shift
	"$ccc" explain "$@" -o "$to/pictures/$name.svg" 2>/dev/null || [ $? = 1 ]
}
picture ring_allreduce schedules/ring_allreduce.ccs -n 4
picture deadlock schedules/broken/all_send_first.ccs -n 4

# The course: lessonN_*, and the lesson's mistake.
tutorials=examples/tutorials broken=schedules/broken
picture lesson1_pass_on $tutorials/pass_on.ccs -n 4
picture lesson1_mistake docs/course/no_receiver.ccs -I $tutorials -n 4
picture lesson2_ordered $tutorials/ordered_swap.ccs -n 2
picture lesson2_step docs/course/swap_in_a_step.ccs -I $tutorials -n 2
picture lesson2_mistake $broken/both_send_first.ccs -n 2 --slots 0
picture lesson3_broadcast schedules/binomial_broadcast.ccs -n 8
picture lesson3_reduce schedules/binomial_reduce.ccs -n 8
picture lesson3_mistake $broken/forgotten_rank.ccs -n 4
picture lesson4_server $tutorials/parameter_server.ccs -n 4
picture lesson4_doubling schedules/recursive_doubling_allreduce.ccs -n 4
picture lesson4_mistake $broken/send_and_reduce.ccs -n 4
picture lesson5_gather schedules/direct_gather.ccs -n 4
picture lesson5_allgather schedules/ring_allgather.ccs -n 4
picture lesson5_mistake $broken/no_wrap.ccs -n 4
picture lesson6_reduce_scatter schedules/ring_reduce_scatter.ccs -n 4
picture lesson6_all_to_all schedules/pairwise_all_to_all.ccs -n 4
picture lesson6_mistake $broken/wrong_chunk.ccs -n 4
picture lesson7_mistake $broken/counted_twice.ccs -n 4
picture lesson7_ring2d schedules/ring2d_allreduce.ccs -n 4
picture lesson7_mistake2 docs/course/wrong_part.ccs -I schedules -n 4
picture lesson8_trees schedules/double_binary_tree_allreduce.ccs -n 8 -D K=1
picture lesson8_mistake docs/course/same_half_twice.ccs -I schedules -n 4
picture lesson9_switch $tutorials/switch_allreduce.ccs -n 4
picture lesson9_mistake docs/course/switch_adds_itself.ccs -I $tutorials -n 4

picture pipeline_hang $broken/recv_late.csv
picture pipeline_buffered $broken/recv_late.csv --slots 2

{
	echo '# The schedules of the library'
	echo
	echo 'Each picture is `ccc explain schedules/NAME.ccs -n 8 -o NAME.svg`: a lane for each rank, time from left to'
	echo 'right, and an arrow for each message. `-o NAME.html` makes a page that plays. `make pictures` makes this page.'
	for file in schedules/*.ccs; do
		schedule=$(basename "$file" .ccs)
		picture "library/$schedule" "$file" -n 8
		echo
		echo "## $schedule"
		echo
		sed -n '/^\/\//!q; s/^\/\/ \{0,1\}//; p' "$file"
		echo
		echo "[$file](../$file)"
		echo
		echo "![How data moves in $schedule on 8 ranks](pictures/library/$schedule.svg)"
	done
} >"$to/schedules.md"
