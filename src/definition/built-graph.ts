/** A graph that was built and checked, before it is started. It knows neither a database nor the time. */
import type { Form } from './define-form.ts'
import {
  type FrozenGraph,
  type FrozenNodes,
  type FrozenTemplate,
  frozenGraphVersion,
  signatureOfNodes,
} from './frozen-graph.ts'
import type { Job } from './job.ts'

export interface BuiltParts {
  readonly nodes: FrozenNodes
  /** The jobs of the nodes, and those that undo them, by name. */
  readonly jobs: ReadonlyMap<string, Job>
  /** The forms of the nodes, by name. */
  readonly forms: ReadonlyMap<string, Form>
  /** The nodes as JSON. */
  readonly text: string
  /** How large that is, with the arguments of the template. */
  readonly bytes: number
  readonly template?: FrozenTemplate
}

/** Immutable. Started twice it makes two workflows, whose nodes have the same ids. */
export class BuiltGraph {
  readonly nodes: FrozenNodes
  readonly jobs: ReadonlyMap<string, Job>
  readonly forms: ReadonlyMap<string, Form>
  readonly bytes: number
  readonly template: FrozenTemplate | null
  readonly signature: string
  /** How many nodes it has. */
  readonly size: number
  /** The nodes as JSON: they are written out once, however large they are. */
  readonly #text: string

  constructor({ nodes, jobs, forms, text, bytes, template }: BuiltParts) {
    this.nodes = nodes
    this.jobs = jobs
    this.forms = forms
    this.bytes = bytes
    this.#text = text
    this.template = template ?? null
    this.signature = signatureOfNodes(nodes)
    this.size = Object.keys(nodes).length
    Object.freeze(this)
  }

  /** The form in which it is stored and exported. */
  freeze(frozenAt: string): FrozenGraph {
    const { signature, template, nodes } = this
    return { version: frozenGraphVersion, signature, frozen_at: frozenAt, ...(template && { template }), nodes }
  }

  /** The same as JSON. */
  freezeToText(frozenAt: string): string {
    const { nodes: _, ...head } = this.freeze(frozenAt)
    return `${JSON.stringify(head).slice(0, -1)},"nodes":${this.#text}}`
  }

  /** The same graph, with the template that it comes from. `bytes`: how large it is then. */
  expandedFrom(template: FrozenTemplate, bytes: number): BuiltGraph {
    const { nodes, jobs, forms } = this
    return new BuiltGraph({ nodes, jobs, forms, text: this.#text, bytes, template })
  }

  /** The same without a time, since it has not been frozen yet. */
  toJSON(): Omit<FrozenGraph, 'frozen_at'> {
    const { frozen_at: _, ...rest } = this.freeze('')
    return rest
  }
}
