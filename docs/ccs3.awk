# The comments and declarations of ccs.h as the body of ccs(3): awk -f docs/ccs3.awk runtime/ccs.h
#
# The first comment is the DESCRIPTION. A declaration is followed by the comment that stands before
# it in the header; functions are filled as text, types stay as they are written.

function escaped(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/`/, "\\(ga", s)
	sub(/^[.']/, "\\\\\\&&", s)
	return s
}
function fill(on)
{
	if (on != filled)
		print on ? ".fi\n.RE" : ".RS 4\n.nf"
	filled = on
}
# The text of a comment: blank lines part paragraphs, indented lines are programs.
function put_text(text,   n, i, lines)
{
	n = split(text, lines, "\n")
	for (i = 1; i <= n; i++) {
		if (lines[i] == "") {
			if (!filled && lines[i + 1] ~ /^    /)
				print ""
			else {
				fill(1)
				print ".PP"
			}
		} else {
			if ((lines[i] !~ /^    /) != filled)
				fill(!filled)
			print escaped(filled ? lines[i] : substr(lines[i], 5))
		}
	}
	fill(1)
}
function put_declaration(d,   n, i, words)
{
	gsub(/CCS_API /, "", d)
	gsub(/ CCS_PRINTF/, "", d)
	sub(/\n$/, "", d)
	if (d !~ /^(typedef )?(struct|enum) [a-z_]* ?\{|^enum|^#/) {
		gsub(/;\n/, ";\001", d)
		gsub(/[ \t\n]+/, " ", d)
		n = split(d, words, "\001")
		for (i = 1; i <= n; i++) {
			print ".HP 4\n\\fB" escaped(words[i]) "\\fR"
			put_about()
		}
	} else {
		print ".PP\n.nf"
		n = split(d, words, "\n")
		for (i = 1; i <= n; i++)
			print escaped(expanded(words[i]))
		print ".fi"
		put_about()
	}
}
# Of several declarations the comment is about the first.
function put_about()
{
	if (comment == "")
		return
	print ".RS 4"
	put_text(comment)
	print ".RE"
	comment = ""
}
# Tabs as spaces, and half an indentation.
function expanded(line)
{
	while (match(line, /\t/))
		line = substr(line, 1, RSTART - 1) sprintf("%*s", 8 - (RSTART - 1) % 8, "") \
			substr(line, RSTART + 1)
	sub(/^        /, "    ", line)
	return line
}
# A declaration and its comment, or one of them.
function flush_entry()
{
	if (declaration != "")
		put_declaration(declaration)
	else if (comment != "") {
		print ".PP"
		put_text(comment)
	}
	comment = declaration = ""
}

BEGIN { filled = 1; begun = 0 }
/^\/\*/ {
	flush_entry()
	inside = 1
	margin = /^\/\*\* ./ ? "  " : " " # of a text that begins behind two stars
	sub(/^\/\*\*? ?/, "")
}
inside {
	last = sub(/ *\*\/ *$/, "")
	sub(/^ \*/, "")
	if (index($0, margin) == 1)
		$0 = substr($0, length(margin) + 1)
	if ($0 != "" || comment != "")
		comment = comment (comment == "" ? "" : "\n") $0
	if (last) {
		inside = 0
		sub(/\n$/, "", comment)
		if (!begun) { # the head
			put_text(comment)
			print ".SH \"TYPES AND FUNCTIONS\""
			comment = ""
			begun = 1
		}
	}
	next
}
# Of the preprocessor's lines only numbers are the reader's business.
/^#/ && !/^#define CCS_[A-Z_]+ [^_]/ { skipping = /\\$/; next }
skipping || /^extern "C"|^}$/ { next }
/^$/ { flush_entry(); next }
{ declaration = declaration $0 "\n" }
END { flush_entry() }
