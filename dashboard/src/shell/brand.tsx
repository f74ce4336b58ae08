/** The mark: the cross of a Geneva drive, which moves one step at a time. */
export function Brand() {
  return (
    <a className="brand" href="#/" aria-label="Geneva Drive, overview">
      <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="7" />
        <path d="M16 5a3 3 0 0 1 3 3v5h5a3 3 0 0 1 0 6h-5v5a3 3 0 0 1-6 0v-5H8a3 3 0 0 1 0-6h5V8a3 3 0 0 1 3-3z" />
        <circle cx="16" cy="16" r="2.4" />
      </svg>
      <span>Geneva Drive</span>
    </a>
  )
}
