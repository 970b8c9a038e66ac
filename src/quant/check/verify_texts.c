/* verify_texts.c - the texts of a verdict: while it is made, and in the memory of its owner. */
#include "quant/check/verify_texts.h"

#include <math.h>

#include "base/fail.h"
#include "quant/check/verify_state.h"

typedef struct texts {
    const char **at[7];
} texts;

static texts texts_of(qdq_verify_result *r)
{
    return (texts){
        {&r->reference, &r->output, &r->op, &r->node, &r->form, &r->why, &r->not_compared}};
}

void qdq_verify_pack(qdq_pack *p, qdq_verify_result *r)
{
    const texts t = texts_of(r);

    for (size_t i = 0; i < QDQ_COUNT(t.at); i++)
        *t.at[i] = qdq_pack_string(p, *t.at[i]);
}

bool qdq_verify_copy_texts(qdq_verify_result *r, qdq_arena *arena)
{
    const texts t = texts_of(r);
    bool ok = true;

    for (size_t i = 0; i < QDQ_COUNT(t.at); i++) {
        *t.at[i] = qdq_arena_strdup(arena, *t.at[i]);
        ok &= *t.at[i] != NULL;
    }
    return ok;
}

qdq_verify_result qdq_verify_bare(qdq_verify_verdict verdict, const char *why)
{
    qdq_verify_result r = {
        .verdict = verdict, .axis = -1, .sqnr_db = NAN, .engine_db = NAN, .reference_db = NAN};
    const texts t = texts_of(&r);

    for (size_t i = 0; i < QDQ_COUNT(t.at); i++)
        *t.at[i] = "";
    r.why = why;
    return r;
}

void qdq_verify_begin(qdq_verifying *v)
{
    *v->out = qdq_verify_bare(QDQ_VERIFY_UNKNOWN, v->why);
    v->out->reference = v->reference_name;
    v->out->output = v->output_name;
    v->out->op = v->op;
    v->out->node = v->node;
    v->out->form = v->form;
    v->out->not_compared = v->not_compared;
}
