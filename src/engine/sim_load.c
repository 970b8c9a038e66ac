/* sim_load.c - reads the cost model of the `sim` engine from JSON. Every key is known or refused: a test whose
 * misspelt key has no effect would prove nothing. */
#include "engine/sim_cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/json.h"

/* --- members of objects ------------------------------------------------------------------------------------- */

static qdq_status read_number(const json_t *v, const char *where, const char *key, double min, double *out,
                              qdq_error *err)
{
    if (!json_is_number(v) || json_number_value(v) < min)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: '%s': expected a number of at least %g", where, key, min);
    *out = json_number_value(v);
    return QDQ_OK;
}

static qdq_status read_count(const json_t *v, const char *where, const char *key, uint64_t *out,
                             qdq_error *err)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: '%s': expected an integer of at least 0", where, key);
    *out = (uint64_t)json_integer_value(v);
    return QDQ_OK;
}

static qdq_status read_text(qdq_sim *sim, const json_t *v, const char *where, const char *key,
                            const char **out, qdq_error *err)
{
    if (!json_is_string(v))
        return qdq_fail(err, QDQ_E_FORMAT, "%s: '%s': expected text", where, key);
    *out = qdq_arena_strdup(&sim->arena, json_string_value(v));
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status unknown_key(const char *where, const char *key, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "%s: key '%s' is not known (docs/sim.md)", where, key);
}

static qdq_status need_object(const json_t *v, const char *where, qdq_error *err)
{
    if (!json_is_object(v))
        return qdq_fail(err, QDQ_E_FORMAT, "%s: expected an object", where);
    return QDQ_OK;
}

/* --- costs -------------------------------------------------------------------------------------------------- */

static qdq_status read_epilogue(qdq_sim *sim, const json_t *list, const char *where, qdq_sim_cost *cost,
                                qdq_error *err)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return qdq_fail(err, QDQ_E_FORMAT, "%s: 'epilogue': expected a list of operators", where);
    cost->epilogue = qdq_arena_array(&sim->arena, n + 1, sizeof *cost->epilogue);
    if (cost->epilogue == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(read_text(sim, json_array_get(list, i), where, "epilogue", &cost->epilogue[i], err));
    return QDQ_OK;
}

static qdq_status read_cost(qdq_sim *sim, json_t *object, const char *where, qdq_sim_cost *cost,
                            qdq_error *err)
{
    const char *key;
    json_t *v;
    uint64_t inputs = 0;

    *cost = (qdq_sim_cost){.int8_us = -1, .inputs = 1};
    QDQ_TRY(need_object(object, where, err));
    json_object_foreach(object, key, v)
    {
        if (strcmp(key, "float_us") == 0) {
            QDQ_TRY(read_number(v, where, key, 0, &cost->float_us, err));
        } else if (strcmp(key, "float_us_per_k") == 0) {
            QDQ_TRY(read_number(v, where, key, 0, &cost->float_us_per_k, err));
        } else if (strcmp(key, "int8_us") == 0) {
            QDQ_TRY(read_number(v, where, key, 0, &cost->int8_us, err));
        } else if (strcmp(key, "int8_us_per_k") == 0) {
            QDQ_TRY(read_number(v, where, key, 0, &cost->int8_us_per_k, err));
        } else if (strcmp(key, "inputs") == 0) {
            QDQ_TRY(read_count(v, where, key, &inputs, err));
            cost->inputs = inputs < 1 ? 1 : inputs > 1000 ? 1000 : (int64_t)inputs;
        } else if (strcmp(key, "output_q") == 0) {
            if (!json_is_boolean(v))
                return qdq_fail(err, QDQ_E_FORMAT, "%s: 'output_q': expected true or false", where);
            cost->output_q = json_is_true(v);
        } else if (strcmp(key, "epilogue") == 0) {
            QDQ_TRY(read_epilogue(sim, v, where, cost, err));
        } else {
            return unknown_key(where, key, err);
        }
    }
    if (cost->int8_us < 0 && (cost->int8_us_per_k > 0 || cost->output_q))
        return qdq_fail(err, QDQ_E_FORMAT, "%s: has properties of an 8-bit kernel, but no 'int8_us'", where);
    return QDQ_OK;
}

static qdq_status read_costs(qdq_sim *sim, json_t *object, const char *where, qdq_map *out, qdq_error *err)
{
    const char *key;
    json_t *v;

    QDQ_TRY(need_object(object, where, err));
    json_object_foreach(object, key, v)
    {
        char *name = qdq_arena_strdup(&sim->arena, key);
        char *place = qdq_arena_printf(&sim->arena, "%s: '%s'", where, key);
        qdq_sim_cost *cost = qdq_arena_alloc(&sim->arena, sizeof *cost);
        qdq_map_value *at = name != NULL ? qdq_map_put(out, name, NULL) : NULL;
        if (place == NULL || cost == NULL || at == NULL)
            return qdq_nomem(err);
        QDQ_TRY(read_cost(sim, v, place, cost, err));
        at->ptr = cost;
    }
    return QDQ_OK;
}

/* --- failures ----------------------------------------------------------------------------------------------- */

static qdq_status read_failure(qdq_sim *sim, json_t *object, qdq_sim_failure *f, qdq_error *err)
{
    const char *key, *where = "'fail'";
    json_t *v;

    f->at = "run";
    f->message = "a failure that was asked for";
    QDQ_TRY(need_object(object, where, err));
    json_object_foreach(object, key, v)
    {
        if (strcmp(key, "at") == 0) {
            QDQ_TRY(read_text(sim, v, where, key, &f->at, err));
            if (strcmp(f->at, "open") != 0 && strcmp(f->at, "run") != 0 && strcmp(f->at, "time") != 0)
                return qdq_fail(err, QDQ_E_FORMAT, "%s: 'at' is '%s': expected open, run or time", where,
                                f->at);
        } else if (strcmp(key, "nth") == 0) {
            QDQ_TRY(read_count(v, where, key, &f->nth, err));
        } else if (strcmp(key, "node") == 0) {
            QDQ_TRY(read_text(sim, v, where, key, &f->node, err));
        } else if (strcmp(key, "message") == 0) {
            QDQ_TRY(read_text(sim, v, where, key, &f->message, err));
        } else {
            return unknown_key(where, key, err);
        }
    }
    return QDQ_OK;
}

static qdq_status read_failures(qdq_sim *sim, const json_t *list, qdq_error *err)
{
    if (!json_is_array(list))
        return qdq_fail(err, QDQ_E_FORMAT, "'fail': expected a list");
    sim->failure = qdq_arena_array(&sim->arena, json_array_size(list) + 1, sizeof *sim->failure);
    if (sim->failure == NULL)
        return qdq_nomem(err);
    for (; sim->n_failure < json_array_size(list); sim->n_failure++)
        QDQ_TRY(read_failure(sim, json_array_get(list, sim->n_failure), &sim->failure[sim->n_failure], err));
    return QDQ_OK;
}

/* --- the file ----------------------------------------------------------------------------------------------- */

static qdq_status read_member(qdq_sim *sim, const char *key, json_t *v, qdq_error *err)
{
    static const struct {
        const char *key;
        size_t at;
        double min;
    } numbers[] = {
        {"noise", offsetof(qdq_sim, noise), 0},
        {"outlier_rate", offsetof(qdq_sim, outlier_rate), 0},
        {"outlier_factor", offsetof(qdq_sim, outlier_factor), 1},
        {"overhead_us", offsetof(qdq_sim, overhead_us), 0},
        {"error", offsetof(qdq_sim, error), 0},
    };

    for (size_t i = 0; i < QDQ_COUNT(numbers); i++)
        if (strcmp(key, numbers[i].key) == 0)
            return read_number(v, "cost model", key, numbers[i].min, (double *)((char *)sim + numbers[i].at),
                               err);
    if (strcmp(key, "qdq_sim") == 0) {
        if (!json_is_integer(v) || json_integer_value(v) != 1)
            return qdq_fail(err, QDQ_E_FORMAT, "'qdq_sim': expected version 1");
        return QDQ_OK;
    }
    if (strcmp(key, "device") == 0)
        return read_text(sim, v, "cost model", key, &sim->device, err);
    if (strcmp(key, "seed") == 0)
        return read_count(v, "cost model", key, &sim->seed, err);
    if (strcmp(key, "convert") == 0)
        return read_cost(sim, v, "'convert'", &sim->convert, err);
    if (strcmp(key, "default") == 0)
        return read_cost(sim, v, "'default'", &sim->other, err);
    if (strcmp(key, "ops") == 0)
        return read_costs(sim, v, "'ops'", &sim->by_op, err);
    if (strcmp(key, "nodes") == 0)
        return read_costs(sim, v, "'nodes'", &sim->by_node, err);
    if (strcmp(key, "fail") == 0)
        return read_failures(sim, v, err);
    return unknown_key("cost model", key, err);
}

static qdq_status read_model(qdq_sim *sim, json_t *root, qdq_error *err)
{
    const char *key;
    json_t *v;

    QDQ_TRY(need_object(root, "cost model", err));
    if (json_object_get(root, "qdq_sim") == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "key 'qdq_sim' is missing: expected a cost model (docs/sim.md)");
    json_object_foreach(root, key, v)
    {
        QDQ_TRY(read_member(sim, key, v, err));
    }
    if (sim->noise >= 1 || sim->outlier_rate > 1)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "cost model: expected 'noise' below 1 and 'outlier_rate' at most 1");
    return QDQ_OK;
}

qdq_status qdq_sim_load(const char *path, qdq_sim **out, qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_load(path, &root, err));
    qdq_sim *sim = calloc(1, sizeof *sim);
    qdq_status st = sim != NULL ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK) {
        sim->device = "sim";
        sim->outlier_factor = 1;
        sim->convert = (qdq_sim_cost){.float_us = 1, .int8_us = -1, .inputs = 1};
        sim->other = sim->convert;
        st = read_model(sim, root, err);
        if (st != QDQ_OK)
            qdq_within(err, st, "%s", path);
    }
    json_decref(root);
    if (st != QDQ_OK) {
        qdq_sim_free(sim);
        return st;
    }
    *out = sim;
    return QDQ_OK;
}

void qdq_sim_free(qdq_sim *sim)
{
    if (sim == NULL)
        return;
    qdq_map_free(&sim->by_op);
    qdq_map_free(&sim->by_node);
    qdq_arena_free(&sim->arena);
    free(sim);
}
