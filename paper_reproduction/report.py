"""One Markdown file of all tables, the published number beside ours, and the paper's figure redrawn."""

import math
from collections import Counter
from pathlib import Path

from icdh.files import replace_on_success
from paper_reproduction.figure import NOISES, draw, draw_procedures
from paper_reproduction.methods import METHODS, UNDIRECTED
from paper_reproduction.parity import draw_parity
from paper_reproduction.published import ARTICLE, SOURCES, read_published
from paper_reproduction.records import Records
from paper_reproduction.summaries import rows
from paper_reproduction.tables import EARLY, HETEROSCEDASTIC, ICDH_FAMILY, PAIRS, RAW, STANDARDIZED, TABLES, Setting
from paper_reproduction.verdicts import OURS, STANDARD_ERRORS, WORDS, count, digits, sentence, verdicts

REPORT, FIGURE, PARITY, AUTHORS = "report.md", "figure.svg", "parity.svg", "authors.md"
PROCEDURES = "procedures.svg"
NOTES = Path(__file__).parent / "notes.md"
HEADINGS = {
    "au_shdc": "auSHDC",
    "shd": "SHD",
    "minimum_shd": "least SHD",
    "truncated_auprc": "auPRC",
    "sid": "SID",
    "correct": f"correct of {PAIRS}",
    "weighted_accuracy": "weighted accuracy",
}
# The authors' own weights say that these tables hold the least SHD over thresholds: see `notes.md`.
HOMOSCEDASTIC, NETWORKS = (("homo-ev", "shd"), ("homo-nv", "shd")), ("ICDH", "NOTEARS-MLP")
LEAST = {"shd": "minimum_shd"}


def write_report(folder) -> str:
    """Write the report and its figures beside the results, and return the count of the verdicts in a sentence.

    Parameters
    ----------
    folder : str or Path
        Folder of the results.

    Raises
    ------
    ValueError
        If there are none.
    """
    folder, records = Path(folder), Records(folder).read()
    if not records:
        raise ValueError(f"there are no results in {folder}; run some first")
    found, published = rows(records), read_published()
    article = [number for number in published if number.source == ARTICLE]
    compared = verdicts(found, article)
    parts = [_head(records), _counts(compared, found, article), NOTES.read_text(encoding="utf-8")]
    parts += [_numbers(table, compared) for table in TABLES.values()]
    parts += [_authors(folder)]
    parts += [_others(verdicts(found, [number for number in published if number.source != ARTICLE]))]
    parts += [_glance(found, nodes) for nodes in (5, 10, 20, 50)]
    parts += [_table_text(table, found) for table in TABLES.values()]
    parts += [_failures(found)]
    with replace_on_success(folder / REPORT) as temporary:
        temporary.write_text("\n".join(part for part in parts if part), encoding="utf-8")
    draw(found, folder / FIGURE)
    draw_procedures(found, folder / PROCEDURES)
    draw_parity(compared, folder / PARITY)
    return sentence(compared)


def _head(records):
    done = [record for record in records.values() if record["status"] == "done"]
    versions = Counter()
    for record in done:
        versions.update(f"{package} {version}" for package, version in record["versions"].items())
    hours = sum(record["cpu_seconds"] for record in done) / 3600
    finished = sorted(record["finished"] for record in done)
    return f"""# The paper's tables, rerun

{len(done)} results, {len(records) - len(done)} failures, {hours:.1f} CPU hours, from {finished[0]} to {finished[-1]}.
Versions: {", ".join(sorted(versions))}.

Every cell is mean ± standard deviation over the trials that its row counts. On simulated data: 1000 rows, one draw a
trial, the same for all methods; SHD at threshold 0.3, auSHDC over thresholds 0.2 to 0.75, least SHD over all of them,
auPRC in the published definition, which leaves out both ends of the curve (a graph without weights scores 0). "std."
columns repeat the column on the same draws standardised, with the columns in a random order. Of methods that return
undirected edges (GES, CD-NOD), SHD counts these as wrong, and in brackets as right. HNMSearch weighs edges in nats, CAM
and HOST by -log10 of p-values, US by z: for these only SHD, least SHD and auPRC compare with the rest. Seconds are the
median CPU seconds of one core, compilation left out.

![Metrics against the number of variables, one column a noise]({FIGURE})

![ICDH's three procedures beside HNMSearch and NOTEARS-MLP, SHD against the number of variables]({PROCEDURES})
"""


def _counts(compared, found, article):
    """Return how many of the article's numbers are reproduced, by table and by method."""
    tables = {name: [v for v in compared if v.published.table == name] for name in TABLES}
    methods = {name: [v for v in compared if v.published.method == name] for name in METHODS}
    return f"""## The article's numbers beside ours

{sentence(compared)}

A number is reproduced if the difference is within {STANDARD_ERRORS:g} standard errors of both sides together. The
article's ICDH is compared with {OURS["ICDH"][0]}, or where that was not run with {OURS["ICDH"][1]}.
{sum(verdict.trials == 1 for verdict in compared)} verdicts rest on a single trial of ours.

{_count_table("table", tables)}
{_count_table("method", methods)}
{_count_table("in another way", _otherwise(found, article))}
![The article's numbers against ours]({PARITY})
"""


def _otherwise(found, article):
    """Return the verdicts on parts of the article's numbers when ours are measured, drawn or learned in another way."""
    homoscedastic = [n for n in article if (n.table, n.metric) in HOMOSCEDASTIC and n.method in NETWORKS]
    groups = {
        "homo-ev and homo-nv, SHD of the networks, ours at threshold 0.3": verdicts(found, homoscedastic),
        "the same, ours the least SHD over thresholds": verdicts(found, homoscedastic, metrics=LEAST),
    }
    networks = [n for n in article if n.table == "hetero" and n.method in NETWORKS]
    dense = [n for n in article if n.table == "dense"]
    for text, numbers in (("hetero, the networks", networks), ("dense", dense)):
        for data in (*HETEROSCEDASTIC, *EARLY):
            groups[f"{text}, ours on `{data}`"] = verdicts(found, _elsewhere(numbers, data=data))
    sachs = [n for n in article if n.table == "sachs"]
    for units in (RAW, STANDARDIZED):
        groups[f"sachs, ours {units}"] = verdicts(found, _elsewhere(sachs, units=units))
    icdh = [n for n in article if n.method == "ICDH"]
    return groups | {
        f"{name} beside the article's ICDH": verdicts(found, icdh, {"ICDH": (name,)}) for name in ICDH_FAMILY
    }


def _elsewhere(numbers, **changes):
    return [number._replace(setting=number.setting._replace(**changes)) for number in numbers]


def _count_table(heading, groups):
    lines = [
        _cells([name, str(len(group)), *map(str, count(group).values())]) for name, group in groups.items() if group
    ]
    headings = [heading, "numbers", *WORDS]
    return "\n".join([_cells(headings), _cells(["---"] * len(headings)), *lines, ""])


def _numbers(table, compared):
    """Return a line for every number of one table of the article."""
    lines = [_number_line(verdict) for verdict in compared if verdict.published.table == table.name]
    return _number_table(f"## Every number of the article: {table.title.lower()} (`{table.name}`)\n", lines)


def _authors(folder):
    """Return what `authors` wrote, if it did."""
    if not (folder / AUTHORS).exists():
        return ""
    return f"""## The article's SHD beside the files that its authors published earlier

Their weights were learned 16 months before the article. "Least SHD" is over 1000 thresholds from 0.2 to 0.75, as their
evaluation computes it; "of the first five" is the least SHD of the first five trials.

{(folder / AUTHORS).read_text(encoding="utf-8")}"""


def _others(compared):
    """Return a line for every published number that is not the article's."""
    sources = "\n".join(f"{at}. {text}" for at, text in enumerate(list(SOURCES.values())[1:], start=1))
    lines = [_number_line(verdict) for verdict in compared]
    return _number_table(f"## Other published numbers\n\nThe source is in brackets:\n\n{sources}\n", lines)


def _number_table(title, lines):
    headings = ["data", "method", "metric", "published", "ours", "trials", "difference in s.e.", "verdict"]
    return "\n".join([title, _cells(headings), _cells(["---"] * len(headings)), *lines, ""])


def _number_line(verdict):
    number, places = verdict.published, digits(verdict.published.metric)
    setting = number.setting
    data = f"{setting.data}, {setting.graph}, N = {setting.nodes}" if setting.graph.startswith("ER") else setting.data
    theirs = f"{number.value:.{places}f}" + (f" ± {number.std:.{places}f}" if number.std is not None else "")
    if number.source != ARTICLE:
        theirs += f" [{list(SOURCES).index(number.source)}]"
    theirs += f" ({number.note})" if number.note else ""
    method = number.method if verdict.method == number.method else f"{number.method}; ours: {verdict.method}"
    ours = f"{verdict.mean:.{places}f} ± {verdict.std:.{places}f}" if verdict.trials else ""
    errors = "" if math.isnan(verdict.errors) else f"{verdict.errors:+.1f}"
    word = f"{verdict.word}: {verdict.reason}" if verdict.reason else verdict.word
    trials = f"{number.trials or '?'}, {verdict.trials}"
    return _cells([data, method, HEADINGS[number.metric], theirs, ours, trials, errors, word])


def _glance(found, nodes):
    """Return the mean SHD of every method on simulated data, on raw data and on standardised."""
    settings = [Setting(noise, graph, nodes, RAW) for noise in NOISES for graph in ("ER1", "ER2")]
    lines = []
    for method in METHODS:
        pairs = [
            (found.get((s.name, method)), found.get((s._replace(units=STANDARDIZED).name, method))) for s in settings
        ]
        if any(raw is not None and raw.trials for raw, _ in pairs):
            lines.append(_cells([method, *(" / ".join(_mean_shd(row) for row in pair) for pair in pairs)]))
    if not lines:
        return ""
    headings = ["", *(f"{setting.data}, {setting.graph}" for setting in settings)]
    title = f"## At a glance: mean SHD at N = {nodes}, raw / standardised\n"
    return "\n".join([title, _cells(headings), _cells(["---"] * len(headings)), *lines, ""])


def _mean_shd(row):
    return "-" if row is None or not row.trials else _number(row.mean("shd"), 1)


def _table_text(table, found):
    """Return the section of a table: a block for each noise, graph and number of variables."""
    raw = [setting for setting in table.settings if setting.units != STANDARDIZED]
    blocks = [_block(table, setting, found) for setting in raw]
    blocks = [block for block in blocks if block]
    return "\n".join([f"## {table.title} (`{table.name}`)\n", *blocks]) if blocks else ""


def _block(table, setting, found):
    standardized = setting._replace(units=STANDARDIZED)
    lines = [
        _line(table, method, found.get((setting.name, method)), found.get((standardized.name, method)))
        for method in table.methods
        if (setting.name, method) in found
    ]
    if not lines:
        return ""
    headings = ["", *(HEADINGS[m] for m in table.metrics), *(f"{HEADINGS[m]}, std." for m in table.metrics)]
    headings += ["trials", "s"]
    title = f"### {setting.data}" + (
        f", {setting.graph}, N = {setting.nodes}" if setting.graph.startswith("ER") else ""
    )
    return "\n".join([title, "", _cells(headings), _cells(["---"] * len(headings)), *lines, ""])


def _line(table, method, row, standardized):
    cells = [method]
    cells += [_cell(row, metric, method) for metric in table.metrics]
    cells += [_cell(standardized, metric, method) for metric in table.metrics]
    trials = f"{row.trials}, {standardized.trials}" if standardized else str(row.trials)
    failed = row.failed + (standardized.failed if standardized else 0)
    return _cells([*cells, trials + (f" ({failed} failed)" if failed else ""), _number(row.seconds, 2)])


def _cells(texts):
    return "| " + " | ".join(texts) + " |"


def _cell(row, metric, method):
    if row is None or metric not in row.metrics or math.isnan(row.mean(metric)):
        return ""
    places = digits(metric)
    if metric in ("correct", "weighted_accuracy"):
        return _number(row.mean(metric), 0 if metric == "correct" else places)
    text = f"{_number(row.mean(metric), places)} ± {_number(row.std(metric), places)}"
    if metric == "shd" and method in UNDIRECTED:
        text += f" ({_number(row.mean('shd_favourable'), 1)})"
    return text


def _number(value, places):
    return "" if math.isnan(value) else f"{value:.{places}f}"


def _failures(found):
    reasons = {}
    for (setting, method), row in found.items():
        for reason in row.reasons:
            reasons.setdefault((method, reason), []).append(setting)
    if not reasons:
        return ""
    order = list(METHODS)
    lines = [
        f"- {method}: {reason} ({', '.join(settings)})"
        for (method, reason), settings in sorted(reasons.items(), key=lambda item: order.index(item[0][0]))
    ]
    return "## Failures\n\n" + "\n".join(lines) + "\n"
