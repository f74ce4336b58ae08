/** Text of any length and content, as it is. It scrolls, so it can be reached by keyboard and has a name. */
export function ScrollText({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="scroll-text" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  )
}
