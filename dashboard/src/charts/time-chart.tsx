/** Lines over time in plain SVG, with the values under the pointer, a legend, and the same as words for screen readers. */
import { type PointerEvent, useState } from 'react'
import type { Tone } from '../ui/state-look.ts'
import { useWidth } from '../ui/width.ts'
import { exactText, minuteText } from '../ui/wording.ts'
import { areaPath, type Frame, linePath, lonePoints, placeX, placeY, roundUp } from './scale.ts'

export interface ChartLine {
  readonly name: string
  readonly tone: Tone
  readonly values: readonly (number | null)[]
  readonly filled?: boolean
  readonly dashed?: boolean
}

interface Props {
  readonly label: string
  /** The moment of each value. */
  readonly at: readonly string[]
  readonly lines: readonly ChartLine[]
  readonly format: (value: number) => string
}

const height = 170

export function TimeChart({ label, at, lines, format }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const [index, setIndex] = useState<number | null>(null)
  const max = roundUp(Math.max(...lines.flatMap(({ values }) => values.map(value => value ?? 0)), 0))
  const frame: Frame = { width, height, left: 46, bottom: 22, top: 8 }
  return (
    <div className="chart">
      <Legend lines={lines} index={index ?? at.length - 1} format={format} />
      <div ref={ref}>
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={spoken(label, lines, format)}
          onPointerMove={pointed}
          onPointerLeave={() => setIndex(null)}
        >
          {[0, 0.5, 1].map(share => (
            <g key={share} className="axis">
              <line x1={frame.left} x2={width} y1={placeY(frame, share, 1)} y2={placeY(frame, share, 1)} />
              <text x={frame.left - 8} y={placeY(frame, share, 1) + 4} textAnchor="end">
                {format(max * share)}
              </text>
            </g>
          ))}
          <TimeAxis frame={frame} at={at} />
          {lines.map(({ name, tone, values, filled, dashed }) => (
            <g key={name} className={`line tone-${tone}`}>
              {filled && <path className="area" d={areaPath(frame, values, max)} />}
              <path className={dashed ? 'stroke dashed' : 'stroke'} d={linePath(frame, values, max)} />
              {lonePoints(frame, values, max).map(({ x, y }) => (
                <circle key={x} className="dot" cx={x} cy={y} r={2.5} />
              ))}
            </g>
          ))}
          {index !== null && (
            <line
              className="pointer"
              x1={placeX(frame, index, at.length)}
              x2={placeX(frame, index, at.length)}
              y1={frame.top}
              y2={height - frame.bottom}
            />
          )}
        </svg>
      </div>
    </div>
  )

  function pointed(event: PointerEvent<SVGSVGElement>): void {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left
    const share = (x - frame.left) / Math.max(1, width - frame.left)
    setIndex(Math.min(at.length - 1, Math.max(0, Math.round(share * (at.length - 1)))))
  }
}

function Legend({ lines, index, format }: Pick<Props, 'lines' | 'format'> & { readonly index: number }) {
  return (
    <ul className="legend">
      {lines.map(({ name, tone, values, dashed }) => (
        <li key={name} className={`tone-${tone}`}>
          <span className={dashed ? 'swatch dashed' : 'swatch'} aria-hidden="true" />
          {name} <strong>{valueText(values[index] ?? null, format)}</strong>
        </li>
      ))}
    </ul>
  )
}

function TimeAxis({ frame, at }: { readonly frame: Frame; readonly at: readonly string[] }) {
  const middle = Math.floor((at.length - 1) / 2)
  const marks = [
    { at: 0, anchor: 'start' },
    ...(middle > 0 ? [{ at: middle, anchor: 'middle' as const }] : []),
    { at: at.length - 1, anchor: 'end' },
  ] as const
  if (at.length < 2) return null
  return (
    <g className="axis">
      {marks.map(mark => (
        <text key={mark.at} x={placeX(frame, mark.at, at.length)} y={frame.height - 5} textAnchor={mark.anchor}>
          <title>{exactText(at[mark.at] ?? '')}</title>
          {minuteText(at[mark.at] ?? '')}
        </text>
      ))}
    </g>
  )
}

function valueText(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value)
}

function spoken(label: string, lines: readonly ChartLine[], format: (value: number) => string): string {
  const facts = lines.map(({ name, values }) => {
    const most = Math.max(0, ...values.map(value => value ?? 0))
    return `${name} ${valueText(values.at(-1) ?? null, format)} now, ${format(most)} at most`
  })
  return `${label}: ${facts.join('; ')}`
}
