/*
 * XML: texts that other programs wrote, element by element, each with its place.
 *
 *   xml.c         expat, its bounds, and what is wrong with a text as XML
 *   attributes.c  attributes of an element: numbers, words, names
 *   unread.c      in place of xml.c in a build without expat
 *
 * A document type is refused, so there are no entities. No tag or comment is longer than
 * XML_LIMIT_TAG, and elements nest only as deep as the format allows; this bounds expat's memory.
 */
#ifndef CCS_COMPILER_XML_XML_H
#define CCS_COMPILER_XML_XML_H

#include "compiler/ctx.h"

#define XML_LIMIT_TAG (1u << 20) /* bytes of a tag or comment */

struct xml; /* a text that is being read */
struct xml_element;

/* A format, and what is done with its elements. expat has checked that tags match. */
struct xml_format {
	const char *root;  /* its outermost element */
	const char *needs; /* of an attribute that is missing: "the executors need it" */
	int code;	   /* of impossible attributes */
	void (*start)(void *arg, const struct xml_element *e);
	void (*end)(void *arg);
};

/* An element: its name, its attributes as pairs up to a NULL, its place. */
struct xml_element {
	struct ctx *ctx;
	struct xml *xml;
	const struct xml_format *format;
	const struct source *source;
	const char *name;
	const char *const *attributes;
	struct span span;
};

/* ---- xml.c ---------------------------------------------------------------------------------- */

/** The outermost element of a text of c->sources, or NULL: none is well formed. O(bytes before it). */
const char *xml_root(struct ctx *c, struct source *source);
/** Reads a text of c->sources. E0601. False: it was not read to its end. O(bytes). */
bool xml_read(struct ctx *c, struct source *source, const struct xml_format *format, void *arg);
/** Ends the reading at this element: further mistakes would be consequences. */
void xml_stop(struct xml *x);

/* ---- attributes.c --------------------------------------------------------------------------- */

/** The attribute's text, or NULL. */
const char *xml_text(const struct xml_element *e, const char *name);
/** The place of an attribute, or of the element. */
struct span xml_place(const struct xml_element *e, const char *name);
/** The attribute as a number from `least` to `most`; if it is missing, `none`, or an error of the
 *  format if `none` is below `least`. */
int64_t xml_number(const struct xml_element *e, const char *name, int64_t least, int64_t most,
		   int64_t none);
/** The index of the attribute in `words`, up to a NULL; if it is missing or another word, an error of
 *  the format and -1. */
int xml_word(const struct xml_element *e, const char *name, const char *const *words);
/** A name as one of the schedule language: letters, digits and _, with the prefix if it needs one. */
const char *xml_identifier(struct arena *a, const char *prefix, const char *name);

#endif
