/*
 * Reading NCCL's topology XML.
 *
 * In: a text. Out: the tree of struct topo. An element or attribute that is not understood is W0603, once
 * for each name, and left out with all that is inside it; a GPU that is in no job (it has no rank) is left
 * out as NCCL leaves it out; impossible numbers are E0608. O(bytes).
 */
#include "compiler/topo/topo.h"
#include "compiler/xml/xml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GB 1e9
#define LOCAL (5000 * GB) /* between parts of one device: no limit */

struct reader {
	struct ctx *c;
	struct topo *t;
	uint32_t depth, at[TOPO_MOST_DEPTH]; /* the open elements; rows of nodes, or NONE */
	uint32_t ignored;		     /* depth below an element that is left out */
	const char **hosts;
	uint32_t caphosts;
	const char **warned; /* names that W0603 has named */
	uint32_t nwarned, capwarned;
};

static void warn(struct reader *r, struct span at, const char *name, const char *text)
{
	for (uint32_t i = 0; i < r->nwarned; i++)
		if (!strcmp(r->warned[i], name))
			return;
	ARENA_PUSH(r->c->arena, r->warned, r->nwarned, r->capwarned) =
		arena_strndup(r->c->arena, name, strlen(name));
	diag_warn(r->c->diags, W_TOPOLOGY, at, NO_RANK, "%s", text);
}

/* ---- numbers that NCCL has --------------------------------------------------------------------------- */

/* Bytes/s of one NVLink, by the GPU's compute capability. */
static double nvlink_rate(int64_t sm)
{
	return GB * (sm >= 100	? 40.1
		     : sm >= 90 ? 20.6
		     : sm == 86 ? 12
		     : sm >= 70 ? 20
		     : sm >= 60 ? 18
				: 20);
}

/* Bytes/s of one xGMI link, by the name of the GPU's instruction set; 910 is an old name of gfx90a. */
static double xgmi_rate(const char *gcn)
{
	if (!strncmp(gcn, "gfx94", 5) || !strncmp(gcn, "gfx95", 5) || !strncmp(gcn, "94", 2))
		return 48 * GB;
	return !strcmp(gcn, "910") || !strncmp(gcn, "gfx90a", 6) ? 36 * GB : 24 * GB;
}

/* Bytes/s from a CPU to another one of its host; 0: NCCL has no value. */
static double cpu_rate(const struct xml_element *e)
{
	const char *arch = xml_text(e, "arch"), *vendor = xml_text(e, "vendor");
	int64_t family = xml_number(e, "familyid", 0, INT32_MAX, 0);
	int64_t model = xml_number(e, "modelid", 0, INT32_MAX, 0);

	arch = arch ? arch : "";
	vendor = vendor ? vendor : "";
	if (!strcmp(arch, "ppc64"))
		return 32 * GB;
	if (!strcmp(arch, "arm64"))
		return 6 * GB;
	if (!strcmp(vendor, "GenuineIntel")) {
		if (family == 6 && (model >= 0xcf || (model >= 0xad && model <= 0xaf)))
			return 40 * GB;
		return GB * (family != 6 ? 6 : model >= 0x8f ? 22 : model >= 0x55 ? 10 : 6);
	}
	if (!strcmp(vendor,
		    "AuthenticAMD")) { /* families were once without their extension's carry */
		bool zen5 = family == 26 || family == 0xbf, zen3 = family == 25 || family == 0xaf;

		return GB * (zen5 ? 32 : zen3 ? 24 : 16);
	}
	if (!strcmp(vendor, "CentaurHauls") || !strcmp(vendor, "  Shanghai  "))
		return GB * (family == 7 && model == 0x5b ? 9 : 6);
	return 0;
}

/* Bytes/s of a device's PCIe link. */
static double pcie_rate(struct reader *r, const struct xml_element *e)
{
	static const struct {
		double rate; /* GT/s */
		double lane; /* GB/s, of data */
	} speeds[] = {
		{ 2.5, 0.1875 }, { 5, 0.375 }, { 8, 0.75 }, { 16, 1.5 }, { 32, 3 }, { 64, 6 }
	};
	const char *text = xml_text(e, "link_speed");
	uint32_t errors = r->c->diags->errors;
	int64_t width = xml_number(e, "link_width", 0, 32, 0);
	double rate = text ? strtod(text, NULL) : 0;

	if (!width && r->c->diags->errors == errors) {
		warn(r, xml_place(e, "link_width"), "link_width=0",
		     "the link's width is not known: 16 lanes are taken, as NCCL does");
		width = 16;
	}
	for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
		if (rate == speeds[i].rate)
			return (double)width * speeds[i].lane * GB;
	warn(r, xml_place(e, "link_speed"),
	     "link_speed=", "the link's speed is not known: 8 GT/s are taken, as NCCL does");
	return (double)width * 0.75 * GB;
}

/* ---- elements ---------------------------------------------------------------------------------------- */

static struct topo_node *add(struct reader *r, const struct xml_element *e, enum topo_kind kind)
{
	struct topo *t = r->t;
	uint32_t parent = r->depth ? r->at[r->depth - 1] : NONE;

	ARENA_PUSH(r->c->arena, t->nodes, t->nnodes, t->capnodes) = (struct topo_node){
		.kind = kind,
		.span = e->span,
		.parent = parent,
		.host = parent == NONE ? 0 : t->nodes[parent].host,
		.name = "",
		.up = LOCAL,
		.rank = -1,
	};
	r->at[r->depth] = t->nnodes - 1;
	return &t->nodes[t->nnodes - 1];
}

static const char *copy(struct reader *r, const char *text)
{
	return arena_strndup(r->c->arena, text ? text : "", text ? strnlen(text, 100) : 0);
}

static void read_cpu(struct reader *r, const struct xml_element *e)
{
	struct topo_node *n = add(r, e, TOPO_CPU);
	const char *hash = xml_text(e, "host_hash");

	hash = copy(r, hash);
	n->name = copy(r, xml_text(e, "numaid"));
	n->up = cpu_rate(e);
	n->up_known = n->up > 0;
	n->up = n->up_known ? n->up : LOCAL;
	while (n->host < r->t->nhosts && strcmp(r->hosts[n->host], hash) != 0)
		n->host++;
	if (n->host == r->t->nhosts)
		ARENA_PUSH(r->c->arena, r->hosts, r->t->nhosts, r->caphosts) = hash;
}

static void read_pci(struct reader *r, const struct xml_element *e)
{
	struct topo_node *n = add(r, e, TOPO_PCI);
	const char *busid = xml_text(e, "busid"), *vendor = xml_text(e, "vendor");
	const char *device = xml_text(e, "device");
	uint32_t self = r->t->nnodes - 1;

	if (!busid || !*busid) {
		diag_add(r->c->diags, SEV_ERROR, 608, e->span, NO_RANK, "this <pci> has no bus id");
		return;
	}
	n->name = copy(r, busid);
	n->chip =
		arena_printf(r->c->arena, "%.8s:%.8s", vendor ? vendor : "", device ? device : "");
	n->up = pcie_rate(r, e);
	for (uint32_t i = 0; i < self; i++) {
		const struct topo_node *o = &r->t->nodes[i];

		if (o->kind != TOPO_PCI || o->host != n->host || strcasecmp(o->name, n->name) != 0)
			continue;
		struct diag *g = diag_add(r->c->diags, SEV_ERROR, 608, xml_place(e, "busid"),
					  NO_RANK, "there are two devices at bus id %s", n->name);
		diag_note(r->c->diags, g, o->span, "the first one");
		return;
	}
}

static void read_gpu(struct reader *r, const struct xml_element *e)
{
	struct topo_node *n = add(r, e, TOPO_GPU);
	const char *gcn = xml_text(e, "gcn");

	n->device = n->parent;
	n->name = r->t->nodes[n->parent].name;
	n->nvlink = gcn ? xgmi_rate(gcn) : nvlink_rate(xml_number(e, "sm", 1, 10000, 0));
	if (!xml_text(e, "rank"))
		diag_warn(r->c->diags, W_TOPOLOGY, e->span, NO_RANK,
			  "this GPU has no rank, so it is in no job: it is left out");
	else
		n->rank = xml_number(e, "rank", 0, INT32_MAX, -1);
}

static void read_nvlink(struct reader *r, const struct xml_element *e)
{
	uint32_t gpu = r->at[r->depth - 1];
	struct topo_node *n = &r->t->nodes[gpu];
	const char *target = xml_text(e, "target"), *class = xml_text(e, "tclass");
	int64_t count = xml_number(e, "count", 1, 1024, 0);

	class = class ? class : "";
	if (!strncmp(class, "0x03", 4) || !strncmp(class, "0x12", 4)) {
		ARENA_PUSH(r->c->arena, r->t->wires, r->t->nwires, r->t->capwires) =
			(struct topo_wire){ gpu, copy(r, target), NONE, (uint32_t)count, e->span };
	} else if (!strcmp(class, "0x068001")) {
		n->to_cpu += (double)count * n->nvlink;
	} else if (!strcmp(class, "0x068000")) {
		n->bridges += (double)count * n->nvlink;
	} else {
		diag_warn(r->c->diags, W_TOPOLOGY, xml_place(e, "tclass"), NO_RANK,
			  "class '%.20s' is of no GPU, NVSwitch or CPU: the link is left out",
			  class);
	}
}

static void read_c2c(struct reader *r, const struct xml_element *e)
{
	double count = (double)xml_number(e, "count", 1, 1024, 0);

	/* bw: MB/s of one link */
	r->t->nodes[r->at[r->depth - 1]].to_cpu +=
		count * (double)xml_number(e, "bw", 1, 10000000, 0) * 1e6;
}

static void read_nic(struct reader *r, const struct xml_element *e)
{
	add(r, e, TOPO_NIC);
}

/* A port. A NIC that was fused into a virtual one has net="0". */
static void read_net(struct reader *r, const struct xml_element *e)
{
	struct topo_node *n = &r->t->nodes[r->at[r->depth - 1]];
	const char *text = xml_text(e, "latency"), *name = copy(r, xml_text(e, "name"));
	int64_t speed = xml_number(e, "speed", -1, 100000000, 0); /* Mbit/s */
	double latency = text ? strtod(text, NULL) : 0;		  /* us */

	if (!xml_number(e, "net", 0, 1, 1))
		return;
	if (speed <= 0) {
		warn(r, xml_place(e, "speed"),
		     "speed=", "the port's speed is not known: 10 Gbit/s are taken, as NCCL does");
		speed = 10000;
	}
	if (!(latency >= 0 && latency <= 1e6)) {
		diag_add(r->c->diags, SEV_ERROR, 608, xml_place(e, "latency"), NO_RANK,
			 "'latency' of <net> must be a number from 0 to 1000000, in microseconds");
		return;
	}
	n->name = *n->name ? arena_printf(r->c->arena, "%.200s %s", n->name, name) : name;
	n->port += (double)speed * 1e6 / 8;
	n->latency = latency * 1e-6 > n->latency ? latency * 1e-6 : n->latency;
}

/* Elements, what is inside them, and their attributes: those that are read, and those that say nothing
 * about times. <gin> and <rma> are the same NIC's ports for other interfaces. */
enum inside { IN_FILE = 1, IN_SYSTEM = 2, IN_CPU = 4, IN_PCI = 8, IN_GPU = 16, IN_NIC = 32 };

static const struct element {
	const char *name;
	unsigned where;
	void (*read)(struct reader *, const struct xml_element *);
	const char *attributes;
} elements[] = {
	{ "system", IN_FILE, NULL, " version " },
	{ "cpu", IN_SYSTEM, read_cpu,
	  " host_hash numaid affinity affinity_offset arch vendor familyid modelid " },
	{ "pci", IN_CPU | IN_PCI, read_pci,
	  " busid class vendor device subsystem_vendor subsystem_device link_speed link_width " },
	{ "gpu", IN_PCI, read_gpu, " dev sm rank gdr gcn arch " },
	{ "nvlink", IN_GPU, read_nvlink, " target count tclass " },
	{ "xgmi", IN_GPU, read_nvlink, " target count tclass " },
	{ "c2c", IN_GPU, read_c2c, " count bw " },
	{ "nic", IN_PCI | IN_CPU, read_nic, " " },
	{ "net", IN_NIC, read_net,
	  " name dev speed port latency guid maxconn gdr coll net rail plane " },
	{ "gin", IN_NIC, NULL, NULL },
	{ "rma", IN_NIC, NULL, NULL },
};
enum { NELEMENTS = sizeof(elements) / sizeof(*elements) };

static unsigned inside(const struct reader *r)
{
	static const unsigned of[] = {
		[TOPO_CPU] = IN_CPU, [TOPO_PCI] = IN_PCI, [TOPO_NIC] = IN_NIC, [TOPO_GPU] = IN_GPU
	};

	if (r->depth < 2)
		return r->depth ? IN_SYSTEM : IN_FILE;
	return r->at[r->depth - 1] == NONE ? 0 : of[r->t->nodes[r->at[r->depth - 1]].kind];
}

static void check_attributes(struct reader *r, const struct xml_element *e, const char *known)
{
	for (const char *const *a = e->attributes; known && *a; a += 2) {
		const char *at = strstr(known, a[0]);
		size_t n = strlen(a[0]);

		while (at && (at[-1] != ' ' || at[n] != ' '))
			at = strstr(at + 1, a[0]);
		if (!at)
			warn(r, xml_place(e, a[0]),
			     arena_printf(r->c->arena, "%.40s of %s", a[0], e->name),
			     arena_printf(
				     r->c->arena,
				     "attribute '%.40s' of <%s> is not understood, and left out",
				     a[0], e->name));
	}
}

static void start_element(void *arg, const struct xml_element *e)
{
	struct reader *r = arg;
	unsigned where = inside(r);
	size_t k = 0;

	if (r->depth + r->ignored >= TOPO_MOST_DEPTH) {
		diag_add(r->c->diags, SEV_ERROR, 601, e->span, NO_RANK,
			 "elements nest in more than %u levels (TOPO_MOST_DEPTH)", TOPO_MOST_DEPTH);
		xml_stop(e->xml);
		return;
	}
	if (r->t->nnodes + r->t->nwires + r->nwarned >= TOPO_MOST_PARTS) {
		diag_add(
			r->c->diags, SEV_ERROR, 601, e->span, NO_RANK,
			"there are more than %u devices, links and unknown names (TOPO_MOST_PARTS)",
			TOPO_MOST_PARTS);
		xml_stop(e->xml);
		return;
	}
	while (k < NELEMENTS &&
	       (strcmp(elements[k].name, e->name) != 0 || !(elements[k].where & where)))
		k++;
	if (k == NELEMENTS && where == IN_FILE) {
		diag_add(r->c->diags, SEV_ERROR, 601, e->span, NO_RANK,
			 "<%.40s> is no topology of NCCL, which is a <system>", e->name);
		xml_stop(e->xml);
		return;
	}
	if (r->ignored || k == NELEMENTS) {
		if (!r->ignored)
			warn(r, e->span, arena_printf(r->c->arena, "<%.40s> %u", e->name, where),
			     arena_printf(r->c->arena,
					  "element <%.40s> is not understood here, and left out",
					  e->name));
		r->ignored++;
		return;
	}
	check_attributes(r, e, elements[k].attributes);
	r->at[r->depth] = NONE;
	if (elements[k].read)
		elements[k].read(r, e);
	r->depth++;
}

static void end_element(void *arg)
{
	struct reader *r = arg;

	if (r->ignored)
		r->ignored--;
	else
		r->depth--;
}

/* ---- ranks ------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct topo_node *const *x = a, *const *y = b;

	return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

/* Numbers the GPUs from 0 on, in the order of their ranks: the dump of another node begins at 8, say. */
static bool number_gpus(struct reader *r)
{
	struct topo *t = r->t;
	const struct topo_node **v =
		ARENA_ARRAY(r->c->scratch, const struct topo_node *, t->nnodes);
	struct diag *g;

	for (uint32_t i = 0; i < t->nnodes; i++)
		if (t->nodes[i].kind == TOPO_GPU && t->nodes[i].rank >= 0)
			v[t->ngpus++] = &t->nodes[i];
	if (!t->ngpus || t->ngpus > TOPO_MOST_GPUS) {
		g = diag_add(r->c->diags, SEV_ERROR, 608, NOWHERE, NO_RANK,
			     t->ngpus ? "%s: there are %u GPUs, more than %u (TOPO_MOST_GPUS)"
				      : "%s: no GPU has a rank",
			     t->source->name, t->ngpus, TOPO_MOST_GPUS);
		if (!t->ngpus)
			diag_help(
				r->c->diags, g,
				"a job of NCCL writes a topology with ranks to $NCCL_TOPO_DUMP_FILE");
		return false;
	}
	qsort(v, t->ngpus, sizeof(*v), by_rank);
	t->gpus = ARENA_ARRAY(r->c->arena, uint32_t, t->ngpus);
	for (uint32_t i = 0; i < t->ngpus; i++) {
		t->gpus[i] = (uint32_t)(v[i] - t->nodes);
		if (!i || v[i - 1]->rank != v[i]->rank)
			continue;
		g = diag_add(r->c->diags, SEV_ERROR, 608, v[i]->span, NO_RANK,
			     "two GPUs have rank %lld", (long long)v[i]->rank);
		diag_note(r->c->diags, g, v[i - 1]->span, "the first one");
		return false;
	}
	return true;
}

/* A job on part of a node has NVLinks to GPUs that are not in its file. */
static void find_targets(struct reader *r)
{
	struct topo *t = r->t;

	for (uint32_t i = 0; i < t->nwires; i++) {
		struct topo_wire *w = &t->wires[i];

		for (uint32_t k = 0; k < t->nnodes && w->to == NONE; k++)
			if (t->nodes[k].kind == TOPO_PCI &&
			    t->nodes[k].host == t->nodes[w->from].host &&
			    !strcasecmp(t->nodes[k].name, w->target))
				w->to = k;
		if (w->to == NONE)
			warn(r, w->span, arena_printf(r->c->arena, "target=%s", w->target),
			     arena_printf(r->c->arena,
					  "there is no device at bus id '%s': the link is left out",
					  w->target));
	}
}

struct topo *topo_read(struct ctx *c, struct source *source)
{
	static const struct xml_format format = { "system", "NCCL needs it", 608, start_element,
						  end_element };
	struct reader r = { .c = c, .t = ARENA_NEW(c->arena, struct topo) };
	uint32_t errors = c->diags->errors;

	r.t->source = source;
	if (!xml_read(c, source, &format, &r) || c->diags->errors != errors || !number_gpus(&r))
		return NULL;
	find_targets(&r);
	return r.t;
}
