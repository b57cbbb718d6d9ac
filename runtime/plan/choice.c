/*
 * Tables of protocols by size, and their text: see choice.h.
 *
 *     table = { size ":" what "," } what
 *     what  = ( "ll" | "simple" ) [ "/" channels ]
 *     size  = number [ "K" | "M" | "G" ]
 *
 * In: any text. Out: a table that module_verify accepts, or the number of the wrong row and the
 * words that may stand there. O(text).
 *
 * Also slots and tiles, by the rules at the head of choice.h. O(1).
 */
#include "runtime/plan/choice.h"

#include "runtime/base/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TILE_BYTES ((uint64_t)128 << 10)
#define LL_TILE_BYTES ((uint64_t)8 << 10)
#define SLOT_BYTES ((uint64_t)256 << 10)
#define LL_SLOTS 64u
#define SIMPLE_LEAST ((uint64_t)64 << 10)

static const char *const names[CCS_NPROTOCOLS] = { [CCS_SIMPLE] = "simple", [CCS_LL] = "ll" };

/* The current row of the text. */
struct reader {
	const char *row; /* its start */
	size_t len;	 /* up to its comma or the end of the text */
	uint32_t number; /* from 1 */
	char *why;
	size_t size;
};

static bool wrong(const struct reader *r, const char *format, ...)
{
	char text[160];
	va_list v;

	va_start(v, format);
	vsnprintf(text, sizeof(text), format, v);
	va_end(v);
	if (r->size)
		snprintf(r->why, r->size, "row %u, '%.*s'%s: %s", r->number,
			 (int)(r->len < 40 ? r->len : 40), r->row, r->len > 40 ? "..." : "", text);
	return false;
}

/* "64K" and the colon after it. */
static bool read_size(const struct reader *r, const char **s, const char *colon, uint64_t *bytes)
{
	const char *fault = size_read(s, bytes);

	if (fault)
		return wrong(r, "%s", fault);
	if (*s != colon)
		return wrong(r, "the unit of a size must be K, M or G, or left out");
	*s = colon + 1;
	return true;
}

/* "ll", "simple/8" */
static bool read_what(const struct reader *r, const char *s, const char *end, struct ccs_choice *c)
{
	const char *slash = memchr(s, '/', (size_t)(end - s));
	size_t n = (size_t)((slash ? slash : end) - s);
	uint64_t channels = 0;
	uint32_t p = 0;

	while (p < CCS_NPROTOCOLS && (strlen(names[p]) != n || memcmp(names[p], s, n)))
		p++;
	if (p == CCS_NPROTOCOLS)
		return wrong(r, "there is no protocol '%.*s'; use ll or simple",
			     (int)(n < 20 ? n : 20), s);
	if (slash) {
		s = slash + 1;
		if (!size_read_number(&s, CHOICE_CHANNELS, &channels) || s != end)
			return wrong(r, "'/' must be followed by a number of channels, 1 to %u",
				     CHOICE_CHANNELS);
	}
	c->protocol = p;
	c->channels = (uint32_t)channels;
	return true;
}

static bool read_row(const struct reader *r, struct choice_list *list, bool last)
{
	const char *s = r->row, *end = r->row + r->len;
	const char *colon = memchr(s, ':', r->len);
	struct ccs_choice *c = &list->rows[list->n];

	c->bytes = UINT64_MAX;
	if (last && colon)
		return wrong(r, "the last row is for all larger sizes, so it has none; add "
				"',simple' or ',ll'");
	if (!last && !colon)
		return wrong(r, "only the last row has no size; write SIZE:%.*s, or end here",
			     (int)(r->len < 20 ? r->len : 20), r->row);
	if (colon && !read_size(r, &s, colon, &c->bytes))
		return false;
	if (list->n && c->bytes <= list->rows[list->n - 1].bytes)
		return wrong(r, "sizes must ascend");
	if (!read_what(r, s, end, c))
		return false;
	list->n++;
	return true;
}

bool choice_read(struct choice_list *list, const char *text, char *why, size_t size)
{
	struct reader r = { .row = text, .why = why, .size = size };

	list->n = 0;
	for (;;) {
		bool last;

		r.len = strcspn(r.row, ",");
		r.number++;
		last = !r.row[r.len];
		if (list->n == CHOICE_MOST)
			return wrong(&r, "a table has at most %u rows", CHOICE_MOST);
		if (!read_row(&r, list, last))
			return false;
		if (last)
			return true;
		r.row += r.len + 1;
	}
}

void choice_text(const struct ccs_choice *rows, uint64_t n, char *text, size_t size)
{
	size_t at = 0;

	if (size)
		text[0] = '\0';
	for (uint64_t i = 0; i < n && at < size; i++) {
		const char *name =
			rows[i].protocol < CCS_NPROTOCOLS ? names[rows[i].protocol] : "?";
		char bytes[SIZE_TEXT] = "", channels[16] = "";

		if (rows[i].bytes != UINT64_MAX)
			size_text(bytes, rows[i].bytes);
		if (rows[i].channels)
			snprintf(channels, sizeof(channels), "/%" PRIu32, rows[i].channels);
		at += (size_t)snprintf(text + at, size - at, "%s%s%s%s%s", i ? "," : "", bytes,
				       *bytes ? ":" : "", name, channels);
	}
}

const struct ccs_choice *choice_find(const struct ccs_choice *rows, uint64_t n, uint64_t bytes)
{
	uint64_t i = 0;

	while (i + 1 < n && rows[i].bytes < bytes)
		i++;
	return &rows[i];
}

/* ---- slots and tiles ------------------------------------------------------------ */

uint64_t choice_most_tile(enum ccs_protocol protocol, uint32_t max_cells)
{
	uint64_t bytes = protocol == CCS_LL ? LL_TILE_BYTES : TILE_BYTES;

	return max_cells && SLOT_BYTES / max_cells < bytes ? SLOT_BYTES / max_cells : bytes;
}

void choice_count(struct choice_depth *d, uint32_t messages)
{
	if (messages > LL_SLOTS)
		d->many = true;
	else if (messages > d->messages)
		d->messages = messages;
}

uint32_t choice_slots(enum ccs_protocol protocol, uint32_t checked, const struct choice_depth *d,
		      bool one_launch)
{
	uint32_t want = checked, slots = 1;

	if (protocol == CCS_LL && (d->messages > checked || (one_launch && !d->many)))
		want = d->messages;
	while (slots < want && slots < 1u << 31)
		slots *= 2;
	return slots;
}

uint64_t choice_tile(enum ccs_protocol protocol, uint64_t cells, uint32_t channels, uint64_t most)
{
	uint64_t all = cells <= CACHED_BYTES ? cells * channels : CACHED_BYTES;
	uint64_t bytes = all ? CACHED_BYTES / all / 16 * 16 : most;

	if (protocol == CCS_LL && bytes < LL_THREADS * 16)
		return most;
	if (protocol == CCS_SIMPLE && bytes < SIMPLE_LEAST)
		bytes = SIMPLE_LEAST;
	return bytes < most ? bytes : most;
}

#define TILE_LEAST 512u
#define FIFOS_BYTES ((uint64_t)256 << 20)

uint64_t choice_slotted_tile(uint64_t bytes, uint64_t slot, uint32_t max_cells, uint64_t weight)
{
	if (max_cells && slot / max_cells < bytes)
		bytes = slot / max_cells;
	bytes = bytes < TILE_LEAST ? TILE_LEAST : bytes;
	if (weight > FIFOS_BYTES / bytes)
		bytes = FIFOS_BYTES / weight;
	return bytes < 64 ? 64 : bytes;
}
