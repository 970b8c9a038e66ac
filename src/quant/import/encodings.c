/* encodings.c - reads AIMET's quantization encodings. The format is AIMET's "Encoding Format
 * Specification":
 *
 *   real = (code + offset) * scale,  code in 0 .. 2^bitwidth - 1, offset 0 or below
 *
 * Symmetric encodings have the offset in the middle of the codes: those are signed types with
 * zero point 0. All others are unsigned, with zero point -offset. */
#include "quant/import/encodings.h"

#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "base/words.h"

enum { MAX_CHANNELS = 1 << 24 };

typedef struct reading {
    qdq_json_reader reader;
    qdq_encodings *e;
} reading;

static qdq_json_place place_of(reading *r, json_t *object, const char *path)
{
    if (path == NULL && r->reader.status == QDQ_OK)
        r->reader.status = qdq_nomem(r->reader.err);
    return (qdq_json_place){&r->reader, object, path != NULL ? path : ""};
}

/* "True", "False", true, false. */
static bool read_flag(const qdq_json_place *p, const char *key)
{
    if (json_is_boolean(json_object_get(p->object, key)))
        return qdq_json_bool(p, key);
    return QDQ_JSON_WORD(p, key, 0, "False", "True", "false", "true") % 2 == 1;
}

static int read_bits(const qdq_json_place *p, const char *key)
{
    if (!qdq_json_has(p, key))
        qdq_json_wrong(p, key, "a number of bits");
    return (int)qdq_json_int(p, key, 1, 64, 8);
}

static bool find_type(int bits, bool is_signed, qdq_elem *out)
{
    switch (bits) {
    case 4:
        *out = is_signed ? QDQ_INT4 : QDQ_UINT4;
        return true;
    case 8:
        *out = is_signed ? QDQ_INT8 : QDQ_UINT8;
        return true;
    case 16:
        *out = is_signed ? QDQ_INT16 : QDQ_UINT16;
        return true;
    case 32:
        *out = QDQ_INT32;
        return is_signed;
    default:
        return false;
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* What all channels of a tensor have in common. */
typedef struct scheme {
    int bits;
    bool symmetric, is_signed, known;
} scheme;

/* Channel i: scale and offset as the file has them. */
static void take_channel(const qdq_json_place *p, scheme *s, qdq_encoding *e, size_t i,
                         double scale, double offset)
{
    double middle = -ldexp(1, s->bits - 1), lowest = 1 - ldexp(1, s->bits);
    /* a strict symmetric range leaves the lowest code out: its offset is one nearer to 0, its
     * numbers are the same */
    bool is_signed = s->symmetric && fabs(offset - middle) <= 1;

    if (!(scale > 0) || !(scale <= (double)FLT_MAX) || !((float)scale > 0))
        qdq_json_wrong(p, "scale", "a finite number above 0");
    else if (offset != rint(offset) || !(offset <= 0) || offset < lowest)
        qdq_json_wrong(p, "offset", "a whole number from the lowest code, negative, to 0");
    else if (s->known && s->is_signed != is_signed)
        qdq_json_fail(p, "channels with and without sign, expected one type for all");
    else if (!find_type(s->bits, is_signed, &((qdq_encoding *)e)->type))
        qdq_json_fail(p, "codes of %d bits%s, expected 4, 8, 16, or 32 around 0", s->bits,
                      is_signed ? "" : " without sign");
    if (p->reader->status != QDQ_OK)
        return;
    s->is_signed = is_signed;
    s->known = true;
    ((float *)e->scale)[i] = (float)scale;
    ((int32_t *)e->zero)[i] = is_signed ? 0 : (int32_t)-offset;
}

static bool make_room(const qdq_json_place *p, qdq_encodings *all, qdq_encoding *e, size_t n)
{
    if (n == 0 || n > MAX_CHANNELS) {
        qdq_json_fail(p, "%zu scales, expected one, or one for each channel", n);
        return false;
    }
    e->n = n;
    e->scale = qdq_arena_array(&all->arena, n, sizeof *e->scale);
    e->zero = qdq_arena_array(&all->arena, n, sizeof *e->zero);
    if (e->scale == NULL || e->zero == NULL)
        qdq_json_nomem(p);
    return p->reader->status == QDQ_OK;
}

/* --- versions up to 0.6.1 --------------------------------------------------------------------- */

/* { "tensor": [ {bitwidth, dtype, is_symmetric, min, max, offset, scale}, ... ] } */

static bool read_old_scheme(const qdq_json_place *p, scheme *s)
{
    s->bits = read_bits(p, "bitwidth");
    if (QDQ_JSON_WORD(p, "dtype", 0, "int", "float") == 1)
        return false;
    s->symmetric = read_flag(p, "is_symmetric");
    return true;
}

static void read_old(reading *r, const qdq_json_place *p, json_t *list, qdq_encoding *e)
{
    size_t n = json_array_size(list);
    scheme first = {0};

    for (size_t i = 0; i < n && r->reader.status == QDQ_OK; i++) {
        qdq_json_place item = place_of(r, json_array_get(list, i),
                                       qdq_arena_printf(&r->e->arena, "%s[%zu]", p->path, i));
        scheme s = {0};

        if (!json_is_object(item.object)) {
            qdq_json_fail(&item, "found no object, expected an encoding");
            return;
        }
        bool is_int = read_old_scheme(&item, &s);
        if (i == 0) {
            first = s;
            e->is_float = !is_int;
            if (is_int && !make_room(&item, r->e, e, n))
                return;
        } else if (e->is_float != !is_int || first.bits != s.bits ||
                   first.symmetric != s.symmetric) {
            qdq_json_fail(&item, "another type than that of the channels before it");
        }
        if (is_int && r->reader.status == QDQ_OK)
            take_channel(&item, &first, e, i,
                         qdq_json_number(&item, "scale", -DBL_MAX, DBL_MAX, -1),
                         qdq_json_number(&item, "offset", -DBL_MAX, DBL_MAX, 1));
    }
}

static void keep_encoding(const qdq_json_place *p, qdq_encoding_vec *list, qdq_encoding e)
{
    if (p->reader->status == QDQ_OK && (e.tensor == NULL || !QDQ_PUSH(p->reader->arena, list, e)))
        qdq_json_nomem(p);
}

static void read_object(reading *r, const char *key, json_t *object, qdq_encoding_vec *to)
{
    const char *name;
    json_t *list;

    json_object_foreach(object, name, list)
    {
        const char *path = qdq_arena_printf(&r->e->arena, "%s '%s'", key, name);
        qdq_json_place p = place_of(r, list, path);
        qdq_encoding e = {.tensor = qdq_arena_strdup(&r->e->arena, name), .path = path};

        if (r->reader.status != QDQ_OK)
            return;
        if (!json_is_array(list) || json_array_size(list) == 0)
            qdq_json_fail(&p, "found no list of encodings, expected one or more");
        else
            read_old(r, &p, list, &e);
        keep_encoding(&p, to, e);
    }
}

/* --- version 1.0.0: [ {name, enc_type, dtype, bw, is_sym, scale: [...], offset: [...]}, ...] -- */

static double number_at(const qdq_json_place *p, const char *key, size_t i)
{
    json_t *list = json_object_get(p->object, key),
           *v = json_is_array(list) ? json_array_get(list, i) : list;

    if (!json_is_number(v)) {
        qdq_json_wrong(p, key, "a list of as many numbers as there are scales");
        return 1;
    }
    return json_number_value(v);
}

static void read_new(reading *r, const qdq_json_place *p, qdq_encoding *e)
{
    static const char *const kinds[] = {"PER_TENSOR", "PER_CHANNEL", "PER_BLOCK",
                                        "LPBQ",       "VECTOR",      NULL};
    scheme s = {.bits = read_bits(p, "bw")};
    int kind = qdq_json_word(p, "enc_type", kinds, 0);
    json_t *scales = json_object_get(p->object, "scale");

    e->tensor = qdq_json_text(p, "name", NULL);
    e->is_float = QDQ_JSON_WORD(p, "dtype", 0, "INT", "FLOAT") == 1;
    if (e->is_float || r->reader.status != QDQ_OK)
        return;
    if (kind > 1) {
        r->reader.status =
            qdq_fail(r->reader.err, QDQ_E_UNSUPPORTED,
                     "%s: encoding '%s', expected PER_TENSOR or PER_CHANNEL", p->path, kinds[kind]);
        return;
    }
    s.symmetric = read_flag(p, "is_sym");
    size_t n = json_is_array(scales) ? json_array_size(scales) : 1;
    if (kind == 0 && n != 1)
        qdq_json_wrong(p, "scale", "one number, as the encoding is PER_TENSOR");
    if (r->reader.status != QDQ_OK || !make_room(p, r->e, e, n))
        return;
    for (size_t i = 0; i < n && r->reader.status == QDQ_OK; i++) {
        double scale = number_at(p, "scale", i), offset = number_at(p, "offset", i);

        if (r->reader.status == QDQ_OK)
            take_channel(p, &s, e, i, scale, offset);
    }
}

static void read_list(reading *r, const qdq_json_place *top, const char *key, qdq_encoding_vec *to)
{
    qdq_json_place p;

    for (size_t i = 0; qdq_json_item(top, key, i, &p); i++) {
        qdq_encoding e = {.path = p.path};

        read_new(r, &p, &e);
        keep_encoding(&p, to, e);
    }
}

/* --- file ------------------------------------------------------------------------------------- */

static void read_group(reading *r, const qdq_json_place *top, const char *key, qdq_encoding_vec *to)
{
    json_t *group = json_object_get(top->object, key);

    if (json_is_object(group))
        read_object(r, key, group, to);
    else
        read_list(r, top, key, to);
}

static bool is_version_read(const char *version)
{
    return QDQ_TEXT_BEGINS(version, "0.4.", "0.5.", "0.6.", "1.0.");
}

static qdq_status read_root(reading *r, json_t *root)
{
    if (!json_is_object(root))
        return qdq_fail(r->reader.err, QDQ_E_FORMAT, "found no object, expected encodings");
    qdq_json_place top = place_of(r, root, "");
    const char *version = qdq_json_text(&top, "version", "0.4.0");

    if (r->reader.status != QDQ_OK)
        return r->reader.status;
    if (!is_version_read(version))
        return qdq_fail(r->reader.err, QDQ_E_UNSUPPORTED,
                        "key 'version': found '%.20s', expected 0.4.0 to 1.0.0", version);
    if (!qdq_json_has(&top, "activation_encodings") && !qdq_json_has(&top, "param_encodings"))
        return qdq_fail(
            r->reader.err, QDQ_E_FORMAT,
            "found neither 'activation_encodings' nor 'param_encodings', expected encodings");
    read_group(r, &top, "activation_encodings", &r->e->activations);
    read_group(r, &top, "param_encodings", &r->e->params);
    return r->reader.status;
}

qdq_status qdq_encodings_read(const char *text, size_t size, const char *name, qdq_encodings *e,
                              qdq_error *err)
{
    reading r = {.e = e};
    json_t *root = NULL;

    *e = (qdq_encodings){.arena = QDQ_ARENA_INIT};
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    r.reader = (qdq_json_reader){.arena = &e->arena, .err = err, .text = text, .size = size};
    qdq_status st = read_root(&r, root);
    json_decref(root);
    return st == QDQ_OK ? QDQ_OK : qdq_within(err, st, "%s", name);
}
