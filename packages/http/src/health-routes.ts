import { Router } from 'express'
import { alive, type Part, readiness } from './health.ts'

/** `/health/live`: the process answers. `/health/ready`: every needed part answers within two seconds, or which one does not. */
export function healthRoutes(parts: readonly Part[], isStopping: () => boolean): Router {
  const routes = Router()
  routes.get('/health/live', (_request, response) => {
    response.json(alive)
  })
  routes.get('/health/ready', async (_request, response) => {
    const { status, headers, body } = await readiness(parts, isStopping)
    response.status(status).set(headers).json(body)
  })
  return routes
}
