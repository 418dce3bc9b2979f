import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { Transform } from 'node:stream'
import { parse } from 'csv-parse'
import pg from 'pg'
import { from } from 'pg-copy-streams'

/**
 * Loads a file as most Node programs do: csv-parse returns an array for each record, which is written as a line of COPY
 * text.
 */
const [file = ''] = process.argv.slice(2)
const client = new pg.Client({ connectionString: process.env['URL'] })
await client.connect()

const special: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
const cell = (text: string): string => (text === '' ? '\\N' : text.replaceAll(/[\\\t\n\r]/g, (each) => special[each]!))
let lines = ''
const encode = new Transform({
  writableObjectMode: true,
  transform(record: string[], _encoding, done) {
    lines += `${record.map(cell).join('\t')}\n`
    if (lines.length < 65_536) return done()
    const chunk = lines
    lines = ''
    done(null, chunk)
  },
  flush: (done) => done(null, lines),
})
await pipeline(createReadStream(file), parse({ from_line: 2 }), encode, client.query(from('copy t from stdin')))
await client.end()
