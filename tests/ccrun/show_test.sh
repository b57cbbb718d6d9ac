#!/bin/sh
# ccrun --fill and --show: which values an expression has, where they come out, and what is said
# of expressions that have none. usage: show_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
gather=$modules/ring_allgather.so
sum=$modules/ring_allreduce.so
bare_environment
show() { timeout 60 "$ccrun" --show "$@"; }
# values WHAT BEFORE|AFTER RANK WANTED: the row that was shown of that rank
values() {
	row=$(sed -n "/^$2:/,/^\$/s/^  rank *$3  *//p" "$tmp/out" | tr -s ' ')
	if [ "$row" = "$4" ]; then ok "$1"; else not_ok "$1" "rank $3 has '$row', not '$4'"; fi
}

# ---- values -----------------------------------------------------------------------------------
status "--show" 0 show -n 4 --fill '2 * rank' "$sum"
says "... says what is run" "$tmp/out" \
	'^ring_allreduce: allreduce, 4 ranks, count 8 of float32, sum; inputs: 2 \* rank$'
values "... has the inputs" before 3 '6 6 6 6 6 6 6 6'
values "... and the results" after 0 '12 12 12 12 12 12 12 12'
says "... which were checked" "$tmp/out" '^wrong elements: 0 OK$'
holds "... and no times" sh -c "! grep -q GB/s '$tmp/out' && test ! -s '$tmp/err'"
status "without --fill" 0 show -n 4 "$sum"
says "... inputs are small numbers" "$tmp/out" 'count 8 of float32, sum; inputs: 10 \* rank \+ index$'
values "... of each rank" before 3 '30 31 32 33 34 35 36 37'
values "... whose sums people can add" after 0 '60 64 68 72 76 80 84 88'
status "... which int8 has not for long buffers" 0 show -n 4 "$sum" -d int8 -b 64 -e 512 -f 8
says "... so that short ones have them" "$tmp/out" 'count 64 of int8, sum; inputs: 10 \* rank \+ index$'
says "... and others are made up" "$tmp/out" 'count 512 of int8, sum$'
holds "... and are right" test "$(grep -c 'wrong elements: 0 OK' "$tmp/out")" = 2
status "... of every type and operator" 0 show -n 3 "$sum" -d all -o all
holds "... is right, too" test "$(grep -c 'wrong elements: 0 OK' "$tmp/out")" = 126
status "an element's index" 0 show -n 4 --fill '10 * rank + index' -d int64 \
	"$modules/ring_reduce_scatter.so"
values "... is that of the send buffer" before 2 '20 21 22 23 24 25 26 27'
values "... and the result has it" after 3 '84 88'
status "what nobody promises" 0 show -n 4 --fill 'rank + 1' "$modules/binomial_reduce.so" -r 2
values "... is not shown" after 1 '- - - - - - - -'
values "... all else is" after 2 '10 10 10 10 10 10 10 10'
status "many elements" 0 show -n 2 --fill index -d int32 -b 4000 -e 4000 "$sum"
values "... are left out in the middle" after 1 \
	'0 2 4 6 8 10 12 14 ... 988 more ... 1992 1994 1996 1998'
status "some ranks" 0 show -n 8 --fill rank -d uint8 "$gather" -b 16 -e 16
values "... are all there" after 7 '0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7'
status "far more of them" 0 "$build/bin/ccc" schedules/ring_allgather.ccs -n 40 --target=cpu \
	-o "$tmp/many.so"
status "... can be run" 0 show -n 40 --fill rank -d uint8 "$tmp/many.so"
says "... and are left out in the middle" "$tmp/out" '^  \.\.\. 20 more ranks \.\.\.$'
status "sizes, types and operators" 0 show -n 4 --fill 'rank + 1' "$sum" -b 16 -e 32 -f 2 \
	-d int8,float16 -o prod,avg,premul
holds "... are shown one after another" test "$(grep -c '^after' "$tmp/out")" = 12
holds "... all are right" test "$(grep -c 'wrong elements: 0 OK' "$tmp/out")" = 12
status "every type and operator" 0 show -n 3 --fill 'rank + 1 + index % 2' "$sum" -d all -o all
holds "... is right" test "$(grep -c 'wrong elements: 0 OK' "$tmp/out")" = 126
status "--fill without --show" 0 "$ccrun" -n 4 --fill 'rank - index' "$sum" -b 64 -e 1K -f 4 \
	-o all -d int32,float64 --iters 1
says "... is measured, and right" "$tmp/out" '^# wrong elements *: 0 OK$'

# ---- expressions ------------------------------------------------------------------------------
# is EXPR VALUE: for rank 3 of 4, index 1, count 2
is() {
	show -n 4 --fill "$1" -d int64 "$gather" >"$tmp/out" 2>"$tmp/err"
	got=$(sed -n '/^before/,/^$/s/^  rank   3 *[-0-9]* *//p' "$tmp/out")
	if [ "$got" = "$2" ]; then ok "$1"; else not_ok "$1" "$got, not $2: $(cat "$tmp/err")"; fi
}
is 'rank * 1000 + index * 100 + N * 10 + count' 3142
is '-1 % 4' 3
is '-7 / 2' -4
is '7 / -2 * -2' 8
is '1 + 2 * 3 - 4 - 5' -2
is '1_000 << 2 + 1' 8000
is '-9223372036854775808' -9223372036854775808
is '~0 ^ 5 & 3 | 8' -2
is '7 & 3 == 3 | 8' 9
is '1 < 2 == 2 > 1' 1
is '!rank == 0' 1
is '- - !index' 0
is 'rank == 0 ? 10 : rank == 3 ? 13 : 99' 13
is 'rank >= 0 || 1 / 0 == 1' 1
is 'rank < 0 && 1 / 0 == 1' 0
is 'true ? index : 1 / 0' 1
is '(rank >= 2 && index != 0) + false' 1
is 'min(rank, 7, -2) + max(1, 2) + abs(-5)' 5
is 'ilog2(9) * 100 + clog2(9) * 10 + ispow2(8)' 341
is 'popcount(255) * 10 + ctz(8)' 83
is '9 >> 1 << 1 <= 8' 1
is '0x10 + max(rank) // as in a text' 19

# refused WHAT EXPR MARKS TEXT: with a caret under the place
refused() {
	status "$1" 2 show -n 4 --fill "$2" "$gather" -d "${5:-int64}"
	says "... says why" "$tmp/err" "^ccrun: --fill:1:[0-9]+: error: .*$4"
	marks=$(sed -n 3p "$tmp/err")
	if [ "$marks" = "      | $3" ]; then ok "... and where"; else
		not_ok "... and where" "$(cat "$tmp/err")"; fi
}
refused "nothing" '' '^' 'unexpected end of the text, expected an expression'
refused "an operand that is missing" 'rank + ' '      ^' 'unexpected end of the text, expected an expression'
refused "an operator that is missing" 'rank N' '     ^' 'unexpected `N`, expected the end of the text or an operator'
refused "a parenthesis that is open" '(rank + 1' '         ^' 'expected `\)`'
refused "one too many" 'rank)' '    ^' 'unexpected `\)`'
refused "half a conditional" 'rank ? 1' '        ^' 'expected `:`'
refused "a name that is not defined" '2 * ranks' '    ^~~~~' 'unknown name `ranks`'
says "... says what to write" "$tmp/err" '= help: write `N`$'
refused "a name like none" 'bytes' '^~~~~' 'unknown name `bytes`'
says "... says which there are" "$tmp/err" '= help: the names here are `rank`, `N`, `index`, `count`$'
refused "the expression itself" '--fill(1)' '  ^~~~' 'unknown name `fill`'
refused "a second one" '1 fn g(x) = 2' '  ^~' 'unexpected `fn`'
refused "a table" '[1, 2]' '^' 'unexpected `\[`'
refused "an entry of one" 'index[1]' '^~~~~' '`index` is a number, and only a table has entries'
refused "a chunk" 'd[0]@1' '^~~~~~' 'allowed only on the right side of an `ensures`'
refused "a function without arguments" 'min + 1' '^~~' '`min` is a built-in function'
refused "too many arguments" 'abs(1, 2)' '^~~~~~~~~' '`abs` takes 1 argument, not 2'
refused "a fraction" 'rank * 0.5' '       ^~~' 'unexpected `0.5`'
says "... says what there is" "$tmp/err" 'numbers are integers; a half of x is x / 2'
refused "a number of more than 64 bits" '9223372036854775808' '^~~~~~~~~~~~~~~~~~~' 'more than 64 bits'
refused "a letter of another alphabet" 'rank × 2' '     ^' 'a multiplication sign'
status "too deep" 2 show -n 4 --fill "$(printf '%01200d' 0 | tr 0 '(')" "$gather"
says "... is said" "$tmp/err" 'nested more than 1000 deep'
refused "division by zero" '1 + 6 / (rank - 2)' '    ^~~~~~~~~~~~~~' 'division by zero: 6 / 0 \(rank 2, index 0\)'
refused "overflow" '9223372036854775807 + index' '^~~~~~~~~~~~~~~~~~~~~~~~~~~' 'overflow.*\(rank 0, index 1\)'
refused "a shift too far" '1 << 64' '^~~~~~~' 'shift by 64'
refused "no logarithm" 'ilog2(rank)' '^~~~~~~~~~~' 'ilog2\(0\): the argument must be at least 1'
refused "what the type cannot hold" '100 * rank' '^~~~~~~~~~' '200 \(rank 2, index 0\) does not fit int8' int8
refused "a sign that it lacks" '-rank' '^~~~~' '-1 \(rank 1, index 0\) does not fit uint32' uint32
refused "what it holds not exactly" '255 + rank' '^~~~~~~~~~' '257 \(rank 2, index 0\) does not fit bfloat16 exactly' bfloat16
refused "what is too large for it" '1000 * rank' '^~~~~~~~~~~' 'does not fit float8e4m3' float8e4m3
status "sums that are too large" 2 show -n 4 --fill 20000 "$sum" -d float16
says "... say so" "$tmp/err" 'sums of 4 .* could exceed the largest float16, 65504'
status "... integers wrap" 0 show -n 4 --fill 100 "$sum" -d int8
values "... as in the engines" after 0 '-112 -112 -112 -112 -112 -112 -112 -112'
status "a long expression" 2 show -n 4 --fill "$(seq -s ' + ' 60) + x" "$gather"
says "... is shown around the place" "$tmp/err" '^    1 \| \.\.\..* \+ 60 \+ x$'

# ---- sized chunks -----------------------------------------------------------------------------
uneven=$tmp/uneven.so
"$build/bin/ccc" tests/cpu/layouts/exchange_sized.ccs -n 2..5 --target=cpu -o "$uneven"
status "sizes by an expression" 0 show -n 3 --sizes 'rank * index' --fill '10 * rank + index' \
	-d int32 "$uneven"
says "... are said" "$tmp/out" 'count 0 of int32; sizes: rank \* index; inputs: 10 \* rank \+ index$'
values "... what rank 0 sends" before 0 ''
values "... what rank 2 sends" before 2 '20 21 22 23 24 25'
values "... what comes to rank 0" after 0 ''
values "... what comes to rank 1" after 1 '10 20 21'
values "... what comes to rank 2" after 2 '11 12 22 23 24 25'
status "sizes by processes" 0 show -n 3 --procs --sizes 'rank * index' --fill '10 * rank + index' \
	-d int32 "$uneven"
values "... are the same" after 2 '11 12 22 23 24 25'
status "made up sizes" 0 show -n 3 -b 64 -e 64 -d int8 "$uneven"
says "... are told of" "$tmp/out" 'int8; sizes: chosen by ccrun; inputs: '
cp "$tmp/out" "$tmp/tasks"
status "... by processes" 0 show -n 3 --procs -b 64 -e 64 -d int8 "$uneven"
holds "... are the same" cmp -s "$tmp/out" "$tmp/tasks"
for file in gather scatter sum exchange alike collect; do
	"$build/bin/ccc" tests/cpu/layouts/${file}_sized.ccs -n 2..5 --target=cpu -o "$tmp/sized.so"
	status "made up sizes, ${file}_sized" 0 "$ccrun" -n 5 -b 3 -e 400K -f 50 --iters 1 -w 0 \
		-d int8,float64 -r all "$tmp/sized.so"
	says "... is right" "$tmp/out" '^# wrong elements *: 0 OK$'
	status "... and proved from its bytes" 0 "$ccrun" --verify "$tmp/sized.so"
done
# short WHAT EXPR MARKS TEXT
short() {
	status "$1" 2 show -n 3 --sizes "$2" "$uneven"
	says "... says why" "$tmp/err" "^ccrun: --sizes:1:[0-9]+: error: .*$4"
	if [ "$(sed -n 3p "$tmp/err")" = "      | $3" ]; then ok "... and where"; else
		not_ok "... and where" "$(cat "$tmp/err")"; fi
}
short "less than nothing" 'index - rank' '^~~~~~~~~~~~' '-1 \(rank 1, index 0\) is not a number of elements'
short "no size" '4 / index' '^~~~~~~~~' 'division by zero: 4 / 0 \(rank 0, index 0\)'
short "more than there is" '1 << 60' '^~~~~~~' 'exceed any memory'
status "sizes beside NCCL" 4 "$ccrun" -n 3 --device cuda --against nccl "$uneven"

# ---- processes, and what does not go together ------------------------------------------------
status "processes" 0 show -n 4 --procs --fill '2 * rank' "$sum"
values "... show what they have" after 3 '12 12 12 12 12 12 12 12'
cp "$tmp/out" "$tmp/procs"
show -n 4 --fill '2 * rank' "$sum" >"$tmp/tasks"
holds "... as tasks do" cmp -s "$tmp/procs" "$tmp/tasks"
status "a fault in processes" 2 show -n 4 --procs --fill '1 / rank' "$sum"
holds "... is said once" test "$(grep -c 'division by zero' "$tmp/err")" = 1
status "no buffers" 2 show -n 4 "$modules/dissemination_barrier.so"
says "... have nothing to show" "$tmp/err" 'has no buffers'
for other in "--json" "--csv" "-c 0" "--tune $tmp/t" "--explain-choice $tmp/t"; do
	status "--show with $other" 2 show -n 4 $other "$sum"
done

# ---- wrong results ----------------------------------------------------------------------------
"$build/bin/ccc" schedules/direct_allreduce.ccs -n 4 --target=cpu -o "$tmp/four.so"
"$build/tests/plan/prove_test" spoil "$tmp/four.so" "$tmp/spoilt.so"
"$build/bin/ccc" tests/cpu/layouts/sum_sized.ccs -n 4 --target=cpu -o "$tmp/sized4.so"
"$build/tests/plan/prove_test" spoil "$tmp/sized4.so" "$tmp/spoilt4.so"
status "one with sized chunks" 3 show -n 4 --sizes '3 - index' --fill 'rank + 1' -d int32 \
	"$tmp/spoilt4.so"
says "... is seen" "$tmp/err" 'rank 0, element 0 of recvbuff is 1; it must be 10$'
# A cell is stored elsewhere.
status "a module that computes something else" 3 show -n 4 --fill 'rank + 1' -d int8 -b 1 -e 1 \
	"$tmp/spoilt.so"
says "... is found out" "$tmp/err" 'element 0 of recvbuff is -?[0-9]+; it must be 10$'
says "... and counted" "$tmp/out" '^wrong elements: [1-9][0-9]*$'
exit $failed
