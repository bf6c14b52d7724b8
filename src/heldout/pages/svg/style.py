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
.chart .e.line { stroke: var(--series-e); }
.chart .f.line { stroke: var(--series-f); }
.chart .b.line { stroke-dasharray: 6 4; }
.chart .v0.line { stroke-dasharray: none; }
.chart .v1.line { stroke-dasharray: 7 3; }
.chart .v2.line { stroke-dasharray: 0.5 4; }
.chart .hollow { fill: var(--page); stroke-width: 1.4; }
.chart .a.hollow { stroke: var(--series-a); }
.chart .b.hollow { stroke: var(--series-b); }
.chart .c.hollow { stroke: var(--series-c); }
.chart .d.hollow { stroke: var(--series-d); }
.chart .e.hollow { stroke: var(--series-e); }
.chart .f.hollow { stroke: var(--series-f); }
.chart .faint.band { opacity: 0.07; }
.chart .bar { stroke-width: 1.3; stroke-linecap: butt; fill: none; }
.chart .a.bar { stroke: var(--series-a); }
.chart .b.bar { stroke: var(--series-b); }
.chart .c.bar { stroke: var(--series-c); }
.chart .d.bar { stroke: var(--series-d); }
.chart .e.bar { stroke: var(--series-e); }
.chart .f.bar { stroke: var(--series-f); }
.chart .a.fill { fill: var(--series-a); }
.chart .b.fill { fill: var(--series-b); }
.chart .c.fill { fill: var(--series-c); }
.chart .d.fill { fill: var(--series-d); }
.chart .e.fill { fill: var(--series-e); }
.chart .f.fill { fill: var(--series-f); }
.chart .hit { fill: transparent; stroke: none; pointer-events: all; }
.chart .halo { paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
.chart .wash { fill-opacity: 0.3; stroke-width: 1.5; stroke-linejoin: round; }
.chart .a.wash { fill: var(--series-a); stroke: var(--series-a); }
.chart .b.wash { fill: var(--series-b); stroke: var(--series-b); }
.chart .c.wash { fill: var(--series-c); stroke: var(--series-c); }
.chart .d.wash { fill: var(--series-d); stroke: var(--series-d); }
.chart .small { font-size: 9px; }
.chart .cells { shape-rendering: crispEdges; }
.chart .blank { fill: var(--rule); }
.chart .row.hit:hover { stroke: var(--ink); stroke-width: 1; vector-effect: non-scaling-stroke; }
.chart .cell.hit:hover { stroke: var(--ink); stroke-width: 2; vector-effect: non-scaling-stroke; }
.chart .heat-0 { fill: var(--heat-0); }
.chart .heat-1 { fill: var(--heat-1); }
.chart .heat-2 { fill: var(--heat-2); }
.chart .heat-3 { fill: var(--heat-3); }
.chart .heat-4 { fill: var(--heat-4); }
.chart .heat-5 { fill: var(--heat-5); }
.chart .heat-6 { fill: var(--heat-6); }
.chart .heat-7 { fill: var(--heat-7); }
.chart .heat-8 { fill: var(--heat-8); }
.chart .untouchable { pointer-events: none; }
.chart .on-light { fill: var(--ink); }
.chart .on-middle { fill: #14181d; }
.chart .on-strong { fill: var(--page); }
.range { display: block; width: 100%; height: 1.5rem; overflow: visible; }
.range path { fill: none; vector-effect: non-scaling-stroke; }
.range .grid { stroke: var(--rule); stroke-width: 1; }
.range .whisker { stroke: var(--series-a); stroke-width: 2; stroke-linecap: butt; }
.range .dot { stroke: var(--series-a); stroke-width: 7; stroke-linecap: round; }
"""
