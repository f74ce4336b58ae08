/** Payloads as they are stored: JSON, with tags for what JSON does not know. Shown like that, nothing is lost or brought to life. */

/** What a stored text says; a text that is no JSON is shown as it is. */
export function encodedJson(text: string | null): unknown {
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
