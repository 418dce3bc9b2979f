/** A part that this service works with. */
export interface Part {
  name: string
  /** Reported like the others, but the service is ready without it: some of what it is asked still works. */
  spare?: boolean
  /** Throws when the part is down. */
  check(): Promise<unknown>
}

const checkTimeoutMs = 2_000

/** What is said of a process that answers at all. */
export const alive = { status: 'UP' }

export interface ReadinessResponse {
  status: 200 | 503
  headers: Record<string, string>
  body: object
}

/** Whether every needed part answers within two seconds, and which one does not. */
export async function readiness(parts: readonly Part[], isStopping: () => boolean): Promise<ReadinessResponse> {
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

async function checkStatus(check: Part['check']): Promise<'UP' | 'DOWN'> {
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
