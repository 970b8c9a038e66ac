/* text_parse.h - the two halves of the parser: text_parse.c reads graphs, text_value.c what stands
 * inside. */
#ifndef QDQ_TEXT_PARSE_H
#define QDQ_TEXT_PARSE_H

#include "ir/text_lex.h"

/* An input of a node, by name: values may be defined further down, also around a subgraph. */
typedef struct qdq_pending {
    qdq_node *node;
    uint32_t index;
    const char *name;
} qdq_pending;

typedef struct qdq_text_parser {
    qdq_lex lex;
    qdq_model *m;
    qdq_arena scratch;
    /* in the order of the text, which becomes that of the uses */
    QDQ_VEC(qdq_pending) pending;
} qdq_text_parser;

/* text_parse.c */
qdq_status qdq_parse_graph(qdq_text_parser *p, qdq_graph *g, int depth); /* behind its name */
qdq_status qdq_parse_interned(qdq_text_parser *p, const char **name);    /* a name */
/* a string, in the model's arena */
qdq_status qdq_parse_copy(qdq_text_parser *p, qdq_span *s);

/* text_value.c */
bool qdq_parse_is_type(qdq_text_parser *p);
qdq_status qdq_parse_type(qdq_text_parser *p, int depth, const qdq_type **type);
qdq_status qdq_parse_tensor(qdq_text_parser *p, const qdq_type *type, const char *name,
                            qdq_tensor **out);
qdq_status qdq_parse_sparse(qdq_text_parser *p, const qdq_type *type, qdq_sparse **out);
/* Behind the attribute's name. `owner` is NULL where no graphs are allowed. */
qdq_status qdq_parse_attr(qdq_text_parser *p, const char *name, qdq_node *owner, int depth,
                          qdq_attr **out);

#endif /* QDQ_TEXT_PARSE_H */
