"""Write deploy/dashboards, for Grafana: `make dashboards`. `--check` only reports whether they are current.

The JSON of a dashboard is long and the same everywhere; the differences are in dashboard_panels.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.dashboard_panels import BOARDS
from scripts.dashboard_parts import Board, Panel

Json = dict[str, Any]
FOLDER: Final = Path(__file__).parent.parent / "deploy" / "dashboards"
SCHEMA: Final = 39  # of Grafana 10 and later; newer ones read it
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, ROW_HEIGHT = 24, 1
HEIGHTS: Final = {"stat": 4, "timeseries": 8}


def main(arguments: Sequence[str]) -> int:
    """Return the exit status: 1 if a file differs from the panels."""
    stale = [name for name, text in texts().items() if not _current(FOLDER / name, text)]
    if "--check" in arguments:
        print("dashboards: " + (f"run `make dashboards`: {', '.join(stale)}" if stale else "ok"))
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def texts() -> dict[str, str]:
    """Return the text of each file."""
    return {f"{name}.json": json.dumps(dashboard(name, board), indent=1) + "\n" for name, board in BOARDS.items()}


def _current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def dashboard(name: str, board: Board) -> Json:
    """Return Grafana's JSON of a dashboard."""
    return {
        "uid": f"berthmaster-{name}",
        "title": board.title,
        "tags": ["berthmaster"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": list(variables(board))},
        "links": [{"type": "dashboards", "title": "Berthmaster", "tags": ["berthmaster"], "asDropdown": True}],
        "panels": list(panels(board)),
    }


def variables(board: Board) -> Iterator[Json]:
    """Yield the variables that people choose: the data source, and the values of the board's label."""
    yield {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    label, metric = board.variable
    if label:
        query = f"label_values({metric}, {label})"
        about = {"multi": True, "includeAll": True, "allValue": ".*", "refresh": 2}
        chosen = {"current": {"text": "All", "value": "$__all"}}
        yield (
            {"name": label, "type": "query", "datasource": SOURCE, "query": query, "definition": query} | about | chosen
        )


def panels(board: Board) -> Iterator[Json]:
    """Yield the panels: each row has a title, and as many panels side by side as are readable."""
    number, y = 0, 0
    for title, row in board.rows:
        number += 1
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [], **at(0, y, WIDTH, 1)}
        y += ROW_HEIGHT
        height, width = HEIGHTS[row[0].kind], WIDTH // (len(row) if row[0].kind == "stat" else min(len(row), 3))
        for place, panel in enumerate(row):
            number += 1
            line, column = divmod(place, WIDTH // width)
            yield {"id": number, **at(column * width, y + line * height, width, height), **shown(panel)}
        y += height * -(-len(row) // (WIDTH // width))


def at(x: int, y: int, w: int, h: int) -> Json:
    """Return a panel's place and size on Grafana's grid."""
    return {"gridPos": {"x": x, "y": y, "w": w, "h": h}}


def shown(panel: Panel) -> Json:
    """Return the JSON of a panel, without place and id."""
    custom = {"fillOpacity": 10, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    fields: Json = {"unit": panel.unit, "min": 0} | ({"custom": custom} if panel.kind == "timeseries" else {})
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": fields, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if panel.kind == "timeseries" else {},
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": SOURCE, "expr": query, "legendFormat": legend or "__auto"}
            for n, (query, legend) in enumerate(panel.queries)
        ],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
