/* data_states.c - outputs that become inputs at the next step of a sequence: do they fit, and what
 * does the first step read where the samples have nothing for it? */
#include "quant/data/data_source.h"

#include <string.h>

#include "base/fail.h"

static qdq_status find_output(const qdq_model *m, const char *name, qdq_io *out, qdq_error *err)
{
    for (size_t i = 0; qdq_model_output(m, i, out); i++)
        if (strcmp(out->name, name) == 0)
            return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "the model has no output '%s'", name);
}

static qdq_status find_input(qdq_data *d, const char *name, size_t *k, qdq_error *err)
{
    for (*k = 0; *k < d->n_inputs; ++*k)
        if (strcmp(d->inputs[*k].name, name) == 0)
            return d->is_state[*k] ? qdq_fail(err, QDQ_E_USAGE,
                                              "input '%s' is the state of another output", name)
                                   : QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "the model has no input '%s'", name);
}

static bool fits(const qdq_io *out, const qdq_io *in)
{
    if (out->elem != QDQ_UNDEFINED && out->elem != in->elem)
        return false;
    if (out->rank >= 0 && out->rank != in->rank)
        return false;
    for (int i = 0; i < out->rank; i++)
        if (out->dim[i] >= 0 && in->dim[i] >= 0 && out->dim[i] != in->dim[i])
            return false;
    return true;
}

static qdq_status add_state(qdq_data *d, const qdq_model *m, const qdq_state *s, qdq_error *err)
{
    qdq_io out;
    size_t k;

    QDQ_TRY(find_output(m, s->output, &out, err));
    QDQ_TRY(find_input(d, s->input, &k, err));
    const qdq_io *in = &d->inputs[k];
    if (in->rank < 0)
        return qdq_fail(err, QDQ_E_USAGE, "input '%s' is %s, expected a shape (--shape)", in->name,
                        qdq_io_text(in, &d->arena));
    if (!fits(&out, in))
        return qdq_fail(
            err, QDQ_E_USAGE, "output '%s' is %s, input '%s' is %s: expected one type and shape",
            out.name, qdq_io_text(&out, &d->arena), in->name, qdq_io_text(in, &d->arena));
    qdq_state *own = &d->states[d->n_states++];
    *own = (qdq_state){qdq_arena_strdup(&d->arena, s->output), in->name};
    d->is_state[k] = true;
    return qdq_allocated(own->output != NULL, err);
}

qdq_status qdq_data_add_states(qdq_data *d, const qdq_model *m, const qdq_data_opts *opts,
                               qdq_error *err)
{
    d->is_state = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->is_state);
    d->is_mask = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->is_mask);
    d->is_missing = qdq_arena_array(&d->arena, d->n_inputs, sizeof *d->is_missing);
    d->states = qdq_arena_array(&d->arena, opts->n_states + 1, sizeof *d->states);
    QDQ_NEED(d->is_state != NULL && d->is_mask != NULL && d->is_missing != NULL &&
                 d->states != NULL,
             err);
    for (size_t i = 0; i < opts->n_states; i++) {
        const qdq_state *s = &opts->states[i];

        if (s->output == NULL || s->input == NULL)
            return qdq_fail(err, QDQ_E_USAGE,
                            "state %zu: found no name, expected an output and an input", i);
        const qdq_status st = add_state(d, m, s, err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "state '%s=%s'", s->output, s->input);
    }
    if (opts->n_states == 0 && opts->steps > 0)
        return qdq_fail(err, QDQ_E_USAGE, "found %zu steps without states", opts->steps);
    d->steps = opts->n_states == 0 ? 1 : opts->steps;
    return qdq_data_add_masks(d, opts, err);
}

/* --- the first step --------------------------------------------------------------------------- */

bool qdq_data_is_plain(const qdq_data *d, size_t k)
{
    return !d->is_state[k] && !d->is_mask[k];
}

int64_t qdq_data_shared_dim(const qdq_data *d, const qdq_io *io, int axis)
{
    const char *name = io->param[axis];

    for (size_t k = 0; k < d->n_inputs && name != NULL && name[0] != '\0'; k++) {
        const qdq_io *other = &d->inputs[k];

        for (int i = 0; i < other->rank && qdq_data_is_plain(d, k); i++)
            if (other->param[i] != NULL && strcmp(other->param[i], name) == 0)
                return d->arrays[k].array.dim[i];
    }
    return -1;
}

/* An open dim is that of the same name in an input that samples have. Exporters call the length of
 * a cache past_sequence_length or similar: at first it is empty. */
static int64_t first_dim(const qdq_data *d, const qdq_io *io, int axis)
{
    const char *name = io->param[axis];

    if (io->dim[axis] >= 0)
        return io->dim[axis];
    const int64_t shared = qdq_data_shared_dim(d, io, axis);
    if (shared >= 0)
        return shared;
    return name != NULL && strncmp(name, "past", 4) == 0 ? 0 : 1;
}

/* Zero, as the numbers that the input takes: for quantized values the zero point. */
static void fill_zero(const qdq_qparam *codes, qdq_array *a)
{
    const float zero = 0;
    unsigned char code[8];
    const size_t size = codes->type != QDQ_UNDEFINED ? qdq_code_size(codes->type) : 0;

    memset(a->data, 0, a->bytes);
    if (size == 0)
        return;
    qdq_quantize_floats(codes, &zero, 1, code);
    for (size_t at = 0; at + size <= a->bytes; at += size)
        memcpy((char *)a->data + at, code, size);
}

qdq_status qdq_data_fill_missing(qdq_data *d, size_t run, qdq_error *err)
{
    for (size_t k = 0; k < d->n_inputs; k++) {
        const qdq_io *io = &d->inputs[k];
        int64_t dim[QDQ_MAX_RANK] = {0};

        if (!d->is_missing[k] || !d->is_state[k])
            continue;
        for (int i = 0; i < io->rank; i++)
            dim[i] = first_dim(d, io, i);
        QDQ_TRY(qdq_data_shape(d, k, io->elem, io->rank, dim, err));
        fill_zero(&d->codes[k], &d->arrays[k].array);
    }
    return qdq_data_fill_masks(d, run, err);
}

/* --- sequences -------------------------------------------------------------------------------- */

qdq_status qdq_data_count_sequences(qdq_data *d, qdq_error *err)
{
    const size_t runs = d->count;

    if (d->steps == 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s: found no time axis, expected an array [sequences, steps, shape of a "
                        "run] for an input, or --steps N",
                        d->spec);
    d->count = runs / d->steps;
    if (d->count == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: %zu samples, expected a sequence of %zu steps",
                        d->spec, runs, d->steps);
    if (runs % d->steps > 0)
        qdq_job_log(d->job, QDQ_LOG_WARNING,
                    "%s: the last %zu samples do not fill a sequence of %zu steps, left out",
                    d->spec, runs % d->steps, d->steps);
    return QDQ_OK;
}

size_t qdq_data_steps(const qdq_data *d)
{
    return d->steps;
}

const qdq_state *qdq_data_states(const qdq_data *d, size_t *n)
{
    *n = d->n_states;
    return d->states;
}

/* Adds a name to a list; what separates words is taken out. */
static const char *add_name(const char *text, const char *between, const char *name,
                            qdq_arena *memory)
{
    char *out = text != NULL ? qdq_arena_printf(memory, "%s%s%s", text, between, name) : NULL;

    for (char *c = out != NULL ? out + strlen(text) + strlen(between) : NULL;
         c != NULL && *c != '\0'; c++)
        *c = *c == ' ' ? '_' : *c;
    return out;
}

const char *qdq_data_states_text(const qdq_data *d, qdq_arena *memory)
{
    const char *text = "";

    for (size_t i = 0; i < d->n_states; i++) {
        text = add_name(text, i == 0 ? "states=" : "|", d->states[i].output, memory);
        text = add_name(text, "=", d->states[i].input, memory);
    }
    for (size_t k = 0, n = 0; k < d->n_inputs; k++)
        if (d->is_mask[k])
            text = add_name(text, n++ == 0 ? " masks=" : "|", d->inputs[k].name, memory);
    return d->n_states == 0 || text == NULL
               ? text
               : qdq_arena_printf(memory, "%s steps=%zu", text, d->steps);
}
