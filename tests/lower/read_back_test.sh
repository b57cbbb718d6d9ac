#!/bin/bash
# What is written is what is checked: bugs are put behind the compiler's own checks, where
# direct marks, lengths and the bytes of a module are made, one at a time. Each compiler
# with a bug must end with 70 and write nothing; or write the very bytes that it should,
# or others that run right, where the bug happens to do no harm.
# A bug is a line of a source, changed by sed; whoever changes that line mends it here.
# usage: read_back_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
version=$("$build/bin/ccc" --version | sed 's/.* //')
flags="-std=c11 -O0 -I. -I$build -D_GNU_SOURCE -DCCS_VERSION=\"$version\""
export CCS_CACHE_DIR=

# What shows a bug: rings, trees, messages of many cells, roots, several buffers, waits,
# values that move to another place, sums of one rank, messages that lie in cells on one side
# only, or come over one another, an order of ranks with waits.
cat >"$tmp/moved.ccs" <<'END'
contract moved(in a[C], inout x[C])
  ensures x[i] == x[C - 1 - i]@((rank + 1) % N)
schedule moved(T = 7)
  implements moved(in a[3], inout x[3])
{
  assert T > 0, "a parameter"
  scratch t[3]
  step {
    send x[0..3] to (rank + N - 1) % N
    recv t from (rank + 1) % N
  }
  for i in 0..3 { copy t[i] into x[2 - i] }
}
END
cat >"$tmp/alike.ccs" <<'END'
contract alike(in a[C * N], out b[C * N])
  ensures b[0] == a[2]@((rank + 1) % N)
  ensures b[2] == a[0]@((rank + 1) % N)
  ensures b[3] == a[1]@((rank + 1) % N)
schedule alike
  implements alike(in a[2 * N], out b[2 * N])
{
  scratch t[2]
  scratch u[2]
  copy a[0] into t[1]
  copy a[2] into t[0]
  step {
    send t to (rank + N - 1) % N
    send a[1] to (rank + N - 1) % N
    recv u from (rank + 1) % N
    recv b[3] from (rank + 1) % N
  }
  copy u[0] into b[0]
  copy u[1] into b[2]
}
END
cat >"$tmp/waited.ccs" <<'END'
contract waited(inout x[C])
  ensures x[i] == x[i]@rank
  ensures after(q in 0..N)
schedule waited
  implements waited(inout x[1])
{
  scratch t[1]
  step {
    for i in 0..10 {
      send t[0..0] to (rank + 1) % N
      recv t[0..0] from (rank - 1) % N
    }
  }
  send t[0..0] to (rank + 2) % N
  recv t[0..0] from (rank - 2) % N
}
END
cat >"$tmp/sided.ccs" <<'END'
contract sided(in a[C], inout x[C])
  ensures rank == 0: x[0] == x[1]@(N - 1)
  ensures rank == 0: x[1] == x[0]@(N - 1)
schedule sided
  implements sided(in a[2], inout x[2])
{
  scratch t[2]
  scratch u[1]
  copy x[0] into t[1]
  copy x[1] into t[0]
  send t to (rank + 1) % N
  recv x from (rank - 1) % N
  send a[0] to (rank + 1) % N
  send a[0] to (rank + 2) % N
  recv u[0] from (rank - 1) % N
  recv u[0] from (rank - 2) % N
}
END
inputs="schedules/ring_allreduce.ccs schedules/ring2d_allreduce.ccs schedules/bruck_all_to_all.ccs
	schedules/halving_doubling_allreduce.ccs schedules/binomial_broadcast.ccs
	schedules/direct_allreduce.ccs schedules/binary_tree_allreduce.ccs
	tests/check/good/prefix_sum.ccs tests/check/good/after_and_data.ccs
	tests/check/good/overlapping.ccs tests/lower/only_held.ccs $tmp/moved.ccs $tmp/alike.ccs $tmp/waited.ccs $tmp/sided.ccs"

# A C compiler for ccc that puts the module into a library and leaves its functions out, in a
# third of the time: for what is only compared. A module with the bytes of $GOOD.bin is in a
# library that is there already.
cat >"$tmp/cc" <<'END'
#!/bin/sh
cmp -s module.bin "$GOOD.bin" && exec cp "$GOOD.so" module.so
[ -e "$GOOD.bin" ] || cp module.bin "$GOOD.bin"
as -o module.o - <<'TEXT' && exec ld -shared -s -o module.so module.o
	.section .rodata
	.balign 64
	.globl ccs_module_v1
	.type ccs_module_v1, %object
ccs_module_v1:
	.incbin "module.bin"
	.size ccs_module_v1, . - ccs_module_v1
TEXT
END
chmod +x "$tmp/cc"

# emit CCC FILE OUTPUT [CC]: its module, as the object holds it, by that C compiler; stderr stays
# in $tmp/err
emit() {
	GOOD=$tmp/good/${2##*/} CC=${4:-$tmp/cc} "$1" "$2" -n 4 --target="$target" -o "$3" >"$tmp/out" 2>"$tmp/err" </dev/null
}
# runs CCC FILE: the module of that compiler runs right
runs() {
	emit "$1" "$2" "$tmp/bad.so" "${CC:-cc}" &&
		"$build/bin/ccrun" -n 4 -b 4 -e 4K --iters 1 -w 0 --timeout 2 "$tmp/bad.so" \
			>"$tmp/out" 2>&1
}

good=
target=cpu
mkdir "$tmp/good"
for f in $inputs; do
	if emit "$build/bin/ccc" "$f" "$tmp/good/${f##*/}.so"; then
		good="$good $f"
	fi
done
holds "the compiler without bugs compiles what shows them" \
	test "$(echo $good | wc -w)" = "$(echo $inputs | wc -w)"

# What it was built with.
needs() { nm "$build/lib/libccc.a" 2>/dev/null | grep -q " U $1_"; }
libs="-ljansson -lpthread -ldl -lm"
needs XML && libs="-lexpat $libs"
needs isl && libs="-lisl $libs"

# broken NAME SOURCE SED: builds the compiler with that bug, as $tmp/ccc
broken() {
	source=$(find compiler -name "$2.c")
	sed -E "$3" "$source" >"$tmp/$2.c"
	if cmp -s "$source" "$tmp/$2.c"; then
		not_ok "a bug in $2.c: $1" "no line fits any more: $3"
		return 1
	fi
	# shellcheck disable=SC2086
	${CC:-cc} $flags -w -c -o "$tmp/$2.o" "$tmp/$2.c" 2>"$tmp/err" &&
		${CC:-cc} -Wl,-S -o "$tmp/ccc" "$build/compiler/ccc.o" "$tmp/$2.o" "$build/lib/libccc.a" \
			$libs 2>>"$tmp/err" && return
	not_ok "a bug in $2.c: $1" "$(cat "$tmp/err")"
	return 1
}

# bug NAME SOURCE SED
bug() {
	found=0 missed=
	broken "$1" "$2" "$3" || return
	for f in $good; do
		[ ! -e "$tmp/bad.so" ] || rm "$tmp/bad.so"
		emit "$tmp/ccc" "$f" "$tmp/bad.so"
		case $? in
		0)
			cmp -s "$tmp/bad.so" "$tmp/good/${f##*/}.so" ||
				runs "$tmp/ccc" "$f" || missed="$missed $f"
			;;
		70)
			found=$((found + 1))
			[ -e "$tmp/bad.so" ] && missed="$missed $f: written"
			said=$(<"$tmp/err")
			[[ $said == *"read back and is wrong"* ]] || missed="$missed $said"
			;;
		*) missed="$missed $f: $(cat "$tmp/err")" ;;
		esac
	done
	if [ $found -gt 0 ] && [ -z "$missed" ]; then
		ok "a bug in $2.c: $1: status 70 for $found of $(echo $good | wc -w) schedules"
	else
		not_ok "a bug in $2.c: $1" "status 70 for $found; otherwise written:$missed"
	fi
}

bug "all that is stored unchanged is direct, and all that lies in cells held" direct \
	's/mark\[m\] = state == FREE;/mark[m] = state != NEVER;/'
bug "operations that read a cell do not count" direct 's/^(\t\task_direct\(f, t->message, e\);)$/\t\t;/'
bug "all that lies in cells is held" direct 's/^(\task_held\(f, message, write\);)$/\t;/'
bug "initial values are held whatever is stored" direct 's/\? x->change : x->write/? NONE : x->write/'
bug "all that is held and not direct is read" direct 's/\task_read\(f, f->pairs.*$/\t;/'
bug "a mark of a direct read at the next operation" module_bytes 's/o->flags \|= CCS_OP_READ;/o[1].flags |= CCS_OP_READ;/'
bug "a held mark at the next operation" module_bytes 's/o->flags \|= CCS_OP_HELD;/o[1].flags |= CCS_OP_HELD;/'
bug "a direct mark at the next operation" module_bytes 's/o->flags \|= CCS_OP_DIRECT;/o[1].flags |= CCS_OP_DIRECT;/'
bug "a message goes to the next operation" module_bytes 's/(o->to = .*m->recv\]);/\1 + 1;/'
bug "the receives of a FIFO change places" module_bytes \
	's/(o->to = .*)m->recv\]/\1p->messages[q->first + q->nsends - 1 - (k - q->first)].recv]/'
bug "another operation is waited for" facts 's/(\.op \+ x->ops) - 1(\]\.flags)/\1 - (x->ops > 1) - 1\2/'
bug "what writes what it has yet to read does not say so" facts 's/o->flags \|= CCS_OP_SHIFTED;/;/'
bug "a stage is too small" facts 's/(workers\[w\]\.stage = o->n);/\1 - 1;/'
bug "operations come a phase later" facts 's/(o->phase = \(uint32_t\)\(t >> 32\));/\1 + (o->in != CCS_NONE);/'
bug "operations of a phase are in no order" facts 's/o->level = \(uint32_t\)t;/o->level = 0;/'
bug "what a message brings is there in its phase" facts 's/TIME\(k->ops\[row\]\.phase \+ 1\)/TIME(k->ops[row].phase)/'
bug "reads keep back no writes" facts 's/k->write, w, o->([ab]) \+ j\), t \+ 1/k->write, w, o->\1 + j), 0/'
bug "writes keep back no reads" facts 's/k->read, w, o->dst \+ j\), end_of\(o\)/k->read, w, o->dst + j), 0/'
bug "writes keep back no writes" facts 's/k->write, w, o->dst \+ j\), end_of\(o\)/k->write, w, o->dst + j), 0/'
bug "a shifted operation takes one level" facts 's/CCS_OP_SHIFTED \? 2 : 1/CCS_OP_SHIFTED ? 1 : 1/'
bug "an order of ranks is not kept" facts 's/if \(k->ordered\)/if (0)/'
bug "waits are no order of ranks" facts 's/later\(t, end_of\(k->ops \+ k->v->workers/if (0) &/'
bug "a worker has no order" facts 's/later\(t, end_of\(o - 1\)\);/;/'
bug "a round too many" facts 's/plan->rounds = o->phase \+ 1;/plan->rounds = o->phase + 2;/'
bug "messages are received in cells too early" facts 's/t == message_at\(k, o\) \&\& //'
bug "messages are received in cells that cannot hold them" facts 's/ \&\& holds_message\(k, o\)//'
bug "messages are sent from cells that cannot hold them" facts 's/plan_whole\(k->v, k->even, o, from\)/true/'
bug "messages are sent from cells that are written" facts 's/free = !next \|\| next > round_at\(o->phase \+ 1\)/free = true/'
bug "one side alone is in place" facts 's/to->flags \&= \(uint16_t\)~CCS_OP_TO_CELLS;/;/'
bug "another cell's length" module_bytes 's/(v->len = .*)len \& ~LEN_SAME;/\1(len ^ 1) \& ~LEN_SAME;/'
bug "all cells as long as the first" module_bytes 's/len \& LEN_SAME\)/v->n > 1)/'
bug "lengths of cells that are alike" module_bytes 's/v->flags \|= CCS_OP_LEN_SAME;/;/'
bug "waits for an operation less" module_bytes \
	's/(\.ops = count\[o->fifo\]\[o->other\])/\1 - (count[o->fifo][o->other] > 1)/'
bug "waits for the first operation only" module_bytes 's/\.ops = count\[o->fifo\]\[o->other\]/.ops = 1/'
bug "waits of the operation before" module_bytes 's/v->wait = first;/v->wait = first ? first - 1 : 0;/'
bug "a last wait is lost" module_bytes 's/v->nwaits = nwaits - first;/v->nwaits = (nwaits - first) \/ 2;/'
bug "stores of fused operations are lost" module_bytes \
	's/(case OP_REDUCE_SEND:)/\1 stored = op_out(o) != NONE ? CCS_NONE : stored;/'
bug "initial values are read from the result" module_bytes 's/r->flags \|= CCS_OP_A_INITIAL;/;/'
bug "what is stored is read as initial" module_bytes 's/(r->a != CCS_NONE) \&\& o->kind \& OP_INITIAL/\1/'
bug "copies go the other way round" module_bytes \
	'/case OP_COPY:/,/break/{s/o->cell/o->WAS/;s/o->other/o->cell/;s/WAS/other/}'
bug "messages of FIFOs are counted wrongly" module_bytes 's/\.messages = q->nsends/.messages = q->nsends + 1/'
bug "the largest message of a FIFO is the last" module_bytes 's/n > v\[f\].max_cells \? n :/1 ? n :/'
bug "the largest message is not noted" module_bytes 's/plan->max_message = v->n;/plan->max_message = 1;/'
bug "a promise for another cell" module_bytes \
	's/asked = contract_row\(k, rank, cell\);/even = contract_row(k, rank, cell \/ 2 * 2), asked = even == NONE ? contract_row(k, rank, cell) : even;/'
bug "a promise is forgotten" module_bytes 's/asked == NONE \?/asked == NONE || i % 3 == 2 ?/'
bug "contributions twice" module_bytes 's/\.times = s->times/.times = 2/'
bug "sums are no sums" module_bytes 's/\.reduced = s->reduced/.reduced = 0/'
bug "odd counts are not refused" module_bytes 's/h->flags \|= CCS_MODULE_EVEN_COUNTS;/;/'
bug "odd counts are refused" module_bytes 's/if \(v->lowered->proof.even_counts\)/if (1)/'
bug "an operator matters" module_bytes 's/if \(v->contract->any_reduced\)$/if (1)/'
bug "FIFOs are deeper than they were checked with" module_bytes 's/\.slots = c->slots/.slots = 2 * c->slots/'
bug "blocks and chunks change places" module_bytes \
	's/\.chunks = p->buffers\[i\]\.chunks/.chunks = p->buffers[i].blocks/;s/\.blocks = p->buffers\[i\]\.blocks/.blocks = p->buffers[i].chunks/'
bug "another direction" module_bytes 's/DIR_IN +\? CCS_IN/DIR_IN ? CCS_INOUT/'
bug "another parameter" module_bytes 's/\? -1 : p->params\[i\]/? -1 : p->params[i] + 1/'
bug "another name" module_bytes 's/(h\.contract = add_name\(\&b, schedule->)contract_name/\1name/'
bug "a schedule by its contract's name" module_bytes \
	's/(h\.schedule = add_name\(&b, schedule->)name\.name/\1contract_name.name/'
bug "another compiler" module_bytes 's/add_name\(&b, CCS_VERSION\)/add_name(\&b, "0")/'
bug "a buffer by another name" module_bytes 's/v\[i\]\.name = add_name\(b, d->name\.name\);$/v[i].name = add_name(b, "z");/'
bug "a buffer by column" module_bytes 's/v\[i\]\.by_column = d->by_column/v[i].by_column = !d->by_column/'
bug "a source by another name" module_bytes 's/add_file_name\(b, s->name\)/add_file_name(b, "x.ccs")/'
bug "a source by a longer name" module_bytes 's/add_file_name\(b, s->name\)/add_file_name(b, arena_printf(b->arena, "%ss", s->name))/'
bug "another source of the same length" module_bytes 's/^\t\tf\+\+;/\t\tb->text[f->content] = 120;\n&/'
bug "a source that is cut off" module_bytes 's/strnlen\(s->text, s->len\)/strnlen(s->text, s->len) - 1/'
bug "another number of steps" module_bytes 's/\.steps = in->steps/.steps = in->steps + 1/'
bug "another protocol" module_bytes 's/in->choices->n \* sizeof\(\*rows\)\);/&\n\trows->channels++;/'
bug "scratch that is not there" module_bytes 's/\.scratch = p->scratch/.scratch = 0/'
bug "an order after fewer ranks" module_bytes 's/\.n = k->after\[i\]\.n/.n = 1/'
bug "plans in another order" module_bytes 's/return a->root < b->root \? -1 : a->root > b->root;/return a->root > b->root ? -1 : a->root < b->root;/'

# Sizes that a call gives.
good=tests/cpu/layouts/exchange_sized.ccs
emit "$build/bin/ccc" $good "$tmp/good/exchange_sized.ccs.so"
holds "... with sized chunks" test -s "$tmp/good/exchange_sized.ccs.so"
bug "sizes of other chunks" module_bytes 's/CCS_NONE : p->size_class\[i\];/CCS_NONE : p->size_class[i] \/ 2;/'
bug "a length of another rank's chunk" lengths \
	's/p->size_class\[\(size_t\)rank \* p->cells \+ cell\]/p->size_class[(size_t)from * p->cells + cell]/'

# Kernels are added to what was proved.
export CCS_NVRTC="$PWD/$build/tests/fake_cuda/libnvrtc.so"
target=cuda good=schedules/ring_allreduce.ccs
rm "$tmp"/good/*
emit "$build/bin/ccc" $good "$tmp/good/ring_allreduce.ccs.so"
holds "... with kernels" test -s "$tmp/good/ring_allreduce.ccs.so"
bug "kernels are written over plans" module_bytes \
	's/^(\tmemcpy\(add_table\(\&b, \&h\.cuda, len, 1\), source, len\);)/\1\n\tb.data[h.plans.at + sizeof(struct ccs_plan) + 9] ^= 1;/'
exit $failed
