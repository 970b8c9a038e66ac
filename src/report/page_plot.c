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
    qdq_buf_printf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.3g</text>", x, HEIGHT - 6, anchor,
                   value);
}

static void range(qdq_buf *b, const qdq_page_histogram *h)
{
    double left = at(h, h->range_low), right = at(h, h->range_high);

    qdq_buf_printf(b, "<rect class=\"span\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>", left,
                   right > left ? right - left : 0, FLOOR);
    qdq_buf_printf(b, "<path class=\"edge\" d=\"M%.1f 0V%dM%.1f 0V%d\"/>", left, FLOOR, right, FLOOR);
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
            qdq_buf_printf(b, "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>",
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
    qdq_buf_printf(b, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Histogram\">", WIDTH,
                   HEIGHT);
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

        qdq_buf_puts(b, "<span>");
        qdq_html_text(b, bar[i].label);
        qdq_buf_printf(b, "</span><span class=\"track\"><i%s style=\"width:%.2f%%\"></i>",
                       bar[i].tone == QDQ_TONE_GOOD ? " class=\"good\"" : "", bar[i].value / most * 100);
        qdq_buf_printf(b, "<u style=\"left:%.2f%%;width:%.2f%%\"></u></span>", left,
                       right > left ? right - left : 0);
        qdq_buf_printf(b, "<span class=\"num\">%.3g ", bar[i].value);
        qdq_html_text(b, unit);
        qdq_buf_puts(b, "</span>\n");
    }
    qdq_buf_puts(b, "</div>\n");
}

void qdq_page_steps(qdq_buf *b, const char *title, const double *value, const bool *marked, size_t n,
                    const char *unit)
{
    enum { WIDE = 960, TALL = 180, BASE = 160 };
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, value[i]);
    if (n == 0 || !(most > 0))
        return;
    qdq_buf_puts(b, "<figure><figcaption>");
    qdq_html_text(b, title);
    qdq_buf_printf(
        b,
        "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Steps\"><path class=\"edge\" "
        "fill=\"none\" d=\"M0 %.1f",
        WIDE, TALL, BASE - value[0] / most * (BASE - 10));
    for (size_t i = 0; i < n; i++)
        qdq_buf_printf(b, "H%.1fV%.1fH%.1f", (double)i * WIDE / (double)n,
                       BASE - value[i] / most * (BASE - 10), (double)(i + 1) * WIDE / (double)n);
    qdq_buf_puts(b, "\"/>");
    for (size_t i = 0; i < n; i++)
        if (marked[i])
            qdq_buf_printf(b, "<rect class=\"in\" x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"/>",
                           (double)i * WIDE / (double)n - 3, BASE - value[i] / most * (BASE - 10) - 3);
    qdq_buf_printf(b, "<path class=\"axis\" d=\"M0 %d.5H%d\"/><text x=\"0\" y=\"%d\">%.3g ", BASE, WIDE,
                   TALL - 4, value[0]);
    qdq_html_text(b, unit);
    qdq_buf_printf(b, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g ", WIDE, TALL - 4,
                   value[n - 1]);
    qdq_html_text(b, unit);
    qdq_buf_puts(b, "</text></svg></figure>\n");
}
