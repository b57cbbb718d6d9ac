/*
 * Device mesh: 6 ranks as 2 rows of 3 columns. Each adds up along its row, and along its column.
 *
 *     mesh = init_device_mesh("cpu", (2, 3), mesh_dim_names=("column", "row"))
 *     dist.all_reduce(x, group=mesh["row"].get_group())           # 3 or 12
 *     dist.all_reduce(y, group=mesh["column"].get_group())        # 3, 5 or 7
 */
#include "tutorial.h"

enum { RANKS = 6 };

/* Along the mesh's dimension `along`, whose places have these sums. */
static void all_reduce(struct tutorial *t, struct ccs_mesh *const *mesh, const char *name,
		       int along, const float *want)
{
	struct ccs_comm *slice[RANKS];
	float x[RANKS];

	ccs_group_start();
	for (int r = t->first; r < t->last; r++)
		ccs_mesh_slice(mesh[r], &along, 1, &slice[r]);
	tutorial_must(ccs_group_end());
	ccs_group_start();
	for (int r = t->first; r < t->last; r++) {
		x[r] = (float)r;
		ccs_run(t->modules[0], &x[r], &x[r], 1, CCS_FLOAT32, CCS_SUM, 0, slice[r], NULL);
	}
	tutorial_must(ccs_group_end());
	for (int r = t->first; r < t->last; r++) {
		int at[2];

		tutorial_must(ccs_mesh_coordinates(mesh[r], r, at));
		tutorial_floats(t, name, r, &x[r], &want[at[1 - along]], 1);
		ccs_comm_free(slice[r]);
	}
}

int main(void)
{
	struct tutorial t;
	struct ccs_mesh *mesh[RANKS];

	tutorial_begin(&t, RANKS);
	tutorial_module(&t, "ring_allreduce.so");
	for (int r = t.first; r < t.last; r++)
		tutorial_must(ccs_mesh_create(&mesh[r], t.comm[r], (int[]){ 2, 3 }, 2));
	all_reduce(&t, mesh, "sum of the row", 1, (float[]){ 3, 12 });
	all_reduce(&t, mesh, "sum of the column", 0, (float[]){ 3, 5, 7 });
	for (int r = t.first; r < t.last; r++)
		ccs_mesh_free(mesh[r]);
	return tutorial_end(&t);
}
