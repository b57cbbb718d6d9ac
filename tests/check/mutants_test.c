/*
 * Mutants of the library: each statement of each schedule is dropped, doubled,
 * swapped with the next, sent elsewhere, given another chunk, or turned from
 * recv to reduce and back. The compiler must reject the mutant, or it must be
 * equivalent: then it is compiled and run, and every element is compared with
 * the reference of results_test. One slot fewer than the least must deadlock.
 *
 * usage: mutants_test DIRECTORY [SHARE]     every SHARE-th mutant (1: all)
 */
#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LINES = 200, MAX_LINE = 512 };
enum mutation { DROP, DOUBLE, SWAP, RETARGET, CHUNK, KIND, NMUTATIONS };
static const char *const MUTATIONS[] = { "drop", "double", "swap", "retarget", "chunk", "kind" };

struct text {
	char line[MAX_LINES][MAX_LINE];
	int n;
};

static const char *ccc, *results;
static long share = 1, made;
static char dir[] = "/tmp/ccs-mutants-XXXXXX";

static bool read_text(const char *path, struct text *t)
{
	FILE *in = fopen(path, "r");

	t->n = 0;
	if (!in)
		return false;
	while (t->n < MAX_LINES && fgets(t->line[t->n], MAX_LINE, in))
		t->n++;
	fclose(in);
	return true;
}

/* A whole call of a proc or schedule, such as `within group(0, 2, 1) { ring(data) }`. */
static char *call(char *line)
{
	static const char *const other[] = { "let ",   "fn ",	    "if ",	"for ",	     "par ",
					     "step ",  "assert ",   "proc ",	"schedule ", "on ",
					     "where ", "contract ", "ensures ", "}" };
	char *at = line + strspn(line, " {"), *open = strchr(at, '(');

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		if (!strncmp(at, other[i], strlen(other[i])))
			return NULL;
	return open && open > at ? at : NULL;
}

/* The operation's keyword in the line, if the line holds one whole operation (or call). */
static char *operation(char *line)
{
	static const char *const word[] = { "send ", "recv ", "reduce ", "copy " };
	char *comment = strstr(line, "//"), *at = NULL;
	int depth = 0;

	if (comment || strstr(line, "import") || strstr(line, "implements"))
		return NULL;
	for (char *c = line; *c; c++) {
		depth += *c == '{';
		depth -= *c == '}';
		if (depth < 0)
			return NULL;
	}
	if (depth)
		return NULL;
	for (size_t i = 0; i < sizeof(word) / sizeof(*word) && !at; i++) {
		at = strstr(line, word[i]);
		if (at && at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
			at = NULL;
	}
	return at ? at : call(line);
}

/* Replaces `n` characters at `at` in the line by `by`. */
static void splice(char *line, char *at, size_t n, const char *by)
{
	char rest[MAX_LINE];

	snprintf(rest, sizeof(rest), "%s", at + n);
	snprintf(at, MAX_LINE - (size_t)(at - line), "%s%s", by, rest);
}

/* `to E` and `from E` become `to (E + 1) % N`. */
static bool retarget(char *line, char *op)
{
	char *at = strstr(op, " to "), *end, inner[MAX_LINE], by[MAX_LINE + 32];

	if (!at)
		at = strstr(op, " from ");
	if (!at)
		return false;
	at = strchr(at + 1, ' ') + 1;
	at += strspn(at, " ");
	end = at + strcspn(at, "\n}");
	while (end > at && (end[-1] == ' ' || end[-1] == ';'))
		end--;
	snprintf(inner, sizeof(inner), "%.*s", (int)(end - at), at);
	snprintf(by, sizeof(by), "(%s + 1) %% N", inner);
	splice(line, at, (size_t)(end - at), by);
	return true;
}

/* buf[e] becomes buf[e + 1], buf[a..b] becomes buf[a + 1..b + 1]. */
static bool move_chunk(char *line, char *op)
{
	char *open = strchr(op, '['), *close = open, *dots, a[MAX_LINE], b[MAX_LINE];
	char by[2 * MAX_LINE + 64];
	int depth = 0;

	if (!open)
		return false;
	do {
		depth += *close == '[';
		depth -= *close == ']';
	} while (depth && *++close);
	dots = strstr(open, "..");
	if (dots && dots < close) {
		snprintf(a, sizeof(a), "%.*s", (int)(dots - open - 1), open + 1);
		snprintf(b, sizeof(b), "%.*s", (int)(close - dots - 2), dots + 2);
		snprintf(by, sizeof(by), "[%s + 1..%s + 1", a, b);
	} else {
		snprintf(a, sizeof(a), "%.*s", (int)(close - open - 1), open + 1);
		snprintf(by, sizeof(by), "[(%s + 1) %% N", a);
	}
	splice(line, open, (size_t)(close - open), by);
	return true;
}

static bool mutate(struct text *t, int at, enum mutation m)
{
	char *line = t->line[at], *op = operation(line), saved[MAX_LINE];

	if (!op)
		return false;
	switch (m) {
	case DROP: strcpy(line, "\n"); return true;
	case DOUBLE:
		snprintf(saved, sizeof(saved), "%s", line);
		saved[strcspn(saved, "\n")] = 0;
		splice(line, line, 0, saved);
		return true;
	case SWAP:
		if (at + 1 >= t->n || !operation(t->line[at + 1]))
			return false;
		strcpy(saved, line);
		strcpy(line, t->line[at + 1]);
		strcpy(t->line[at + 1], saved);
		return true;
	case RETARGET: return retarget(line, op);
	case CHUNK: return move_chunk(line, op);
	case KIND:
		if (!strncmp(op, "recv ", 5))
			splice(line, op, 4, "reduce");
		else if (!strncmp(op, "reduce ", 7) && strstr(op, " from "))
			splice(line, op, 6, "recv");
		else
			return false;
		return true;
	case NMUTATIONS: break;
	}
	return false;
}

static int status_of(const char *command)
{
	int s = system(command);

	return WIFEXITED(s) ? WEXITSTATUS(s) : 128;
}

/* 1: rejected, 0: accepted and equivalent, -1: a failure. */
static int judge(const char *folder)
{
	char command[1024];
	int s;

	snprintf(command, sizeof(command), "%s check -I %s %s/m.ccs >%s/said 2>&1", ccc, folder,
		 dir, dir);
	s = status_of(command);
	if (s == 1)
		return 1;
	if (s)
		return -1;
	snprintf(command, sizeof(command),
		 "%s -I %s %s/m.ccs --target=cpu -o %s/m.so >/dev/null 2>&1 && "
		 "%s --short %s/m.so >%s/said",
		 ccc, folder, dir, dir, results, dir, dir);
	return status_of(command) ? -1 : 0;
}

static void save(const struct text *t)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "%s/m.ccs", dir);
	out = fopen(path, "w");
	for (int i = 0; out && i < t->n; i++)
		fputs(t->line[i], out);
	if (out)
		fclose(out);
}

static bool fewer_slots(const char *path)
{
	char command[1024], *line = NULL;
	size_t cap = 0;
	bool ok = true;
	FILE *in;

	snprintf(command, sizeof(command), "%s check %s --diagnostics-format=json 2>&1 >/dev/null",
		 ccc, path);
	in = popen(command, "r");
	while (in && getline(&line, &cap, in) > 0) {
		json_t *o = json_loads(line, 0, NULL), *n;
		json_t *slots = json_object_get(o, "min_slots"),
		       *ranks = json_object_get(o, "ranks");
		size_t i;

		json_array_foreach(slots, i, n)
		{
			long long least = json_integer_value(n);

			if (least == 0)
				continue;
			snprintf(command, sizeof(command),
				 "%s check %s -n %lld --slots %lld 2>&1 | "
				 "grep -q E0304",
				 ccc, path, json_integer_value(json_array_get(ranks, i)),
				 least - 1);
			ok &= !status_of(command);
		}
		json_decref(o);
	}
	free(line);
	if (in)
		pclose(in);
	return ok;
}

static bool test(const char *folder, const char *name)
{
	static struct text original, mutant;
	int rejected = 0, equivalent = 0, failed = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!read_text(path, &original))
		return false;
	for (int i = 0; i < original.n; i++)
		for (int m = 0; m < NMUTATIONS; m++) {
			int verdict;

			mutant = original;
			if (!mutate(&mutant, i, (enum mutation)m) || made++ % share)
				continue;
			save(&mutant);
			verdict = judge(folder);
			rejected += verdict > 0;
			equivalent += verdict == 0;
			if (verdict < 0) {
				failed++;
				printf("# %s:%d: %s: accepted, but wrong when run (or the compiler "
				       "failed): %s",
				       name, i + 1, MUTATIONS[m], mutant.line[i]);
			}
		}
	if (!fewer_slots(path)) {
		failed++;
		printf("# %s: one slot fewer than the least does not deadlock\n", name);
	}
	printf("%s - mutants of %s: %d rejected, %d equivalent, %d failed\n",
	       failed ? "not ok" : "ok", name, rejected, equivalent, failed);
	return !failed;
}

static int is_schedule(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".ccs");
}

int main(int argc, char **argv)
{
	char command[64], self[512], *at;
	struct dirent **v;
	int n, failed = 0;

	ccc = getenv("CCC") ? getenv("CCC") : "build/bin/ccc";
	snprintf(self, sizeof(self), "%s", argv[0]);
	at = strstr(self, "check/mutants_test");
	if (at)
		strcpy(at, "cpu/results_test");
	results = self;
	if (argc > 2)
		share = strtol(argv[2], NULL, 10);
	if (argc < 2 || share < 1 || !mkdtemp(dir) ||
	    (n = scandir(argv[1], &v, is_schedule, alphasort)) < 0) {
		fputs("usage: mutants_test DIRECTORY [SHARE]\n", stderr);
		return 2;
	}
	for (int i = 0; i < n; i++) {
		failed += !test(argv[1], v[i]->d_name);
		free(v[i]);
	}
	free(v);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (!failed && system(command))
		return 1;
	return failed != 0;
}
