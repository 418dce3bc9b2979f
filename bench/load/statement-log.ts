import { open, stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { withConnection } from './database.ts'

/** The application names of a worker's connections that runs use, except the one that fetches runs from the queue. */
const runApplications = new Set(['pipeline worker', 'sluice', 'sluice copy'])
/** A part of the statement that completes the job of a run in the queue. */
const completion = 'set completed_on = '

/** Lets the server log all statements while a run is executed. Returns the statements of the run, one line each. */
export async function logStatements(superuserUrl: string, log: string, work: () => Promise<void>): Promise<string[]> {
  await configure(superuserUrl, [
    `alter system set log_line_prefix = '%m|%a|'`,
    `alter system set log_statement = 'all'`,
  ])
  const { size: start } = await stat(log)
  try {
    await work()
  } finally {
    await configure(superuserUrl, ['alter system reset log_statement', 'alter system reset log_line_prefix'])
  }
  return parseStatements(await readFrom(log, start))
}

async function configure(url: string, statements: readonly string[]): Promise<void> {
  await withConnection(url, async (client) => {
    for (const statement of statements) await client.query(statement)
    await client.query('select pg_reload_conf()')
  })
  // Sessions read the settings before their next statement, once the server has notified them.
  await pause(500)
}

async function readFrom(file: string, position: number): Promise<string> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const { buffer } = await handle.read(Buffer.alloc(size - position), 0, size - position, position)
  return buffer.toString()
}

/** The first `begin` starts the claim. Later lines of a statement start with a tab. */
function parseStatements(text: string): string[] {
  const lines = text.replaceAll(/\n\t[ \t]*/g, ' ').split('\n')
  const entries = lines.flatMap((line) => {
    const match = /^([^|]*)\|([^|]*)\|LOG: {2}(?:statement|execute [^:]*): *(.*)$/.exec(line)
    const [, time = '', application = '', statement = ''] = match ?? []
    return match ? [{ time: time.slice(11, 23), application, statement }] : []
  })
  const end = entries.findIndex(({ statement }) => statement.replaceAll(/\s+/g, ' ').toLowerCase().includes(completion))
  const start = entries.findIndex(
    ({ application, statement }) => application === 'pipeline worker' && statement === 'begin',
  )
  return entries
    .slice(start, end)
    .filter(({ application }) => runApplications.has(application))
    .map(({ time, application, statement }) => `${time} ${application}: ${statement}`)
}
