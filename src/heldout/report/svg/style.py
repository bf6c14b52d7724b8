"""How charts look; colours are the page's variables, so that one drawing serves light and dark."""

from __future__ import annotations

STYLE = """\
.chart { display: block; width: 100%; height: auto; overflow: visible; font-size: 12px; }
.chart text { fill: var(--muted); font-family: inherit; font-variant-numeric: tabular-nums; }
.chart .sub { font-size: 9px; }
.chart .ground { fill: var(--page); }
.chart .strong { fill: var(--ink); }
.chart .grid { stroke: var(--rule); stroke-width: 1; }
.chart .axis { stroke: var(--axis); stroke-width: 1; fill: none; }
.chart .reference { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 3; fill: none; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.chart .band { stroke: none; opacity: 0.16; }
.chart .whisker { stroke-width: 2.5; stroke-linecap: round; fill: none; }
.chart .a.line, .chart .a.whisker { stroke: var(--series-a); }
.chart .b.line, .chart .b.whisker { stroke: var(--series-b); }
.chart .c.line, .chart .c.whisker { stroke: var(--series-c); }
.chart .d.line, .chart .d.whisker { stroke: var(--series-d); }
.chart .b.line { stroke-dasharray: 6 4; }
.chart .a.fill { fill: var(--series-a); }
.chart .b.fill { fill: var(--series-b); }
.chart .c.fill { fill: var(--series-c); }
.chart .d.fill { fill: var(--series-d); }
"""
