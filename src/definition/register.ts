/**
 * What an application says about itself once, for the compiler: `declare module 'geneva-drive' { interface Register { ... } }`.
 */

/** `events`: the events that the application emits, each with the type of its payload. `transaction`: what transactional steps receive. */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it
export interface Register {}

/** The events that were registered; without any, every name with a dot is allowed, and payloads are not typed. */
export type CustomEvents = Register extends { readonly events: infer Events extends object }
  ? Events
  : { readonly [name: `${string}.${string}`]: any }

export type CustomEventName = keyof CustomEvents & string

export type CustomEventPayload<K extends CustomEventName> = CustomEvents[K]
