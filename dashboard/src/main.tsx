/** Where the dashboard begins. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/request.ts'
import { App } from './app.tsx'
import './styles/theme.css'
import './styles/layout.css'
import './styles/controls.css'
import './styles/cards.css'
import './styles/tables.css'
import './styles/notices.css'
import './styles/workflow.css'
import './styles/phone.css'
import './styles/graph.css'
import { applyStoredTheme } from './ui/theme.ts'
import { Toasts } from './ui/toasts.tsx'

applyStoredTheme()

/** What was refused stays refused; only a server that did not answer is asked again. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) =>
        failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
})

const root = document.getElementById('root')
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Toasts>
          <App />
        </Toasts>
      </QueryClientProvider>
    </StrictMode>,
  )
}
