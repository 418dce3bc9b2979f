import { Router } from 'express'

/** A part that this service works with. */
export interface Part {
  name: string
  /** Reported like the others, but the service is ready without it: some of what it is asked still works. */
  spare?: boolean
  /** Throws when the part is down. */
  check(): Promise<unknown>
}

const limit = 2_000

/** `/health/live`: the process answers. `/health/ready`: every needed part answers within two seconds, or which one does not. */
export function healthRoutes(parts: readonly Part[], isStopping: () => boolean): Router {
  const routes = Router()
  routes.get('/health/live', (_request, response) => {
    response.json({ status: 'UP' })
  })
  routes.get('/health/ready', async (_request, response) => {
    const checked = await Promise.all(
      parts.map(async ({ name, spare, check }) => ({ name, spare, status: await up(check) })),
    )
    const ready = !isStopping() && checked.every(({ spare, status }) => spare || status === 'UP')
    response
      .status(ready ? 200 : 503)
      .set(ready ? {} : { 'Retry-After': '5' })
      .json({
        status: ready ? 'UP' : 'DOWN',
        ...(isStopping() && { stopping: true }),
        parts: Object.fromEntries(checked.map(({ name, status }) => [name, status])),
      })
  })
  return routes
}

async function up(check: Part['check']): Promise<'UP' | 'DOWN'> {
  const timeout = AbortSignal.timeout(limit)
  const late = new Promise<'DOWN'>((resolve) => timeout.addEventListener('abort', () => resolve('DOWN')))
  return Promise.race([
    check().then(
      () => 'UP' as const,
      () => 'DOWN' as const,
    ),
    late,
  ])
}
