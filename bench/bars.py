"""Horizontal bars in an SVG, a group of them a case."""

from __future__ import annotations

LABEL_WIDTH, PLOT_WIDTH, BAR, GAP, TOP = 250, 520, 9, 10, 74


def text(x: float, y: float, content: str, size: int = 11, anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="#222">{content}</text>')


def bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'


def draw(title: str, subtitle: str, series: dict[str, tuple[str, str]],
         groups: dict[str, dict[str, float]], digits: int = 0) -> str:
    """`series` gives each bar's legend and color, `groups` its length by label; where a group has
    none of a series the place stays empty."""
    scale = PLOT_WIDTH / max(max(values.values()) for values in groups.values())
    height = TOP + (BAR * len(series) + GAP) * len(groups) + 8
    parts = [text(8, 20, title, 14), text(8, 38, subtitle)]
    x = 8
    for name, color in series.values():
        parts += [bar(x, 50, 14, color), text(x + 19, 59, name)]
        x += 35 + 6 * len(name)
    y = TOP
    for label, values in groups.items():
        parts.append(text(LABEL_WIDTH - 8, y + BAR * len(series) / 2 + 4, label, 11, "end"))
        for key, (_, color) in series.items():
            if key in values:
                width = values[key] * scale
                value = f"{values[key]:.{digits}f}"
                parts += [bar(LABEL_WIDTH, y, width, color),
                          text(LABEL_WIDTH + width + 4, y + BAR - 1, value, 9)]
            y += BAR
        y += GAP
    width = LABEL_WIDTH + PLOT_WIDTH + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")
