import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { makeWorkbook } from './make-workbook.ts'
import { defaultUploadLimits } from '../../spool/upload-limits.ts'
import { previewUpload } from '../../preview/preview-upload.ts'
import { readUpload } from '../read-upload.ts'
import type { ReadReporter } from '@sluice/row-stream'

const folder = mkdtempSync(join(tmpdir(), 'sluice-read-upload-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const never = new AbortController().signal
const limits = { ...defaultUploadLimits, keptRejects: 10 }

function upload(name: string, bytes: Uint8Array | string) {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return { path, name, filesDirectory: folder, limits }
}

/** Reads an upload to its end, as a load does; answers what was reported until then, or until it failed. */
async function read(file: ReturnType<typeof upload>) {
  const heard = { rejected: [] as number[], more: 0, chunks: 0, said: [] as string[], failure: undefined as unknown }
  const report: ReadReporter = {
    progress: () => {},
    reject: ({ line }) => void heard.rejected.push(line),
    rejectMore: (count) => void (heard.more += count),
    startOver: async () => {},
    log: (_level, _importance, message) => void heard.said.push(message),
  }
  try {
    for await (const { columns, content } of readUpload(file, {}, report, never)) {
      for await (const chunk of content.rows(columns)) {
        heard.chunks++
        chunk.release?.()
      }
    }
  } catch (error) {
    heard.failure = error
  }
  return heard
}

const good = (count: number) => Array.from({ length: count }, (_, index) => `{"id":${index}}`)
const bad = (count: number) => Array.from({ length: count }, () => 'broken')
const first = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe('reading an upload that is not delimited text', () => {
  it('logs no encoding and no delimiter', async () => {
    const { said } = await read(upload('some.ndjson', good(3).join('\n')))
    expect(said).toContain('Read some.ndjson, 1 column: id SMALLINT')
  })
})

describe('reading an upload with invalid rows', () => {
  it('reports the first invalid rows and counts the others', async () => {
    const heard = await read(upload('few.ndjson', [...good(1), ...bad(30), ...good(4000)].join('\n')))
    expect(heard).toMatchObject({ rejected: first(10).map((line) => line + 1), more: 20, failure: undefined })
    expect(heard.chunks).toBeGreaterThan(0)
  })

  it('reports invalid rows, and fails before loading if there are too many', async () => {
    const heard = await read(upload('many.ndjson', [...good(100), ...bad(2)].join('\n')))
    expect(heard).toMatchObject({ rejected: [101, 102], more: 0, chunks: 0 })
    expect(heard.failure).toMatchObject({
      name: 'SourceProblem',
      code: 'TOO_MANY_REJECTED_ROWS',
      message: expect.stringMatching(
        /^2 of 102 rows do not fit, and at most 1 % may be rejected\. .*The first is in line 101: is not a JSON object\./,
      ),
    })
    expect(await read(upload('worse.ndjson', [...good(1), ...bad(500)].join('\n')))).toMatchObject({
      more: 490,
      failure: { code: 'TOO_MANY_REJECTED_ROWS', message: expect.stringMatching(/^500 of 501 rows/) },
    })
  })

  it('accepts a small file if one row is valid', async () => {
    const heard = await read(upload('small.ndjson', [...good(1), ...bad(50)].join('\n')))
    expect(heard).toMatchObject({ more: 40, failure: undefined })
  })

  it('fails if too many rows of an Excel sheet are invalid', async () => {
    const rows = '<row><c><v>1</v></c></row>'.repeat(150)
    const long = `<row><c t="inlineStr"><is><t>${'x'.repeat(200)}</t></is></c></row>`.repeat(20)
    const file = upload('long.xlsx', makeWorkbook({ sheets: { One: rows + long } }))
    const heard = await read({ ...file, limits: { ...limits, recordBytes: 100 } })
    expect(heard).toMatchObject({ chunks: 0, more: 10, failure: { code: 'TOO_MANY_REJECTED_ROWS' } })
    expect(heard.failure).toMatchObject({ message: expect.stringMatching(/^20 of 170 rows/) })
  })
})

describe('a preview of an upload', () => {
  it('shows at most 100 invalid rows', async () => {
    const file = upload('shown.ndjson', [...good(5), ...bad(20_000)].join('\n'))
    const { rejected, rows } = await previewUpload({ ...file, limits: defaultUploadLimits }, {}, 5, never)
    expect(rows).toHaveLength(5)
    expect(rejected.map(({ line }) => line)).toEqual(first(100).map((line) => line + 5))
  })

  it.each([
    [6_000, 0, 'Of the first 5,000 rows, 5,000 do not fit, so a run would probably fail. The first is in line 2: '],
    [6_000, 1_000, undefined],
    [4_000, 0, undefined],
  ])('of %i rows warns only if a run would probably fail, with %i valid rows', async (rows, fit, said) => {
    const lines = Array.from({ length: rows }, (_, row) => `${row},${row < fit ? row : 'x'}`)
    const file = upload('wrong.csv', ['id,n', ...lines].join('\n'))
    const options = { columns: [{ label: 'n', dataType: 'INTEGER' as const }] }
    const preview = await previewUpload({ ...file, limits: defaultUploadLimits }, options, 1, never)
    expect(preview.likelyRejected?.slice(0, said?.length)).toBe(said)
  })
})
