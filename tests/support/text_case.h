/* text_case.h - reads a file of tests/text: graphs, what is done with them, and what comes out.
 * tests/README.md has the format. */
#ifndef QDQ_TEST_TEXT_CASE_H
#define QDQ_TEST_TEXT_CASE_H

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_MAX_WANTED = 16 };

typedef enum text_kind {
    TEXT_BECOMES,     /* becomes: GRAPH */
    TEXT_STAYS,       /* stays */
    TEXT_CHANGES,     /* changes */
    TEXT_REFUSED,     /* refused: REASON */
    TEXT_ERROR,       /* error: MESSAGE */
    TEXT_UNSUPPORTED, /* unsupported: MESSAGE */
    TEXT_USAGE,       /* usage: MESSAGE */
    TEXT_WARNING,     /* warning: MESSAGE */
    TEXT_TYPE,        /* type of VALUE: TYPE */
    TEXT_ELEMENTS,    /* elements of VALUE: ELEMENTS */
    TEXT_PLACED,      /* placed: NODE: OPERANDS, one or many, apart by '|' */
    TEXT_REASON,      /* reason of NODE: REASON */
    TEXT_FORMAT,      /* format of TENSOR: FORMAT */
    TEXT_QUANTIZED,   /* quantized: NODES */
    TEXT_VERSIONS,    /* versions: ir 8, opset 17, my 1 */
    TEXT_FINDINGS,    /* findings: KIND NODE, ... */
    TEXT_COUNTS,      /* counts: 4 Q and DQ, ... */
    TEXT_PARTS,       /* parts: 0: x > y as a(x w) y(a), one or many, apart by '|' */
} text_kind;

typedef struct text_wanted {
    text_kind kind;
    /* of the value or node, or NULL */
    char *name;
    /* TEXT_BECOMES: a whole graph */
    char *text;
    /* the same as the file has it */
    const char *written;
} text_wanted;

typedef struct text_case {
    /* of the graph's first line */
    int line;
    /* "optimize", and its argument, "" without one; both of the file */
    const char *run;
    const char *arg;
    /* a whole graph */
    char *before;
    size_t n_wanted;
    text_wanted wanted[TEXT_MAX_WANTED];
    /* bytes of the file that hold what is wanted */
    size_t from, to;
} text_case;

typedef struct text_file {
    char *text;
    size_t n_case;
    text_case *at;
    /* strings that live as long as the file */
    size_t n_kept;
    char **kept;
} text_file;

/* Fails the test with place and reason where the file is no such file. text_close() frees. */
void text_open(text_file *f, const char *path);
void text_close(text_file *f);

/* All graphs of the files of this name in the folders of tests/text, or "FOLDER/NAME", with '*' for
 * anything; there are some. */
void text_each(const char *name, void (*visit)(void *ctx, const text_case *c), void *ctx);

/* "7..12", of "run: raise-each": the opsets that a graph is written in. Calls visit() for each of
 * them that models come in, and for LOW, with each later opset up to TEXT_NEWEST. */
enum { TEXT_NEWEST = 22 };
void text_each_raise(const char *range, void (*visit)(void *ctx, int from, int to), void *ctx);

const char *text_kind_name(text_kind kind); /* "type of" */

/* The shortest text that makes `after` of `before`, two graphs as the library prints them, for
 * "becomes: ". malloc(). */
char *text_shorten(const char *before, const char *after);

/* Lines as one text for "placed: ", apart by '|', in lines of 100 columns. malloc(). */
char *text_join_lines(const char *lines);
/* The same text but for spaces and line ends. */
bool text_same_words(const char *a, const char *b);

#endif /* QDQ_TEST_TEXT_CASE_H */
