import { healthRoutes, type Part } from '@sluice/http/health'
import { listen, type Listening } from '@sluice/http/listen'
import type { Registry } from '@sluice/process'
import express from 'express'

interface Probes {
  port: number
  host: string
  registry: Registry
  parts: readonly Part[]
  isStopping(): boolean
}

/** What an orchestrator and Prometheus ask a worker: /health/live, /health/ready, /metrics. Nothing else answers. */
export async function listenForProbes({ port, host, registry, parts, isStopping }: Probes): Promise<Listening> {
  const app = express()
  app.disable('x-powered-by')
  app.use(healthRoutes(parts, isStopping))
  app.get('/metrics', async (_request, response) => {
    response.type(registry.contentType).send(await registry.metrics())
  })
  return listen(app, { port, host })
}
