import { useEffect, useRef, useState } from "preact/hooks";
import { wholeCharacters } from "../../src/tool_server/view/page/shown_text.ts";
import { visibleText } from "./look_parts.tsx";
import type { Reference } from "./look_tables.ts";

/** Tables drawn on each side; a picture of more shows nothing. */
export const mostDrawn = 12;
/** In the drawing's units: pixels, unless less than the least width is there. */
const [leastWidth, mostWidth, rowHeight, boxHeight] = [480, 960, 50, 36];
const characterWidth = 7.3;

type Place = Pick<Reference, "schema" | "table">;

/** Boxes, each with its line to or from the one in the middle. */
function placeSide(
  side: readonly Reference[],
  isLeft: boolean,
  { width, height }: Record<"width" | "height", number>,
) {
  const [outer, inner] = isLeft ? [0.2, 0.4] : [0.8, 0.6];
  return side.map((reference, at) => {
    const offset = at + 0.5 - side.length / 2;
    const y = height / 2 + offset * rowHeight;
    const end = height / 2 + offset * boxHeight / side.length;
    const half = (outer + inner) / 2;
    const points = [outer, half, half, inner].map((x, at) => `${x * width} ${at < 2 ? y : end}`);
    const [first, ...others] = isLeft ? points : points.toReversed();
    return {
      reference,
      x: isLeft ? 0 : outer * width,
      y,
      path: `M${first}C${others.join(" ")}`,
      labelX: outer * width + (isLeft ? 8 : -12),
      anchor: isLeft ? "start" as const : "end" as const,
    };
  });
}

/** Without what has no room. */
function drawnText(text: string, width: number): string {
  const shown = visibleText(text);
  const most = Math.floor(width / characterWidth);
  return shown.length > most ? `${wholeCharacters(shown, most - 1)}…` : shown;
}

interface PictureProps {
  readonly here: Place;
  readonly from: readonly Reference[];
  readonly to: readonly Reference[];
  readonly hrefOfTable: (place: Place) => string;
}

/** Those that refer to `here` on its left, those that it refers to on its right. For eyes and pointers: lists beside it must tell the same. */
export function ReferencesPicture({ here, hrefOfTable, ...all }: PictureProps) {
  const place = useRef<HTMLDivElement>(null);
  const [available, setAvailable] = useState(leastWidth);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setAvailable(entry?.contentRect.width ?? leastWidth));
    if (place.current !== null) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  const from = all.from.slice(0, mostDrawn);
  const to = all.to.slice(0, mostDrawn);
  const height = rowHeight * Math.max(1, from.length, to.length);
  // a side without tables has no room
  const left = from.length === 0 ? 0.4 : 0;
  const part = (to.length === 0 ? 0.6 : 1) - left;
  const width = Math.min(mostWidth, Math.max(leastWidth, available / part));
  const size = { width, height };
  const others = [
    ...placeSide(from, true, size),
    ...placeSide(to, false, size),
  ];
  const middle = { reference: here, x: width * 0.4, y: height / 2 };
  const boxWidth = width * 0.2;
  return (
    <div ref={place} class="look-picture" aria-hidden="true">
      <svg width={width * part} viewBox={`${left * width} 0 ${part * width} ${height}`}>
        <marker
          id="look-arrow"
          viewBox="0 0 8 8"
          refX="8"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" />
        </marker>
        {others.map(({ reference, path, y, labelX, anchor }) => (
          <g key={path}>
            <path d={path} marker-end="url(#look-arrow)" />
            <text x={labelX} y={y - 7} text-anchor={anchor}>
              {drawnText(reference.keys.join("; "), width * 0.2 - 20)}
            </text>
          </g>
        ))}
        {[middle, ...others].map(({ reference, x, y }, at) => {
          const { schema, table } = reference;
          const name = schema === here.schema ? table : `${schema}.${table}`;
          const box = { x: x + 1, y: y - 18, height: boxHeight };
          return (
            <a key={at} href={hrefOfTable(reference)} tabindex={-1}>
              <rect {...box} width={boxWidth - 2} rx="8" />
              <svg {...box} width={boxWidth - 2}>
                <text x="50%" y="50%" dy="0.35em" text-anchor="middle">{drawnText(name, boxWidth - 16)}</text>
              </svg>
            </a>
          );
        })}
      </svg>
    </div>
  );
}
