#!/bin/sh
# The shells' completions have every option, and work.   usage: completion_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
share=$PWD/$build/share

# ---- --options ------------------------------------------------------------------------------
for command in ccc ccrun; do
	status "$command --options" 0 "$build/bin/$command" --options
	cp "$tmp/out" "$tmp/$command.options"
	bad=$(awk -F '\t' 'NF != 5 || $3 !~ /^(command|flag|value|choice|list|file|directory)$/' "$tmp/out")
	holds "... has lines of five fields" test -z "$bad"
	# each is taken by the command, and each of --help is there
	"$build/bin/$command" --help | grep -oE '^  --?[a-zA-Z-]+' | tr -d ' ' | grep -v '^-Wno-NAME' |
		sort >"$tmp/help"
	cut -f1 "$tmp/out" | grep '^-' | sort >"$tmp/names"
	holds "... has all of --help" test -z "$(comm -23 "$tmp/help" "$tmp/names")"
	unknown=$(grep -v "	command	" "$tmp/out" | cut -f1 | while read -r o; do
		"$build/bin/$command" "$o" 2>&1 </dev/null | grep -i 'unknown option\|no warning'; done)
	if [ -z "$unknown" ]; then ok "... and the command knows each"; else
		not_ok "... and the command knows each" "$unknown"; fi
	for script in "$share/bash-completion/completions/$command" \
			"$share/zsh/site-functions/_$command" \
			"$share/fish/vendor_completions.d/$command.fish"; do
		missing=$(while read -r o; do
			bare=$(echo "$o" | sed 's/^--*//')
			grep -qE -e "(^|[^a-zA-Z-])($o|-[los] $bare)([^a-zA-Z-]|\$)" "$script" || echo "$o"
		done <"$tmp/names")
		if [ -z "$missing" ]; then ok "${script#"$share/"} has every option"; else
			not_ok "${script#"$share/"} has every option" "$missing"; fi
	done
done

# ---- the shells -------------------------------------------------------------------------------
mkdir -p "$tmp/at/sub"
touch "$tmp/at/a.ccs" "$tmp/at/b.so" "$tmp/at/c.txt"

# bash_says LINE WANTED: the replies at the end of the line, sorted
bash_says() {
	got=$(cd "$tmp/at" && LINE=$1 bash -c '
		. "$0/bash-completion/completions/${LINE%% *}"
		COMP_LINE=$LINE COMP_POINT=${#LINE}
		"_${LINE%% *}"
		printf "%s\n" "${COMPREPLY[@]}"' "$share" | sort | tr '\n' ' ')
	if [ "$got" = "$2" ]; then ok "bash: $1"; else not_ok "bash: $1" "'$got', not '$2'"; fi
}
if ! command -v bash >/dev/null; then
	echo "skip - completion in bash: there is no bash"
else
	bash_says 'ccc ex' 'explain '
	bash_says 'ccc ' 'a.ccs bound check explain fmt lsp simulate sub table '
	bash_says 'ccc table a' 'a.ccs '
	bash_says 'ccc table --format=' 'csv html json svg text trace tuning '
	bash_says 'ccc check a' 'a.ccs '
	bash_says 'ccc check e' ' '
	bash_says 'ccc --emit=p' 'plan program ptx '
	bash_says 'ccc --emit p' 'plan program ptx '
	bash_says 'ccc --em' '--emit '
	bash_says 'ccc --target=cpu,cu' 'cpu,cuda '
	bash_says 'ccc --kernels=float32:pr' 'premul prod '
	bash_says 'ccc --explain E040' 'E0401 E0402 E0403 E0404 E0405 E0406 E0407 E0408 E0409 '
	bash_says 'ccc -Wno-' '-Wno-branch -Wno-dead -Wno-empty -Wno-error=branch -Wno-error=dead -Wno-error=empty -Wno-error=executor -Wno-error=input -Wno-error=root -Wno-error=serial -Wno-error=topology -Wno-error=unused -Wno-executor -Wno-input -Wno-root -Wno-serial -Wno-topology -Wno-unused '
	bash_says 'ccc -I ' 'sub '
	bash_says 'ccc -n ' ' '
	bash_says 'ccrun b' 'b.so '
	bash_says 'ccrun -d float32,bf' 'float32,bfloat16 '
	bash_says 'ccrun --transport ' 'local mpi shm '
	bash_says 'ccrun --device c' 'cpu cuda '
	bash_says 'ccrun -o pre' 'premul '
	bash_says 'ccrun --t' '--table --threads --timeout --trace --transport --tune '
	bash_says 'ccrun --table ' 'a.ccs b.so c.txt sub '
	bash_says 'ccrun --tune c.txt ' 'b.so sub '
fi
for shell in zsh fish; do
	if ! command -v $shell >/dev/null; then
		echo "skip - completion in $shell: there is no $shell"
		continue
	fi
	for command in ccc ccrun; do
		script=$share/zsh/site-functions/_$command
		[ $shell = zsh ] || script=$share/fish/vendor_completions.d/$command.fish
		status "$shell reads the completion of $command" 0 $shell -n "$script"
		holds "... without a word" test ! -s "$tmp/err"
	done
done
# fish_says LINE PATTERN: one of the lines that it offers
fish_says() {
	(cd "$tmp/at" && HOME=$tmp fish --no-config -c "
		source $share/fish/vendor_completions.d/${1%% *}.fish
		complete -C '$1'") >"$tmp/out" 2>"$tmp/err"
	says "fish: $1" "$tmp/out" "$2"
}
if command -v fish >/dev/null; then
	fish_says 'ccc ex' '^explain'
	fish_says 'ccc check a' '^a\.ccs'
	fish_says 'ccc --emit=pl' '^--emit=plan'
	fish_says 'ccc --sl' '^--slots	FIFO depth'
	fish_says 'ccc --target=cpu,cu' 'cpu,cuda'
	fish_says 'ccc -Wno-de' '^-Wno-dead'
	fish_says 'ccrun -d bf' 'bfloat16'
	fish_says 'ccrun b' '^b\.so'
	fish_says 'ccc ta' '^table'
	fish_says 'ccrun --explain-choice c' '^c\.txt'
	holds "fish says nothing else" test ! -s "$tmp/err"
fi
# What zsh offers, by a terminal of its own (zpty).
cat >"$tmp/offer.zsh" <<'EOZ'
zmodload zsh/zpty
zpty shell "HOME=$TMP PS1= zsh -f -i"
zpty -w shell "cd $TMP/at; fpath=($SHARE/zsh/site-functions \$fpath); autoload -Uz compinit; compinit -u -d $TMP/dump; setopt nobeep; zstyle ':completion:*' list-colors; LISTMAX=0; print re''ady"
zpty -r shell line '*ready*'
zpty -w -n shell "$LINE"$'\t'$'\t'
zpty -r shell line "*$WANTED*"
print -r -- "offered: ${line[-400,-1]}"
zpty -d shell
EOZ
zsh_says() { # zsh_says LINE WANTED
	TMP=$tmp SHARE=$share LINE=$1 WANTED=$2 timeout 60 zsh -f "$tmp/offer.zsh" >"$tmp/out" 2>"$tmp/err" </dev/null
	says "zsh: $1" "$tmp/out" '^offered'
}
if command -v zsh >/dev/null; then
	zsh_says 'ccc exp' 'explain'
	zsh_says 'ccc --emit=prog' 'program'
	zsh_says 'ccc --sl' '--slots'
	zsh_says 'ccrun --transport=l' 'local'
	zsh_says 'ccc table --format=c' 'csv'
	zsh_says 'ccrun --tune=c' 'c.txt'
fi
exit $failed
