/* page_plot.c - plots as SVG inside the page: they scale, print, and follow the page's colours. */
#include <math.h>

#include "report/html.h"
#include "report/page.h"

enum { WIDTH = 320, HEIGHT = 120, FLOOR = 100 }; /* of a histogram; its axis is at FLOOR */

static double at(const qdq_page_histogram *h, double x)
{
    double share = h->high > h->low ? (x - h->low) / (h->high - h->low) : 0;

    return WIDTH * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void label(qdq_buf *b, double x, const char *anchor, double value)
{
    qdq_buf_printf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.3g</text>", x, HEIGHT - 6,
                   anchor, value);
}

static void range(qdq_buf *b, const qdq_page_histogram *h)
{
    double left = at(h, h->range_low), right = at(h, h->range_high);

    qdq_buf_printf(b, "<rect class=\"span\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>",
                   left, right > left ? right - left : 0, FLOOR);
    qdq_buf_printf(b, "<path class=\"edge\" d=\"M%.1f 0V%dM%.1f 0V%d\"/>", left, FLOOR, right,
                   FLOOR);
}

static void bins(qdq_buf *b, const qdq_page_histogram *h)
{
    double most = 0, width = h->n > 0 ? (double)WIDTH / (double)h->n : 0;

    for (size_t i = 0; i < h->n; i++)
        most = h->count[i] > most ? h->count[i] : most;
    for (size_t i = 0; i < h->n; i++) {
        double middle = h->low + (h->high - h->low) * ((double)i + 0.5) / (double)h->n;
        double tall = most > 0 ? (FLOOR - 6) * log1p(h->count[i]) / log1p(most) : 0;
        bool is_in = middle >= h->range_low && middle <= h->range_high;

        if (h->count[i] > 0)
            qdq_buf_printf(
                b, "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>",
                is_in ? "in" : "out", (double)i * width, FLOOR - tall, width * 0.86, tall);
    }
}

void qdq_page_grid_begin(qdq_buf *b)
{
    qdq_buf_puts(b, "<div class=\"grid\">\n");
}

void qdq_page_grid_end(qdq_buf *b)
{
    qdq_buf_puts(b, "</div>\n");
}

void qdq_page_histogram_plot(qdq_buf *b, const qdq_page_histogram *h)
{
    qdq_buf_puts(b, "<figure><figcaption><b class=\"code\">");
    qdq_html_text(b, h->title);
    qdq_buf_puts(b, "</b>");
    qdq_html_text(b, h->caption);
    qdq_buf_printf(b,
                   "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Histogram\">",
                   WIDTH, HEIGHT);
    range(b, h);
    bins(b, h);
    qdq_buf_printf(b, "<path class=\"axis\" d=\"M0 %d.5H%d\"/>", FLOOR, WIDTH);
    label(b, 0, "start", h->low);
    if (h->low < 0 && h->high > 0 && at(h, 0) > WIDTH * 0.16 && at(h, 0) < WIDTH * 0.84)
        label(b, at(h, 0), "middle", 0);
    label(b, WIDTH, "end", h->high);
    qdq_buf_puts(b, "</svg></figure>\n");
}

void qdq_page_bars(qdq_buf *b, const qdq_page_bar *bar, size_t n, const char *unit)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fmax(bar[i].value, bar[i].high));
    qdq_buf_puts(b, "<div class=\"bars\">\n");
    for (size_t i = 0; i < n && most > 0; i++) {
        double left = bar[i].low / most * 100, right = bar[i].high / most * 100;

        if (!isfinite(bar[i].value))
            continue;
        qdq_buf_puts(b, "<span>");
        qdq_html_text(b, bar[i].label);
        qdq_buf_printf(b, "</span><span class=\"track\"><i%s style=\"width:%.2f%%\"></i>",
                       bar[i].tone == QDQ_TONE_GOOD ? " class=\"good\"" : "",
                       bar[i].value / most * 100);
        qdq_buf_printf(b, "<u style=\"left:%.2f%%;width:%.2f%%\"></u></span>", left,
                       right > left ? right - left : 0);
        qdq_buf_printf(b, "<span class=\"num\">%.3g ", bar[i].value);
        qdq_html_text(b, unit);
        qdq_buf_puts(b, "</span>\n");
    }
    qdq_buf_puts(b, "</div>\n");
}

void qdq_page_steps(qdq_buf *b, const char *title, const double *value, const bool *marked,
                    size_t n, const char *unit)
{
    enum { WIDE = 960, TALL = 180, BASE = 160 };
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, value[i]);
    if (n == 0 || !(most > 0))
        return;
    qdq_buf_puts(b, "<figure><figcaption>");
    qdq_html_text(b, title);
    qdq_buf_printf(b,
                   "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" "
                   "aria-label=\"Steps\"><path class=\"edge\" fill=\"none\" d=\"M0 %.1f",
                   WIDE, TALL, BASE - value[0] / most * (BASE - 10));
    for (size_t i = 0; i < n; i++)
        qdq_buf_printf(b, "H%.1fV%.1fH%.1f", (double)i * WIDE / (double)n,
                       BASE - value[i] / most * (BASE - 10), (double)(i + 1) * WIDE / (double)n);
    qdq_buf_puts(b, "\"/>");
    for (size_t i = 0; i < n; i++)
        if (marked[i])
            qdq_buf_printf(b, "<rect class=\"in\" x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"/>",
                           (double)i * WIDE / (double)n - 3,
                           BASE - value[i] / most * (BASE - 10) - 3);
    qdq_buf_printf(b, "<path class=\"axis\" d=\"M0 %d.5H%d\"/><text x=\"0\" y=\"%d\">%.3g ", BASE,
                   WIDE, TALL - 4, value[0]);
    qdq_html_text(b, unit);
    qdq_buf_printf(b, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g ", WIDE, TALL - 4,
                   value[n - 1]);
    qdq_html_text(b, unit);
    qdq_buf_puts(b, "</text></svg></figure>\n");
}

/* --- dots ------------------------------------------------------------------------------------- */

enum { DOTS_WIDE = 960, DOTS_TALL = 300, LEFT = 60, RIGHT = 900, TOP = 24, BOTTOM = 260 };

typedef struct frame {
    double x_low, x_high, y_low, y_high;
} frame;

static bool is_drawn(const qdq_page_dot *d)
{
    return isfinite(d->y) && (isfinite(d->x) || d->x > 0);
}

/* A tenth around what is there; all in the middle if it is one place. */
static void widen(double *low, double *high)
{
    const double more = *high > *low ? (*high - *low) * 0.1 : fmax(fabs(*high) * 0.1, 1e-9);

    *low -= more;
    *high += more;
}

static frame frame_of(const qdq_page_scatter *s)
{
    frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY};

    for (size_t i = 0; i < s->n; i++) {
        const qdq_page_dot *d = &s->dot[i];
        if (!is_drawn(d))
            continue;
        if (isfinite(d->x)) {
            f.x_low = fmin(f.x_low, d->x);
            f.x_high = fmax(f.x_high, d->x);
        }
        f.y_low = fmin(f.y_low, fmin(d->y, d->low)); /* NAN is no number to fmin() */
        f.y_high = fmax(f.y_high, fmax(d->y, d->high));
    }
    if (s->line != NULL && isfinite(s->line_y)) {
        f.y_low = fmin(f.y_low, s->line_y);
        f.y_high = fmax(f.y_high, s->line_y);
    }
    if (!isfinite(f.x_low))
        f.x_low = f.x_high = 0;
    widen(&f.x_low, &f.x_high);
    widen(&f.y_low, &f.y_high);
    return f;
}

static double across(const frame *f, double x)
{
    return isfinite(x) ? LEFT + (RIGHT - LEFT) * (x - f->x_low) / (f->x_high - f->x_low) : RIGHT;
}

static double down(const frame *f, double y)
{
    return BOTTOM - (BOTTOM - TOP) * (y - f->y_low) / (f->y_high - f->y_low);
}

static void draw_dot(qdq_buf *b, const frame *f, const qdq_page_dot *d)
{
    const double x = across(f, d->x), y = down(f, d->y);
    const char *kind = d->tone == QDQ_TONE_GOOD ? "in" : d->tone == QDQ_TONE_BAD ? "out" : "mark";

    if (isfinite(d->low) && isfinite(d->high))
        qdq_buf_printf(b, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1f\"/>", x, down(f, d->low),
                       down(f, d->high));
    qdq_buf_printf(
        b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/><text x=\"%.1f\" y=\"%.1f\">",
        kind, x, y, x + 8, y - 6);
    qdq_html_text(b, d->label);
    qdq_buf_puts(b, "</text>");
}

static void draw_axes(qdq_buf *b, const frame *f, const qdq_page_scatter *s)
{
    qdq_buf_printf(b, "<path class=\"axis\" fill=\"none\" d=\"M%d.5 %dV%d.5H%d\"/>", LEFT, TOP,
                   BOTTOM, RIGHT);
    for (int i = 0; i <= 4; i++) {
        const double share = i / 4.0;
        qdq_buf_printf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g</text>",
                       LEFT + (RIGHT - LEFT) * share, BOTTOM + 16,
                       f->x_low + (f->x_high - f->x_low) * share);
        qdq_buf_printf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>", LEFT - 6,
                       BOTTOM - (BOTTOM - TOP) * share + 4,
                       f->y_low + (f->y_high - f->y_low) * share);
    }
    qdq_buf_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", RIGHT, BOTTOM + 34);
    qdq_html_text(b, s->x_unit);
    qdq_buf_printf(b, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 6, TOP - 10);
    qdq_html_text(b, s->y_unit);
    qdq_buf_puts(b, "</text>");
}

void qdq_page_scatter_plot(qdq_buf *b, const qdq_page_scatter *s)
{
    const frame f = frame_of(s);

    if (!isfinite(f.y_low) || !isfinite(f.y_high)) /* nothing to be drawn */
        return;
    qdq_buf_puts(b, "<figure><figcaption>");
    qdq_html_text(b, s->title);
    qdq_buf_printf(b, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Dots\">",
                   DOTS_WIDE, DOTS_TALL);
    draw_axes(b, &f, s);
    if (s->line != NULL && isfinite(s->line_y)) {
        const double y = down(&f, s->line_y);
        qdq_buf_printf(b,
                       "<path class=\"edge\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                       "text-anchor=\"end\">",
                       LEFT, y, RIGHT, RIGHT, y - 6);
        qdq_html_text(b, s->line);
        qdq_buf_puts(b, "</text>");
    }
    for (size_t i = 0; i < s->n; i++)
        if (is_drawn(&s->dot[i]))
            draw_dot(b, &f, &s->dot[i]);
    qdq_buf_puts(b, "</svg></figure>\n");
}
