"""What results of peers.py say: bounds, the tables of Docs/Performance.md, and its plots."""
import collections, html, math, os, re, statistics

from get import MIB, ROOT
import small

DOCUMENT = os.path.join(ROOT, "Docs", "Performance.md")
IMAGES = os.path.join(ROOT, "Docs", "Images")

# Series, ours, the peer (None: the figure itself is bounded), figure, bound.
BOUNDS = [
    *(("large", "lanner", peer, *rest) for peer in ["curl", "aria2c", "wget"]
      for rest in [("wall", "at most", 0.6), ("cpu", "at most", 0.8)]),
    ("large", "lanner", None, "peak", "at most", 64),
    ("checksum", "lanner", "curl, sha256sum", "wall", "at most", 0.35),
    *((f"small {where}", "lanner", peer, "rate", "at least", bound)
      for where, peers in small.BOUNDS.items() for peer, bound in peers.items()),
    ("limited", "lanner -x 8", "lanner -x 1", "rate", "at least", 7),
    ("limited", "lanner -x 8", "aria2c -x8", "rate", "at least", 0.95),
    ("adaptive", "lanner -x 4", "lanner -x 1", "wall", "at most", 1.05),
    ("latency", "lanner -x 8", "lanner -x 1", "rate", "at least", 2.5),
]
NOTHING = "Not measured yet.\n"
WORDS = {"wall": "wall", "cpu": "CPU", "peak": "peak memory", "rate": "throughput"}
PLACES = {"small memory": ", into memory", "small disk": ", to the disk"}
Bound = collections.namedtuple("Bound", "series text figure bound holds")
Panel = collections.namedtuple("Panel", "title unit values")


class Series:
    def __init__(self, values):
        self.size, self.files, self.runs = values["size"], values["files"], values["runs"]
        self.has_many = self.files > 1
        self.total = self.size * self.files
        self.unit = "files/s" if self.has_many else "MiB/s"

    def of_run(self, run, figure):
        if figure == "rate":
            return (self.files if self.has_many else self.total / MIB) / run["wall"]
        if figure == "cost":
            return run["cpu"] * (1000 / self.files if self.has_many else (1 << 30) / self.total)
        if figure in ("kernel", "changes"):
            # Of one file.
            return run[figure] * (1000 if figure == "kernel" else 1) / self.files
        return run[figure]

    def values(self, program, figure):
        return [self.of_run(run, figure) for run in self.runs[program]]

    def shares(self, ours, peer, figure):
        """What ours is of the peer's, in each round."""
        return [mine / other for mine, other in zip(self.values(ours, figure), self.values(peer, figure))]

    def median(self, program, figure):
        return statistics.median(self.values(program, figure))


def of_case(cases, name):
    return {key: Series(values) for key, values in cases.items() if key.split()[0] == name and "runs" in values}


def rounded(value):
    """With three figures that count, and no more behind the point than there are."""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{min(digits, 3)}f}"


def bounds(cases, name):
    for key, series in of_case(cases, name).items():
        for bounded, ours, peer, figure, way, bound in BOUNDS:
            if bounded != key:
                continue
            values = series.shares(ours, peer, figure) if peer else series.values(ours, figure)
            value = statistics.median(values)
            text = f"{WORDS[figure]} of {ours}" + (f" / {peer}" if peer else "")
            unit = "" if peer else " MiB"
            yield Bound(key, text, f"{rounded(value)}{unit} ({rounded(min(values))} – {rounded(max(values))})",
                        f"{way} {bound}{unit}", value <= bound if way == "at most" else value >= bound)


# Tables

def table(head, rows):
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def amount(series):
    size = f"{series.size >> 10} KiB" if series.size < MIB else f"{series.size // MIB:,} MiB"
    return f"{series.files:,} files of {size}" if series.has_many else f"One file of {size}"


def programs(series, where=""):
    rows = []
    for program, runs in series.runs.items():
        walls = series.values(program, "wall")
        spread = f"{rounded(min(walls))} – {rounded(max(walls))}"
        rows.append([f"`{program}`", rounded(statistics.median(walls)), spread,
                     *(rounded(series.median(program, figure)) if figure in ("rate", "cost") or figure in runs[0] else "–"
                       for figure in columns(series))])
    count = len(runs)
    return (f"{amount(series)}{where}; {f'medians of {count} runs' if count > 1 else 'one run'}.\n\n"
            + table(["Program", "Wall, s", "least – most", *columns(series).values()], rows))


def columns(series):
    """What the table of a series shows behind the wall time."""
    if series.has_many:
        return {"rate": series.unit, "cost": "CPU, ms a file", "kernel": "the kernel's part", "changes": "Thread changes a file",
                "peak": "Peak memory, MiB"}
    return {"rate": series.unit, "cost": "CPU, s per GiB", "peak": "Peak memory, MiB"}


def profile_table(shares):
    memory, disk = shares["memory"], shares["disk"]
    return table(["Whose code", "into memory", "to the disk"],
                 [[owner, *(f"{place.get(owner, 0):.0f} %" for place in [memory, disk])] for owner in memory])


def bound_table(cases, name):
    rows = [[bound.text + PLACES.get(bound.series, ""), bound.figure, bound.bound, "yes" if bound.holds else "**no**"]
            for bound in bounds(cases, name)]
    return table(["Bound", "measured", "is to be", "holds"], rows) if rows else ""


def growth_tables(cases):
    for has_many, label in [(False, "Size"), (True, "Files")]:
        all = ordered(cases, has_many)
        if not all:
            continue
        names = list(all[0].runs)
        cost = "CPU ms a file" if has_many else "CPU s per GiB"
        head = [label, *(f"`{name}`, {word}" for word in [all[0].unit, cost] for name in names)]
        yield table(head, [[tick(series), *(rounded(series.median(name, figure)) for figure in ["rate", "cost"]
                                            for name in names)] for series in all])


def tick(series):
    return f"{series.files:,}" if series.has_many else f"{series.size // MIB:,} MiB"


def ordered(cases, has_many):
    all = [series for series in of_case(cases, "growth").values() if series.has_many == has_many]
    return sorted(all, key=lambda series: (series.files, series.size))


def image(name, words):
    return f"![{words}](Images/performance-{name}.svg)"


PICTURES = {
    "large": "Throughput, CPU and peak memory of one large file, by program",
    "checksum": "Throughput and CPU of one large file with its digest, by program",
    "small": "Small files a second in memory and on disk, by program",
    "limited": "Throughput from a server with a limit for each connection, by program",
    "latency": "Throughput over a long way, by program",
    "tls": "Throughput and CPU over TLS, by program",
    "growth": "Throughput and CPU by size, and files a second by number, by program",
}


def block(cases, name):
    """What stands between the marks of a case."""
    if name == "profile" and name in cases:
        return profile_table(cases[name]["shares"]) + "\n"
    all = of_case(cases, name)
    if not all:
        return ""
    if name == "growth":
        parts = list(growth_tables(cases))
    else:
        parts = [programs(series, PLACES.get(key, "")) for key, series in all.items()]
    parts.append(bound_table(cases, name))
    if name in PICTURES:
        parts.append(image(name, PICTURES[name]))
    return "\n\n".join(part for part in parts if part) + "\n"


def machine_block(machine):
    if not machine:
        return ""
    programs = ", ".join(f"{name} {machine[name]}" for name in ["nginx", "curl", "aria2c", "wget"])
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['memory']} of memory, {machine['kernel']}, "
            f"{machine['disk']}; {programs}; Swift {machine['swift']}, release configuration.\n")


# Plots

COLORS = {"lanner": "#0969da", "curl": "#bc4c00", "aria2c": "#1a7f37", "wget": "#8250df",
          "disk": "#59636e"}
STYLE = """text { font: 12px system-ui, sans-serif; fill: #1f2328; }
text.title { font-weight: 600; }
text.note { fill: #59636e; font-size: 11px; }
text.end { text-anchor: end; }
text.middle { text-anchor: middle; }
path, line { fill: none; }
.grid { stroke: #d1d9e0; }
.axis { stroke: #818b98; }"""


def color(program):
    return "#80b4ed" if program == "lanner -x 1" else COLORS[re.match(r"\w+", program).group()]


def svg(title, width, height, elements):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">',
        f"<title>{html.escape(title)}</title>", f"<style>\n{STYLE}\n</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *elements, "</svg>"]) + "\n"


def text(x, y, words, kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}>{html.escape(words)}</text>'


def bars(panel, left, width):
    """Horizontal bars of medians, with a line from the least to the most."""
    yield text(left, 22, f"{panel.title}, {panel.unit}", "title")
    label = 12 + 6.6 * max(map(len, panel.values))
    most = max(max(values) for values in panel.values.values())
    scale = (width - label - 50) / most
    for number, (program, values) in enumerate(panel.values.items()):
        y, median = 34 + 26 * number, statistics.median(values)
        start, end = left + label, left + label + median * scale
        yield text(start - 6, y + 14, program, "end")
        yield f'<rect x="{start:g}" y="{y}" width="{median * scale:.1f}" height="18" fill="{color(program)}"/>'
        low, high = start + min(values) * scale, start + max(values) * scale
        yield f'<path d="M{low:.1f} {y + 9}H{high:.1f}M{low:.1f} {y + 6}v6M{high:.1f} {y + 6}v6" stroke="#1f2328"/>'
        yield text(max(end, high) + 5, y + 14, rounded(median), "note")


def bar_plot(title, panels):
    width = 820 if len(panels) > 2 else 620 if len(panels) > 1 else 420
    each = (width - 20) / len(panels)
    height = 48 + 26 * max(len(panel.values) for panel in panels)
    return svg(title, width, height, [element for number, panel in enumerate(panels)
                                      for element in bars(panel, 12 + each * number, each - 8)])


def steps(most):
    """Round numbers from zero on, the last one not below."""
    rough = most / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(step * power for step in [1, 2, 2.5, 5, 10] if step * power >= rough)
    return [step * number for number in range(math.ceil(most / step) + 1)]


def lines(panel, ticks, left, width):
    """Medians over ticks that stand as far apart from each other as the next."""
    bottom, top, right = 190, 52, left + width - 16
    start = left + 40
    yield text(left, 22, f"{panel.title}, {panel.unit}", "title")
    marks = steps(max(value for values in panel.values.values() for value in values))
    height = (bottom - top) / marks[-1]
    for mark in marks:
        y = bottom - mark * height
        yield f'<line class="{"grid" if mark else "axis"}" x1="{start:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield text(start - 5, y + 4, f"{mark:,g}", "note end")
    places = [start + 18 + (right - start - 36) * number / max(1, len(ticks) - 1) for number in range(len(ticks))]
    for x, words in zip(places, ticks):
        yield text(x, bottom + 16, words, "note middle")
    legend = start
    for program, values in panel.values.items():
        points = [f"{x:.1f} {bottom - value * height:.1f}" for x, value in zip(places, values)]
        yield f'<path d="M{"L".join(points)}" stroke="{color(program)}" stroke-width="2"/>'
        for point in points:
            x, y = point.split()
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{color(program)}"/>'
        yield f'<rect x="{legend:g}" y="32" width="10" height="10" fill="{color(program)}"/>'
        yield text(legend + 14, 41, program, "note")
        legend += 26 + 6.4 * len(program)


def growth_plot(title, cases):
    panels = []
    for has_many, figure, head, unit in [(False, "rate", "Throughput by size", "MiB/s"),
                                         (False, "cost", "CPU by size", "s per GiB"),
                                         (True, "rate", "Small files", "files/s")]:
        all = ordered(cases, has_many)
        if all:
            values = {name: [series.median(name, figure) for series in all] for name in all[0].runs}
            panels.append((Panel(head, unit, values), [tick(series) for series in all]))
    elements = [element for number, (panel, ticks) in enumerate(panels)
                for element in lines(panel, ticks, 12 + 280 * number, 280)]
    return svg(title, 12 + 280 * len(panels), 220, elements)


def panel_of(series, figure, title=None):
    heads = {"rate": ("Throughput", series.unit), "peak": ("Peak memory", "MiB"),
             "cost": ("CPU", "ms a file" if series.has_many else "s per GiB")}
    head, unit = heads[figure]
    return Panel(title or head, unit, {program: series.values(program, figure) for program in series.runs})


def plot(cases, name):
    title = PICTURES[name]
    if name == "growth":
        return growth_plot(title, cases)
    all = of_case(cases, name)
    if name == "small":
        return bar_plot(title, [panel_of(series, "rate", f"Small files{PLACES[key]}") for key, series in all.items()])
    shown = {"large": ["rate", "cost", "peak"], "limited": ["rate"], "latency": ["rate"]}
    return bar_plot(title, [panel_of(all[name], figure) for figure in shown.get(name, ["rate", "cost"])])


def write(results):
    """Puts tables between the marks of the document, and plots beside its images."""
    cases = results["cases"]

    def filled(match):
        name = match.group(2)
        inside = machine_block(results["machine"]) if name == "machine" else block(cases, name)
        return f"{match.group(1)}\n\n{inside or NOTHING}\n{match.group(3)}"

    with open(DOCUMENT) as file:
        document = file.read()
    document = re.sub(r"(<!-- measured: begin (\w+) -->)\n.*?(<!-- measured: end -->)", filled, document, flags=re.S)
    with open(DOCUMENT, "w") as file:
        file.write(document)
    for name in PICTURES:
        if of_case(cases, name):
            with open(os.path.join(IMAGES, f"performance-{name}.svg"), "w") as file:
                file.write(plot(cases, name))
