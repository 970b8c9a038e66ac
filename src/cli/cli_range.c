/* cli_range.c - reads the three shapes of an input from both places and checks their order. */
#include "cli/cli_range.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

#define ARGS cli_range_args
#include "cli/cli_tables.def"
#include "cli/cli_range.def"

/* As it was written. */
static const char *name_of(const cli_range *r, bool is_max)
{
    return r->in_args ? (is_max ? "--maxShapes" : "--minShapes")
           : is_max   ? "--max-shape"
                      : "--min-shape";
}

static qdq_status check_end(const cli_range *r, const cli_shapes *ends, bool is_max, qdq_error *err)
{
    const char *option = name_of(r, is_max), *usual = r->in_args ? "--optShapes" : "--opt-shape";

    for (size_t i = 0; i < ends->n; i++) {
        const qdq_input_shape *end = &ends->at[i], *opt = cli_find_shape(&r->opt, end->name);
        if (opt == NULL)
            return qdq_fail(err, QDQ_E_USAGE, "found %s of '%s' without %s, which is timed", option,
                            end->name, usual);
        if (opt->rank != end->rank)
            return qdq_fail(err, QDQ_E_USAGE, "%s of '%s' has rank %d, %s %d: expected equal ranks",
                            option, end->name, end->rank, usual, opt->rank);
        for (int k = 0; k < opt->rank; k++)
            if (is_max ? opt->dim[k] > end->dim[k] : opt->dim[k] < end->dim[k])
                return qdq_fail(err, QDQ_E_USAGE,
                                "%s of '%s' has %" PRId64 " as dimension %d, %s %" PRId64
                                ": expected min <= opt <= max",
                                option, end->name, end->dim[k], k + 1, usual, opt->dim[k]);
    }
    return QDQ_OK;
}

static qdq_status check_range(const cli_range *r, const cli_shapes *shapes, qdq_error *err)
{
    QDQ_TRY(check_end(r, &r->min, false, err));
    QDQ_TRY(check_end(r, &r->max, true, err));
    for (size_t i = 0; i < r->opt.n; i++) {
        const char *name = r->opt.at[i].name;
        if (cli_find_shape(shapes, name) != NULL)
            return qdq_fail(err, QDQ_E_USAGE, "found --shape and %s of '%s', expected one of them",
                            r->in_args ? "--optShapes" : "--opt-shape", name);
    }
    return QDQ_OK;
}

static qdq_status copy_shapes(cli *c, const qdq_input_shape *at, size_t n, cli_shapes *out,
                              qdq_error *err)
{
    *out = (cli_shapes){NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        qdq_input_shape s = at[i];
        s.name = qdq_arena_strdup(&c->arena, s.name);
        QDQ_NEED(s.name != NULL && QDQ_PUSH(&c->arena, out, s), err);
    }
    return QDQ_OK;
}

static qdq_status take(cli *c, const qdq_trtexec_shapes *x, cli_range *out, qdq_error *err)
{
    if (x->other != NULL && (out->other = qdq_arena_strdup(&c->arena, x->other)) == NULL)
        return qdq_nomem(err);
    if (x->n_opt == 0)
        return QDQ_OK;
    if (out->opt.n > 0 || out->min.n > 0 || out->max.n > 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found shapes in --trtexec-args and %s, expected one of them",
                        out->opt.n > 0   ? "--opt-shape"
                        : out->min.n > 0 ? "--min-shape"
                                         : "--max-shape");
    out->in_args = true;
    QDQ_TRY(copy_shapes(c, x->min, x->n_min, &out->min, err));
    QDQ_TRY(copy_shapes(c, x->opt, x->n_opt, &out->opt, err));
    return copy_shapes(c, x->max, x->n_max, &out->max, err);
}

qdq_status cli_range_read(cli *c, const cli_range_args *given, const cli_engine_args *engine,
                          const cli_shapes *shapes, cli_range *out, qdq_error *err)
{
    qdq_trtexec_shapes *in_args;

    *out = (cli_range){.min = given->min, .opt = given->opt, .max = given->max};
    if (engine->trtexec_args != NULL) {
        QDQ_TRY(qdq_trtexec_shapes_read(engine->trtexec_args, &in_args, err));
        qdq_status st = take(c, in_args, out, err);
        qdq_free(in_args);
        QDQ_TRY(st);
    }
    return check_range(out, shapes, err);
}

qdq_status cli_range_merge(cli *c, const cli_range *r, const cli_shapes *shapes, cli_shapes *out,
                           qdq_error *err)
{
    cli_shapes all = {NULL, 0, 0};

    for (size_t i = 0; i < shapes->n; i++)
        QDQ_NEED(QDQ_PUSH(&c->arena, &all, shapes->at[i]), err);
    for (size_t i = 0; i < r->opt.n; i++)
        if (cli_find_shape(shapes, r->opt.at[i].name) == NULL &&
            !QDQ_PUSH(&c->arena, &all, r->opt.at[i]))
            return qdq_nomem(err);
    *out = all;
    return QDQ_OK;
}

/* --- trtexec ---------------------------------------------------------------------------------- */

/* For the splitter of --trtexec-args: double quotes around all, single ones, which its grammar of
 * shapes knows, around the name. */
static qdq_status put_shapes(const cli_range *r, const cli_shapes *ends, const char *option,
                             qdq_buf *b, qdq_error *err)
{
    qdq_buf_printf(b, " \"%s=", option);
    for (size_t i = 0; i < r->opt.n; i++) {
        const char *name = r->opt.at[i].name;
        const qdq_input_shape *s = cli_find_shape(ends, name);
        if (strpbrk(name, ",'\"\\") != NULL)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "--opt-shape: trtexec takes no name with a comma, a quote or a "
                            "backslash, found '%s'",
                            name);
        if (s == NULL)
            s = &r->opt.at[i];
        qdq_buf_printf(b, "%s'%s':", i > 0 ? "," : "", name);
        for (int k = 0; k < s->rank; k++)
            qdq_buf_printf(b, "%s%" PRId64, k > 0 ? "x" : "", s->dim[k]);
    }
    qdq_buf_putc(b, '"');
    return QDQ_OK;
}

static qdq_status add_arguments(cli *c, const cli_range *r, cli_engine_args *a, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    qdq_buf_puts(&b, a->trtexec_args != NULL ? a->trtexec_args : "");
    qdq_status st = put_shapes(r, &r->min, "--minShapes", &b, err);
    if (st == QDQ_OK)
        st = put_shapes(r, &r->opt, "--optShapes", &b, err);
    if (st == QDQ_OK)
        st = put_shapes(r, &r->max, "--maxShapes", &b, err);
    if (st == QDQ_OK) {
        a->trtexec_args = b.failed ? NULL : qdq_arena_strdup(&c->arena, b.data);
        st = a->trtexec_args != NULL ? QDQ_OK : qdq_nomem(err);
    }
    qdq_buf_free(&b);
    return st;
}

qdq_status cli_range_apply(cli *c, const cli_range *r, cli_engine_args *a, cli_shapes *shapes,
                           qdq_error *err)
{
    if (cli_engine_takes_trtexec_args(a->engine))
        return r->opt.n > 0 && !r->in_args ? add_arguments(c, r, a, err) : QDQ_OK;
    if (r->other != NULL)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found %s in --trtexec-args and engine %s: expected shapes alone, or engine trtexec",
            r->other, a->engine != NULL ? a->engine : "ort");
    a->trtexec_args = NULL;
    return r->opt.n > 0 ? cli_range_merge(c, r, shapes, shapes, err) : QDQ_OK;
}
