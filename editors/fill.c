/*
 * Fills the words of the language into a template of an editor's grammar.
 *
 *     fill TEMPLATE >OUT
 *
 * In: a text with marks, @CLASS+CLASS:FORM@. Out: the text with the words of these classes
 * (lang/keywords.c; `operator` are those of expressions, `any` all words) in their place. Forms:
 *
 *     spaces   send recv          bars   send|recv          quoted   "send" "recv"
 *
 * @version@ is the version. A mark that is none ends it with status 1.
 */
#include "lang/keywords.h"
#include "lang/lang.h"

#include <stdlib.h>
#include <string.h>

struct form {
	const char *name, *before, *between, *behind;
};

static const struct form *find_form(const char *name, size_t n)
{
	static const struct form forms[] = { { "spaces", "", " ", "" },
					     { "bars", "", "|", "" },
					     { "quoted", "\"", " ", "\"" } };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strlen(forms[i].name) == n && !strncmp(forms[i].name, name, n))
			return &forms[i];
	return NULL;
}

static void put(const struct form *f, const char *word, size_t *count)
{
	printf("%s%s%s%s", (*count)++ ? f->between : "", f->before, word, f->behind);
}

static void put_words(const struct form *f, const struct word *v, size_t n, const char *class,
		      size_t length, size_t *count)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = keyword_class_name(v[i].class);
		bool any = length == 3 && !strncmp(class, "any", length);

		if (any || (strlen(name) == length && !strncmp(name, class, length)))
			put(f, v[i].text, count);
	}
}

/* A unary minus is written like a binary one. */
static void put_operators(const struct form *f, size_t *count)
{
	for (enum expr_op op = OP_NOT; op <= OP_MOD; op++)
		if (op != OP_NEG)
			put(f, lang_op_text(op), count);
}

/* The words of one class; false: it has none. */
static bool put_class(const struct form *f, const char *class, size_t length, size_t *count)
{
	size_t before = *count, n;
	const struct word *v = keyword_words(&n);

	put_words(f, v, n, class, length, count);
	v = keyword_builtins(&n);
	put_words(f, v, n, class, length, count);
	v = keyword_places(&n);
	put_words(f, v, n, class, length, count);
	if (length == 8 && !strncmp(class, "operator", length))
		put_operators(f, count);
	return *count > before;
}

/* A mark's text, without its @. */
static bool put_mark(const char *mark, size_t n)
{
	const char *colon = memchr(mark, ':', n);
	const struct form *f = colon ? find_form(colon + 1, n - (size_t)(colon + 1 - mark)) : NULL;
	size_t count = 0;

	if (n == 7 && !strncmp(mark, "version", n)) {
		fputs(CCS_VERSION, stdout);
		return true;
	}
	if (!f)
		return false;
	for (const char *s = mark; s < colon;) {
		size_t length = strcspn(s, "+:");

		if (!put_class(f, s, length, &count))
			return false;
		s += length + (s[length] == '+');
	}
	return true;
}

/* The length of a mark behind its @, up to the next one; 0: this @ begins none. */
static size_t mark_length(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz+:");

	return s[n] == '@' ? n : 0;
}

static int fill(char *line, FILE *in, const char *name)
{
	size_t cap = 0, n;

	while (getline(&line, &cap, in) >= 0)
		for (const char *s = line; *s;) {
			n = *s == '@' ? mark_length(s + 1) : 0;
			if (!n) {
				putchar(*s++);
			} else if (put_mark(s + 1, n)) {
				s += n + 2;
			} else {
				fprintf(stderr, "fill: %s: what is @%.*s@?\n", name, (int)n, s + 1);
				free(line);
				return 1;
			}
		}
	free(line);
	return ferror(in) || fflush(stdout);
}

int main(int argc, char **argv)
{
	FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
	int status;

	if (!in) {
		fprintf(stderr, "usage: fill TEMPLATE\n");
		return 2;
	}
	status = fill(NULL, in, argv[1]);
	fclose(in);
	return status;
}
