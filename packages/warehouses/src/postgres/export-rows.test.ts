import { describe, expect, it } from '@jest/globals'
import { never } from '../../test/row-fixtures.ts'
import { scratchWarehouseForAll } from '../../test/scratch-warehouse.ts'

describe('exportRows of PostgreSQL', () => {
  const scratch = scratchWarehouseForAll()

  async function exportText(text: string, format: 'CSV' | 'NDJSON'): Promise<string> {
    await using opened = await scratch.warehouse.queries.exportRows({ query: { text } }, format, never)
    const chunks: Buffer[] = []
    for await (const chunk of opened.bytes) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString()
  }

  it('writes a json value with line breaks between its tokens as one line of NDJSON', async () => {
    const text = String.raw`select 1 as id, e'{"a":\r\n 1, "b": "x\\ny"}'::json as doc`
    const lines = (await exportText(text, 'NDJSON')).trimEnd().split('\n')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toEqual({ id: 1, doc: { a: 1, b: 'x\ny' } })
  })

  it('passes rows on that are larger than a chunk', async () => {
    const found = await exportText(`select n, repeat('x', 700000) as w from generate_series(1, 3) as g (n)`, 'CSV')
    expect(found).toBe(`n,w\r\n${[1, 2, 3].map((n) => `${n},${'x'.repeat(700_000)}\r\n`).join('')}`)
  })
})
