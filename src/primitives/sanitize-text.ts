/**
 * Makes any value into text that every database can hold: no NUL, no half characters, no more bytes than the column
 * takes. For messages and names that people read; data goes through the codec, which loses nothing.
 */

const marker = ' … (truncated)'
const markerBytes = Buffer.byteLength(marker)

/**
 * Returns well-formed text of at most `maxBytes` UTF-8 bytes and never throws, whatever comes in. Text that was cut
 * ends with ` … (truncated)`, unless the limit is too small even for that.
 */
export function sanitizeText(text: unknown, maxBytes: number): string {
  const limit = maxBytes > 0 ? Math.floor(maxBytes) : 0
  // Each code unit takes at least one byte, so what comes after `limit + 1` of them can only be cut off.
  const start = printed(text)
    .replaceAll('\0', '')
    .slice(0, limit + 1)
  const clean = start.replace(/\p{Cs}/gu, '\uFFFD')
  if (Buffer.byteLength(clean) <= limit) return clean
  if (limit < markerBytes) return cut(clean, limit)
  return cut(clean, limit - markerBytes) + marker
}

function printed(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '(unprintable)'
  }
}

/** Keeps whole characters only: steps back while the first byte left out continues a character. */
function cut(text: string, bytes: number): string {
  const utf8 = Buffer.from(text)
  let end = bytes
  while (((utf8[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return utf8.toString('utf8', 0, end)
}
