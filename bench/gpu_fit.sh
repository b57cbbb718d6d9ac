#!/bin/sh
# The constants of the model that chooses between LL and Simple (compiler/lower/protocols.c), from a
# page that gpu.sh has written. A call takes
#
#     call + messages * hop + bytes / channels * (what a byte of that way costs)
#
# where messages and bytes are those of a worker, and the ways are LL's, Simple's through a slot,
# and Simple's straight to its place. The six constants are those with the least squares of relative
# errors, over all calls of one tile that do not yet fill the GPU (below half of the fastest rate of
# bytes that is seen); those rows are the `plan` and `time` lines of the page. None is negative: one
# that would be is 0, and the rest are the best for that.
# usage: gpu_fit.sh PAGE.md     Status 1: the page has too few rows
set -u
[ $# = 1 ] && [ -r "$1" ] || { echo "usage: gpu_fit.sh PAGE.md" >&2; exit 2; }
awk '
	# must, direct, plain, messages (gpu.sh), messages and bytes of a worker: by slot, straight
	$1 == "plan" && NF == 9 { hops[$2] = $7; slot[$2] = $8; straight[$2] = $9; moved[$2] = $4; next }
	$1 == "time" && NF == 5 && $2 in hops && $5 > 0 {
		split($3, how, "/")
		n++
		name[n] = $2; ll[n] = how[1] == "ll"; channels[n] = how[2]; size[n] = $4; us[n] = $5
		rate[n] = moved[$2] * $4 / $5
		if (rate[n] > fastest) fastest = rate[n]
	}
	# Row i as the six factors x[1..6].
	function factors(i,    s) {
		s = name[i]
		for (k = 1; k <= 6; k++) x[k] = 0
		x[1] = 1
		if (ll[i]) {
			x[2] = hops[s]
			x[3] = (slot[s] + straight[s]) * size[i] / channels[i]
		} else {
			x[4] = hops[s]
			x[5] = slot[s] * size[i] / channels[i]
			x[6] = straight[s] * size[i] / channels[i]
		}
	}
	function one_tile(i,    s) {
		s = name[i]
		return (slot[s] + straight[s]) * size[i] / channels[i] / hops[s] <= (ll[i] ? 8192 : 131072)
	}
	function root(y,    r, i) { # not every awk has it
		r = y > 1 ? y : 1
		for (i = 0; i < 60; i++) r = (r + y / r) / 2
		return r
	}
	# The sums of all rows that are kept, for the constants that are not held at 0.
	function add_up(   j, r, k) {
		for (r = 1; r <= 6; r++)
			for (k = 1; k <= 7; k++) a[r, k] = 0
		for (j = 1; j <= used; j++) {
			factors(kept[j])
			for (r = 1; r <= 6; r++) {
				if (r in held) continue
				for (k = 1; k <= 6; k++)
					if (!(k in held)) a[r, k] += x[r] * x[k] / us[kept[j]] / us[kept[j]]
				a[r, 7] += x[r] / us[kept[j]]
			}
		}
		for (k = 1; k <= 6; k++) weight[k] = root(a[k, k])
	}
	# the solution of a[1..6][1..7], by Gauss and Jordan with the largest pivot. A constant that is in no
	# row stays 0.
	function solve(   c, r, best, k, f) {
		for (c = 1; c <= 6; c++) {
			best = c
			for (r = c; r <= 6; r++)
				if ((a[r, c] < 0 ? -a[r, c] : a[r, c]) > (a[best, c] < 0 ? -a[best, c] : a[best, c])) best = r
			if (a[best, c] == 0) continue
			for (k = 1; k <= 7; k++) { f = a[c, k]; a[c, k] = a[best, k]; a[best, k] = f }
			for (r = 1; r <= 6; r++)
				if (r != c) {
					f = a[r, c] / a[c, c]
					for (k = 1; k <= 7; k++) a[r, k] -= f * a[c, k]
				}
		}
	}
	END {
		for (i = 1; i <= n; i++) {
			if (!one_tile(i) || (rate[i] > fastest / 2 && channels[i] > 1)) continue
			kept[++used] = i
		}
		if (used < 12) {
			print "too few rows: " used + 0
			exit 1
		}
		do { # at most once a constant
			add_up()
			solve()
			worst = 0
			for (k = 1; k <= 6; k++) {
				v[k] = !(k in held) && a[k, k] ? a[k, 7] / a[k, k] : 0
				if (v[k] < 0 && (!worst || v[k] * weight[k] < v[worst] * weight[worst])) worst = k
			}
			if (worst) held[worst] = 1
		} while (worst)
		for (j = 1; j <= used; j++) {
			factors(kept[j])
			t = 0
			for (k = 1; k <= 6; k++) t += v[k] * x[k]
			e = (t - us[kept[j]]) / us[kept[j]]
			error += e * e
		}
		split("a call,LL_HOP,LL_BYTE,SIMPLE_HOP,SIMPLE_BYTE,DIRECT_BYTE", called, ",")
		split("us,ns,ps,ns,ps,ps", unit, ",")
		split("1,1000,1000000,1000,1000000,1000000", times, ",")
		for (k = 1; k <= 6; k++)
			printf "%-16s %8s %s%s\n", called[k], sprintf(k == 1 ? "%.2f" : "%.0f", v[k] * times[k]), unit[k], k in held ? ", held there" : ""
		error = 100 * root(error / used)
		printf "from %d of %d rows, relative error %.1f %%%s\n", used, n, error, (error > 20 ? ": the model is not that of this page" : "")
	}' "$1"
