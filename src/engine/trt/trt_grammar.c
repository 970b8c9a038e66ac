/* trt_grammar.c - the names of layers: "/l1/Conv + /l1/Relu", "PWN(PWN(/a/Sigmoid), PWN(/a/Mul))",
 * "q || k || v", "{ForeignNode[/a/First.../z/Last]}", "/b/MatMul_2+/b/MatMul_1_myl0_2",
 * "Reformatting CopyNode for ... to ...". */
#include <ctype.h>
#include <string.h>

#include "engine/trt/trt_names.h"

static bool begins(const char *s, const char *part)
{
    return strncmp(s, part, strlen(part)) == 0;
}

/* --- forms that name something else ----------------------------------------------------------- */

/* "Reformatting CopyNode for Input Tensor 0 to X" and "reshape_after_X" belong to X; NULL: not of
 * this form. */
static const char *owner_behind(const char *s)
{
    static const char *const after[] = {"copied_squeeze_after_", "unsqueeze_node_after_",
                                        "squeeze_after_", "reshape_after_"};
    static const char *const copy[] = {"Reformatting CopyNode for Input Tensor ",
                                       "Reformatting CopyNode for Output Tensor "};

    for (size_t i = 0; i < sizeof after / sizeof after[0]; i++)
        if (begins(s, after[i]))
            return s + strlen(after[i]);
    for (size_t i = 0; i < sizeof copy / sizeof copy[0]; i++)
        if (begins(s, copy[i])) {
            const char *p = s + strlen(copy[i]);
            while (isdigit((unsigned char)*p))
                p++;
            return begins(p, " to ") ? p + 4 : NULL;
        }
    return NULL;
}

/* "[CONVOLUTION]-[aten_ops.convolution.default]-[/conv]": the text in the third pair of
 * brackets. */
static const char *third_bracket(const char *s, qdq_arena *arena, bool *is_form)
{
    const char *p = s[0] == '[' ? strstr(s, "]-[") : NULL;

    p = p != NULL ? strstr(p + 3, "]-[") : NULL;
    *is_form = p != NULL && s[strlen(s) - 1] == ']';
    return *is_form ? qdq_arena_strndup(arena, p + 3, strlen(p + 3) - 1) : NULL;
}

/* "l3_out copy": who reads the tensor, or who gave it where nothing does. */
static bool read_copy(const qdq_trt_names *names, const char *s, qdq_arena *arena,
                      qdq_trt_said *out)
{
    static const char copy[] = " copy";
    size_t n = strlen(s);

    if (n <= sizeof copy - 1 || strcmp(s + n - (sizeof copy - 1), copy) != 0)
        return true;
    const qdq_value *v = qdq_trt_find_value(names, s);
    if (v == NULL)
        return true;
    out->movement = true;
    const qdq_node *owner = v->n_output == 0 && v->first != NULL ? v->first->node : v->producer;
    return qdq_trt_said_add(
        out, owner != NULL && owner->graph == names->graph ? owner : v->producer, arena);
}

/* --- lists of names --------------------------------------------------------------------------- */

static bool ends_plain(const char *rest)
{
    return rest[0] == '\0' || rest[0] == ')' || begins(rest, " + ") || begins(rest, ", ") ||
           begins(rest, " || ");
}

static bool ends_myelin(const char *rest)
{
    return ends_plain(rest) || rest[0] == '+';
}

static size_t delimiter(const char *s, bool myelin)
{
    if (begins(s, " + "))
        return 3;
    if (begins(s, " || "))
        return 4;
    if (begins(s, "PWN("))
        return 4;
    if (begins(s, ", "))
        return 2;
    return s[0] == ')' || (myelin && s[0] == '+') ? 1 : 0;
}

/* Parts that are constants mark a weight that is quantized already, and are no nodes. */
static bool read_list(const qdq_trt_names *names, const char *s, bool myelin, qdq_arena *arena,
                      qdq_trt_said *out)
{
    const qdq_trt_trie *trie = myelin ? &names->dotless : &names->exact;
    const qdq_trt_end_fn ends = myelin ? ends_myelin : ends_plain;

    while (*s != '\0') {
        const qdq_trt_name *name = qdq_trt_name_longest(trie, s, ends);
        size_t skip = name != NULL ? strlen(name->text) : delimiter(s, myelin);

        if (name != NULL && name->ambiguous)
            out->ambiguous = true;
        else if (name != NULL && !qdq_trt_said_add(out, name->node, arena))
            return false;
        if (skip == 0) { /* an unknown part */
            out->unknown++;
            while (*s != '\0' && (skip = delimiter(s, myelin)) == 0)
                s++;
        }
        s += skip;
    }
    return true;
}

/* Where "_myl<k>_<i>" begins at the end of s; NULL: it does not end like that. */
static const char *myelin_ending(const char *s)
{
    const char *p = s + strlen(s), *end = p;

    while (p > s && isdigit((unsigned char)p[-1]))
        p--;
    if (p == end || p == s || p[-1] != '_')
        return NULL;
    for (end = --p; p > s && isdigit((unsigned char)p[-1]);)
        p--;
    return p < end && p - s > 4 && memcmp(p - 4, "_myl", 4) == 0 ? p - 4 : NULL;
}

/* --- the whole name --------------------------------------------------------------------------- */

bool qdq_trt_read_name(const qdq_trt_names *names, const char *layer, qdq_arena *arena,
                       qdq_trt_said *out)
{
    bool is_form;
    const qdq_trt_name *whole = qdq_trt_name_find(&names->exact, layer, strlen(layer));

    *out = (qdq_trt_said){0};
    if (whole != NULL && whole->value == NULL) { /* whatever it looks like */
        out->ambiguous = whole->ambiguous;
        return whole->ambiguous || qdq_trt_said_add(out, whole->node, arena);
    }
    if (begins(layer, "__my")) { /* abbreviations of operators: nothing can be told */
        out->unknown = 1;
        return true;
    }
    if (begins(layer, "{ForeignNode[")) {
        out->range = true;
        return true;
    }
    const char *owner = owner_behind(layer), *end = myelin_ending(layer);
    if (owner != NULL) {
        out->movement = true;
        end = myelin_ending(owner);
        layer = owner;
        if (begins(layer, "{ForeignNode[")) {
            out->range = true;
            return true;
        }
    } else {
        const char *third = third_bracket(layer, arena, &is_form);
        if (is_form && third == NULL)
            return false;
        layer = is_form ? third : layer;
        end = is_form ? NULL : end;
    }
    if (end == NULL) {
        if (!read_list(names, layer, false, arena, out))
            return false;
        return out->nodes.n > 0 || read_copy(names, layer, arena, out);
    }
    layer = qdq_arena_strndup(arena, layer, (size_t)(end - layer));
    return layer != NULL && read_list(names, layer, true, arena, out);
}
