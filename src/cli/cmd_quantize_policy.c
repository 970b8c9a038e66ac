/* cmd_quantize_policy.c - the goal of quantize where the user names none: when there is one, and
 * what is reported where it is missed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/cmd_quantize.h"

static bool is_real(const char *data)
{
    return data != NULL && strncmp(data, "random:", 7) != 0;
}

bool cmd_quantize_is_real(const struct quantize_args *a)
{
    return is_real(a->quant.eval != NULL ? a->quant.eval : a->quant.calib);
}

bool cmd_quantize_is_default(const quantize *q)
{
    const struct quantize_args *a = q->a;

    return !cli_quant_names_goal(&a->quant) && is_real(a->quant.calib) && a->quant.sqnr &&
           !a->dry_run && a->plan == NULL && a->autotune == 0;
}

bool cmd_quantize_seeks_goal(const quantize *q)
{
    const bool runs =
        q->engine == NULL || (qdq_engine_get_info(q->engine)->capabilities & QDQ_CAN_RUN) != 0;

    if (cmd_quantize_is_default(q))
        return runs; /* of an engine without outputs the command warns */
    return cmd_quantize_has_goal(q->a) && q->a->plan == NULL && q->a->autotune == 0;
}

qdq_status cmd_quantize_times_load(quantize *q, qdq_error *err)
{
    if (q->a->times == NULL)
        return QDQ_OK;
    if (!cmd_quantize_seeks_goal(q))
        return qdq_fail(err, QDQ_E_USAGE, "found --times where no goal is searched for");
    return qdq_plan_load(q->a->times, &q->times, err);
}

bool cmd_quantize_gives_up(const quantize *q, qdq_status st)
{
    return st == QDQ_E_UNSUPPORTED && cmd_quantize_is_default(q) && q->a->quant.labels == NULL &&
           q->a->quant.eval == NULL && q->a->report == NULL;
}

/* --- what was missed -------------------------------------------------------------------------- */

static int by_error(const void *a, const void *b)
{
    const qdq_goal_layer *x = *(const qdq_goal_layer *const *)a,
                         *y = *(const qdq_goal_layer *const *)b;

    return x->error != y->error ? (x->error < y->error ? 1 : -1) : strcmp(x->node, y->node);
}

/* Those that lose most, of the layers in 8 bits, or of all where none is left. "": not known. */
static const char *worst_layers(const quantize *q)
{
    enum { SHOWN = 3 };
    const qdq_goal_result *r = q->goal;
    const qdq_goal_layer **at = qdq_arena_array(&q->c->arena, r->n_layers + 1, sizeof *at);
    const char *text = "";
    size_t n = 0;

    for (size_t i = 0; i < r->n_layers && at != NULL; i++)
        if (r->is_float || !r->layers[i].is_float)
            at[n++] = &r->layers[i];
    if (n > 1)
        qsort(at, n, sizeof *at, by_error);
    for (size_t i = 0; i < n && i < SHOWN && text != NULL; i++)
        text = qdq_arena_printf(&q->c->arena, "%s%s'%s'", text, i == 0 ? "; worst layers: " : ", ",
                                at[i]->node);
    return text != NULL ? text : "";
}

static const char next_step[] = "; next: more samples, or 'qdq compare --per-tensor' and "
                                "--exclude; --min-sqnr DB changes the goal";

static void warn_of_plan(const quantize *q)
{
    const qdq_compare_result *r = q->compared;

    for (size_t i = 0; r != NULL && i < r->n_outputs; i++) {
        const qdq_compare_tensor *t = &r->outputs[i];
        const double least = isnan(t->bound_db) ? t->worst_db : t->bound_db;

        if (least >= QDQ_DEFAULT_MIN_SQNR || isnan(t->worst_db))
            continue;
        cli_warn(&q->c->ui,
                 "output '%s': SQNR %.2f dB, less than %g dB; the plan was not changed for that",
                 t->name, least, QDQ_DEFAULT_MIN_SQNR);
        return;
    }
}

void cmd_quantize_warn_of_goal(const quantize *q)
{
    const qdq_goal_result *r = q->goal;
    const bool is_real_data = cmd_quantize_is_real(q->a);

    if (cli_quant_names_goal(&q->a->quant))
        return;
    if (r == NULL) {
        if (is_real_data && q->a->plan != NULL)
            warn_of_plan(q);
        return;
    }
    if (r->reached)
        return;
    if (!r->is_float && !r->is_best_kept) { /* nothing was searched for */
        warn_of_plan(q);
        return;
    }
    if (r->is_slower)
        cli_warn(&q->c->ui,
                 "nothing was quantized: the goal of %g dB can be reached, but %s; next: 'qdq "
                 "autotune' measures "
                 "which layers are faster in 8 bits",
                 QDQ_DEFAULT_MIN_SQNR, r->why);
    else if (r->is_float)
        cli_warn(
            &q->c->ui,
            "nothing was quantized: no plan that saves a tenth of the time reaches %g dB; %s%s%s",
            QDQ_DEFAULT_MIN_SQNR, r->why, worst_layers(q), next_step);
    else
        cli_warn(&q->c->ui, "the goal of %g dB is missed: %s%s%s", QDQ_DEFAULT_MIN_SQNR, r->why,
                 worst_layers(q), next_step);
}
