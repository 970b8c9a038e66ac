/* remote_journal.c - which questions make up the state of a process. */
#include "engine/remote/remote_journal.h"

#include <string.h>

#include "base/fail.h"
#include "base/spawn.h"

void qdq_remote_entry_free(qdq_remote_entry *e)
{
    json_decref(e->question);
    qdq_fd_close(&e->fd);
    qdq_buf_free(&e->arrays);
    *e = (qdq_remote_entry){.fd = -1};
}

void qdq_remote_journal_free(qdq_remote_journal *j)
{
    for (size_t i = 0; i < j->entries.n; i++)
        qdq_remote_entry_free(&j->entries.at[i]);
    qdq_arena_free(&j->arena);
    *j = (qdq_remote_journal){.arena = QDQ_ARENA_INIT};
}

const char *qdq_remote_entry_name(const qdq_remote_entry *e)
{
    const char *name = json_string_value(json_object_get(e->question, "do"));

    return name != NULL ? name : "";
}

static bool is(const qdq_remote_entry *e, const char *name)
{
    return strcmp(qdq_remote_entry_name(e), name) == 0;
}

static void remove_at(qdq_remote_journal *j, size_t i)
{
    qdq_remote_entry_free(&j->entries.at[i]);
    QDQ_REMOVE_AT(&j->entries, i);
}

qdq_remote_entry *qdq_remote_journal_run(const qdq_remote_journal *j)
{
    for (size_t i = j->entries.n; i-- > 0;)
        if (is(&j->entries.at[i], "run"))
            return &j->entries.at[i];
    return NULL;
}

static bool has_number(const qdq_remote_entry *e, const char *key, json_int_t x)
{
    const json_t *value = json_object_get(e->question, key);

    return json_is_integer(value) && json_integer_value(value) == x;
}

/* What a session of this handle was asked; of a comparison, all of it. */
static void remove_handle(qdq_remote_journal *j, json_int_t handle)
{
    for (size_t i = j->entries.n; i-- > 0;) {
        const qdq_remote_entry *e = &j->entries.at[i];

        if (has_number(e, "handle", handle) || has_number(e, "a", handle) ||
            has_number(e, "b", handle))
            remove_at(j, i);
    }
}

static void remove_named(qdq_remote_journal *j, const char *name, const json_t *handle)
{
    for (size_t i = j->entries.n; i-- > 0;) {
        const qdq_remote_entry *e = &j->entries.at[i];

        if (is(e, name) && (handle == NULL || has_number(e, "handle", json_integer_value(handle))))
            remove_at(j, i);
    }
}

static void remove_run(qdq_remote_journal *j)
{
    const qdq_remote_entry *run = qdq_remote_journal_run(j);

    if (run != NULL)
        remove_at(j, (size_t)(run - j->entries.at));
}

static qdq_status take(qdq_remote_journal *j, qdq_remote_entry *e, qdq_error *err)
{
    QDQ_NEED(QDQ_PUSH(&j->arena, &j->entries, *e), err);
    *e = (qdq_remote_entry){.fd = -1};
    return QDQ_OK;
}

qdq_status qdq_remote_journal_note(qdq_remote_journal *j, qdq_remote_entry *e, const json_t *answer,
                                   qdq_error *err)
{
    const char *end = json_string_value(json_object_get(answer, "end"));
    /* an answer with more behind it has no end of its own to speak of */
    const bool more = json_is_true(json_object_get(answer, "more")),
               fine = end != NULL && strcmp(end, "fine") == 0;
    const json_t *handle = json_object_get(e->question, "handle");

    if (is(e, "next") || is(e, "stop")) {
        qdq_remote_entry *run = qdq_remote_journal_run(j);
        if (run != NULL && more && is(e, "next"))
            run->taken++;
        else
            remove_run(j);
        return QDQ_OK;
    }
    if (is(e, "drop"))
        remove_handle(j, json_integer_value(handle));
    if (!fine || (is(e, "run") && !more))
        return QDQ_OK;
    if (is(e, "bind") || is(e, "warm"))
        remove_named(j, qdq_remote_entry_name(e), handle);
    if (is(e, "compare") && has_number(e, "sample", 0))
        remove_named(j, "compare", NULL);
    static const char *const needed[] = {"hello", "refuse", "open",    "session",
                                         "bind",  "warm",   "compare", "run"};
    for (size_t i = 0; i < QDQ_COUNT(needed); i++)
        if (is(e, needed[i]))
            return take(j, e, err);
    return QDQ_OK;
}
