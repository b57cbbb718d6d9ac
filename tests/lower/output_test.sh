#!/bin/sh
# What ccc reads and writes: nothing is lost, nothing hangs, nothing is left behind.
# usage: output_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd) || exit 1
ccc=$build/bin/ccc
faults=$build/tests/faults.so
cp schedules/ring_allreduce.ccs schedules/ring_allgather.ccs schedules/ring_reduce_scatter.ccs "$tmp/" || exit 1
cd "$tmp" || exit 1
ring=ring_allreduce.ccs
cp $ring kept

# A bound for what might hang; 124 is then its status.
soon() { timeout 60 "$@"; }
# What lies here, but for what `status` writes.
here() { ls -A | grep -vxE 'out|err' | sort; }
: >listed
now_is() { # what lies here now is meant to
	here >listed
}
as_before() { # as_before WHAT: the source is as it was, and what was listed lies here
	if ! cmp -s $ring kept; then
		not_ok "$1" "the source was changed"
		cp kept $ring
	elif here | cmp -s - listed; then
		ok "$1"
	else
		not_ok "$1" "$(here | diff listed -)"
	fi
}

# ---- a source is never a product --------------------------------------------------
cat >main.ccs <<'END'
import "ring_allreduce.ccs"
schedule twice
  implements allreduce(inout data[N])
  on ring
{
  ring_allreduce(data)
}
END
ln -s $ring symbolic.ccs
ln $ring hard.ccs
mkdir below
ln -s ../$ring below/deep.ccs
now_is

for stage in so ast program plan json header; do
	status "--emit=$stage onto its source" 2 soon "$ccc" $ring -n 2 --emit=$stage -o $ring
	says "... says why" err 'it is a source of this compilation'
	as_before "... and leaves it alone"
done
for name in ./$ring "$tmp/$ring" below/../$ring symbolic.ccs hard.ccs below/deep.ccs; do
	status "onto its source by the name $name" 2 soon "$ccc" $ring -n 2 -o "$name"
	as_before "... leaves it alone"
	status "onto an imported file, $name" 2 soon "$ccc" main.ccs -n 2 -o "$name"
	as_before "... leaves that alone, too"
done
status "a report onto its source" 2 soon "$ccc" check $ring -n 2 -o $ring
as_before "... leaves it alone"
status "explain onto its source" 2 soon "$ccc" explain $ring -n 2 -o $ring
as_before "... leaves it alone"
status "fmt -o onto its source" 2 soon "$ccc" fmt $ring -o $ring
says "... names the option that does it" err 'fmt -i'
as_before "... leaves it alone"
status "onto what is the standard input" 2 soon sh -c "'$ccc' - -n 2 -o $ring <$ring"
as_before "... leaves it alone"
status "the standard output is the source" 2 soon sh -c "'$ccc' $ring -n 2 --emit=plan >>$ring"
as_before "... which gets nothing"
cat >wrong.ccs <<'END'
schedule wrong
  implements allreduce(inout data[N])
{
  sned data to next
}
END
now_is
cp wrong.ccs wrong.kept
now_is
status "a text that does not parse, onto itself" 2 soon "$ccc" wrong.ccs -n 2 -o wrong.ccs
holds "... is left alone" cmp -s wrong.ccs wrong.kept
status "another name" 0 soon "$ccc" $ring -n 2 --emit=plan -o other.plan
holds "... is written" test -s other.plan
rm other.plan

# ---- fmt -i is the one that writes sources ------------------------------------------
sed 's/^    step/  step/' $ring >odd.ccs
ln -s odd.ccs odd_link.ccs
status "fmt -i through a link" 0 soon "$ccc" fmt -i odd_link.ccs
holds "... keeps the link" test -L odd_link.ccs
holds "... and formats its target" cmp -s odd.ccs $ring
touch -d '2001-02-03 04:05:06' odd.ccs
status "fmt -i of a canonical file" 0 soon "$ccc" fmt -i odd.ccs
holds "... does not write it" test -z "$(find odd.ccs -newermt 2002-01-01)"
status "fmt -i of the standard input" 2 soon "$ccc" fmt -i - <$ring
rm odd.ccs odd_link.ccs

# ---- what is no regular file ----------------------------------------------------------
mkfifo pipe.ccs pipe2.ccs
mkdir folder.ccs
ln -s nowhere.ccs dangling.ccs
ln -s round.ccs round.ccs
now_is
for how in "check" "explain" "fmt" "fmt -i" "fmt --check"; do
	# shellcheck disable=SC2086
	status "$how of a FIFO" 2 soon "$ccc" $how pipe.ccs
	says "... says what it is" err 'it is a FIFO'
	says "... and the cure" err 'ccc - < pipe\.ccs'
done
status "a FIFO by way of stdin" 0 soon sh -c "cat $ring >pipe.ccs & '$ccc' check -n 2 - <pipe.ccs"
status "a terminal or another device" 2 soon "$ccc" check /dev/zero
says "... says what it is" err 'it is a device'
status "/dev/zero by way of stdin has an end" 2 soon sh -c "'$ccc' check - </dev/zero"
says "... after 256 MiB" err '256 MiB'
status "a directory by way of stdin" 2 soon sh -c "'$ccc' check - <folder.ccs"
says "... says what it is" err 'it is a directory'
status "a directory" 2 soon "$ccc" check folder.ccs
says "... says what it is" err 'it is a directory'
status "a link to nothing" 2 soon "$ccc" check dangling.ccs
says "... says to what" err "link to 'nowhere.ccs'"
status "a link to itself" 2 soon "$ccc" check round.ccs
status "a name that is too long" 2 soon "$ccc" check "$(printf '%0300d' 0).ccs"
says "... says so" err 'too long'
status "a name through a file" 2 soon "$ccc" check $ring/x.ccs
status "/dev/null is an empty text" 0 soon "$ccc" check /dev/null
status "the standard input by its name" 0 soon sh -c "cat $ring | '$ccc' check -n 2 /dev/stdin"
if command -v python3 >/dev/null; then
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket.ccs")'
	now_is
	status "a socket" 2 soon "$ccc" check socket.ccs
	says "... says what it is" err 'it is a socket'
	status "a socket as output" 2 soon "$ccc" $ring -n 2 --emit=plan -o socket.ccs
	says "... says what it is" err 'it is a socket'
else
	echo "skip - a socket: there is no python3 to make one"
fi
import() { # import NAME: a schedule that imports it
	printf 'import "%s"\ncontract c(inout d[C])\nschedule s\n  implements c(inout d[1])\n{\n}\n' "$1" >importer.ccs
	now_is
}
for name in pipe.ccs /dev/zero folder.ccs dangling.ccs round.ccs; do
	import $name
	status "an import of $name" 1 soon "$ccc" check importer.ccs
	says "... is told at its place" err '^importer\.ccs:1:8: error: cannot read .*\[E0201\]'
done
mkdir first second
mkfifo first/part.ccs
echo 'let x = 1' >second/part.ccs
import part.ccs
status "an import that is there, but no file" 1 soon "$ccc" check importer.ccs -I first -I second
says "... is not looked for elsewhere" err "cannot read 'first/part\.ccs': it is a FIFO"
rm first/part.ccs
status "an import that is elsewhere" 0 soon "$ccc" check importer.ccs -I first -I second
rm second/part.ccs
status "an import that is nowhere" 1 soon "$ccc" check importer.ccs -I first -I second
for place in part.ccs first/part.ccs second/part.ccs; do
	says "... was looked for at $place" err "not at '$place'"
done
says "... and in the library" err "not at '/.*/schedules/part\.ccs'"
import ring_allreduce
status "an import without .ccs" 1 soon "$ccc" check importer.ccs
says "... has its cure" err "'ring_allreduce\.ccs' exists"
# A file to which somebody always writes has an end all the same.
: >growing.ccs
(while :; do echo '// and so on' >>growing.ccs || exit; done) &
writer=$!
soon "$ccc" check growing.ccs >out 2>err
got=$?
kill $writer
wait $writer 2>/dev/null
holds "a file that grows" test $got = 0 -o $got = 2 -o $got = 1
rm growing.ccs

# ---- where products may go ---------------------------------------------------------------
now_is
plan() { # plan NAME: a product of some bytes
	soon "$ccc" $ring -n 2 --emit=plan -o "$1"
}
plan wanted >out 2>err
now_is
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1 -; do
	plan $name >got 2>err
	holds "-o $name is the standard output" cmp -s got wanted
	echo before >got
	plan $name >>got 2>err
	holds "... behind what is there" sh -c '{ echo before; cat wanted; } | cmp -s - got'
	holds "... also a pipe" sh -c "'$ccc' $ring -n 2 --emit=plan -o $name | cmp -s - wanted"
done
soon "$ccc" $ring -n 2 --emit=plan -o /dev/fd/3 3>got
holds "-o /dev/fd/3 is what was opened there" cmp -s got wanted
soon "$ccc" $ring -n 2 --emit=plan -o /dev/stderr 2>got
holds "-o /dev/stderr" cmp -s got wanted
rm got
status "-o a FIFO without a reader" 2 plan pipe.ccs
says "... says so" err 'FIFO without a reader'
soon cat pipe.ccs >got &
reader=$!
tries=0
until plan pipe.ccs 2>err || [ $tries = 100 ]; do	# cat may not have opened it yet
	tries=$((tries + 1))
	sleep 0.1
done
wait $reader
holds "-o a FIFO that is read" cmp -s got wanted
rm got
status "-o /dev/null" 0 plan /dev/null
status "... of a shared object" 0 soon "$ccc" $ring -n 2 -o /dev/null
holds "... stays a device" test -c /dev/null
status "-o a directory" 2 plan folder.ccs
says "... says so" err 'it is a directory'
status "-o in a directory that is not there" 2 plan no/such/plan
says "... says so" err 'No such file'
status "-o in a file" 2 plan $ring/plan
if mknod block b 7 199 2>/dev/null; then
	status "-o a block device" 2 plan block
	says "... says so" err 'it is a block device'
	rm block
else
	echo "skip - -o a block device: mknod needs rights that are not here"
fi
as_before "... all of that leaves nothing behind"

# ---- links, long names, modes --------------------------------------------------------------
mkdir far
ln -s far/target link
status "-o a link to nothing" 0 plan link
holds "... makes its target" cmp -s far/target wanted
holds "... and stays a link" test -L link
ln -s ../chain far/back
ln -s far/back chained
status "-o a chain of links" 0 plan chained
holds "... goes to its end" cmp -s chain wanted
holds "... and keeps it" test -L chained -a -L far/back
ln -s short far/longer_than_that
ln -s far/longer_than_that shrinking
status "-o a chain of links whose names get shorter" 0 plan shrinking
holds "... goes to its end" cmp -s far/short wanted
echo old >far/target
status "-o a link to a file" 0 plan link
holds "... replaces the file" cmp -s far/target wanted
status "-o a link in a circle" 2 plan round.ccs
rm -r far link chained chain shrinking
long=$(printf '%0255d' 0)
status "-o a name of 255 bytes" 0 plan "$long"
holds "... which is there" cmp -s "$long" wanted
status "... once more, in its place" 0 plan "$long"
rm "$long"
(umask 027 && plan new.plan && soon "$ccc" $ring -n 2 --target=cpu -o new.so)
holds "modes of new files follow the umask" test "$(stat -c %a new.plan) $(stat -c %a new.so)" = "640 750"
chmod 600 new.plan
status "-o a file that is there" 0 plan new.plan
holds "... keeps its mode" test "$(stat -c %a new.plan)" = 600
rm new.plan new.so
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
else
	nobody=
fi
if [ "$(id -u)" != 0 ] || [ "$nobody" ]; then
	chmod 755 "$tmp"
	mkdir -m 777 open
	echo protected >open/file
	chmod 444 open/file
	status "-o a file without the right to write" 2 $nobody timeout 60 "$ccc" $ring -n 2 --emit=plan -o open/file
	holds "... leaves it" grep -q protected open/file
	chmod 666 open/file
	chmod 555 open
	status "-o in a directory without the right to write" 2 $nobody timeout 60 "$ccc" $ring -n 2 \
		--emit=plan -o open/file
	says "... says so" err 'Permission denied'
	holds "... leaves the file" grep -q protected open/file
	chmod 000 kept
	status "a source without the right to read" 2 $nobody timeout 60 "$ccc" check kept
	says "... says so" err 'Permission denied'
	chmod 644 kept
	chmod 755 open
	rm -r open
else
	echo "skip - rights: root has all of them, and there is no setpriv"
fi
as_before "... and nothing else is left"

# ---- the disk --------------------------------------------------------------------------------
# under FAULT COMMAND...: with faults.so, a record in ./log
under() {
	fault=$1
	shift
	: >log
	timeout 60 env FAULT="$fault" FAULTS_LOG="$tmp/log" LD_PRELOAD="$faults" "$@"
}
order() { # order WHAT LINES...: the record has these, in this order, and no more
	what=$1
	shift
	printf '%s\n' "$@" | cmp -s - log && ok "$what" || not_ok "$what" "$(cat log)"
}
status "a new file" 0 under none "$ccc" $ring -n 2 --emit=plan -o product
order "... is on the disk before it has a name, and then the name is" \
	"fsync file" "link product" "fsync directory"
holds "... and is whole" cmp -s product wanted
status "a file that is replaced" 0 under none "$ccc" $ring -n 2 --emit=plan -o product
sed 's/^link \.ccc-.*/link TEMPORARY/' log >log2
mv log2 log
order "... in one rename" "fsync file" "link product" "link TEMPORARY" "rename product" "fsync directory"
status "a file system without unnamed files" 0 under tmpfile "$ccc" $ring -n 2 --emit=plan -o product
order "... is written under another name" "fsync file" "rename product" "fsync directory"
holds "... and is whole" cmp -s product wanted
echo old >product
now_is
for fault in fsync nospace; do
	status "a product, and $fault fails" 2 under $fault "$ccc" $ring -n 2 --target=cpu -o product
	says "... says so" err 'cannot write'
	holds "... what was there stays" grep -qx old product
	as_before "... and nothing else is there"
done
status "a new product, and the disk is full" 2 under nospace "$ccc" $ring -n 2..4 --emit=plan -o fresh
holds "... is not there" test ! -e fresh
status "a full disk below TMPDIR" 2 under nospace env TMPDIR="$tmp" "$ccc" $ring -n 2 --target=cpu -o fresh
as_before "... and nothing is left"
status "writes that take less, and are interrupted" 0 under short "$ccc" $ring -n 2 --emit=plan -o product
holds "... end whole" cmp -s product wanted
echo old >product
status "a limit of file sizes" 2 sh -c "ulimit -f 1; exec timeout 60 '$ccc' $ring -n 2..4 --emit=program -o product"
says "... is told" err 'File too large'
holds "... and leaves what was there" grep -qx old product
for closed in '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
	timeout 60 sh -c "'$ccc' $ring -n 2 --emit=plan -o product $closed"
	holds "with $closed the product has only what belongs there" cmp -s product wanted
done
status "no memory for what is to be written" 4 under stream "$ccc" $ring -n 2 --emit=plan -o product
holds "... is told in a line" test "$(cat err)" = "ccc: Cannot allocate memory"
holds "... and leaves what was there" cmp -s product wanted
rm product log
holds "... and nothing is left" test -z "$(find . -name '.ccc*')"
now_is

# ---- signals ---------------------------------------------------------------------------------
# A C compiler that sends a signal to ccc and would then take half a minute.
cat >slow_cc <<'END'
#!/bin/sh
echo "$TMPDIR" >>"$HERE/where"
: >half_an_object
kill -s "$SIGNAL" "$PPID"
sleep 30
echo late >"$HERE/late"
END
chmod +x slow_cc
mkdir tmpdir
export HERE="$tmp"
now_is
gone() { # gone WHAT: within a minute TMPDIR is empty
	tries=0
	while [ "$(ls -A tmpdir)" ] && [ $tries -lt 600 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	holds "$1" test -z "$(ls -A tmpdir)"
}
for signal in INT:130 TERM:143 HUP:129 QUIT:131 KILL:137; do
	echo old >product
	timeout 60 env SIGNAL=${signal%:*} TMPDIR="$tmp/tmpdir" CC="$tmp/slow_cc" \
		"$ccc" $ring -n 2 --target=cpu -o product >out 2>err
	got=$?
	holds "SIG${signal%:*} while the linker works ends ccc by that signal" test $got = ${signal#*:}
	[ ${signal%:*} = KILL ] || holds "... with an empty TMPDIR" test -z "$(ls -A tmpdir)"
	gone "... and its TMPDIR is empty"
	holds "... the linker did not go on" test ! -e late
	holds "... what was there stays" grep -qx old product
	holds "... the linker had a TMPDIR that is gone" test ! -e "$(cat where)"
	rm -f where product core*
	as_before "... and nothing else is left"
done
cat >signalling_cc <<'END'
#!/bin/sh
kill -s HUP "$PPID"
exec cc "$@"
END
chmod +x signalling_cc
now_is
status "a signal that is ignored from the start" 0 timeout 60 sh -c \
	"trap '' HUP; CC='$tmp/signalling_cc' exec '$ccc' $ring -n 2 --target=cpu -o product"
holds "... stays ignored" test -s product
status "SIGCHLD ignored from the start" 0 timeout 60 sh -c \
	"trap '' CHLD; exec '$ccc' $ring -n 2 --target=cpu -o product"
rm product
status "a C compiler that fails" 4 env CC=false TMPDIR="$tmp/tmpdir" timeout 60 "$ccc" $ring -n 2 --target=cpu -o product
holds "... leaves nothing in TMPDIR" test -z "$(ls -A tmpdir)"
status "no C compiler" 4 env CC=no-such-cc TMPDIR="$tmp/tmpdir" timeout 60 "$ccc" $ring -n 2 --target=cpu -o product
holds "... leaves nothing in TMPDIR" test -z "$(ls -A tmpdir)"
status "a TMPDIR that is not there" 2 env TMPDIR=/no/such timeout 60 "$ccc" $ring -n 2 --target=cpu -o product
says "... is named" err '/no/such'
status "a relative TMPDIR" 0 env TMPDIR=tmpdir timeout 60 "$ccc" $ring -n 2 --target=cpu -o product
holds "... is left empty" test -z "$(ls -A tmpdir)"
status "a shared object on stdout" 0 sh -c "TMPDIR='$tmp/tmpdir' timeout 60 '$ccc' $ring -n 2 --target=cpu -o - >again"
holds "... has the same bytes" cmp -s again product

# ---- memory ---------------------------------------------------------------------------------
status "more memory than --memory" 1 timeout 60 "$ccc" check $ring -n 512 --memory 3 --all-ranks
says "... names that limit" err 'more than 3 MiB, the limit of --memory .*E0501|more than 3 MiB, the limit of --memory \['
status "more memory than the system gives" 4 sh -c "ulimit -v 100000; exec timeout 60 '$ccc' check $ring -n 1024 --all-ranks"
says "... is not called a limit of ours" err 'the system has no more memory: [0-9]+ MiB are in use'
holds "... nor E0501" sh -c '! grep -q E0501 err'
status "all of --memory can be used" 0 timeout 60 "$ccc" check $ring -n 512 --memory 40
exit $failed
