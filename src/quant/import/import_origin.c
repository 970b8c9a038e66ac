/* import_origin.c - what a quantized constant was before: the float initializer, and the scheme
 * that gave its scales. */
#include <math.h>
#include <string.h>

#include "base/opts.h"
#include "ir/edit.h"
#include "quant/import/import_state.h"

/* "conv1.weight_quantized" and "conv1.weight_quantized_1" come from "conv1.weight". */
static const char *original_name(qdq_importer *im, const char *name)
{
    static const char suffix[] = "_quantized";
    const char *at = NULL;

    for (const char *s = name; (s = strstr(s, suffix)) != NULL; s++)
        at = s;
    if (at == NULL || at == name)
        return name;
    const char *rest = at + sizeof suffix - 1;
    if (rest[0] != '\0' &&
        (rest[0] != '_' || rest[1] == '\0' || rest[1 + strspn(rest + 1, "0123456789")] != '\0'))
        return name;
    return qdq_arena_strndup(&im->scratch, name, (size_t)(at - name));
}

/* Can `known` be what both were quantized from? Names alone do not tell: "w_quantized_1" and
 * "w_quantized_2" may be two weights of an author who likes numbers. Rounding moves a value by half
 * a step of either scale. */
static bool is_near(qdq_importer *im, const qdq_tensor *known, const qdq_tensor *t,
                    const float *scales, size_t n_scales)
{
    const float *a, *b;
    float step = qdq_absmax(scales, n_scales);

    if (qdq_weight_floats(known, &im->scratch, &a, NULL) != QDQ_OK ||
        qdq_weight_floats(t, &im->scratch, &b, NULL) != QDQ_OK)
        return false;
    float room = 2 * step + qdq_absmax(b, (size_t)t->count) / 64;
    for (int64_t i = 0; i < t->count; i++)
        if (!(fabsf(a[i] - b[i]) <= room))
            return false;
    return true;
}

qdq_value *qdq_import_restore(qdq_importer *im, const qdq_node *dq, qdq_tensor *t,
                              const float *scales, size_t n_scales)
{
    const char *name = original_name(im, qdq_node_in(dq, 0)->name);
    qdq_value *known = name != NULL ? qdq_graph_resolve(im->g, name) : NULL;

    if (name == NULL)
        return NULL;
    if (known != NULL && known->init != NULL && known->init->elem == QDQ_FLOAT &&
        known->init->rank == t->rank &&
        memcmp(known->init->dim, t->dim, sizeof *t->dim * (size_t)t->rank) == 0 &&
        is_near(im, known->init, t, scales, n_scales))
        return known;
    const char *unique = qdq_graph_unique_name(im->g, name);
    return unique != NULL ? qdq_graph_add_init(im->g, unique, t) : NULL;
}

/* Does this scheme give these scales for the weight? */
static bool gives_scales(qdq_importer *im, const qdq_qscheme *scheme, const float *w,
                         const qdq_scale_grid *g, const qdq_found_weight *found)
{
    size_t n = found->n_scales;
    float *low = qdq_arena_array(&im->scratch, 3 * n + 1, sizeof *low);
    int32_t *zeros = qdq_arena_array(&im->scratch, n + 1, sizeof *zeros);

    if (low == NULL || zeros == NULL ||
        qdq_weight_ranges(w, g, qdq_job_cancel(im->opts->job), low, low + n, NULL) != QDQ_OK ||
        qdq_weight_scales(scheme, low, low + n, NULL, n, low + 2 * n, zeros, NULL) != QDQ_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        if (fabsf(low[2 * n + i] - found->scales[i]) > 3e-7f * found->scales[i] ||
            zeros[i] != (found->zeros != NULL ? found->zeros[i] : 0))
            return false;
    return true;
}

void qdq_import_find_scheme(qdq_importer *im, const float *w, const qdq_scale_grid *g,
                            qdq_found_weight *found)
{
    bool is_8_bit = found->type == QDQ_INT8 || found->type == QDQ_UINT8;

    for (int i = 0; i < 8 && !found->follow; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(&im->scratch);
        bool reduced = (i & 2) != 0;

        if (reduced && !is_8_bit)
            continue;
        found->scheme = (qdq_qscheme){found->type, i % 2 == 0, reduced, im->storage, i >= 4};
        found->follow = gives_scales(im, &found->scheme, w, g, found);
        qdq_arena_reset(&im->scratch, mark);
    }
}
