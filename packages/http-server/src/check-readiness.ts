/** A dependency of the service, such as a database. */
export interface HealthCheck {
  name: string
  /** Whether the service is ready even without the dependency. The response contains its status in any case. */
  optional?: boolean
  /** Throws if the dependency is down. */
  check(): Promise<unknown>
}

const checkTimeoutMs = 2_000

export const healthyStatus = { status: 'UP' }

export interface ReadinessResponse {
  status: 200 | 503
  headers: Record<string, string>
  body: object
}

/**
 * Checks all dependencies, each for at most two seconds. Returns status 503 if a required one is down or the service is
 * stopping.
 */
export async function checkReadiness(
  dependencies: readonly HealthCheck[],
  isStopping: () => boolean,
): Promise<ReadinessResponse> {
  const checked = await Promise.all(
    dependencies.map(async ({ name, optional, check }) => ({ name, optional, status: await checkStatus(check) })),
  )
  const isReady = !isStopping() && checked.every(({ optional, status }) => optional || status === 'UP')
  return {
    status: isReady ? 200 : 503,
    headers: isReady ? {} : { 'Retry-After': '5' },
    body: {
      status: isReady ? 'UP' : 'DOWN',
      ...(isStopping() && { stopping: true }),
      parts: Object.fromEntries(checked.map(({ name, status }) => [name, status])),
    },
  }
}

/** Returns DOWN if the check fails or takes longer than the time limit. */
async function checkStatus(check: HealthCheck['check']): Promise<'UP' | 'DOWN'> {
  const timeout = AbortSignal.timeout(checkTimeoutMs)
  const timedOut = new Promise<'DOWN'>((resolve) => timeout.addEventListener('abort', () => resolve('DOWN')))
  return Promise.race([
    check().then(
      () => 'UP' as const,
      () => 'DOWN' as const,
    ),
    timedOut,
  ])
}
