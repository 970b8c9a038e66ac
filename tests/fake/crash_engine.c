/* crash_engine.c - an engine that ends its process where and how its argument says: "run:abort". It
 * takes models with one input x and one output y, both float[1,2], and gives what it gets. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qdq/engine_plugin.h"

static char where[20], how[20];

/* Last words, as engines have them. */
static void end_at(const char *place)
{
    if (strcmp(where, place) != 0)
        return;
    fprintf(stderr, "last words in %s\n", place);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exit") == 0)
        _exit(3);
    if (strcmp(how, "hang") == 0)
        sleep(1000);
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(how, "memory") == 0) {
        fprintf(stderr, "std::bad_alloc\n");
        abort();
    }
    raise(SIGSEGV);
}

static qdq_status open_engine(const char *arg, const char *temp_dir, void **engine,
                              qdq_plugin_info *info, qdq_error *err)
{
    static int self;

    (void)temp_dir, (void)err;
    if (arg == NULL || sscanf(arg, "%19[^:]:%19s", where, how) != 2)
        where[0] = '\0';
    *info = (qdq_plugin_info){.version = "1"};
    *engine = &self;
    end_at("open");
    return QDQ_OK;
}

static void close_engine(void *engine)
{
    (void)engine;
    end_at("close");
}

static qdq_status open_session(void *engine, const void *model, size_t bytes,
                               const qdq_plugin_session_opts *opts, void **session, qdq_error *err)
{
    (void)model, (void)bytes, (void)opts, (void)err;
    *session = engine;
    end_at("session");
    return QDQ_OK;
}

static void close_session(void *session)
{
    (void)session;
    end_at("drop");
}

static bool describe(size_t i, const char *name, qdq_io *out)
{
    *out = (qdq_io){.name = name, .elem = QDQ_FLOAT, .rank = 2, .dim = {1, 2}};
    return i == 0;
}

static bool input(void *session, size_t i, qdq_io *out)
{
    (void)session;
    return describe(i, "x", out);
}

static bool output(void *session, size_t i, qdq_io *out)
{
    (void)session;
    return describe(i, "y", out);
}

static qdq_status run(void *session, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err)
{
    (void)session;
    end_at("run");
    return fn != NULL ? fn(ctx, "y", in[0], err) : QDQ_OK;
}

static qdq_status bind(void *session, const qdq_array *const *in, qdq_error *err)
{
    (void)session, (void)in, (void)err;
    end_at("bind");
    return QDQ_OK;
}

static qdq_status time_runs(void *session, unsigned n, uint64_t *ns, qdq_error *err)
{
    (void)session, (void)err;
    end_at("time");
    *ns = 1000 * (uint64_t)n;
    return QDQ_OK;
}

static qdq_status layers(void *session, const qdq_array *const *in, unsigned runs,
                         qdq_plugin_layer_fn fn, void *ctx, qdq_error *err)
{
    static const char *const tensor[] = {"y"};
    const qdq_plugin_layer layer = {
        .name = "all", .op = "All", .us = 1, .tensors = tensor, .n_tensors = 1};

    (void)session, (void)in;
    end_at(runs > 0 ? "layers" : "nodes");
    return fn(ctx, &layer, err);
}

const qdq_engine_plugin *qdq_engine_plugin_get(unsigned version)
{
    static const qdq_engine_plugin table = {.version = QDQ_ENGINE_PLUGIN_VERSION,
                                            .size = sizeof(qdq_engine_plugin),
                                            .name = "crash",
                                            .open = open_engine,
                                            .close = close_engine,
                                            .session_open = open_session,
                                            .session_close = close_session,
                                            .input = input,
                                            .output = output,
                                            .run = run,
                                            .bind = bind,
                                            .time_runs = time_runs,
                                            .layers = layers};

    return version == QDQ_ENGINE_PLUGIN_VERSION ? &table : NULL;
}
