/* graphs.c - graphs of tests in C, as text in files beside them. */
#include "support/test.h"

#include "base/file.h"

/* A graph of a file that was read: all live as long as the program. */
typedef struct graph {
    const char *file, *name;
    char *text;
    struct graph *next;
} graph;

static graph *graphs;

/* Cuts `text` into graphs: a line "== NAME", comments that begin with #, and the graph itself. */
static void cut(const char *file, char *text)
{
    while (text != NULL && *text != '\0') {
        graph *g = calloc(1, sizeof *g);
        char *next = strstr(text, "\n== ");

        assert_non_null(g);
        if (next != NULL)
            *next++ = '\0';
        if (strncmp(text, "== ", 3) != 0)
            fail_msg("graphs of %s: expected a line '== NAME', found '%.40s'", file, text);
        g->file = file;
        g->name = text + 3;
        do {
            g->text = strchr(g->text == NULL ? text : g->text, '\n');
            if (g->text == NULL)
                fail_msg("graphs of %s: nothing follows '%s'", file, g->name);
            *g->text++ = '\0';
        } while (*g->text == '#');
        g->next = graphs;
        graphs = g;
        text = next;
    }
}

/* Of this name, or, for NULL, any. */
static const graph *known(const char *file, const char *name)
{
    const graph *g = graphs;

    while (g != NULL &&
           (strcmp(g->file, file) != 0 || (name != NULL && strcmp(g->name, name) != 0)))
        g = g->next;
    return g;
}

const char *test_graph_if_any(const char *file, const char *name)
{
    const char *stem = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    const graph *g = known(file, name);
    qdq_error err = QDQ_ERROR_INIT;
    char path[4096], *text;
    size_t size;

    if (g == NULL && known(file, NULL) == NULL) {
        snprintf(path, sizeof path, "%s/tests/graphs/%.*s.txt", QDQ_SOURCE_DIR,
                 (int)strcspn(stem, "."), stem);
        assert_ok(qdq_read_file(path, 1 << 20, &text, &size, &err));
        cut(file, text);
        g = known(file, name);
    }
    return g == NULL ? NULL : g->text;
}

const char *test_graph_of(const char *file, const char *name)
{
    const char *text = test_graph_if_any(file, name);

    if (text == NULL)
        fail_msg("no graph '%s' is in tests/graphs for %s", name, file);
    return text;
}
