/* remote_profile.c - see the header. */
#include "engine/remote/remote_profile.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/pack.h"
#include "engine/remote/remote_message.h"

enum { NAME, OP, US, RUNS, ROW };

json_t *qdq_remote_profile_json(const qdq_group *l, size_t n)
{
    qdq_json_doc doc = {0};
    qdq_json_out list = qdq_json_list(&doc);

    for (size_t i = 0; i < n; i++) {
        qdq_json_out row = qdq_json_put_list(list, NULL);
        qdq_remote_put_text(row, NULL, l[i].layer);
        qdq_remote_put_text(row, NULL, l[i].op);
        qdq_json_put(row, NULL, json_real(l[i].median_us)); /* a time is finite */
        qdq_json_put_int(row, NULL, l[i].runs);
    }
    return qdq_json_take(&doc);
}

static bool is_row(const json_t *row)
{
    const json_t *runs = json_array_get(row, RUNS);

    return json_array_size(row) == ROW && json_is_string(json_array_get(row, NAME)) &&
           json_is_string(json_array_get(row, OP)) && json_is_number(json_array_get(row, US)) &&
           json_is_integer(runs) && json_integer_value(runs) >= 0 &&
           json_integer_value(runs) <= UINT32_MAX;
}

/* No text is longer as bytes than it was as JSON. */
static qdq_status check(const json_t *list, size_t *bytes, qdq_error *err)
{
    if (!json_is_array(list))
        return qdq_fail(err, QDQ_E_FORMAT, "layers: expected a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);

        if (!is_row(row))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "layers: entry %zu: expected [name, operator, us, runs]", i);
        *bytes += json_string_length(json_array_get(row, NAME)) + 1;
        *bytes += json_string_length(json_array_get(row, OP)) + 1;
    }
    return QDQ_OK;
}

qdq_status qdq_remote_profile_read(const json_t *list, qdq_group **out, size_t *n, qdq_error *err)
{
    const size_t count = json_array_size(list);
    qdq_arena scratch = QDQ_ARENA_INIT;
    size_t bytes = 0;
    bool failed = false;

    *out = NULL;
    *n = 0;
    QDQ_TRY(check(list, &bytes, err));
    qdq_group *l = malloc((count + 1) * sizeof *l + bytes);
    if (l == NULL)
        return qdq_nomem(err);
    char *text = (char *)(l + count + 1);
    for (size_t i = 0; i < count && !failed; i++) {
        const json_t *row = json_array_get(list, i);
        const char *name = qdq_remote_bytes(&scratch, json_string_value(json_array_get(row, NAME)));
        const char *op = qdq_remote_bytes(&scratch, json_string_value(json_array_get(row, OP)));

        failed = name == NULL || op == NULL;
        l[i] = (qdq_group){.median_us = json_number_value(json_array_get(row, US)),
                           .runs = (unsigned)json_integer_value(json_array_get(row, RUNS))};
        l[i].layer = qdq_pack_text(&text, failed ? "" : name);
        l[i].op = qdq_pack_text(&text, failed ? "" : op);
    }
    qdq_arena_free(&scratch);
    if (failed) {
        free(l);
        return qdq_nomem(err);
    }
    *out = l;
    *n = count;
    return QDQ_OK;
}
