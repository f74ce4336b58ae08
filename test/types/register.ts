/** What an application registers: the tests emit and hear these events. */

declare module '../../src/index.ts' {
  interface Register {
    events: {
      'order.shipped': { orderId: number; at?: Date }
      'order.noted': string
      'tests.number': { writer: number; number: number }
    }
  }
}

export {}
