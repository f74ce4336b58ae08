/** Text that would be a script in a page: wherever it is stored, it comes back as JSON text, and as nothing else. */
import { expect, it } from 'vitest'
import { type Decision, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient } from './http-world.ts'

export const corpus: readonly string[] = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "';alert(1);//",
  '</title><svg onload=alert(1)>',
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '<!--<script>-->',
  '\u2028alert(1)\u2029',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '&lt;b&gt; &amp; <b>',
]

class Scripted extends Workflow<any, { text: string }> {
  static {
    this.named('<img src=x onerror=alert(1)>')
    this.human('decide')
    this.step('say')
    this.step('throw', { onException: 'dlq' })
  }
  async decide(_: Decision) {}
  async say() {
    return { [this.input.text]: this.input.text }
  }
  async throw() {
    const error = new Error(this.input.text)
    error.name = this.input.text
    throw error
  }
}

forEachDatabase('stored scripts', database => {
  const under = useGeneva(database, { workflows: [Scripted] })

  it.each(corpus)('%s is text in names, inputs, outputs, errors, comments, reasons and tags', async text => {
    const api = new ApiClient(under.geneva, { authorize: () => ({ role: 'admin', by: text }) })
    const started = await api.post('/workflows', {
      type: '<img src=x onerror=alert(1)>',
      input: { text },
      tags: [text],
    })
    const { id } = started.body
    await under.runDue()
    const { body } = await api.get('/approvals')
    const { executionId } = body.items.find((item: { workflowId: string }) => item.workflowId === id)
    await api.post(`/executions/${executionId}/decide`, { decision: 'confirmed', comment: text })
    await under.runDue()
    const letter = (await api.get(`/dead-letters?workflow=${id}`)).body.items[0]
    await api.post(`/dead-letters/${letter.id}/discard`, { reason: text })
    const found = await api.get(`/workflows?tag=${encodeURIComponent(text)}&q=`)
    const answers = {
      detail: await api.get(`/workflows/${id}`),
      history: await api.get(`/workflows/${id}/history`),
      events: await api.get(`/workflows/${id}/events`),
      letter: await api.get(`/dead-letters/${letter.id}`),
      drawing: await api.get(`/workflows/${id}/drawing?format=mermaid`),
      missing: await api.get(`/definitions/${encodeURIComponent(text)}`),
      found,
    }
    for (const { headers } of Object.values(answers)) {
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toContain('sandbox')
    }
    expect(found.body.items.map((item: { id: string }) => item.id)).toEqual([id])
    expect(answers.detail.body).toMatchObject({
      input: { text },
      tags: [text],
      decisions: [{ by: text, comment: text }],
    })
    expect(answers.history.body.items.map((each: { output: unknown }) => each.output)).toContainEqual({ [text]: text })
    expect(answers.letter.body).toMatchObject({ handledBy: text, handledReason: text, error: { message: text } })
  })
})
