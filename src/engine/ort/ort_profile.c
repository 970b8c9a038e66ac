/* ort_profile.c - time per executed kernel, from the file that ONNX Runtime writes: a JSON array
 * with one event on each line. Node names are bytes that nothing escapes there, so a line that
 * cannot be read gets its name repaired first. */
#include "engine/ort/ort_session.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/sample_stats.h"
#include "engine/tool_json.h"

typedef struct layer {
    const char *name, *op;
    const char *in_type, *out_type;
    /* of a run that has not ended yet */
    double pending_us;
    /* of the runs since it was first seen */
    QDQ_VEC(double) us;
} layer;

typedef struct reader {
    qdq_arena *arena;
    /* node number, name and kernel -> index into layers */
    qdq_map by_key;
    QDQ_VEC(layer) layers;
    /* "model_run" events seen so far, which end a run */
    unsigned runs;
    size_t bad_lines;
} reader;

typedef qdq_tool_json json;

/* --- one event -------------------------------------------------------------------------------- */

/* The position behind `mark` in s, or NULL. */
static const char *behind(const char *s, const char *mark)
{
    const char *p = strstr(s, mark);

    return p != NULL ? p + strlen(mark) : NULL;
}

/* Writes the line with its name escaped as JSON wants it. The name ends at the last place that
 * looks like its end: what follows never holds such text. */
static bool repair(const char *line, qdq_buf *out)
{
    static const char end_mark[] = "\",\"args\"";
    const char *name = behind(line, "\"name\" :\"");
    const char *end = NULL;

    if (name == NULL)
        return false;
    for (const char *p = name; (p = strstr(p, end_mark)) != NULL; p++)
        end = p;
    if (end == NULL)
        return false;
    qdq_buf_append(out, line, (size_t)(name - line));
    for (const char *p = name; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\')
            qdq_buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            qdq_buf_printf(out, "\\u%04x", c);
        else
            qdq_buf_putc(out, (char)c);
    }
    qdq_buf_puts(out, end);
    return !out->failed;
}

/* QDQ_E_FORMAT: no one can read it. */
static qdq_status parse_event(const char *line, qdq_arena *arena, const json **event,
                              qdq_error *err)
{
    qdq_status st = qdq_tool_json_parse(line, strlen(line), arena, event, err);

    if (st != QDQ_E_FORMAT)
        return st;
    qdq_buf fixed = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    if (repair(line, &fixed))
        st = qdq_tool_json_parse(fixed.data, fixed.size, arena, event, err);
    else if (fixed.failed)
        st = qdq_nomem(err);
    qdq_buf_free(&fixed);
    return st;
}

/* The type of the tensor that a kernel works on, from [{"uint8": [1, 8]}, {"float": []}, ...]: the
 * first that is more than a number, for some begin with a scale. */
static const char *type_of(const json *list)
{
    qdq_elem first = QDQ_UNDEFINED;

    for (const json *one = list != NULL ? list->first : NULL; one != NULL; one = one->next) {
        if (one->kind != QDQ_TOOL_OBJECT || one->first == NULL)
            continue;
        qdq_elem e = qdq_elem_from_name(one->first->key);
        if (one->first->n > 0)
            return qdq_engine_type(e);
        if (first == QDQ_UNDEFINED)
            first = e;
    }
    return qdq_engine_type(first);
}

/* --- events of one layer add up --------------------------------------------------------------- */

static layer *find_layer(reader *r, const char *name, size_t name_size, const json *args)
{
    const char *op = qdq_tool_json_text(args, "op_name");
    const char *index = qdq_tool_json_text(args, "node_index");
    bool is_new;
    char *key = qdq_arena_printf(r->arena, "%s %s %.*s", index, op, (int)name_size, name);
    qdq_map_value *at = key != NULL ? qdq_map_put(&r->by_key, key, &is_new) : NULL;

    if (at == NULL)
        return NULL;
    if (is_new) {
        layer l = {.name = qdq_arena_strndup(r->arena, name, name_size),
                   .op = qdq_arena_strdup(r->arena, op),
                   .in_type = type_of(qdq_tool_json_get(args, "input_type_shape")),
                   .out_type = type_of(qdq_tool_json_get(args, "output_type_shape"))};
        if (l.name == NULL || l.op == NULL || !QDQ_PUSH(r->arena, &r->layers, l))
            return NULL;
        at->num = r->layers.n - 1;
    }
    return &r->layers.at[at->num];
}

/* Files may end in the middle of a run (ORT stops at a million events), so only whole runs count;
 * the first one warms up and does not. */
static bool end_run(reader *r)
{
    for (size_t i = 0; i < r->layers.n; i++) {
        layer *l = &r->layers.at[i];
        if (r->runs > 0 && !QDQ_PUSH(r->arena, &l->us, l->pending_us))
            return false;
        l->pending_us = 0;
    }
    r->runs++;
    return true;
}

/* A time that no kernel takes would make sums infinite. */
static bool is_time(double us)
{
    return us >= 0 && us < 1e15;
}

static qdq_status add_event(reader *r, const json *event, qdq_error *err)
{
    static const char suffix[] = "_kernel_time";
    const char *cat = qdq_tool_json_text(event, "cat"), *name = qdq_tool_json_text(event, "name");
    const double us = qdq_tool_json_number(event, "dur");
    size_t n = strlen(name);

    if (strcmp(cat, "Session") == 0 && strcmp(name, "model_run") == 0 && !end_run(r))
        return qdq_nomem(err);
    if (strcmp(cat, "Node") != 0 || n < sizeof suffix - 1 ||
        strcmp(name + n - (sizeof suffix - 1), suffix) != 0)
        return QDQ_OK; /* another kind of event */
    if (!is_time(us)) {
        r->bad_lines++;
        return QDQ_OK;
    }
    layer *l = find_layer(r, name, n - (sizeof suffix - 1), qdq_tool_json_get(event, "args"));
    QDQ_NEED(l != NULL, err);
    l->pending_us += us;
    return QDQ_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status read_line(reader *r, char *line, qdq_error *err)
{
    size_t n = strlen(line);
    qdq_arena arena = QDQ_ARENA_INIT; /* of one event: a file has a million */
    qdq_error reason = QDQ_ERROR_INIT;
    const json *event;

    while (n > 0 && strchr(" \t\r\n,", line[n - 1]) != NULL)
        line[--n] = '\0';
    while (*line == ' ' || *line == '\t')
        line++;
    if (*line == '\0' || strcmp(line, "[") == 0 || strcmp(line, "]") == 0)
        return QDQ_OK;
    qdq_status st = parse_event(line, &arena, &event, &reason);
    if (st == QDQ_OK)
        st = add_event(r, event, err);
    else if (st == QDQ_E_NOMEM)
        st = qdq_nomem(err);
    else
        r->bad_lines++, st = QDQ_OK;
    qdq_arena_free(&arena);
    return st;
}

/* Node names may hold line breaks: a line goes on until the next one that begins an event. */
static qdq_status read_text(reader *r, char *text, qdq_error *err)
{
    for (char *line = text; line != NULL;) {
        char *next = line;
        do {
            next = strchr(next, '\n');
            if (next != NULL)
                next++;
        } while (next != NULL && *next != '{' && *next != ']' && *next != '[' && *next != '\0');
        if (next != NULL)
            next[-1] = '\0';
        QDQ_TRY(read_line(r, line, err));
        line = next;
    }
    return QDQ_OK;
}

/* Of a layer that did not run in each run, it took no time in the others. */
static double median_us(layer *l, unsigned runs)
{
    const size_t missing = runs - l->us.n;
    double middle[2];

    qdq_stats_sort(l->us.at, l->us.n); /* 0: the only run it was seen in did not end */
    for (size_t i = 0; i < 2; i++) {
        size_t at = (runs - 1 + i) / 2;
        middle[i] = at < missing ? 0 : l->us.at[at - missing];
    }
    return (middle[0] + middle[1]) / 2;
}

static qdq_status list_rows(const reader *r, qdq_engine_layer **out, size_t *n, qdq_error *err)
{
    qdq_engine_layer *l = qdq_arena_array(r->arena, r->layers.n + 1, sizeof *l);

    QDQ_NEED(l != NULL, err);
    for (size_t i = 0; i < r->layers.n; i++) {
        layer *from = &r->layers.at[i];
        l[i] = (qdq_engine_layer){
            .name = from->name, .op = from->op, .us = median_us(from, r->runs - 1)};
        l[i].in_type = from->in_type;
        l[i].out_type = from->out_type;
    }
    *out = l;
    *n = r->layers.n;
    return QDQ_OK;
}

qdq_status qdq_ort_profile_rows(char *text, const qdq_job *job, qdq_arena *arena,
                                qdq_engine_layer **out, size_t *n, unsigned *runs, qdq_error *err)
{
    reader r = {.arena = arena};
    qdq_status st = read_text(&r, text, err);

    if (st == QDQ_OK && (r.runs < 2 || r.layers.n == 0))
        st = qdq_fail(err, QDQ_E_ENGINE,
                      "profile: found %u runs and %zu layers: expected at least 2 runs", r.runs,
                      r.layers.n);
    if (st == QDQ_OK && r.bad_lines > 0)
        qdq_job_log(job, QDQ_LOG_WARNING, "profile: %zu events could not be read", r.bad_lines);
    if (st == QDQ_OK)
        st = list_rows(&r, out, n, err);
    *runs = r.runs > 0 ? r.runs - 1 : 0;
    qdq_map_free(&r.by_key);
    return st;
}

qdq_status qdq_ort_profile_parse(char *text, const qdq_job *job, qdq_layer **out, size_t *n,
                                 qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_engine_layer *rows;
    size_t n_rows;
    unsigned runs;

    qdq_status st = qdq_ort_profile_rows(text, job, &arena, &rows, &n_rows, &runs, err);
    if (st == QDQ_OK)
        st = qdq_engine_profile_pack(rows, n_rows, runs, out, err);
    if (st == QDQ_OK)
        *n = n_rows;
    qdq_arena_free(&arena);
    return st;
}

/* --- runs ------------------------------------------------------------------------------------- */

qdq_status qdq_ort_profile_text(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                char **text, qdq_error *err)
{
    enum { MAX_FILE = 1 << 30 };
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    char *path = NULL;
    size_t size;

    for (unsigned i = 0; i <= runs; i++) /* one more: the first is dropped */
        QDQ_TRY(qdq_ort_run(s, in, NULL, NULL, err));
    QDQ_TRY(qdq_ort_check(api,
                          QDQ_ORT(api, SessionEndProfiling)(os->session, os->ort->allocator, &path),
                          "profile", err));
    qdq_ort_log_flush(&os->log, s->engine->job);
    qdq_status st = qdq_read_file(path, MAX_FILE, text, &size, err);
    qdq_status freed =
        qdq_ort_check(api, QDQ_ORT(api, AllocatorFree)(os->ort->allocator, path), "memory", NULL);
    if (st != QDQ_OK)
        return st;
    if (strlen(*text) != size)
        freed = qdq_fail(err, QDQ_E_ENGINE, "profile: the file holds zero bytes");
    if (freed != QDQ_OK)
        qdq_free(*text);
    return freed;
}

qdq_status qdq_ort_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                           qdq_layer **out, size_t *n, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_ort_profile_text(s, in, runs, &text, err));
    qdq_status st = qdq_ort_profile_parse(text, s->engine->job, out, n, err);
    qdq_free(text);
    return st;
}
