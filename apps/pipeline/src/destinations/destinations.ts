import { ssrfSafeFetch, type OutgoingAllowList } from '@sluice/http-client'
import { causeOf } from '@sluice/process'
import type { QueryRows } from '@sluice/warehouses/warehouse'
import { DestinationProblem } from './destination-problem.ts'
import { type Dhis2Api, createDhis2Client } from './dhis2/dhis2-client.ts'
import { type Choice, searchOptions, canImportValues, readSystem } from './dhis2/read-metadata.ts'
import { pushValues } from './dhis2/push-values.ts'
import type { PushResult, PushReport } from './push-report.ts'
import { baseUrl, type ImportOptions, type Target } from './push-target.ts'

export interface TargetTestResult {
  status: 'OK' | 'WARNING' | 'ERROR'
  code: string
  message: string
  /** The network error, without secrets, for operators. */
  cause?: string
  /** The version of the server, and the user that it authenticated. */
  version?: string
  username?: string
}

/** Access to target systems, to which Sluice pushes the rows of views. DHIS2 is the only kind. */
export interface Destinations {
  /** Tests whether a target responds and accepts the credentials. Returns problems; does not throw them. */
  test(target: Target, signal: AbortSignal): Promise<TargetTestResult>
  /**
   * Lists the choices for a setting, such as data sets. Returns undefined for an unknown kind of choice. Throws
   * `DestinationProblem`.
   */
  lookup(
    kind: string,
    target: Target,
    query: { query: string; limit: number },
    signal: AbortSignal,
  ): Promise<Choice[] | undefined>
  /** Sends the rows of a view. Throws a `DestinationProblem`, the error of a failed page, or the signal's reason. */
  push(push: PushRequest, report: PushReport, signal: AbortSignal): Promise<PushResult>
  close(): Promise<void>
}

export interface PushRequest {
  target: Target
  options: ImportOptions
  columns: QueryRows['columns']
  pages: AsyncIterable<QueryRows>
}

interface DestinationOptions {
  /** Internal addresses that the operator allows as targets. */
  allowed: OutgoingAllowList
  /** Timeouts of one request in milliseconds: for lookups and for imports. */
  lookupTimeoutMs?: number
  importTimeoutMs?: number
}

/**
 * The maximum size of a response in bytes. Responses to imports are larger, because a summary can contain a conflict
 * for each of 10,000 values.
 */
const maxLookupBytes = 8_000_000
const maxImportBytes = 64_000_000

/** Creates the access to target systems. Opens no connection before the first request. */
export function openDestinations({
  allowed,
  lookupTimeoutMs = 25_000,
  importTimeoutMs = 300_000,
}: DestinationOptions): Destinations {
  const lookupHttp = ssrfSafeFetch({ allowed, timeLimitMs: lookupTimeoutMs, maxBytes: maxLookupBytes })
  const importHttp = ssrfSafeFetch({ allowed, timeLimitMs: importTimeoutMs, maxBytes: maxImportBytes })

  return {
    async test(target, signal) {
      try {
        return await testTarget(createDhis2Client(lookupHttp, target), target, signal)
      } catch (error) {
        if (!(error instanceof DestinationProblem)) throw error
        const { code, message } = error
        const secrets = [target.password, target.authToken].filter((secret) => secret !== undefined)
        return { status: 'ERROR', code, message, ...causeOf(error, secrets) }
      }
    },
    lookup: async (kind, target, query, signal) =>
      searchOptions(createDhis2Client(lookupHttp, target), kind, query, signal),
    push({ target, ...view }, report, signal) {
      const lookupClient = createDhis2Client(lookupHttp, target)
      const importClient = createDhis2Client(importHttp, target)
      const dhis2: Dhis2Api = {
        redact: lookupClient.redact,
        // The list of all data sets with their data elements is large, so it uses the limits of imports.
        get: (path, ...args) => (path === 'dataSets' ? importClient : lookupClient).get(path, ...args),
        post: importClient.post,
      }
      return pushValues({ dhis2, ...view, report, signal })
    },
    async close() {
      await Promise.all([lookupHttp.close(), importHttp.close()])
    },
  }
}

async function testTarget(dhis2: Dhis2Api, target: Target, signal: AbortSignal): Promise<TargetTestResult> {
  const system = await readSystem(dhis2, signal)
  const { version, username } = system
  const answers = `DHIS2 ${version} answers at ${new URL(baseUrl(target.url)).host} and accepts the user "${username}".`
  if (canImportValues(system)) return { status: 'OK', code: 'OK', message: answers, version, username }
  const message = `${answers} But the user lacks the authority to import data values. Grant F_DATAVALUE_ADD in DHIS2.`
  return { status: 'WARNING', code: 'PERMISSION_DENIED', message, version, username }
}
