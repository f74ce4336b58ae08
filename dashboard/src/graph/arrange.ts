/**
 * How a graph is shown in a canvas of some width: from left to right or from top to bottom, whichever can be read better, how
 * tall the canvas is, and where it begins. A graph that does not fit begins at its start, at a size that can be read.
 */
import type { GraphView } from '../api/types.ts'
import { type Direction, layOut, type Place } from './lay-out.ts'

export interface Arrangement {
  readonly direction: Direction
  /** How large each box is. */
  readonly box: Size
  readonly places: ReadonlyMap<string, Place>
  readonly canvasHeight: number
  /** How large a map of it is; `null` where all of it is in sight. */
  readonly map: Size | null
  readonly viewport: { readonly x: number; readonly y: number; readonly zoom: number }
}

export interface Size {
  readonly width: number
  readonly height: number
}

/** Narrower on a phone, where three have to stand beside each other. */
const boxSizes = { phone: { width: 168, height: 58 }, desk: { width: 188, height: 58 } }

const margins = { phone: 12, desk: 28 }
/** Below the drawing, for the buttons. */
const footer = 32
const phone = 640
const lowest = 240
/** Below this nobody can read a name. A phone is held closer, and what is cut off at its side is hard to find. */
const leastZoom = { phone: 0.48, desk: 0.75 }
/** At most, and at least so that there is something to point at. */
const mapSize = { height: 96, least: 28 }
/** Both ways are tried only where that costs nothing that anybody would notice. */
const tryBothUpTo = 150

export function arrange(view: GraphView, width: number): Arrangement {
  const box = width < phone ? boxSizes.phone : boxSizes.desk
  const shapes = view.nodes.map(({ id }) => ({ id, ...box }))
  const wanted: readonly Direction[] = width < phone ? ['TB'] : shapes.length > tryBothUpTo ? ['LR'] : ['LR', 'TB']
  const tries = wanted.map(direction => fit({ places: layOut(shapes, view.edges, direction), direction, box }, width))
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

function fit(laidOut: Pick<Arrangement, 'places' | 'direction' | 'box'>, width: number): Fit {
  const onPhone = width < phone
  // On a phone there must be room beside the drawing to scroll the page by.
  const tallest = onPhone ? 480 : 820
  const margin = onPhone ? margins.phone : margins.desk
  const size = extentOf(laidOut)
  const across = Math.min(1, (width - 2 * margin) / size.width)
  const down = Math.min(1, (tallest - 2 * margin - footer) / size.height)
  const zoom = Math.min(Math.max(onPhone ? leastZoom.phone : leastZoom.desk, across), Math.max(leastZoom.desk, down))
  const canvasHeight = Math.round(Math.max(lowest, Math.min(tallest, size.height * zoom + 2 * margin + footer)))
  const room = width - size.width * zoom
  const inSight = room >= 0 && size.height * zoom + footer <= canvasHeight
  const start = laidOut.direction === 'LR' ? margin : width / 2 - (centerOfStart(laidOut) - size.left) * zoom
  // What does not fit begins at its start, and leaves no room empty on one side while it is cut off on the other.
  const x = room >= 2 * margin ? room / 2 : Math.min(margin, Math.max(room - margin, start))
  // The map shows the drawing and what of the frame lies beside it.
  const shown = {
    width: Math.max(size.width + margin / zoom, width / zoom),
    height: Math.max(size.height + margin / zoom, canvasHeight / zoom),
  }
  const y = Math.max(margin, (canvasHeight - footer - size.height * zoom) / 2)
  return {
    fits: Math.min(across, down),
    arrangement: {
      ...laidOut,
      canvasHeight,
      map: inSight ? null : mapOf(shown, width - 2 * margin),
      viewport: { x: x - size.left * zoom, y: y - size.top * zoom, zoom },
    },
  }
}

/** In the proportions of the drawing, so that a long one has a long map. */
function mapOf(size: Size, most: number): Size {
  const scale = Math.min(most / size.width, mapSize.height / size.height)
  return {
    width: Math.round(Math.max(mapSize.least, size.width * scale)),
    height: Math.round(Math.max(mapSize.least, size.height * scale)),
  }
}

/** Where the first box stands, so that a broad graph begins with it in the middle. */
function centerOfStart({ places, box }: Pick<Arrangement, 'places' | 'box'>): number {
  const [first] = places.values()
  return (first?.x ?? 0) + box.width / 2
}

function extentOf({ places, box }: Pick<Arrangement, 'places' | 'box'>) {
  const all = [...places.values()]
  const least = (pick: (place: Place) => number) =>
    all.reduce((least, place) => Math.min(least, pick(place)), Number.POSITIVE_INFINITY)
  const most = (pick: (place: Place) => number) => all.reduce((most, place) => Math.max(most, pick(place)), 0)
  const [left, top] = [least(({ x }) => x), least(({ y }) => y)]
  return {
    left,
    top,
    width: Math.max(1, most(({ x }) => x) + box.width - left),
    height: Math.max(1, most(({ y }) => y) + box.height - top),
  }
}
