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
