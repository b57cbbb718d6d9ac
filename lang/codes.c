/*
 * The tables of codes and warnings, from codes.inc.
 */
#include "lang/diag.h"

static const struct diag_code codes[] = {
#define TEXT(what, example, why, cure) what "\n" example "\n" why "\n" cure
#define E(number, title, ...) { number, NULL, title, TEXT(__VA_ARGS__) },
#define W(id, number, name, title, ...) { W_##id, name, title, TEXT(__VA_ARGS__) },
#include "lang/codes.inc"
#undef E
#undef W
};

const struct diag_code *diag_code(int code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const struct diag_code *diag_codes(size_t *n)
{
	*n = sizeof(codes) / sizeof(*codes);
	return codes;
}

uint32_t diag_warning_bit(int code)
{
	const struct diag_code *row = diag_code(code);

	/* warnings are the last rows */
	return row && row->name ? 1u << (codes + sizeof(codes) / sizeof(*codes) - 1 - row) : 0;
}

struct diag_code_text diag_code_text(int code)
{
	bool warning = code >= WARNING_CODES;
	struct diag_code_text text;

	snprintf(text.s, sizeof(text.s), "%c%04u", warning ? 'W' : 'E',
		 (unsigned)(warning ? code - WARNING_CODES : code) % 10000);
	return text;
}
