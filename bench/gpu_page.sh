# shellcheck shell=bash
# What the parts of gpu.sh say on its page, and how they run commands within their time. Sourced by
# it: its variables are out, work, data (key, size, time, bus bandwidth, wrong; by tabs), limit,
# part, part_end, child (what runs), failed and slow (parts).

say() { printf '%s\n' "$*" | page; }
page() { tee -a "$out"; }
fails() { # fails WHAT: this part has failed
	failed="$failed $part"
	say "**failed**: $*"
}
block() { # block FILE [LINES]: as it is
	[ -s "$1" ] || return 0
	{ echo '```'; tail -n "${2:-20}" "$1"; echo '```'; } | page
}

# The page has all that was said so far.
interrupted() {
	trap '' INT TERM HUP
	# shellcheck disable=SC2086 # maybe several
	[ -z "$child" ] || kill $child 2>/dev/null
	say ""
	say "**Interrupted** in \`$part\`, after $SECONDS s."
	exit "$1"
}

# Seconds that are left to this part.
left() {
	local end=$((limit < part_end ? limit : part_end))
	echo $((end - SECONDS))
}

# bounded SECONDS COMMAND...: no longer than that, nor than is left to the part; 124: it was cut,
# or not begun. In the background, so that an interruption is seen at once.
bounded() {
	local most=$1 rest begun=$SECONDS rc
	rest=$(left)
	shift
	[ "$rest" -lt 2 ] && { echo "no time was left" >&2; return 124; }
	[ "$most" -le "$rest" ] || most=$rest
	timeout -k 5 "$most" "$@" <&0 &
	child=$!
	wait "$child"
	rc=$?
	child=
	case $rc in # what had to be killed, and what another timeout than GNU's says
	137 | 143) [ $((SECONDS - begun)) -lt "$most" ] || rc=124 ;;
	esac
	return $rc
}

# That a command was cut: the part says so once.
cut_short() {
	case " $slow " in *" $part "*) return ;; esac
	slow="$slow $part"
	say "**Too slow**: the time of this part was over, and the missing rows were not run."
}

# run SECONDS COMMAND...: its output goes to $work/log; says so if it fails. Kernels that cannot
# be made here are no failure.
run() {
	bounded "$@" >"$work/log" 2>&1 </dev/null
	local rc=$?
	[ $rc = 0 ] && return 0
	if [ $rc = 124 ]; then
		cut_short
		return 1
	fi
	shift
	if grep -q 'has no kernel for' "$work/log"; then
		say "Not run: $(grep -m 1 'has no kernel for' "$work/log" | sed 's/^ccrun: *//')"
		return 1
	fi
	fails "status $rc: \`$*\`"
	block "$work/log" 8
	return 1
}

# measure KEY MODULE OPTIONS...: a table of ccrun at 8 ranks, into $data
measure() {
	local key=$1 module=$2
	shift 2
	run 90 "$ccrun" -n 8 --device cuda:0 "$@" "$module" || return
	awk -v key="$key" 'NF == 13 && $1 ~ /^[0-9]+$/ {
		print key "\t" $1 "\t" $6 "\t" $8 "\t" $9 }' "$work/log" >>"$data"
	grep -q "^$key	" "$data" || { fails "$key: no row"; block "$work/log" 5; }
}

# bytes SIZE: as people write it
sizes() { awk '{ s = $1; u = ""; n = split("K M G", U, " ")
	for (i = 1; i <= n && s >= 1024 && s % 1024 == 0; i++) { s /= 1024; u = U[i] }
	$1 = s (u == "" ? " B" : " " u "iB"); print }' FS='\t' OFS='\t'; }

# table COLUMN KEY...: rows by size, a column a key, which is named without what stands
# before its last colon. COLUMN: 3 time, 4 bus bandwidth,
# or `part`: of the copy rate, by the bytes that the algorithm must move
table() {
	local column=$1
	shift
	local keys="$*"
	{
		awk -F '\t' -v OFS='\t' -v column="$column" -v keys="$keys" -v rate="$(copy_rate)" \
				-v moves="$work/moves" '
			BEGIN {
				n = split(keys, k, " ")
				while ((getline line < moves) > 0) { split(line, f, " "); times[f[1]] = f[2] }
			}
			{ if (!($2 in seen)) { seen[$2] = 1; order[++rows] = $2 }
			  if (column != "part") v[$2, $1] = $column
			  else if (rate > 0 && $3 > 0 && times[$1] > 0)
				v[$2, $1] = sprintf("%.3f", times[$1] * $2 / ($3 * 1000) / rate) }
			END {
				for (i = 1; i <= rows; i++) {
					line = order[i]; any = 0
					for (j = 1; j <= n; j++) {
						line = line OFS v[order[i], k[j]]
						any = any || v[order[i], k[j]] != ""
					}
					if (any) print line
				}
			}' "$data" | sort -n | sizes
	} | awk -F '\t' -v keys="$keys" '
		BEGIN { n = split(keys, k, " "); h = "| a rank |"; r = "|---|"
			for (j = 1; j <= n; j++) { sub(/.*:/, "", k[j]); h = h " " k[j] " |"; r = r "---:|" }
			print h; print r }
		{ line = "|"; for (j = 1; j <= n + 1; j++) line = line " " $j " |"; print line }' | page
}

copy_rate() { awk '$1 == "copy_rate" { print $2 }' "$work/rate" 2>/dev/null; }
module() { echo "$modules/$1.so"; }
