/*
 * The text of a topology in the schedule language.
 *
 * In: a tree that topo_fold has folded. Out: for any number of nodes like the one of the file, the switches
 * (CPUs, PCIe switches, NICs, NVSwitches, the network) and links between them and the ranks. A rank runs
 * the text for its own node. What differs from GPU to GPU is in tables:
 *
 *     let pci_of = [0, 0, 1, 1]
 *     link rank -> pci[node * 2 + pci_of[gpu]] (bandwidth = 24e9, latency = 0.5e-6)
 *
 * A message takes the path of fewest links (ccs(5) 4), so the network must be farther away than every
 * place in the node, as it is for NCCL: L levels of PCIe make a path of 2L + 1 links inside the node, and
 * each NIC gets L - 2 ports in a row, so that the network takes at least 2L + 2.
 */
#include "compiler/topo/topo.h"

#include <string.h>

#define NVLINK_LATENCY 0.6e-6 /* s, of a path; see topo.h */
#define PCIE_LATENCY 1.0e-6
#define NETWORK_LATENCY 2.7e-6

struct text {
	struct ctx *c;
	const struct topo *t;
	char *s;
	size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const char *s = arena_vprintf(x->c->scratch, fmt, ap);
	va_end(ap);
	size_t len = strlen(s);

	if (x->n + len + 1 > x->cap) {
		size_t cap = 2 * (x->cap + len + 1);

		x->s = arena_grow(x->c->arena, x->s, x->cap, cap);
		x->cap = cap;
	}
	memcpy(x->s + x->n, s, len + 1);
	x->n += len;
}

/* A text of the file for a comment. */
static const char *plain(struct text *x, const char *text)
{
	char *s = arena_strndup(x->c->scratch, text, strnlen(text, 240));

	for (char *p = s; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	return s;
}

/* Switch number i, an expression, of n in this node. */
static const char *place(struct text *x, const char *name, uint32_t n, const char *i)
{
	if (n == 1)
		return arena_printf(x->c->scratch, "%s[node]", name);
	if (!strcmp(i, "0"))
		return arena_printf(x->c->scratch, "%s[node * %u]", name, n);
	return arena_printf(x->c->scratch, "%s[node * %u + %s]", name, n, i);
}

static const char *const kinds[] = {
	[TOPO_CPU] = "cpu", [TOPO_PCI] = "pci", [TOPO_NIC] = "nic", [TOPO_GPU] = "rank"
};

static const char *place_of(struct text *x, const struct topo_node *n)
{
	return place(x, kinds[n->kind], x->t->count[n->kind],
		     arena_printf(x->c->scratch, "%u", n->index));
}

static void put_link(struct text *x, const char *from, const char *to, double rate, double latency)
{
	put(x, "link %s -> %s (bandwidth = %.9ge9, latency = %.6ge-6)\n", from, to, rate / 1e9,
	    latency * 1e6);
}

static void put_links(struct text *x, const char *a, const char *b, double rate, double latency)
{
	put_link(x, a, b, rate, latency);
	put_link(x, b, a, rate, latency);
}

/* ---- tables ------------------------------------------------------------------------------------------ */

/* The values that numbers have, and which of them each has: 0: it is 0; 1: values[0]. */
struct classes {
	double *values;
	uint32_t n, *of;
	bool one; /* all have the first one */
};

static struct classes find_classes(struct text *x, const double *v, size_t n)
{
	struct classes k = { .of = ARENA_ARRAY(x->c->scratch, uint32_t, n), .one = true };
	uint32_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		while (v[i] > 0 && k.of[i] < k.n && k.values[k.of[i]] != v[i])
			k.of[i]++;
		if (v[i] > 0 && k.of[i]++ == k.n)
			ARENA_PUSH(x->c->scratch, k.values, k.n, cap) = v[i];
		k.one &= k.of[i] == 1;
	}
	return k;
}

static void put_table(struct text *x, const char *name, const uint32_t *v, size_t n)
{
	put(x, "let %s = [", name);
	for (size_t i = 0; i < n; i++)
		put(x, "%s%u", i ? ", " : "", v[i]);
	put(x, "]\n");
}

/* ---- GPUs -------------------------------------------------------------------------------------------- */

/* Links between each GPU and one of `count` switches of a node, where its rate is not 0. `table`: what the
 * tables' names begin with. */
static void put_gpu_links(struct text *x, const char *table, const char *name, uint32_t count,
			  const uint32_t *to, const double *rates, double latency)
{
	struct classes k = find_classes(x, rates, x->t->ngpus);
	const char *of = arena_printf(x->c->scratch, "%s_of", table);
	const char *rate = arena_printf(x->c->scratch, "%s_rate", table);
	const char *at = place(x, name, count, arena_printf(x->c->scratch, "%s[gpu]", of));

	if (!k.n)
		return;
	if (count > 1)
		put_table(x, of, to, x->t->ngpus);
	if (!k.one)
		put_table(x, rate, k.of, x->t->ngpus);
	for (uint32_t i = 0; i < k.n; i++) {
		if (!k.one)
			put(x, "if %s[gpu] == %u {\n", rate, i + 1);
		put_links(x, "rank", at, k.values[i], latency);
		if (!k.one)
			put(x, "}\n");
	}
}

enum way { TO_CPU, TO_PCI, TO_CPU_BESIDES, TO_NVS, WAYS };

static void put_gpus(struct text *x)
{
	const struct topo *t = x->t;
	uint32_t *to[WAYS];
	double *rates[WAYS];

	for (int i = 0; i < WAYS; i++) {
		to[i] = ARENA_ARRAY(x->c->scratch, uint32_t, t->ngpus);
		rates[i] = ARENA_ARRAY(x->c->scratch, double, t->ngpus);
	}
	for (uint32_t g = 0; g < t->ngpus; g++) {
		const struct topo_node *n = &t->nodes[t->gpus[g]], *p = &t->nodes[n->parent];
		enum way pcie = p->kind == TOPO_CPU ? TO_CPU : TO_PCI;
		const struct topo_node *top = p;

		while (top->parent != NONE)
			top = &t->nodes[top->parent];
		to[pcie][g] = p->index;
		rates[pcie][g] = n->up;
		to[TO_CPU_BESIDES][g] = top->index;
		rates[TO_NVS][g] = n->bridges;
		if (p != top)
			rates[TO_CPU_BESIDES][g] = n->to_cpu;
		else if (n->to_cpu > n->up) /* the same two ends: the wider way is taken */
			rates[TO_CPU][g] = n->to_cpu;
	}
	put_gpu_links(x, "nvs", "nvs", 1, to[TO_NVS], rates[TO_NVS], NVLINK_LATENCY / 2);
	put_gpu_links(x, "pci", "pci", t->count[TOPO_PCI], to[TO_PCI], rates[TO_PCI],
		      PCIE_LATENCY / 2);
	put_gpu_links(x, "cpu", "cpu", t->count[TOPO_CPU], to[TO_CPU], rates[TO_CPU],
		      PCIE_LATENCY / 2);
	put_gpu_links(x, "c2c", "cpu", t->count[TOPO_CPU], to[TO_CPU_BESIDES],
		      rates[TO_CPU_BESIDES], NVLINK_LATENCY / 2);
}

/* NVLinks between GPUs. */
static void put_wires(struct text *x)
{
	const struct topo *t = x->t;
	double *rates;
	struct classes k;
	size_t n = t->ngpus;

	if (!t->nwires)
		return;
	rates = ARENA_ARRAY(x->c->scratch, double, n *n);
	for (uint32_t i = 0; i < t->nwires; i++) {
		const struct topo_wire *w = &t->wires[i];
		const struct topo_node *from = &t->nodes[w->from];
		uint32_t many = 0;

		for (uint32_t g = 0; g < n; g++)
			many += t->nodes[t->gpus[g]].device == w->to;
		for (uint32_t g = 0; g < n && from->rank >= 0; g++)
			if (t->nodes[t->gpus[g]].device == w->to && g != from->index)
				rates[from->index * n + g] += w->count * from->nvlink / many;
	}
	k = find_classes(x, rates, n * n);
	if (!k.n)
		return;
	put_table(x, "nvlinks", k.of, n * n);
	put(x, "for peer in 0..%u {\n", t->ngpus);
	for (uint32_t i = 0; i < k.n; i++) {
		put(x, "if nvlinks[gpu * %u + peer] == %u {\n", t->ngpus, i + 1);
		put_link(x, "rank", arena_printf(x->c->scratch, "node * %u + peer", t->ngpus),
			 k.values[i], NVLINK_LATENCY);
		put(x, "}\n");
	}
	put(x, "}\n");
}

/* ---- switches ---------------------------------------------------------------------------------------- */

static void put_switches(struct text *x)
{
	static const char *const says[] = {
		[TOPO_CPU] = "CPU", [TOPO_PCI] = "PCIe switch", [TOPO_NIC] = "network by"
	};
	const struct topo *t = x->t;
	bool bridges = false;

	for (uint32_t g = 0; g < t->ngpus; g++)
		bridges |= t->nodes[t->gpus[g]].bridges > 0;
	if (bridges)
		put(x, "switch nvs[N / %u] // the NVSwitches\n", t->ngpus);
	for (int kind = TOPO_CPU; kind <= TOPO_NIC; kind++) {
		if (!t->count[kind])
			continue;
		for (uint32_t i = 0; i < t->nnodes; i++)
			if (!t->nodes[i].gone && t->nodes[i].kind == (enum topo_kind)kind)
				put(x, "// %u: %s %s\n", t->nodes[i].index, says[kind],
				    plain(x, t->nodes[i].name));
		put(x, "switch %s[N / %u%s]\n", kinds[kind], t->ngpus,
		    t->count[kind] == 1 ? ""
					: arena_printf(x->c->scratch, " * %u", t->count[kind]));
	}
}

/* A NIC, its ports in a row, and the network. */
static void put_nic(struct text *x, const struct topo_node *n, uint32_t ports)
{
	double latency = (NETWORK_LATENCY - PCIE_LATENCY + n->latency) / 2;
	const char *before = place_of(x, n);

	put_links(x, before, place_of(x, &x->t->nodes[n->parent]), n->up, 0);
	for (uint32_t i = 0; i < ports; i++) {
		const char *port = place(x, "port", x->t->count[TOPO_NIC] * ports,
					 arena_printf(x->c->scratch, "%u", n->index * ports + i));

		put_links(x, before, port, n->port, 0);
		before = port;
	}
	put_links(x, before, "net", n->port, latency);
}

static void put_tree(struct text *x, uint32_t ports)
{
	const struct topo *t = x->t;

	for (uint32_t i = 0; i < t->nnodes; i++) {
		const struct topo_node *n = &t->nodes[i];

		if (n->gone || n->kind == TOPO_GPU || n->kind == TOPO_NIC)
			continue;
		if (n->parent != NONE)
			put_links(x, place_of(x, n), place_of(x, &t->nodes[n->parent]), n->up, 0);
		for (uint32_t k = 0; k < t->nnodes && n->kind == TOPO_CPU; k++) {
			const struct topo_node *o = &t->nodes[k];

			if (k == i || o->gone || o->kind != TOPO_CPU || o->host != n->host)
				continue;
			if (!n->up_known)
				diag_warn(
					x->c->diags, W_TOPOLOGY, n->span, NO_RANK,
					"the CPU's maker is not known: no limit between CPUs is taken, "
					"as NCCL does");
			put_link(x, place_of(x, n), place_of(x, o), n->up, 0);
		}
	}
	if (!t->count[TOPO_NIC])
		return;
	put(x, "if N > %u {\n", t->ngpus);
	for (uint32_t i = 0; i < t->nnodes; i++)
		if (!t->nodes[i].gone && t->nodes[i].kind == TOPO_NIC)
			put_nic(x, &t->nodes[i], ports);
	put(x, "}\n");
}

const char *topo_text(struct ctx *c, const struct topo *t)
{
	struct text x = { .c = c, .t = t };
	uint32_t ports = t->count[TOPO_NIC] && t->levels > 2 ? t->levels - 2 : 0, g = t->ngpus;
	const char *file = strrchr(t->source->name, '/');

	put(&x, "// From NCCL's topology %s: %u GPU%s a node%s.\n",
	    plain(&x, file ? file + 1 : t->source->name), g, g == 1 ? "" : "s",
	    t->count[TOPO_NIC] ? ", any number of nodes in one network" : ", and no network");
	put(&x,
	    "// Bandwidths and latencies are NCCL's. The file has no costs of calls and operations.\n");
	put(&x,
	    t->count[TOPO_NIC] ? "topology %s where N %% %u == 0 {\n"
			       : "topology %s where N == %u {\n",
	    t->name, g);
	put(&x, "let node = rank / %u\nlet gpu = rank %% %u\n", g, g);
	put_switches(&x);
	if (ports)
		put(&x, "switch port[N / %u * %u]\n", g, t->count[TOPO_NIC] * ports);
	if (t->count[TOPO_NIC])
		put(&x, "switch net\n");
	put_gpus(&x);
	put_wires(&x);
	put_tree(&x, ports);
	put(&x, "}\n");
	return x.s;
}
