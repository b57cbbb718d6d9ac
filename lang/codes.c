/*
 * The tables of codes and warnings, from codes.inc.
 */
#include "lang/diag.h"

static const struct diag_code codes[] = {
#define E(number, title, text) { number, title, text },
#define W(id, number, name, title, text) { W_##id, title, text },
#include "lang/codes.inc"
#undef E
#undef W
};

const struct diag_code *diag_code(int code)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const struct diag_code *diag_codes(size_t *n)
{
	*n = sizeof codes / sizeof *codes;
	return codes;
}

static const struct diag_warning warnings[] = {
#define E(number, title, text)
#define W(id, number, name, title, text) { W_##id, name },
#include "lang/codes.inc"
#undef E
#undef W
};

const struct diag_warning *diag_warning_list(size_t *n)
{
	*n = sizeof warnings / sizeof *warnings;
	return warnings;
}

uint32_t diag_warning_bit(int code)
{
	for (uint32_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
		if (warnings[i].code == code)
			return 1u << i;
	return 0;
}

const char *diag_warning_name(int code)
{
	for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
		if (warnings[i].code == code)
			return warnings[i].name;
	return NULL;
}

struct diag_code_text diag_code_text(int code)
{
	bool warning = code >= WARNING_CODES;
	struct diag_code_text text;

	snprintf(text.s, sizeof text.s, "%c%04u", warning ? 'W' : 'E',
		 (unsigned)(warning ? code - WARNING_CODES : code) % 10000);
	return text;
}
