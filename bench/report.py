"""What bench/speed.py prints: a line per model and number of threads, tables of ratios, and the bars."""
import math
import statistics

import workers

# What, least ratio, kind of the models; `mean` is the geometric mean of the kind f32.
BARS = [
    ("f32 models, geometric mean, %s", 1.05, "mean"),
    ("worst f32 model, %s", 0.90, "f32"),
    ("ResNet-50 int8 QDQ, %s", 0.95, "int8"),
    ("worst CNN with a custom operation, %s", 1.6, "custom"),
    ("cosh over 1M floats, built-in and custom, %s", 10, "cosh"),
]
START, MEMORY = 1.5, 1.0


def head(whole, engines):
    m = whole["machine"]
    print("%s, %d cores, %s; load %.1f at the start" % (m["cpu"], m["cores"], " ".join(m["sets"]), whole["load"][0]))
    if whole["load"][0] > 0.5 * m["cores"]:
        print("the machine is busy: %s" % ("only ratios are of use" if whole["clock"] == "cpu" else "the figures are of little use; see --clock cpu"))
    print("%d rounds of %g s for each engine, f32 unless the model is quantized, batch 1, %s clock" % (whole["rounds"], whole["seconds"], whole["clock"]))
    print("custom operations: " + "; ".join("%s: %s" % (e, whole["interfaces"][e]) for e in engines))
    print("\n%-28s %-9s %s   best peer / graft" % ("median ms", "threads", " ".join("%12s" % e for e in engines)), flush=True)


def line(label, threads, engines, figures):
    def cell(name):
        f = figures.get(name, {"status": "-"})
        return "%12.3f" % statistics.median(f["rounds"]) if f["status"] == "ok" else "%12s" % f["status"]

    found = workers.ratio(figures)
    print("%-28s %-9d %s   %s" % (label, threads, " ".join(cell(e) for e in engines), "%.2f (%s)" % found if found else "?"))
    for name, f in figures.items():
        if f["status"] != "ok":
            print("  %s %s: %s" % (name, f["status"], f["why"]))
    print(end="", flush=True)


def over_best(figures, value):
    """(The best peer's value over ours, that peer)."""
    if figures["graft"]["status"] != "ok":
        return None
    found = [(value(f) / value(figures["graft"]), name) for name, f in figures.items() if name != "graft" and f["status"] == "ok"]
    return min(found) if found else None


def most_threads(model):
    return model["threads"][max(model["threads"], key=int)]


def start_ratio(model):
    return over_best(most_threads(model), lambda f: statistics.median(f["starts"]))


def memory_ratio(model):
    return over_best(most_threads(model), lambda f: f["memory"])


def tables(whole):
    counts = list(whole["models"][0]["threads"]) if whole["models"] else []
    print("\nLoad + compilation + first inference in a fresh process (without the import of the package), and peak memory")
    for m in whole["models"]:
        cells = ["%s %.0f ms %.0f MB" % (n, 1000 * statistics.median(f["starts"]), f["memory"] / 1e6) for n, f in most_threads(m).items() if f["status"] == "ok"]
        print("%-28s %s" % (m["label"], ", ".join(cells)))
    print("\nBest peer over Graft, above 1: Graft is ahead")
    print("%-28s %s %10s %10s" % ("", " ".join("%10s" % words(c) for c in counts), "start", "memory"))
    cell = lambda found: "%10s" % ("%.2f" % found[0] if found else "?")
    for m in whole["models"]:
        speeds = " ".join(cell(workers.ratio(m["threads"][c])) for c in counts)
        print("%-28s %s %s %s" % (m["label"], speeds, cell(start_ratio(m)), cell(memory_ratio(m))))
    means = [geometric_mean(ratios(whole, c, "f32")) for c in counts]
    if all(means):
        print("%-28s %s" % ("geometric mean, f32 models", " ".join("%10.2f" % v for v in means)))


def words(threads):
    return "%s thread%s" % (threads, "" if threads == "1" else "s")


def ratios(whole, threads, kind):
    found = [(workers.ratio(m["threads"][threads]), m["label"]) for m in whole["models"] if m["kind"] == kind]
    return [(r[0], label) for r, label in found if r]


def geometric_mean(found):
    return math.exp(sum(math.log(r) for r, _ in found) / len(found)) if found else None


def verdict(what, value, bar, label="", strict=False):
    met = value > bar if strict else value >= bar
    print("%-56s %s %-5g %8.2f  %s%s" % (what, ">" if strict else "\u2265", bar, value, "met" if met else "missed by %.2f" % (bar - value), ", " + label if label else ""))


def bars(whole):
    if not whole["models"]:
        return
    print("\nBars")
    for threads in whole["models"][0]["threads"]:
        for what, bar, kind in BARS:
            if kind == "cosh" and threads != "1":
                continue
            found = ratios(whole, threads, "f32" if kind == "mean" else kind)
            if found and kind == "mean":
                verdict(what % words(threads), geometric_mean(found), bar)
            elif found:
                verdict(what % words(threads), *min(found)[:1], bar, min(found)[1])
    for what, function, bar, strict in (("load + compilation + first inference, worst model", start_ratio, START, False), ("peak memory, worst model", memory_ratio, MEMORY, True)):
        found = [(function(m), m["label"]) for m in whole["models"] if function(m)]
        if found:
            (value, peer), label = min(found)
            verdict(what, value, bar, "%s against %s" % (label, peer), strict)
