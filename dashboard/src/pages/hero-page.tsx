/** Everything that ever happened to one record: its workflows and their events. */
import { useHero } from '../api/queries.ts'
import { href } from '../routing/route.ts'
import { Answer } from '../ui/answer.tsx'
import { Card } from '../ui/card.tsx'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { EventList } from './event-list.tsx'
import { workflowColumns } from './workflow-columns.tsx'

export function HeroPage({ type, id }: { readonly type: string; readonly id: string }) {
  const hero = useHero(type, id)
  const columns = workflowColumns.filter(({ name }) => name !== 'Hero')
  return (
    <Page title={`${type} ${id}`} lead="Everything that ever happened to this record.">
      <Answer query={hero} what="the hero">
        {({ workflows, events }) =>
          workflows.length === 0 ? (
            <Empty title={`No workflow has ever been about ${type} ${id}.`}>
              The id may be written differently. <a href={href('workflows')}>Look through the workflows.</a>
            </Empty>
          ) : (
            <>
              <Card title="Workflows">
                <Table
                  label={`Workflows of ${type} ${id}`}
                  columns={columns}
                  rows={workflows}
                  keyOf={workflow => workflow.id}
                  open={workflow => href('workflows', workflow.id)}
                />
              </Card>
              <Card title="Events">
                <EventList events={events} withWorkflow />
              </Card>
            </>
          )
        }
      </Answer>
    </Page>
  )
}
