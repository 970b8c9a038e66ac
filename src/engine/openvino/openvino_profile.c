/* openvino_profile.c - time per executed layer, as OpenVINO counts it.
 *
 * It counts per compiled model, over all of its runs, and tells averages in whole microseconds. So
 * the first runs, which are slow, are taken off by what they have counted before the others begin;
 * what is left is a mean, and right to about one microsecond. */
#include "engine/openvino/openvino_session.h"

#include "base/fail.h"
#include "engine/engine_layer.h"

enum { WARM_RUNS = 2 };

/* As they are counted after `runs` runs. Two lists of one compiled model have the same layers in
 * the same order. */
static qdq_status count(qdq_session *s, unsigned runs, ov_profiling_list *out, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;

    for (unsigned i = 0; i < runs; i++)
        QDQ_TRY(qdq_ov_check(api, api->infer_request_infer(os->timed), "profiled run", err));
    return qdq_ov_check(api, api->infer_request_get_profiling_info(os->timed, out), "profile", err);
}

static bool ran(const ov_profiling_info *p)
{
    return p->status == QDQ_OV_EXECUTED && p->name != NULL;
}

/* Averages of all runs, less those of the warm ones, which `first` has. */
static double mean_us(const ov_profiling_info *first, const ov_profiling_info *all, unsigned warm,
                      unsigned runs)
{
    double us = ((double)all->real_us * (runs + warm) - (double)first->real_us * warm) / runs;

    return us > 0 ? us : 0;
}

static const char *text_or(const char *s, const char *other)
{
    return s != NULL && s[0] != '\0' ? s : other;
}

/* Kernels as "Convolution/brgconv_avx512_I8": what it is, and what does it. */
static qdq_status pack(const ov_profiling_list *first, const ov_profiling_list *all, unsigned warm,
                       unsigned runs, qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_layer *l = qdq_arena_array(&scratch, all->n + 1, sizeof *l);
    size_t layers = 0;
    bool ok = l != NULL;

    for (size_t i = 0; i < all->n && ok; i++) {
        const ov_profiling_info *p = &all->at[i];
        if (!ran(p))
            continue;
        l[layers] =
            (qdq_layer){.layer = p->name,
                        .op = qdq_arena_printf(&scratch, "%s/%s", text_or(p->node_type, "?"),
                                               text_or(p->exec_type, "?")),
                        .median_us = mean_us(&first->at[i], p, warm, runs),
                        .runs = runs};
        ok = l[layers++].op != NULL;
    }
    const qdq_status st = ok ? qdq_layers_pack(l, layers, out, err) : qdq_nomem(err);
    *n = st == QDQ_OK ? layers : 0;
    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_ov_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                          qdq_layer **out, size_t *n, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_profiling_list first = {NULL, 0}, all = {NULL, 0};

    QDQ_TRY(qdq_ov_bind(s, in, err)); /* runs once */
    qdq_status st = count(s, WARM_RUNS - 1, &first, err);
    if (st == QDQ_OK)
        st = count(s, runs, &all, err);
    if (st == QDQ_OK && first.n != all.n)
        st = qdq_fail(err, QDQ_E_ENGINE, "profile: %zu layers, then %zu", first.n, all.n);
    if (st == QDQ_OK)
        st = pack(&first, &all, WARM_RUNS, runs, out, n, err);
    if (first.at != NULL)
        api->profiling_info_list_free(&first);
    if (all.at != NULL)
        api->profiling_info_list_free(&all);
    qdq_ov_unbind(s);
    return st;
}
