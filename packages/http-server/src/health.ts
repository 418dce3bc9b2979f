/** A dependency of the service, such as a database. */
export interface HealthCheck {
  name: string
  /** The service is ready without it; its status is still reported. */
  spare?: boolean
  /** Throws if the dependency is down. */
  check(): Promise<unknown>
}

const checkTimeoutMs = 2_000

/** The body of the liveness response. */
export const alive = { status: 'UP' }

export interface ReadinessResponse {
  status: 200 | 503
  headers: Record<string, string>
  body: object
}

/** Checks every dependency with a timeout of two seconds. Returns 503 if a required one is down or the service is stopping. */
export async function readiness(parts: readonly HealthCheck[], isStopping: () => boolean): Promise<ReadinessResponse> {
  const checked = await Promise.all(
    parts.map(async ({ name, spare, check }) => ({ name, spare, status: await checkStatus(check) })),
  )
  const ready = !isStopping() && checked.every(({ spare, status }) => spare || status === 'UP')
  return {
    status: ready ? 200 : 503,
    headers: ready ? {} : { 'Retry-After': '5' },
    body: {
      status: ready ? 'UP' : 'DOWN',
      ...(isStopping() && { stopping: true }),
      parts: Object.fromEntries(checked.map(({ name, status }) => [name, status])),
    },
  }
}

async function checkStatus(check: HealthCheck['check']): Promise<'UP' | 'DOWN'> {
  const timeout = AbortSignal.timeout(checkTimeoutMs)
  const late = new Promise<'DOWN'>((resolve) => timeout.addEventListener('abort', () => resolve('DOWN')))
  return Promise.race([
    check().then(
      () => 'UP' as const,
      () => 'DOWN' as const,
    ),
    late,
  ])
}
