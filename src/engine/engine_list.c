/* engine_list.c - lists of engines: "ort,openvino,sim:cost.json". Arguments of engines may hold
 * commas of their own, so that one separates only where an engine of the list in engines.def is
 * named behind it. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "qdq/engine.h"

/* "openvino", "openvino:FILE" and "openvino,...", but not "openvino.json". */
static bool begins_with_engine(const char *text)
{
    const char *name;

    for (size_t i = 0; (name = qdq_engine_name(i, NULL)) != NULL; i++) {
        size_t n = strlen(name);
        if (strncmp(text, name, n) == 0 && (text[n] == '\0' || text[n] == ',' || text[n] == ':'))
            return true;
    }
    return false;
}

/* A comma before an engine's name, and the backslash that takes this meaning from it. */
static bool separates(const char *at)
{
    return at[0] == ',' && begins_with_engine(at + 1);
}

static bool is_escape(const char *at)
{
    return at[0] == '\\' && separates(at + 1);
}

static size_t count(const char *list)
{
    size_t n = 1;

    for (const char *p = list; *p != '\0'; p++) {
        if (is_escape(p))
            p++;
        else
            n += separates(p);
    }
    return n;
}

qdq_status qdq_engine_split(const char *list, char ***out, size_t *n, qdq_error *err)
{
    size_t parts = count(list), used = 0, head = (parts + 1) * sizeof(char *);

    *n = 0;
    *out = malloc(head + strlen(list) + 1);
    QDQ_NEED(*out != NULL, err);
    char *to = (char *)*out + head;
    (*out)[used++] = to;
    for (const char *p = list; *p != '\0'; p++) {
        if (is_escape(p)) {
            *to++ = *++p;
        } else if (separates(p)) {
            *to++ = '\0';
            (*out)[used++] = to;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    (*out)[used] = NULL;
    *n = used;
    return QDQ_OK;
}
