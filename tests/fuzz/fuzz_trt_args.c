/* fuzz_trt_args.c - options for trtexec and the shapes in them, from hostile text. */
#include <stdlib.h>
#include <string.h>

#include "engine/trt/trt_args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read can be written and read again, unless trtexec has no way to write the name. */
static void write_again(const qdq_trt_shapes *s, qdq_arena *arena)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_trt_shapes again;
    const char *text;

    if (s->n == 0 || qdq_trt_shapes_print(s, arena, &text, &err) != QDQ_OK)
        return;
    if (qdq_trt_shapes_parse(text, arena, &again, &err) != QDQ_OK || again.n != s->n)
        abort();
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(again.at[i].name, s->at[i].name) != 0 || again.at[i].rank != s->at[i].rank ||
            memcmp(again.at[i].dim, s->at[i].dim, sizeof s->at[i].dim) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    char *text = malloc(size + 1);
    qdq_trtexec_shapes *x = NULL;
    qdq_trt_user user;

    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (qdq_trtexec_shapes_read(text, &x, &err) == QDQ_OK) {
        for (size_t i = 0; i < x->n_opt; i++)
            if (x->opt[i].name[0] == '\0' || x->opt[i].rank < 0 || x->opt[i].rank > QDQ_MAX_RANK)
                abort();
        if (qdq_trt_user_parse(text, &arena, &user, &err) != QDQ_OK)
            abort(); /* the same parser */
        write_again(&user.min, &arena);
        write_again(&user.opt, &arena);
        write_again(&user.max, &arena);
    } else if (x != NULL || err.text[0] == '\0' || strchr(err.text, '\n') != NULL) {
        abort();
    }
    qdq_free(x);
    qdq_arena_free(&arena);
    free(text);
    return 0;
}
