# The shells' completion of a command, from what `COMMAND --options` prints: a line each, with
# tabs between name, value, kind, words and what it does.
#
# usage: awk -f completion.awk -v command=ccc -v files=ccs -v shell=bash|zsh|fish
#
# Files that are no option's value end in .`files`; a list has commas between its words.

BEGIN { FS = "\t" }
{
	n++
	name[n] = $1; kind[n] = $3; words[n] = $4; about[n] = $5; value[n] = $2
	if (kind[n] == "command") commands = commands (commands == "" ? "" : " ") $1
}
END {
	if (!n) exit 1
	if (shell == "bash") bash()
	else if (shell == "zsh") zsh()
	else if (shell == "fish") fish()
	else exit 1
}

# For single quotes of a shell.
function quoted(s, end) { gsub(/'/, end, s); return s }
function takes(i) { return kind[i] != "flag" && kind[i] != "command" }
function has_words(i) { return kind[i] == "choice" || kind[i] == "list" }

# ---- bash: a function, by bash alone

function bash(   i, all) {
	for (i = 1; i <= n; i++)
		if (kind[i] != "command") all = all (all == "" ? "" : " ") name[i]
	print "# Completion of " command " for bash. Made from `" command " --options`."
	print "_" command "()"
	print "{"
	print "\tlocal line=${COMP_LINE:0:COMP_POINT} option= start= words= word cur cut before"
	print "\tword=${line##*[[:blank:]]}"
	print "\tread -ra before <<<\"${line%\"$word\"}\""
	print "\tif [[ $word == --*=* ]]; then option=${word%%=*} start=${word%%=*}="
	print "\telif ((${#before[@]})); then option=${before[${#before[@]} - 1]}"
	print "\tfi"
	print "\tcur=${word#\"$start\"}"
	print "\tCOMPREPLY=()"
	print "\tcase $option in"
	for (i = 1; i <= n; i++) {
		if (!takes(i)) continue
		print "\t" name[i] ")"
		if (has_words(i)) print "\t\twords='" words[i] "'"
		if (kind[i] == "list")
			print "\t\tif [[ $cur == *,* ]]; then start=$start${cur%,*}, cur=${cur##*,}; fi"
		if (kind[i] == "file") bash_files("-f")
		if (kind[i] == "directory") bash_files("-d")
		if (!has_words(i)) print "\t\treturn"
		print "\t\t;;"
	}
	print "\tesac"
	print "\tif [[ $words ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -P \"$start\" -W \"$words\" -- \"$cur\")"
	print "\telif [[ $cur == -* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W '" all "' -- \"$cur\")"
	print "\telse"
	print "\t\tmapfile -t COMPREPLY < <("
	if (commands != "")
		print "\t\t\tif ((${#before[@]} < 2)); then compgen -W '" commands "' -- \"$cur\"; fi"
	print "\t\t\tcompgen -f -X '!*." files "' -- \"$cur\""
	print "\t\t\tcompgen -d -- \"$cur\")"
	print "\t\tcompopt -o filenames 2>/dev/null"
	print "\tfi"
	print "\t# bash puts a reply in the place of what is behind the last = or :"
	print "\tcut=${word%\"${word##*[=:]}\"}"
	print "\tCOMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")"
	print "}"
	print "complete -F _" command " " command
}
function bash_files(which) {
	print "\t\tmapfile -t COMPREPLY < <(compgen " which " -- \"$cur\")"
	print "\t\tcompopt -o filenames 2>/dev/null"
}

# ---- zsh: _arguments

function zsh_text(s) {
	gsub(/\\/, "\\\\", s); gsub(/:/, "\\:", s); gsub(/\[/, "\\[", s); gsub(/\]/, "\\]", s)
	return quoted(s, "'\\''")
}
function zsh_action(i,   w) {
	w = words[i]
	gsub(/:/, "\\:", w)
	if (kind[i] == "choice") return "(" w ")"
	if (kind[i] == "list") return "_sequence compadd - " w
	if (kind[i] == "file") return "_files"
	if (kind[i] == "directory") return "_files -/"
	return " "
}
function zsh(   i, mark, text) {
	print "#compdef " command
	print "# Completion of " command " for zsh. Made from `" command " --options`."
	print "local -a words_of"
	if (commands != "") print "local -a commands=(" commands ")"
	print "_arguments -S \\"
	for (i = 1; i <= n; i++) {
		if (kind[i] == "command") continue
		mark = !takes(i) ? "" : name[i] ~ /^--/ ? "=" : "+"
		text = "'*" name[i] mark "[" zsh_text(about[i]) "]"
		if (takes(i)) text = text ":" zsh_text(value[i]) ":" zsh_action(i)
		print "\t" text "' \\"
	}
	if (commands != "")
		print "\t'1: :{ compadd -a commands; _files -g \"*." files "\" }' \\"
	print "\t'*: :_files -g \"*." files "\"'"
}

# ---- fish: complete

function fish(   i, line) {
	print "# Completion of " command " for fish. Made from `" command " --options`."
	print "complete -c " command " -f"
	print "complete -c " command " -k -a '(__fish_complete_suffix ." files ")'"
	if (commands != "")
		print "complete -c " command " -n 'test (count (commandline -opc)) -eq 1' -a '" commands "'"
	for (i = 1; i <= n; i++) {
		if (kind[i] == "command") continue
		line = "complete -c " command
		if (name[i] ~ /^--/) line = line " -l " substr(name[i], 3)
		else if (length(name[i]) == 2) line = line " -s " substr(name[i], 2)
		else line = line " -o " substr(name[i], 2)
		line = line " -d '" quoted(about[i], "\\'") "'"
		if (kind[i] == "choice") line = line " -x -a '" words[i] "'"
		else if (kind[i] == "list") line = line " -x -a '(__fish_complete_list , \"string split \\  \\\"" words[i] "\\\"\")'"
		else if (kind[i] == "file") line = line " -r -F"
		else if (kind[i] == "directory") line = line " -x -a '(__fish_complete_directories)'"
		else if (takes(i)) line = line " -x"
		print line
	}
}
