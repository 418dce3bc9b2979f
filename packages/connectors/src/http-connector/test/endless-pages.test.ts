import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import type { HttpSession } from '../http-session.ts'
import { functionSystem } from '../../function/function-call.ts'
import { listFunctions } from '../../function/aws-lambda.ts'
import { searchResources } from '../../fhir/search-resources.ts'
import { parseView } from '../../fhir/view-definition.ts'
import { createViewStream } from '../../fhir/view-stream.ts'
import { kobotoolbox } from '../../kobotoolbox/kobotoolbox.ts'
import type { ReadReporter } from '@sluice/row-stream'
import type { SystemContext, RecordPage, RecordStream, HttpSystem } from '../http-system.ts'
import { createHttpConnector } from '../http-connector.ts'

const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-endless-'))
afterAll(() => rmSync(filesDirectory, { recursive: true, force: true }))
const { signal } = new AbortController()

const endless = {
  name: 'SourceProblem',
  code: 'OTHER_PROTOCOL',
  message: expect.stringContaining('more than 1000 consecutive pages without a new record'),
}

/** A system with endless pages, and the number of requests to it. */
function answering(answer: (asked: number) => unknown) {
  const asked = { times: 0 }
  const json = async () => {
    asked.times += 1
    // Whatever is not bounded is to fail here and not to run for ever.
    if (asked.times > 3_000) throw new Error('asked without an end')
    return answer(asked.times)
  }
  const http: Partial<HttpSession> = {
    getJson: json,
    getResponse: async () => ({ json: await json(), headers: new Headers() }),
    startedAt: () => 0,
    resolveLink: (link) => link,
    redactText: (text) => text,
  }
  return { http: http as HttpSession, asked }
}

const silentReport: ReadReporter = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

/** Reads all of it, as a worker does. */
async function read(streams: () => Promise<RecordStream | RecordStream[]>): Promise<number> {
  const system: HttpSystem = {
    name: 'the example',
    connect: () => ({ url: 'https://example.org' }),
    testConnection: async () => {},
    openStreams: streams,
  }
  const source = createHttpConnector(async () => system, { filesDirectory, allowed: outgoingAllowed().fallback! })
  const reading = { type: 'X', settings: {}, secrets: {}, input: {}, table: 'target' }
  let rowStreams = 0
  for await (const _feed of source.read(reading, silentReport, signal)) rowStreams += 1
  return rowStreams
}

async function drain(pages: AsyncIterable<RecordPage>): Promise<number> {
  let found = 0
  for await (const { records } of pages) found += records.length
  return found
}

const pagesOf = (count: number, recordsAt: (page: number) => unknown[]): RecordStream => ({
  name: 'people',
  key: ['id'],
  async *readPages() {
    for (let page = 0; page < count; page += 1) yield { records: recordsAt(page) }
  },
})

describe('endless paging', () => {
  it.each<[string, () => unknown[]]>([
    ['if all are empty', () => []],
    ['if all are the same', () => [{ id: 1 }]],
  ])('ends the read after a thousand pages, %s', async (_what, records) => {
    await expect(read(async () => pagesOf(3_000, records))).rejects.toMatchObject({
      ...endless,
      message: expect.stringMatching(/^The example returned/),
    })
  })

  it('is not detected if some pages have new or rejected records', async () => {
    expect(await read(async () => pagesOf(3_000, (page) => (page % 900 === 0 ? [{ id: page }] : [])))).toBe(1)
    expect(await read(async () => pagesOf(1_200, () => ['no object']))).toBe(1)
  })

  it('ends the calls of a function that always returns a new token', async () => {
    const { http, asked } = answering((times) => ({ rows: [], nextToken: times }))
    const settings = { type: 'FUNCTION', functionSource: { url: 'https://example.org/rows' } }
    const streams = () =>
      functionSystem.openStreams({ http, settings, secrets: {}, signal, log: () => {} } as SystemContext as never)
    await expect(read(streams)).rejects.toMatchObject(endless)
    expect(asked.times).toBe(1_001)
  })

  it('ends a FHIR search', async () => {
    const link = (times: number) => [{ relation: 'next', url: `https://example.org/x?page=${times}` }]
    const empty = answering((times) => ({ resourceType: 'Bundle', link: link(times) }))
    await expect(
      drain(searchResources(empty.http, { name: 'FHIR', type: 'Patient', path: 'Patient' })),
    ).rejects.toMatchObject(endless)
    const entry = [{ resource: { resourceType: 'Patient', id: '1' } }]
    const same = answering((times) => ({ resourceType: 'Bundle', entry, link: link(times) }))
    const view = parseView({ name: 'v', resource: 'Patient', select: [{ column: [{ name: 'id', path: 'id' }] }] })
    const pages = createViewStream(view, () =>
      searchResources(same.http, { name: 'FHIR', type: 'Patient', path: 'Patient' }),
    ).readPages
    await expect(drain(pages(undefined))).rejects.toMatchObject(endless)
  })

  it('ends the lists of AWS Lambda functions and KoboToolbox surveys', async () => {
    const functions = answering((times) => ({ Functions: [], NextMarker: String(times) }))
    await expect(listFunctions(functions.http)).rejects.toMatchObject(endless)
    const surveys = answering((times) => ({ results: [], next: `?start=${times}` }))
    await expect(
      kobotoolbox.listOptions!('surveys', { http: surveys.http } as SystemContext as never),
    ).rejects.toMatchObject(endless)
  })

  it('is limited to 20,000 functions in the list of AWS Lambda functions', async () => {
    const Functions = Array.from({ length: 50 }, (_, at) => ({ FunctionName: `f${at}`, FunctionArn: `arn:${at}` }))
    const { http, asked } = answering((times) => ({ Functions, NextMarker: String(times) }))
    expect(await listFunctions(http)).toHaveLength(20_000)
    expect(asked.times).toBe(400)
  })
})
