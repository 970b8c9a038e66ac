/* spaced.c - see the header. */
#include "support/spaced.h"

#include <malloc.h>

#include "quant/quantize_steps.h"

test_space test_space_open_with(qdq_model *m, const char *target, const char *const *set,
                                qdq_engine *e)
{
    test_space t = {.m = m,
                    .engine = e,
                    .head = qdq_plan_new(),
                    .opts = QDQ_QUANTIZE_OPTS_INIT,
                    .own_engine = e == NULL};
    qdq_error err = QDQ_ERROR_INIT;

    if (e == NULL)
        assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL,
                                  &t.engine, &err));
    assert_ok(qdq_target_load(target, &t.target, &err));
    for (; *set != NULL; set += 2)
        assert_ok(qdq_target_set(t.target, set[0], set[1], &err));
    assert_ok(qdq_quantize_begin(m, t.target, &t.opts, t.head, &t.clean, &err));
    assert_ok(qdq_space_new(t.clean, t.target, &t.opts, &t.s, &err));
    assert_ok(qdq_space_calibrate(
        t.s, &(qdq_space_scaling){t.head, t.engine, NULL, &t.opts, &t.known, 0}, &err));
    return t;
}

test_space test_space_open(qdq_model *m, const char *target)
{
    static const char *const nothing[] = {NULL};

    return test_space_open_with(m, target, nothing, NULL);
}

void test_space_close(test_space *t)
{
    qdq_space_free(t->s);
    qdq_scales_free(&t->known);
    qdq_plan_free(t->head);
    qdq_arena_free(&t->arena);
    qdq_model_free(t->clean);
    qdq_target_free(t->target);
    if (t->own_engine)
        qdq_engine_close(t->engine);
    qdq_model_free(t->m);
}

uint32_t test_space_group(const test_space *t, const char *output)
{
    for (uint32_t i = 0; i < t->s->n_groups; i++)
        if (strcmp(t->s->group[i].node->out[0]->name, output) == 0)
            return i;
    fail_msg("no group gives '%s'", output);
    return QDQ_NO_GROUP;
}

static const char *const part_names[] = {"none", "full", "weight", "activation"};

qdq_assign test_space_parts(test_space *t, const char *parts)
{
    qdq_assign a;
    char output[64], part[16];
    int used;

    assert_true(qdq_assign_new(&a, qdq_space_scheme_bits(t->s), &t->arena));
    for (; *parts != '\0'; parts += used) {
        unsigned p = 0;

        used = 0;
        assert_int_equal(sscanf(parts, " %63[^:]:%15[a-z]%n", output, part, &used), 2);
        while (p < 4 && strcmp(part_names[p], part) != 0)
            p++;
        assert_true(p < 4);
        qdq_space_set_part(t->s, &a, test_space_group(t, output), (qdq_space_part)p);
    }
    return a;
}

const char *test_space_text(const test_space *t, const qdq_assign *a)
{
    static char text[2000];
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < t->s->n_groups; i++) {
        qdq_space_part part = qdq_space_get_part(t->s, a, i);

        if (part != QDQ_PART_NONE)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%s", n > 0 ? " " : "",
                                  t->s->group[i].node->out[0]->name, part_names[part]);
    }
    return text;
}

qdq_plan *test_space_plan(test_space *t, const qdq_assign *a)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p;

    assert_ok(qdq_space_plan(
        t->s, a, &(qdq_space_scaling){t->head, t->engine, NULL, &t->opts, &t->known, 0}, &p, &err));
    return p;
}

void test_space_expect_folds(test_space *t, const qdq_assign *a)
{
    qdq_data_opts samples = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *data;
    qdq_plan *p;

    samples.max_samples = 4;
    assert_ok(qdq_data_open("random:7", t->clean, &samples, &data, &err));
    qdq_scales known = {0};
    mallopt(M_PERTURB, 0xA5); /* memory that is freed has no scales any more */
    assert_ok(qdq_space_plan(
        t->s, a, &(qdq_space_scaling){t->head, t->engine, data, &t->opts, &known, 2}, &p, &err));
    mallopt(M_PERTURB, 0);
    assert_int_equal(p->n_folds, 2);
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *tensor = &p->tensors.at[i];

        for (unsigned k = 0; k < 2 && tensor->fold != NULL; k++) {
            assert_int_equal(tensor->fold[k].type, tensor->qparam.type);
            assert_true(tensor->fold[k].scale > 0 && tensor->fold[k].scale < 100);
        }
    }
    qdq_plan_free(p);
    qdq_scales_free(&known);
    qdq_data_close(data);
}

qdq_model *test_space_applied(const test_space *t, const qdq_plan *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m;

    assert_ok(qdq_model_clone(t->clean, &m, &err));
    assert_ok(qdq_quantize_finish(m, p, NULL, NULL, &err));
    return m;
}
