/** For an address that leads nowhere. */
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'

export function NotFoundPage() {
  return (
    <Page title="No such page">
      <Empty title="There is nothing at this address.">
        Go to the <a href="#/">overview</a>, or search for a workflow.
      </Empty>
    </Page>
  )
}
