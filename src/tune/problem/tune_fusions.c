/* tune_fusions.c - what is decided together in subgraph mode: what the engine computes in one
 * layer, both of the model without Q/DQ and of the one with all of them. Groups of one key are
 * instances of one pattern; from there on both modes are alike. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "engine/trt/trt_args.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_profile.h"
#include "tune/group/fusion_patterns.h"
#include "tune/group/graph_file.h"
#include "tune/problem/tune_problem.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/state/tune_refused.h"

enum { GROUP_RUNS = 8, LAYERS_MAX = 1 << 30 };

/* --- files ------------------------------------------------------------------------------------ */

/* "resnet50" of "models/resnet50.onnx"; NULL: out of memory. */
static const char *name_of_model(qdq_tune_state *t)
{
    const char *slash = strrchr(t->task.m->path, '/'),
               *name = slash != NULL ? slash + 1 : t->task.m->path;
    const char *dot = strrchr(name, '.');
    const size_t n = dot != NULL ? (size_t)(dot - name) : strlen(name);

    return n > 0 ? qdq_arena_printf(&t->arena, "%.*s", (int)n, name) : "model";
}

/* What is not quantized is in that precision, and what trtexec is told to build in any case. NULL:
 * out of memory. */
static const char *name_of_precision(qdq_tune_state *t)
{
    const qdq_engine_opts *o = t->opts->engine_opts;
    const char *rest = t->task.nothing->half.type == QDQ_FLOAT16    ? "fp16"
                       : t->task.nothing->half.type == QDQ_BFLOAT16 ? "bf16"
                                                                    : "";
    const char *flags =
        o != NULL && o->trtexec_args != NULL ? qdq_trt_precision(o->trtexec_args, &t->arena) : "";

    if (flags == NULL || (rest[0] == '\0' && flags[0] == '\0'))
        return flags != NULL ? "fp32" : NULL;
    if (rest[0] == '\0' || flags[0] == '\0' || strcmp(rest, flags) == 0)
        return rest[0] != '\0' ? rest : flags;
    return qdq_arena_printf(&t->arena, "%s-%s", rest, flags);
}

/* The fingerprint: what the baseline's layers are of, and all that their times depend on. */
static qdq_status describe_graph(qdq_tune_state *t, qdq_graph_file *out, qdq_error *err)
{
    const char *all =
        qdq_arena_printf(&t->arena, "%s\n%s\n%s\n%s", t->run.base->name, t->tools.context.engine,
                         t->tools.context.device, t->tools.context.options);
    char *digits = qdq_arena_alloc(&t->arena, 33);

    *out = (qdq_graph_file){.dir = t->tools.dir,
                            .name = name_of_model(t),
                            .precision = name_of_precision(t),
                            .info = qdq_worker_client_engine(t->tools.worker_client),
                            .model = t->task.clean,
                            .log = t->parts.base_log,
                            .fingerprint = digits};
    QDQ_NEED(all != NULL && digits != NULL && out->name != NULL && out->precision != NULL, err);
    qdq_digits_of(all, strlen(all), digits);
    return QDQ_OK;
}

/* What the engine said, for people and as --layer-info of other runs. */
static qdq_status write_graph(qdq_tune_state *t, const qdq_tune_layers *l, qdq_error *err)
{
    qdq_graph_file f;

    QDQ_TRY(describe_graph(t, &f, err));
    return qdq_graph_file_write(&f, l->at, l->n, err);
}

/* What it said once, in a run whose samples are gone. */
static qdq_status read_graph(qdq_tune_state *t, const char *key, qdq_tune_layers *out, bool *known,
                             qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    qdq_graph_file f;

    if (t->opts->restart)
        return QDQ_OK;
    QDQ_TRY(describe_graph(t, &f, err));
    qdq_status st = qdq_graph_file_read(&f, t->job, &out->at, &out->n, &why);
    if (st == QDQ_E_NOMEM)
        return qdq_nomem(err);
    if (st != QDQ_OK && st != QDQ_E_IO)
        qdq_job_log(t->job, QDQ_LOG_INFO, "%s: it is built once more", why.text);
    *known = st == QDQ_OK && out->n > 0;
    if (!*known)
        return QDQ_OK;
    qdq_job_log(t->job, QDQ_LOG_INFO,
                "%s.%s.graph.json has the layers: they are not asked for again", f.name,
                f.precision);
    return qdq_tune_keep_layers(t, key, out, err);
}

/* --- of a candidate, from the engine ---------------------------------------------------------- */

/* What the builder of the model without Q/DQ printed. */
static qdq_status keep_output(qdq_tune_state *t, qdq_error *err)
{
    size_t size = 0;
    const char *output = qdq_worker_client_output(t->tools.worker_client, &size);

    t->parts.base_log = size > 0 ? qdq_arena_strndup(&t->arena, output, size) : NULL;
    return size == 0 || t->parts.base_log != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status ask_groups(qdq_tune_state *t, const qdq_tune_candidate *c, const char *path,
                             qdq_tune_layers *out, qdq_remote_outcome *outcome, qdq_error *err)
{
    QDQ_TRY(qdq_worker_client_groups(t->tools.worker_client, path, GROUP_RUNS, &out->at, &out->n,
                                     outcome, err));
    return c == t->run.base ? keep_output(t, err) : QDQ_OK;
}

/* May another model be built, and a candidate after it? */
static bool may_build(const qdq_tune_state *t)
{
    return t->run.search_opts.max_builds == 0 || t->run.builds + 1 < t->run.search_opts.max_builds;
}

/* None where the engine does not tell, or the budget is used up. Layers with times are a profile,
 * too: no other build is needed for that. */
static qdq_status ask_for_layers(qdq_tune_state *t, qdq_tune_candidate *c, qdq_tune_layers *out,
                                 qdq_error *err)
{
    const char *key = qdq_arena_printf(&t->arena, "groups %s", c->name);
    bool known;

    QDQ_NEED(key != NULL, err);
    if ((qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_LIST_LAYERS) ==
            0 ||
        !may_build(t))
        return QDQ_OK;
    t->run.builds++;
    QDQ_TRY(qdq_tune_recall_layers(t, key, out, &known, err));
    if (!known && c == t->run.base)
        QDQ_TRY(read_graph(t, key, out, &known, err));
    if (!known)
        QDQ_TRY(qdq_tune_measure_layers(t, c, key, "layers", ask_groups, out, err));
    return qdq_tune_profile_from(t, c, out->at, out->n, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* By what the engine itself tells. What does not fit says nothing. */
static qdq_status find_groups(qdq_tune_state *t, const qdq_tune_layers *l, qdq_fusions **out,
                              qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;
    qdq_status st = qdq_fusions_find(t->task.clean, l->at, l->n, NULL, out, &why);

    if (st != QDQ_E_UNSUPPORTED)
        return st == QDQ_OK ? QDQ_OK : qdq_fail(err, st, "%s", why.text);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s; groups come from the structure of the model",
                why.text);
    return qdq_fusions_find(t->task.clean, NULL, 0, NULL, out, err);
}

static qdq_status find_by_engine(qdq_tune_state *t, qdq_fusions **out, qdq_error *err)
{
    qdq_tune_layers l = {0};
    qdq_status st = ask_for_layers(t, t->run.base, &l, err);

    if (st == QDQ_OK && l.n == 0)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "engine '%s': layers without nodes; groups come from the structure of the "
                    "model, as engines usually fuse",
                    qdq_worker_client_engine(t->tools.worker_client)->name);
    if (st == QDQ_OK && l.n > 0)
        st = write_graph(t, &l, err);
    if (st == QDQ_OK)
        st = find_groups(t, &l, out, err);
    qdq_free(l.at);
    return st;
}

static qdq_status find_by_file(qdq_tune_state *t, qdq_fusions **out, qdq_error *err)
{
    const char *path = t->details->layer_info;
    qdq_tune_layers l = {0};

    QDQ_TRY(qdq_layers_read(t->task.clean, path, NULL, t->job, &l.at, &l.n, err));
    qdq_status st = qdq_fusions_find(t->task.clean, l.at, l.n, NULL, out, err);
    qdq_free(l.at);
    return st == QDQ_E_UNSUPPORTED ? qdq_within(err, st, "%s", path) : st;
}

/* Q/DQ change what is fused: nodes are decided together that are computed together with them as
 * well. */
static qdq_status refine_groups(qdq_tune_state *t, qdq_fusions **f, qdq_error *err)
{
    qdq_fusions *with = NULL, *both = NULL;
    qdq_tune_candidate *full;
    qdq_assign all;
    qdq_tune_layers l = {0};

    QDQ_NEED(qdq_assign_new(&all, t->task.space->n_groups, &t->arena), err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(&all, i, true);
    QDQ_TRY(qdq_tune_candidate_of(t, &all, &full, err));
    if (full == t->run.base)
        return QDQ_OK;
    qdq_status st = ask_for_layers(t, full, &l, err);
    if (st == QDQ_OK && l.n > 0)
        st = find_groups(t, &l, &with, err);
    if (st == QDQ_OK && with != NULL)
        st = qdq_fusions_refine(*f, with, NULL, &both, err);
    if (st == QDQ_OK && both != NULL) {
        qdq_fusions_free(*f);
        *f = both;
    }
    qdq_fusions_free(with);
    qdq_free(l.at);
    t->parts.full_times = full->times;
    return st;
}

qdq_status qdq_tune_find_fusions(qdq_tune_state *t, qdq_error *err)
{
    qdq_tune_show(t, "groups");
    if (t->parts.fusions == NULL) /* else they are those of a file */
        QDQ_TRY(find_by_engine(t, &t->parts.fusions, err));
    QDQ_TRY(refine_groups(t, &t->parts.fusions, err));
    QDQ_TRY(qdq_fusion_keys_find(t->parts.fusions, &t->parts.keys, err));
    QDQ_TRY(qdq_fusion_patterns_make(t->parts.keys, &t->parts.patterns, err));
    qdq_job_log(t->job, QDQ_LOG_INFO,
                "%u groups of %u kinds; layers are known of %.0f %% of the operators",
                t->parts.fusions->n, t->parts.keys->n,
                isfinite(t->parts.fusions->covered) ? t->parts.fusions->covered * 100 : 0);
    return qdq_tune_write_subgraphs(t, err);
}

/* --- what users hand in ----------------------------------------------------------------------- */

/* In a few digits: other layers make another search. */
static qdq_status name_layers(qdq_tune_state *t, qdq_error *err)
{
    char *text;
    size_t size;

    QDQ_TRY(qdq_read_file(t->details->layer_info, LAYERS_MAX, &text, &size, err));
    qdq_digits_of(text, size, t->parts.layers_name);
    qdq_free(text);
    return QDQ_OK;
}

qdq_status qdq_tune_read_layers(qdq_tune_state *t, qdq_error *err)
{
    if (t->details->layer_info == NULL)
        return QDQ_OK;
    QDQ_TRY(name_layers(t, err));
    return find_by_file(t, &t->parts.fusions, err);
}
