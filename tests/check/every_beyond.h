/*
 * Texts that every_test.c must not hear claimed for every N, or every X.
 */
#ifndef CCS_TESTS_CHECK_EVERY_BEYOND_H
#define CCS_TESTS_CHECK_EVERY_BEYOND_H

/* Every rank sends to every other one through `leaves` switches, which `lines` join. */
#define SWITCHED(leaves, lines) \
	"topology two_levels(G = 4) where N % G == 0 {\n  let node = rank / G\n" \
	"  switch leaf[" leaves "]\n  switch spine\n  link rank -> leaf[node]\n" lines "}\n" \
	"schedule exchange implements all_to_all(in a[N], out b[N]) on two_levels {\n" \
	"  copy a[rank] into b[rank]\n  par for d in 1..N {\n" \
	"    send a[(rank + d) % N] to (rank + d) % N\n" \
	"    recv b[(rank - d) % N] from (rank - d) % N\n  }\n}\n"
#define TO_RANK "  link leaf[node] -> rank\n"
#define BY_SPINE "  link leaf[node] -> spine\n  link spine -> leaf[node]\n"

/* Of a grid: rows by hand, then `columns`. */
#define GRID(columns) \
	"schedule grid(X = 2)\n  implements allreduce(inout data[1])\n  where N % X == 0\n{\n" \
	"  let Y = N / X\n  let x = rank % X\n  let y = rank / X\n" \
	"  if x > 0 { reduce data from rank - 1 }\n  if x < X - 1 { send data to rank + 1 }\n" \
	"  if x < X - 1 { recv data from rank + 1 }\n  if x > 0 { send data to rank - 1 }\n" columns \
	"}\n"

/* The first rank of each row adds up its row, and the others wait for their answer. */
#define ANSWERS(sums, other) \
	"schedule answers(X = 2)\n  implements allreduce(inout data[1])\n  where N % X == 0\n{\n" \
	"  let x = rank % X\n  if x == 0 {\n" sums \
	"    if rank > 0 { reduce data from rank - X }\n" \
	"    if rank + X < N {\n      send data to rank + X\n      recv data from rank + X\n    }\n" \
	"    if rank > 0 { send data to rank - X }\n" \
	"    for q in 1..X { send data to rank + q }\n  } else {\n" other "  }\n}\n"
#define SUMS "    for q in 1..X { reduce data from rank + q }\n"

/* An exchange with each other rank. */
#define XOR(messages) \
	"schedule exchange\n  implements all_to_all(in a[N], out b[N])\n  where ispow2(N)\n{\n" \
	"  copy a[rank] into b[rank]\n  for s in 1..N {\n    let peer = rank ^ s\n" \
	"    step {\n" messages "    }\n  }\n}\n"

/* Up a binomial tree, with a loop of `trips` and then a message of the ranks where `condition` holds. */
#define BINOMIAL(trips, condition, after) \
	"schedule binomial\n  implements reduce(inout data[1]; root = 0)\n{\n" \
	"  let top = rank == 0 ? clog2(N) : ctz(rank)\n  for k in 0.." trips " {\n" \
	"    if rank + (1 << k) < N { reduce data from rank + (1 << k) }\n  }\n" \
	"  if rank > 0 && " condition " { send data to rank - (1 << top) }\n" after "}\n"

/* Up a binary tree, and back, by messages of `chunks`. */
#define HEAP(contract, chunks, answer) \
	"schedule heap\n  implements " contract "\n{\n  scratch t[1]\n" \
	"  let up = (rank - 1) / 2\n" \
	"  if 2 * rank + 1 < N { recv " chunks " from 2 * rank + 1 }\n" \
	"  if 2 * rank + 2 < N { recv " chunks " from 2 * rank + 2 }\n" answer \
	"  if 2 * rank + 1 < N { send " chunks " to 2 * rank + 1 }\n" \
	"  if 2 * rank + 2 < N { send " chunks " to 2 * rank + 2 }\n}\n"

/* Texts that are right for small N, and what shows that they are wrong; or for their own X, so
 * that nothing may be said of every X. */
static const struct {
	const char *wrong, *text;
} beyond_texts[] = {
	/* a number that 64 bits do not hold */
	{ "-n 128", "schedule wide\n  implements allreduce(inout data[1])\n{\n"
		    "  let z = N > 100 ? (N * 1000000000) * 1000000000 : 0\n"
		    "  if rank > 0 { reduce data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n"
		    "  if rank < N - 1 { recv data from rank + 1 }\n"
		    "  if rank > 0 { send data to rank - 1 }\n}\n" },
	{ "-n 16384 -D X=16384",
	  "import \"ring_allreduce.ccs\"\nimport \"ring_reduce_scatter.ccs\"\n"
	  "import \"ring_allgather.ccs\"\nschedule wide_grid(X = 2)\n"
	  "  implements allreduce(inout data[N])\n  where N % X == 0\n{\n"
	  "  let Y = N / X\n  let x = rank % X\n  let z = X * X * X * X * X\n"
	  "  within group(rank - x, X, 1) { ring_reduce_parts(data) }\n"
	  "  within group(x, Y, X) { ring_allreduce(data[x * Y .. (x + 1) * Y]) }\n"
	  "  within group(rank - x, X, 1) { ring_gather_parts(data) }\n}\n" },
	/* a callee on the caller's topology, which is turned by another number there */
	{ "-n 128", "topology turn(K) {\n  let after = (rank + K) % N\n"
		    "  let before = (rank - K) % N\n}\n"
		    "proc shift_by_one(a[1], b[1]) on turn(1) {\n"
		    "  step { send a to after  recv b from before }\n}\n"
		    "contract shifts(in a[C], in b[C], out c[C], out d[C])\n"
		    "  ensures c[i] == a[i]@((rank - 1) % N)\n"
		    "  ensures d[i] == b[i]@((rank - 1) % N)\n"
		    "schedule twice\n  implements shifts(in a[1], in b[1], out c[1], out d[1])\n"
		    "  on turn(N > 100 ? 2 : 1)\n{\n  shift_by_one(a, c)\n"
		    "  step { send b to after  recv d from before }\n}\n" },
	/* a chunk of another length */
	{ "-n 128", "contract first(in a[C], out b[D])\n  ensures b[0] == a[0]@0\n"
		    "schedule cut\n  implements first(in a[1 + N / 101], out b[1])\n"
		    "  where ispow2(N)\n{\n  if rank == 0 { copy a[0] into b[0] }\n"
		    "  for k in 0..ilog2(N) {\n    let d = 1 << k\n"
		    "    if rank < d { send b[0] to rank + d }\n"
		    "    if rank >= d && rank < 2 * d { recv b[0] from rank - d }\n  }\n}\n" },
	/* a file's let, which keeps the whole's rank in a group */
	{ "-n 128", "let me = rank\nschedule turned\n"
		    "  implements broadcast(inout data[1]; root = 0)\n{\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n"
		    "  if N > 100 { within group(N - 1, N, -1) { assert me == rank, \"me\" } }\n"
		    "}\n" },
	/* an assert of a topology that has no links */
	{ "-n 128", "topology few() {\n  assert N < 100, \"few\"\n}\n"
		    "schedule some\n  implements broadcast(inout data[1]; root = 0)\n  on few\n{\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n}\n" },
	/* ... nor does the int of a set's factor: where s * 2^32 is compared with a number */
	{ "-n 50 -D G=50",
	  "schedule levels(G = 2)\n  implements allgather(in a[1], out b[N])\n  on nodes(G)\n"
	  "  where N % G == 0\n{\n  let M = N / G\n  copy a into b[rank]\n  step {\n"
	  "    for s in 1..G {\n      let src = at(node, (local - s) % G)\n"
	  "      if s * 65536 * 65536 <= 20 * 65536 * 65536 {\n"
	  "        send b[rank] to at(node, (local + s) % G)\n        recv b[src] from src\n"
	  "      }\n    }\n  }\n  step {\n    for s in 1..M {\n"
	  "      let src = (node - s) % M\n"
	  "      send b[node * G .. (node + 1) * G] to at((node + s) % M, local)\n"
	  "      recv b[src * G .. (src + 1) * G] from at(src, local)\n    }\n  }\n}\n" },
	/* a channel that none has */
	{ "-n 128", "schedule wide_channel\n"
		    "  implements broadcast(inout data[1]; root = 0)\n{\n"
		    "  channel (N > 100 ? 65536 * 65536 * 2 : 0) {\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n  }\n}\n" },
	/* a link to what is no rank */
	{ "-n 128", "topology all() {\n  for p in 0..N + (N > 100 ? 1 : 0) {\n"
		    "    if p != rank { link rank -> p }\n  }\n}\n"
		    "schedule linked\n"
		    "  implements broadcast(inout data[1]; root = 0)\n  on all\n{\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n}\n" },
	{ "-n 128", "topology all() {\n  for p in 0..N + (N > 100 ? 1 : 0) {\n"
		    "    if p != rank { link rank -> p }\n  }\n}\n"
		    "schedule linked\n  implements allreduce(inout data[1])\n  on all\n"
		    "  where ispow2(N)\n{\n  scratch t[1]\n  for k in 0..ilog2(N) {\n"
		    "    step {\n      send data to rank ^ (1 << k)\n"
		    "      recv t from rank ^ (1 << k)\n    }\n    reduce t into data\n  }\n}\n" },
	/* a path that is missing, through switches; a node that is none; a number of switches; an assert */
	{ "-n 128", SWITCHED("N / G", TO_RANK "  if N < 100 {\n" BY_SPINE "  }\n") },
	{ "-n 128", SWITCHED("N / G", BY_SPINE "  if rank < 88 {\n" TO_RANK "  }\n") },
	{ "-n 128", SWITCHED("N / G", TO_RANK "  link leaf[node] -> spine\n"
					      "  if node < 25 { link spine -> leaf[node] }\n") },
	{ "-n 128", SWITCHED("N > 100 ? N / G - 1 : N / G", TO_RANK BY_SPINE) },
	{ "-n 128", SWITCHED("N / G", TO_RANK BY_SPINE
			     "  for i in 0..N - 100 { link spine -> rank + N }\n") },
	{ "-n 128", SWITCHED("N / G", TO_RANK BY_SPINE "  switch far[100 - N]\n") },
	{ "-n 128", SWITCHED("N / G", TO_RANK BY_SPINE "  assert N < 100, \"few\"\n") },
	/* ... of a topology whose switches join all ranks for its own G alone */
	{ "-n 64 -D G=32",
	  "import \"ring_allreduce.ccs\"\nimport \"ring_reduce_scatter.ccs\"\n"
	  "import \"ring_allgather.ccs\"\ntopology star(G) {\n  switch hub\n  link rank -> hub\n"
	  "  if G < 20 { link hub -> rank }\n}\nschedule two_rings(G = 4)\n"
	  "  implements allreduce(inout data[N])\n  on star(G)\n  where G > 0 && N % G == 0\n{\n"
	  "  let M = N / G\n  let g = rank % G\n"
	  "  within group(rank - g, G) { ring_reduce_parts(data) }\n"
	  "  within group(g, M, G) { ring_allreduce(data[g * M .. (g + 1) * M]) }\n"
	  "  within group(rank - g, G) { ring_gather_parts(data) }\n}\n" },
	/* a table's entries are those of where its let stands, in groups too */
	{ "-n 128",
	  "schedule table_in_group\n"
	  "  implements broadcast(inout data[1]; root = 0)\n{\n"
	  "  let T = [rank, 0]\n"
	  "  if rank > 0 { recv data from rank - 1 }\n"
	  "  if rank < N - 1 { send data to rank + 1 }\n"
	  "  if N > 100 {\n    within group(N - 1, N, -1) { assert T[0] == rank, \"t\" }\n"
	  "  }\n}\n" },
	{ "-n 128",
	  "let T = [rank, 0]\nschedule file_table_in_group\n"
	  "  implements broadcast(inout data[1]; root = 0)\n{\n"
	  "  if rank > 0 { recv data from rank - 1 }\n"
	  "  if rank < N - 1 { send data to rank + 1 }\n"
	  "  if N > 100 {\n    within group(N - 1, N, -1) { assert T[0] == rank, \"t\" }\n"
	  "  }\n}\n" },
	{ "-n 128",
	  "topology t() {\n  let T = [rank]\n}\nschedule topology_table_in_group\n"
	  "  implements broadcast(inout data[1]; root = 0)\n  on t\n{\n"
	  "  if rank > 0 { recv data from rank - 1 }\n"
	  "  if rank < N - 1 { send data to rank + 1 }\n"
	  "  if N > 100 {\n    within group(N - 1, N, -1) { assert T[0] == rank, \"t\" }\n"
	  "  }\n}\n" },
	/* ... and all of them have values, whichever is asked for */
	{ "-n 128", "schedule table\n"
		    "  implements broadcast(inout data[1]; root = 0)\n{\n"
		    "  let T = [1, 1 / (N - 128)]\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n}\n" },
	{ "-n 128", "let T = [1, 1 / (N - 128)]\nschedule file_table\n"
		    "  implements broadcast(inout data[1]; root = 0)\n{\n"
		    "  assert T[0] == 1, \"one\"\n"
		    "  if rank > 0 { recv data from rank - 1 }\n"
		    "  if rank < N - 1 { send data to rank + 1 }\n}\n" },
	{ "-n 128", "schedule powers_table\n  implements allreduce(inout data[1])\n"
		    "  where ispow2(N)\n{\n  scratch t[1]\n  let T = [1, 1 / (N - 128)]\n"
		    "  for k in 0..ilog2(N) {\n    step {\n      send data to rank ^ (1 << k)\n"
		    "      recv t from rank ^ (1 << k)\n    }\n    reduce t into data\n  }\n}\n" },
	{ "-n 128 -D G=64",
	  "schedule grid_table(G = 2)\n  implements allgather(in a[1], out b[N])\n  on nodes(G)\n"
	  "  where N % G == 0\n{\n  let M = N / G\n  let T = [1, 1 / (G - 64)]\n"
	  "  copy a into b[rank]\n  step {\n    for s in 1..G {\n"
	  "      let src = at(node, (local - s) % G)\n"
	  "      send b[rank] to at(node, (local + s) % G)\n      recv b[src] from src\n"
	  "    }\n  }\n  step {\n    for s in 1..M {\n      let src = (node - s) % M\n"
	  "      send b[node * G .. (node + 1) * G] to at((node + s) % M, local)\n"
	  "      recv b[src * G .. (src + 1) * G] from at(src, local)\n    }\n  }\n}\n" },
	/* columns, and the first ranks of rows, that are too long */
	{ "-n 128", GRID("  if rank >= X { reduce data from rank - X }\n"
			 "  if y < Y - 1 && y != 40 { send data to rank + X }\n"
			 "  if y < Y - 1 { recv data from rank + X }\n"
			 "  if y > 0 { send data to rank - X }\n") },
	{ "-n 128",
	  GRID("  if y > 0 { reduce data from rank - X }\n"
	       "  if y < Y - 1 { if y > 40 { send data to rank + 2 * X } else { send data to rank + X } }\n"
	       "  if y < Y - 1 { recv data from rank + X }\n"
	       "  if y > 0 { send data to rank - X }\n") },
	{ "-n 128",
	  GRID("  if x == 0 {\n    if y == 0 {\n      for q in 1..Y { reduce data from q * X }\n"
	       "    } else { if y < 40 { send data to x } }\n  }\n"
	       "  if rank == 0 {\n    for q in 1..N { send data to q }\n"
	       "  } else {\n    recv data from 0\n  }\n") },
	/* iterations that wait for one another's messages; with the same peer, or chunk */
	{ "-n 128", XOR("      send a[peer] to peer\n"
			"      recv b[rank ^ (N > 100 && s < 3 ? 3 - s : s)]"
			" from rank ^ (N > 100 && s < 3 ? 3 - s : s)\n") },
	{ "-n 128", XOR("      send a[peer] to peer\n      recv b[peer] from peer\n"
			"      if N > 100 && s > 2 {\n        send a[rank ^ 1] to rank ^ 1\n"
			"        recv b[rank ^ 2] from rank ^ 1\n      }\n") },
	{ "-n 128", XOR("      send a[peer] to peer\n"
			"      recv b[N > 100 && s == 3 ? rank ^ 2 : peer] from peer\n") },
	/* tracks hold no number below 0: a loop that begins there, a sum, who has begun */
	{ "-n 128", "schedule below_in_loop\n  implements allreduce(inout data[2])\n"
		    "  where ispow2(N)\n{\n  scratch t[2]\n"
		    "  for j in (N > 100 ? 0 - 1 : 0)..2 { copy data[j] into t[j] }\n"
		    "  for k in 0..ilog2(N) {\n    step {\n      send data to rank ^ (1 << k)\n"
		    "      recv t from rank ^ (1 << k)\n    }\n"
		    "    for j in 0..2 { reduce t[j] into data[j] }\n  }\n}\n" },
	{ "-n 128", "contract all(inout data[1])\n"
		    "  ensures data[0] == sum(q in (N > 100 ? 0 - 1 : 0)..N: data[0]@q)\n"
		    "schedule sum_below\n  implements all(inout data[1])\n"
		    "  where ispow2(N)\n{\n  scratch t[1]\n  for k in 0..ilog2(N) {\n"
		    "    step {\n      send data to rank ^ (1 << k)\n"
		    "      recv t from rank ^ (1 << k)\n    }\n    reduce t into data\n  }\n}\n" },
	{ "-n 128",
	  "contract heard()\n  ensures after(q in (N > 100 ? 0 - 1 : 0)..N)\n"
	  "schedule after_below\n  implements heard()\n{\n  scratch t[1]\n  scratch u[1]\n"
	  "  for k in 0..clog2(N) {\n    step {\n"
	  "      send t[0..0] to (rank + (1 << k)) % N\n"
	  "      recv u[0..0] from (rank - (1 << k)) % N\n    }\n  }\n}\n" },
	/* a row reads a block that is not there; a copy fills a scratch too late */
	{ "-n 128", "schedule unfilled(X = 2)\n  implements allgather(in a[1], out b[N])\n"
		    "  where N % X == 0\n{\n  let Y = N / X\n  let x = rank % X\n"
		    "  let y = rank / X\n  if y < 50 { copy a into b[rank] }\n"
		    "  for s in 0..X - 1 {\n    step {\n"
		    "      send b[y * X + (x - s) % X] to y * X + (x + 1) % X\n"
		    "      recv b[y * X + (x - s - 1) % X] from y * X + (x - 1) % X\n    }\n  }\n"
		    "  if y >= 50 { copy a into b[rank] }\n"
		    "  for s in 0..Y - 1 {\n    step {\n"
		    "      send b[(y - s) % Y * X .. (y - s) % Y * X + X] to (y + 1) % Y * X + x\n"
		    "      recv b[(y - s - 1) % Y * X .. (y - s - 1) % Y * X + X] from\n"
		    "        (y - 1) % Y * X + x\n    }\n  }\n}\n" },
	{ "-n 128", "schedule unfilled_scratch(X = 2)\n  implements allreduce(inout data[1])\n"
		    "  where N % X == 0\n{\n  let x = rank % X\n  scratch t[1]\n  scratch u[1]\n"
		    "  if rank < 100 { copy data into t }\n  for s in 1..X {\n    step {\n"
		    "      send t to rank - x + (x + 1) % X\n"
		    "      recv u from rank - x + (x - 1) % X\n    }\n    copy u into t\n"
		    "    reduce u into data\n  }\n  copy data into t\n"
		    "  for s in 1..N / X {\n    step {\n      send t to (rank + X) % N\n"
		    "      recv u from (rank - X) % N\n    }\n    copy u into t\n"
		    "    reduce u into data\n  }\n}\n" },
	/* a row that waits before it sends, or that is not added up in time; another rank's answer */
	{ "-n 128", ANSWERS(SUMS, "    if rank < 100 { send data to rank - x }\n"
				  "    recv data from rank - x\n"
				  "    if rank >= 100 { send data to rank - x }\n") },
	{ "-n 128", ANSWERS("    if rank < 100 {\n  " SUMS "    }\n",
			    "    send data to rank - x\n    recv data from rank - x\n") },
	{ "-n 128", ANSWERS(SUMS, "    send data to rank - x\n"
				  "    recv data from (rank < 100 ? rank - x : rank - x - X)\n") },
	{ "-n 128 -D X=32", ANSWERS(SUMS, "    send data to rank - x\n"
					  "    if x < 16 { recv data from rank - x }\n") },
	/* a message before or after a loop: of too few ranks, before the loop for some, of another trip */
	{ "-n 128", BINOMIAL("top", "rank < 100", "") },
	{ "-n 128", BINOMIAL("top", "rank != 96", "  if rank == 96 { send data to 1 }\n") },
	{ "-n 128", BINOMIAL("(rank == 96 ? 3 : top)", "true", "") },
	{ "-n 128", "schedule early\n  implements reduce(inout data[1]; root = 0)\n{\n"
		    "  let top = rank == 0 ? clog2(N) : ctz(rank)\n"
		    "  if rank >= 80 { send data to rank - (1 << top) }\n"
		    "  for k in 0..top {\n"
		    "    if rank + (1 << k) < N { reduce data from rank + (1 << k) }\n  }\n"
		    "  if rank > 0 && rank < 80 { send data to rank - (1 << top) }\n}\n" },
	/* odd ranks, which are not in the loop, wait for a later message before they send into it */
	{ "-n 128",
	  "schedule waits\n  implements reduce(inout data[1]; root = 0)\n{\n  scratch t[1]\n"
	  "  let top = rank == 0 ? clog2(N) : ctz(rank)\n"
	  "  if rank % 2 == 1 && N > 100 { recv t from rank - 1 }\n"
	  "  if rank % 2 == 0 {\n    for k in 0..top {\n"
	  "      if rank + (1 << k) < N { reduce data from rank + (1 << k) }\n    }\n  }\n"
	  "  if rank > 0 { send data to rank - (1 << top) }\n"
	  "  if rank % 2 == 0 && rank + 1 < N && N > 100 { send data to rank + 1 }\n"
	  "  if rank % 2 == 0 && rank + 1 < N && N <= 100 { send data to rank + 1 }\n"
	  "  if rank % 2 == 1 && N <= 100 { recv t from rank - 1 }\n}\n" },
	/* the higher rank of some pairs receives first, too */
	{ "-n 128", "schedule both_receive\n  implements all_to_all(in a[N], out b[N])\n"
		    "  where ispow2(N)\n{\n  copy a[rank] into b[rank]\n  for s in 1..N {\n"
		    "    let peer = rank ^ s\n    if rank < peer && rank < 60 {\n"
		    "      send a[peer] to peer\n      recv b[peer] from peer\n    } else {\n"
		    "      recv b[peer] from peer\n      send a[peer] to peer\n    }\n  }\n}\n" },
	/* some ranks do not wait for the answer; some do so before they ask */
	{ "-n 128", HEAP("barrier()", "t[0..0]",
			 "  if rank > 0 {\n    if rank < 100 {\n      send t[0..0] to up\n"
			 "      recv t[0..0] from up\n    } else {\n"
			 "      recv t[0..0] from up\n      send t[0..0] to up\n    }\n  }\n") },
	{ "-n 128", HEAP("barrier()", "t[0..0]",
			 "  if rank > 0 && rank < 100 { send t[0..0] to up }\n"
			 "  if rank > 0 { recv t[0..0] from up }\n"
			 "  if rank >= 100 { send t[0..0] to up }\n") },
	{ "-n 128", "schedule star\n  implements barrier()\n{\n  scratch t[1]\n"
		    "  if rank == 0 {\n"
		    "    for q in 1..N { if q < 100 { recv t[0..0] from q } }\n"
		    "    for q in 1..N { send t[0..0] to q }\n"
		    "    for q in 1..N { if q >= 100 { recv t[0..0] from q } }\n"
		    "  } else {\n    send t[0..0] to 0\n    recv t[0..0] from 0\n  }\n}\n" },
	{ "-n 128", "schedule up_only\n  implements barrier()\n{\n  scratch t[1]\n"
		    "  let up = (rank - 1) / 2\n"
		    "  if 2 * rank + 1 < N { recv t[0..0] from 2 * rank + 1 }\n"
		    "  if 2 * rank + 2 < N && rank <= 60 { recv t[0..0] from 2 * rank + 2 }\n"
		    "  if rank > 0 {\n    send t[0..0] to up\n    recv t[0..0] from up\n  }\n"
		    "  if 2 * rank + 2 < N && rank > 60 { recv t[0..0] from 2 * rank + 2 }\n"
		    "  if 2 * rank + 1 < N { send t[0..0] to 2 * rank + 1 }\n"
		    "  if 2 * rank + 2 < N { send t[0..0] to 2 * rank + 2 }\n}\n" },
};

#endif
