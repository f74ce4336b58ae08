/**
 * How a graph is shown in a canvas of some width: from left to right or from top to bottom, whichever can be read better, how
 * tall the canvas is, and where it begins. A graph that does not fit begins at its start, at a size that can be read.
 */
import type { GraphView } from '../api/types.ts'
import { type Direction, layOut, type Place } from './lay-out.ts'

export interface Arrangement {
  readonly direction: Direction
  readonly places: ReadonlyMap<string, Place>
  readonly canvasHeight: number
  readonly viewport: { readonly x: number; readonly y: number; readonly zoom: number }
}

export const boxSize = { width: 188, height: 58 }

const margin = 28
/** Below the drawing, for the buttons. */
const footer = 32
const phone = 640
const lowest = 240
/** Below this nobody can read a name. */
const leastZoom = 0.75
/** Both ways are tried only where that costs nothing that anybody would notice. */
const tryBothUpTo = 150

export function arrange(view: GraphView, width: number): Arrangement {
  const shapes = view.nodes.map(({ id }) => ({ id, ...boxSize }))
  const wanted: readonly Direction[] = width < phone ? ['TB'] : shapes.length > tryBothUpTo ? ['LR'] : ['LR', 'TB']
  const tries = wanted.map(direction => fit(layOut(shapes, view.edges, direction), direction, width))
  const [first, second] = tries
  if (first === undefined) throw new Error('A graph has at least one direction.')
  // From left to right reads best, unless it has to be made much smaller for it.
  return second !== undefined && second.fits > first.fits * 1.15 ? second.arrangement : first.arrangement
}

interface Fit {
  /** At which zoom all of it would be in sight. */
  readonly fits: number
  readonly arrangement: Arrangement
}

function fit(places: ReadonlyMap<string, Place>, direction: Direction, width: number): Fit {
  // On a phone there must be room beside the drawing to scroll the page by.
  const tallest = width < phone ? 480 : 820
  const size = extentOf(places)
  const fits = Math.min(1, (width - 2 * margin) / size.width, (tallest - 2 * margin - footer) / size.height)
  const zoom = Math.max(leastZoom, fits)
  const room = { width: width - size.width * zoom, height: tallest - size.height * zoom }
  const canvasHeight = Math.round(Math.max(lowest, Math.min(tallest, size.height * zoom + 2 * margin + footer)))
  const x = room.width > 0 ? room.width / 2 : direction === 'LR' ? margin : width / 2 - centerOfStart(places, zoom)
  const y = Math.max(margin, (canvasHeight - footer - size.height * zoom) / 2)
  return {
    fits,
    arrangement: {
      direction,
      places,
      canvasHeight,
      viewport: { x: x - size.left * zoom, y: y - size.top * zoom, zoom },
    },
  }
}

/** Where the first box stands, so that a broad graph begins with it in the middle. */
function centerOfStart(places: ReadonlyMap<string, Place>, zoom: number): number {
  const [first] = places.values()
  return ((first?.x ?? 0) + boxSize.width / 2) * zoom
}

function extentOf(places: ReadonlyMap<string, Place>) {
  const all = [...places.values()]
  const least = (pick: (place: Place) => number) =>
    all.reduce((least, place) => Math.min(least, pick(place)), Number.POSITIVE_INFINITY)
  const most = (pick: (place: Place) => number) => all.reduce((most, place) => Math.max(most, pick(place)), 0)
  const [left, top] = [least(({ x }) => x), least(({ y }) => y)]
  return {
    left,
    top,
    width: Math.max(1, most(({ x }) => x) + boxSize.width - left),
    height: Math.max(1, most(({ y }) => y) + boxSize.height - top),
  }
}
