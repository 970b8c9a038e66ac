/* graph_file.c - layers and log of an engine as files of a run. */
#include "tune/group/graph_file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "engine/layer_file.h"
#include "engine/trt/trt_record.h"

enum { MAX_FILE = 256 << 20 };

static const char *path_of(const qdq_graph_file *f, const char *what, qdq_arena *arena)
{
    return qdq_arena_printf(arena, "%s/%s.%s.%s", f->dir, f->name, f->precision, what);
}

static const char *record_of(const qdq_graph_file *f, const char *key, const char *what,
                             qdq_arena *arena)
{
    return qdq_arena_printf(arena, "%s/%s.%s", f->record, key, what);
}

/* Copies a file of the record, DIR/KEY.from, if it is there. */
static qdq_status copy_record(const char *path, const char *to, bool *copied, qdq_error *err)
{
    char *text;
    size_t size;

    *copied = false;
    QDQ_NEED(to != NULL && path != NULL, err);
    if (access(path, R_OK) != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_write_file(to, true, text, size, err);
    qdq_free(text);
    *copied = st == QDQ_OK;
    return st;
}

static qdq_status write_log(const qdq_graph_file *f, const qdq_layer *g, size_t n, const char *path,
                            qdq_error *err)
{
    const qdq_layers_sum s = qdq_layers_add(g, n);
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&b, "%s %s on %s, one build, %zu layers\n", f->info->name, f->info->version,
                   f->info->device, n);
    qdq_buf_printf(&b, "%s\n", f->info->fingerprint);
    if (!isnan(s.us))
        qdq_buf_printf(&b, "%.1f us of layers, %.1f us of them conversions\n", s.us,
                       s.conversions_us);
    qdq_status st = b.failed ? qdq_nomem(err) : qdq_write_file(path, true, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}

static qdq_status write_all(const qdq_graph_file *f, const qdq_layer *g, size_t n, qdq_arena *arena,
                            qdq_error *err)
{
    const char *graph = path_of(f, "graph.json", arena), *log = path_of(f, "build.log", arena),
               *key = NULL;
    bool has_graph = false, has_log = false, has_profile, is_same = false;

    QDQ_NEED(graph != NULL && log != NULL, err);
    if (f->record != NULL) {
        QDQ_TRY(qdq_trt_record_key(f->model, arena, &key, err));
        QDQ_TRY(copy_record(record_of(f, key, "layers.json", arena), graph, &has_graph, err));
        QDQ_TRY(copy_record(record_of(f, key, "profile.json", arena),
                            path_of(f, "profile.json", arena), &has_profile, err));
        QDQ_TRY(copy_record(record_of(f, key, "log", arena), log, &has_log, err));
    }
    if (f->log == NULL && f->fingerprint != NULL && access(graph, R_OK) == 0 &&
        access(log, R_OK) == 0)
        QDQ_TRY(qdq_layer_file_is_of(graph, f->fingerprint, &is_same, err));
    if (!has_graph)
        QDQ_TRY(qdq_layer_file_write(graph, g, n, f->info, f->fingerprint, err));
    if (!has_log && f->log != NULL)
        return qdq_write_file(log, true, f->log, strlen(f->log), err);
    return has_log || is_same ? QDQ_OK : write_log(f, g, n, log, err);
}

qdq_status qdq_graph_file_write(const qdq_graph_file *f, const qdq_layer *g, size_t n,
                                qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_status st = write_all(f, g, n, &arena, err);

    qdq_arena_free(&arena);
    return st;
}

static qdq_status check_fingerprint(const qdq_graph_file *f, const char *graph, qdq_error *err)
{
    bool fits = true;

    if (access(graph, R_OK) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", graph);
    if (f->fingerprint != NULL)
        QDQ_TRY(qdq_layer_file_is_of(graph, f->fingerprint, &fits, err));
    return fits ? QDQ_OK
                : qdq_fail(
                      err, QDQ_E_UNSUPPORTED,
                      "%s: layers of another model, engine or setting, expected the fingerprint %s",
                      graph, f->fingerprint);
}

qdq_status qdq_graph_file_read(const qdq_graph_file *f, const qdq_job *job, qdq_layer **out,
                               size_t *n, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    const char *graph = path_of(f, "graph.json", &arena),
               *profile = path_of(f, "profile.json", &arena);

    *out = NULL;
    *n = 0;
    qdq_status st =
        graph == NULL || profile == NULL ? qdq_nomem(err) : check_fingerprint(f, graph, err);
    if (st == QDQ_OK)
        st = qdq_layers_read(f->model, graph, access(profile, R_OK) == 0 ? profile : NULL, job, out,
                             n, err);
    qdq_arena_free(&arena);
    return st;
}
