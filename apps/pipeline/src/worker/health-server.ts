import type { ServerResponse } from 'node:http'
import { healthyStatus, type HealthCheck, checkReadiness } from '@sluice/http-server/check-readiness'
import { listen, type ListeningServer } from '@sluice/http-server/listen'
import type { Registry } from '@sluice/process'

interface ProbeOptions {
  port: number
  host: string
  registry: Registry
  checks: readonly HealthCheck[]
  isStopping(): boolean
}

interface ProbeResponse {
  status?: number
  headers?: Record<string, string>
  type: string
  body: string
}

/** Serves /health/live, /health/ready and /metrics for an orchestrator and for Prometheus. */
export async function listenForProbes({
  port,
  host,
  registry,
  checks,
  isStopping,
}: ProbeOptions): Promise<ListeningServer> {
  const routes: Readonly<Record<string, () => Promise<ProbeResponse>>> = {
    '/health/live': async () => jsonProbeResponse(healthyStatus),
    async '/health/ready'() {
      const { body, ...readiness } = await checkReadiness(checks, isStopping)
      return { ...readiness, ...jsonProbeResponse(body) }
    },
    '/metrics': async () => ({ type: registry.contentType, body: await registry.metrics() }),
  }
  // Use no web framework: three paths are not worth the memory that it needs in each worker.
  return listen(
    ({ method, url = '' }, response) => {
      const [path = ''] = url.split('?')
      const route = (method === 'GET' || method === 'HEAD') && Object.hasOwn(routes, path) && routes[path]
      if (!route) {
        sendProbeResponse(response, { status: 404, type: 'text/plain', body: 'Not found.\n' })
        return
      }
      route().then(
        (result) => sendProbeResponse(response, result),
        () =>
          sendProbeResponse(response, {
            status: 500,
            type: 'text/plain',
            body: 'Internal error. See the log of the worker.\n',
          }),
      )
    },
    { port, host },
  )
}

const jsonProbeResponse = (body: object): ProbeResponse => ({
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

function sendProbeResponse(response: ServerResponse, { status = 200, headers, type, body }: ProbeResponse): void {
  response.writeHead(status, { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body)
}
