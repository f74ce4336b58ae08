/** From values to places in a drawing. Axes begin at zero and end at a round number. */

/** The first of 1, 2, 2.5, 5 times a power of ten that is not below `value`. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 2.5, 5, 10].find(each => each * power >= value) ?? 10
  return step * power
}

export interface Frame {
  readonly width: number
  readonly height: number
  readonly left: number
  readonly bottom: number
  readonly top: number
}

export function placeX({ width, left }: Frame, index: number, length: number): number {
  return length < 2 ? left : left + (index / (length - 1)) * (width - left - 2)
}

export function placeY({ height, bottom, top }: Frame, value: number, max: number): number {
  return height - bottom - (value / max) * (height - bottom - top)
}

/** A line with gaps where nothing is known. */
export function linePath(frame: Frame, values: readonly (number | null)[], max: number): string {
  let pen = 'M'
  let path = ''
  for (const [index, value] of values.entries()) {
    if (value === null) {
      pen = 'M'
      continue
    }
    path += `${pen}${placeX(frame, index, values.length).toFixed(1)} ${placeY(frame, value, max).toFixed(1)}`
    pen = 'L'
  }
  return path
}

/** The values that a line cannot show, because nothing is known before and after them. */
export function lonePoints(frame: Frame, values: readonly (number | null)[], max: number): { x: number; y: number }[] {
  const known = (index: number) => (values[index] ?? null) !== null
  return values.flatMap((value, index) =>
    value === null || known(index - 1) || known(index + 1)
      ? []
      : [{ x: placeX(frame, index, values.length), y: placeY(frame, value, max) }],
  )
}

/** The area below a line without gaps. */
export function areaPath(frame: Frame, values: readonly (number | null)[], max: number): string {
  if (values.length < 2) return ''
  const line = linePath(
    frame,
    values.map(value => value ?? 0),
    max,
  )
  const floor = placeY(frame, 0, max).toFixed(1)
  return `${line}L${placeX(frame, values.length - 1, values.length).toFixed(1)} ${floor}L${frame.left} ${floor}Z`
}
