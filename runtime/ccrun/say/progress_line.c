/*
 * How far a run has come, on a terminal: which size, how many are done of all, and the expected end.
 *
 * A row takes as long as its bytes, and as ROW_BYTES more: below these the length of its data matters
 * little. So the expected end is exact only where sizes repeat, for each type or operator; else it is
 * a guess that gets better with each row. O(1) a row.
 */
#include "runtime/ccrun/bench.h"

#include <time.h>

#define ROW_BYTES 65536.0
#define HALF_DAY (12 * 3600.0) /* an end as far has a date */

bool progress_open(struct bench *b)
{
	b->progress = (struct progress){ .ticker = ticker_open() };
	if (b->o->rank)
		b->progress.ticker.to = NULL;
	return b->progress.ticker.to;
}

void progress_count(struct bench *b, size_t size)
{
	b->progress.rows++;
	b->progress.work += (double)size + ROW_BYTES;
}

void progress_begin(struct bench *b, size_t size)
{
	struct progress *p = &b->progress;

	p->size = size;
	if (p->begun == 0)
		p->begun = time_now();
}

/* Of this host's clock; "" if it is not known yet, or over. */
static void end_text(const struct progress *p, char *text, size_t size)
{
	double now = time_now(),
	       left = p->done > 0 ? p->begun + p->spent / p->done * p->work - now : 0;
	time_t end = time(NULL) + (time_t)left;
	struct tm at;

	*text = '\0';
	if (left >= 1 && localtime_r(&end, &at))
		strftime(text, size,
			 left < HALF_DAY ? ", expected end %H:%M:%S" : ", expected end %F %H:%M",
			 &at);
}

void progress_tell(struct bench *b)
{
	struct progress *p = &b->progress;
	char end[64];

	if (!p->ticker.to || !p->rows)
		return;
	end_text(p, end, sizeof(end));
	ticker_tell(&p->ticker, "size %zu, %u of %u done%s", p->size, p->over, p->rows, end);
}

void progress_done(struct bench *b)
{
	struct progress *p = &b->progress;

	ticker_close(&p->ticker);
	p->over++;
	p->done += (double)p->size + ROW_BYTES;
	p->spent = time_now() - p->begun;
}
