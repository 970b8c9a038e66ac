/* openvino_profile.c - time per executed layer, as OpenVINO counts it.
 *
 * It counts per compiled model, over all of its runs, and tells averages in whole microseconds. So
 * the first runs, which are slow, are taken off by what they have counted before the others begin;
 * what is left is a mean, and right to about one microsecond. */
#include "engine/openvino/openvino_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/pack.h"

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

/* "Convolution/brgconv_avx512_I8": what it is, and the kernel that does it. */
static size_t op_size(const ov_profiling_info *p)
{
    return strlen(text_or(p->node_type, "?")) + 1 + strlen(text_or(p->exec_type, "?")) + 1;
}

static const char *pack_op(char **place, const ov_profiling_info *p)
{
    char *op = qdq_pack_text(place, text_or(p->node_type, "?"));

    (*place)[-1] = '/';
    qdq_pack_text(place, text_or(p->exec_type, "?"));
    return op;
}

static qdq_status pack(const ov_profiling_list *first, const ov_profiling_list *all, unsigned warm,
                       unsigned runs, qdq_layer **out, size_t *n, qdq_error *err)
{
    size_t size = sizeof(qdq_layer), layers = 0;

    for (size_t i = 0; i < all->n; i++)
        if (ran(&all->at[i])) {
            size += sizeof(qdq_layer) + strlen(all->at[i].name) + 1 + op_size(&all->at[i]);
            layers++;
        }
    qdq_layer *l = malloc(size);
    QDQ_NEED(l != NULL, err);
    char *p = (char *)(l + layers + 1);
    *out = l;
    *n = layers;
    for (size_t i = 0; i < all->n; i++) {
        if (!ran(&all->at[i]))
            continue;
        *l =
            (qdq_layer){.median_us = mean_us(&first->at[i], &all->at[i], warm, runs), .runs = runs};
        l->layer = qdq_pack_text(&p, all->at[i].name);
        l->op = pack_op(&p, &all->at[i]);
        l++;
    }
    return QDQ_OK;
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
