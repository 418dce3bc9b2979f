import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

/**
 * A program: the ClickHouse that comes as a library, behind the part of ClickHouse's HTTP interface that a warehouse uses. Called with
 * the folder that the library was installed in; says its port in a line. It has no users, and does one thing at a time.
 */
const [folder = '.', data = mkdtempSync(join(tmpdir(), 'sluice-clickhouse-'))] = process.argv.slice(2)

interface Session {
  query(sql: string, format?: string): string
  cleanup(): void
}
const { Session } = createRequire(join(folder, 'package.json'))('chdb') as { Session: new (path: string) => Session }
const session = new Session(data)
const bodies = mkdtempSync(join(tmpdir(), 'sluice-bodies-'))
let counted = 0

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** What the interface takes besides settings. */
const own = new Set(['query', 'database', 'query_id', 'wait_end_of_query', 'buffer_size'])

async function answer(request: IncomingMessage): Promise<string> {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const body = await buffer(request)
  if (!request.complete) throw new Error('Code: 210. DB::Exception: the body broke off')
  const given = searchParams.get('query')
  let sql = given ?? body.toString()
  // It has no users, so whoever is made here may do nothing less than others; and nothing is running that could be ended.
  if (/^\s*(kill query|(create|alter|drop) user|grant)\b/i.test(sql)) return ''
  let file: string | undefined
  if (given !== null) {
    file = join(bodies, `${(counted += 1)}`)
    writeFileSync(file, body)
    sql = given.replace(/ format RowBinary$/, ` from infile ${quoted(file)} format RowBinary`)
  }
  const settings = [...searchParams].filter(([name]) => !own.has(name) && name !== 'readonly')
  const undo = settings.filter(([name]) => !name.startsWith('param_')).map(([name]) => `${name} = default`)
  const readonly = searchParams.get('readonly')
  try {
    session.query(`use \`${(searchParams.get('database') ?? 'default').replaceAll('`', '\\`')}\``)
    if (settings.length > 0)
      session.query(`set ${settings.map(([name, value]) => `${name} = ${quoted(value)}`).join(', ')}`)
    // It could not be taken back: so what it forbids is refused here.
    if (readonly && /^\s*(create|drop|alter|insert|truncate|rename|exchange)\b/i.test(sql))
      throw new Error('Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)')
    return session.query(sql, 'TabSeparated')
  } finally {
    if (undo.length > 0) session.query(`set ${undo.join(', ')}`)
    if (file) rmSync(file, { force: true })
  }
}

const server = createServer((request, response) => {
  answer(request).then(
    (text) => response.end(text),
    (error: unknown) => {
      const message = (error instanceof Error ? error.message : String(error)).replace(/^Query failed: /, '')
      const [, code = '0'] = /Code: (\d+)/.exec(message) ?? []
      response.statusCode = 500
      response.setHeader('x-clickhouse-exception-code', code)
      response.end(message)
    },
  )
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('disconnect', () => process.exit())
process.on('SIGTERM', () => process.exit())
process.on('exit', () => {
  rmSync(bodies, { recursive: true, force: true })
  if (process.argv.length < 4) rmSync(data, { recursive: true, force: true })
})
