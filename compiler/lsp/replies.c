/*
 * The messages of the server to its client: answers, errors, notifications. O(text).
 */
#include "compiler/lsp/server.h"

static void send_object(struct server *s, json_t *m)
{
	s->broken |= !stream_write(s->out, m);
}

void server_notify(struct server *s, const char *method, json_t *params)
{
	send_object(s, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params",
				 params));
}

void server_show(struct server *s, int type, const char *text)
{
	server_notify(s, "window/showMessage",
		      json_pack("{s:i, s:s}", "type", type, "message", text));
}

void server_fail(struct server *s, json_t *id, int code, const char *why)
{
	json_t *answered = id ? json_incref(id) : json_null();

	send_object(s, json_pack("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", answered,
				 "error", "code", code, "message", why));
}

void server_answer(struct server *s, json_t *id, json_t *result)
{
	if (result)
		send_object(s, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result",
					 result));
	else
		server_fail(s, id, RPC_INTERNAL_ERROR, "out of memory");
}

void server_refresh(struct server *s)
{
	if (s->refreshes)
		send_object(s, json_pack("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", ++s->asked,
					 "method", "workspace/codeLens/refresh"));
}
