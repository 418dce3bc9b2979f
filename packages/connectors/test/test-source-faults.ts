import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect } from '@jest/globals'
import type { FixtureHarness } from './connector-harness.ts'
import type { Rule } from './conformance-rules.ts'
import type { ConnectorFixture } from './connector-fixture.ts'
import type { Fault } from './stand-in-server.ts'

type AddRow = (name: Rule, test: () => Promise<void>) => void

/** Records of the large source, and bytes of the name of each: 20 MB. */
const generated = 8_000
const generatedNameLength = 2_500

/** What every source has to do when something is wrong. */
export function testFaults(
  fixture: ConnectorFixture,
  row: AddRow,
  opened: () => FixtureHarness,
  names: () => Promise<unknown[]>,
): void {
  /** What happens to the n-th request for records, from 1, and to those behind it if `on`. */
  const atPage = (open: FixtureHarness, n: number, fault: Fault, { on = false } = {}) => {
    let count = 0
    open.server.fault = (request) => {
      if (!open.isPageRequest(request)) return undefined
      count += 1
      return count === n || (on && count > n) ? fault : undefined
    }
  }

  describe(`${fixture.system}, when something goes wrong`, () => {
    row('breaksOff', async () => {
      const open = opened()
      atPage(open, 1, 'BREAKS_OFF')
      await open.load()
      expect(await names()).toHaveLength(3)
    })

    row('keepsBreaking', async () => {
      const open = opened()
      await open.load()
      open.people.put({ id: 4 })
      atPage(open, 1, 'BREAKS_OFF', { on: true })
      await expect(open.load()).rejects.toMatchObject({ name: 'SourceProblem', code: 'CONNECTION_LOST' })
      expect(await names()).toHaveLength(3)
    })

    row('retryAfter', async () => {
      const open = opened()
      atPage(open, 1, { status: 429, headers: { 'retry-after': '1' }, body: { detail: 'Request was throttled.' } })
      await open.load()
      expect(await names()).toHaveLength(3)
      const [refused, next] = open.pages()
      expect(next!.at - refused!.at).toBeGreaterThanOrEqual(990)
    })

    row('expired', async () => {
      const open = opened()
      await open.load()
      const { authorization = 'none' } = open.pages()[0]!.headers
      const messages = { detail: `expired: ${authorization}, ${Object.values(open.secrets).join()}` }
      open.server.fault = (request) => (open.isPageRequest(request) ? { status: 401, body: messages } : undefined)
      await expect(open.load()).rejects.toMatchObject({
        code: 'AUTHENTICATION_FAILED',
        message: expect.stringMatching(/Check the username and password, or the token/),
      })
      expect(await names()).toHaveLength(3)
    })

    row('fails', async () => {
      const open = opened()
      const body = { detail: `The database is away, ${Object.values(open.secrets).join()}` }
      atPage(open, 1, { status: 503, body }, { on: true })
      await expect(open.load()).rejects.toMatchObject({
        code: 'SOURCE_FAILED',
        message: expect.stringMatching(/503.*The database is away/),
      })
      expect(open.pages()).toHaveLength(4)
    })

    row('signInPage', async () => {
      const open = opened()
      const body = '<!DOCTYPE html><form><input type="password" name="password"></form>'
      atPage(open, 1, { headers: { 'content-type': 'text/html' }, body }, { on: true })
      await expect(open.load()).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    })

    row('redirect', async () => {
      const open = opened()
      atPage(open, 1, { status: 302, headers: { location: 'http://localhost:9/elsewhere' } }, { on: true })
      await expect(open.load()).rejects.toMatchObject({
        code: 'REDIRECTED',
        message: expect.stringContaining('localhost:9'),
      })
    })

    row('cancelled', async () => {
      const open = opened()
      const rest = { status: 429, headers: { 'retry-after': '600' } }
      for (const fault of ['SILENT', rest] as const) {
        atPage(open, 1, fault, { on: true })
        const cancel = new AbortController()
        const before = open.pages().length
        const state = { over: false }
        const loading = open
          .load('FULL', cancel.signal)
          .catch((error: unknown) => error)
          .finally(() => (state.over = true))
        while (open.pages().length === before && !state.over) await new Promise((resolve) => setImmediate(resolve))
        const reason = new Error('cancelled')
        const from = performance.now()
        cancel.abort(reason)
        expect(await loading).toBe(reason)
        expect(performance.now() - from).toBeLessThan(5_000)
      }
    })

    row('large', async () => {
      const open = opened()
      open.people.clear()
      Object.assign(open.people, { generated, generatedNameLength })
      const program = new URL('./measure-read-memory.ts', import.meta.url).pathname
      const asked = JSON.stringify({ ...open.reading(), filesDirectory: open.filesDirectory, module: fixture.module })
      const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, asked])
      const { rows, reachableFirst, reachableMost } = JSON.parse(stdout)
      expect(rows).toBeGreaterThanOrEqual(generated)
      expect(reachableMost - reachableFirst).toBeLessThan((generated * generatedNameLength) / 4)
    })

    row('secrets', async () => {
      const { messages, secrets } = opened()
      expect(messages.length).toBeGreaterThan(5)
      for (const value of Object.values(secrets)) {
        const spellings = [value, encodeURIComponent(value), Buffer.from(value).toString('base64').replace(/=+$/, '')]
        for (const spelling of spellings) expect(messages.join('\n')).not.toContain(spelling)
      }
    })
  })
}
