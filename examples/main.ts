/** What `npm start` runs: the dashboard with live workflows, or with `--headless` a show in the terminal that ends by itself. */
await (process.argv.includes('--headless') ? import('./headless.ts') : import('./dashboard.ts'))
