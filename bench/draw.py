#!/usr/bin/env python3
"""Draws the ratios of a run of bench/speed.py as horizontal bars around 1.

  bench/draw.py FILE.json -o docs/speed.svg
"""
import argparse
import html
import json
import math
import sys

import report
import workers

LEFT, PLOT, RIGHT, ROW, BAR, TOP = 215, 460, 60, 34, 12, 64
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .small { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de }
  .one { stroke: #24292f; stroke-width: 1.5 }
  .t0 { fill: #1f77b4 }
  .t1 { fill: #7fb8e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9da7b1 }
    .grid { stroke: #3d444d }
    .one { stroke: #e6edf3 }
    .t0 { fill: #58a6ff }
    .t1 { fill: #2b5f99 }
  }
"""


class Axis:
    """A logarithmic axis over all ratios, with lines at powers of two."""

    def __init__(self, values):
        self.low = min(-1, math.floor(math.log2(min(values))))
        self.high = max(1, math.ceil(math.log2(max(values))))

    def x(self, ratio):
        return LEFT + PLOT * (math.log2(ratio) - self.low) / (self.high - self.low)

    def lines(self):
        step = max(1, (self.high - self.low) // 8)
        return [2.0 ** p for p in range(self.low, self.high + 1) if p % step == 0]


def text(x, y, words, kind="", anchor="start"):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>' % (x, y, kind, anchor, html.escape(words))


def bar(axis, ratio, y, kind):
    x, one = axis.x(ratio), axis.x(1)
    ahead = ratio >= 1
    label = text(x + (5 if ahead else -5), y + BAR - 2, "%.2f" % ratio, "small", "start" if ahead else "end")
    return ['<rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="%s"/>' % (min(x, one), y, max(abs(x - one), 1), BAR, kind), label]


def caption(whole):
    m = whole["machine"]
    clock = "processor time" if whole["clock"] == "cpu" else "load %.1f to %.1f" % tuple(whole["load"])
    return "%s, %d cores, %s; %s" % (m["cpu"], m["cores"], clock, whole["date"])


def versions(whole):
    found = {}
    for model in whole["models"]:
        for figures in model["threads"].values():
            found.update({n: f["version"] for n, f in figures.items() if "version" in f and n != "openvino_cpp"})
    return ", ".join("%s %s" % pair for pair in found.items())


def picture(whole):
    rows = []
    for m in whole["models"]:
        found = [(c, workers.ratio(f)) for c, f in m["threads"].items()]
        rows.append((m["label"], [(c, r[0]) for c, r in found if r]))
    rows = [r for r in rows if r[1]]
    counts = list(whole["models"][0]["threads"])
    for c in counts:
        mean = report.geometric_mean(report.ratios(whole, c, "f32"))
        if mean:
            label = "geometric mean, f32"
            rows = rows if rows[-1][0] == label else rows + [(label, [])]
            rows[-1][1].append((c, mean))
    axis = Axis([v for _, bars in rows for _, v in bars])
    bottom = TOP + ROW * len(rows)
    out = [text(12, 22, "Best peer's time over Graft's (above 1: Graft is faster)", "title")]
    for k, c in enumerate(counts):
        out += ['<rect x="%d" y="32" width="12" height="12" class="t%d"/>' % (LEFT + 90 * k, k), text(LEFT + 90 * k + 17, 43, report.words(c), "small")]
    for v in axis.lines():
        out += ['<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" class="%s"/>' % (axis.x(v), axis.x(v), TOP - 6, bottom, "one" if v == 1 else "grid"),
                text(axis.x(v), bottom + 15, "%d" % v if v >= 1 else "1/%d" % (1 / v), "small", "middle")]
    for i, (label, bars) in enumerate(rows):
        y = TOP + ROW * i
        first = y + 15.5 - (BAR + 1) * len(counts) / 2
        out.append(text(12, y + 20, label))
        for k, (_, ratio) in enumerate(bars):
            out += bar(axis, ratio, first + (BAR + 1) * k, "t%d" % k)
    out += [text(12, bottom + 36, caption(whole), "small"), text(12, bottom + 52, versions(whole), "small")]
    width, height = LEFT + PLOT + RIGHT, bottom + 64
    return '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Speed of Graft beside other engines">\n<style>%s</style>\n%s\n</svg>\n' % (
        width, height, width, height, STYLE, "\n".join(out))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("figures", metavar="FILE.json")
    p.add_argument("-o", "--output", required=True, metavar="FILE.svg")
    o = p.parse_args()
    with open(o.figures) as f:
        whole = json.load(f)
    if not any(workers.ratio(t) for m in whole["models"] for t in m["threads"].values()):
        raise SystemExit("%s has no ratios: expected figures of Graft and of a peer" % o.figures)
    with open(o.output, "w") as f:
        f.write(picture(whole))


if __name__ == "__main__":
    sys.exit(main())
