import type { Client } from 'pg'
import type { RunState } from '../../../src/runs/run-states.ts'
import type { Stack } from '../../worker/worker-stack.ts'
import { logOf } from '../pipelines-with-data.ts'
import type { Target } from './load-targets.ts'

interface Content {
  runs: number[]
  rows: number
  /** Of the numbers that the rows carry. */
  sum: number
}

interface Entry {
  run: string
  rows: number
  at: number
}

/** What is wrong with a target just now, one sentence each; nothing is the right answer at any moment. */
export async function wrongNow(stack: Stack, client: Client, target: Target): Promise<string[]> {
  const states = await statesOf(stack, target)
  const { content, ledger } = await together(client, target)
  return [
    ...wrongContent(target, content),
    ...wrongLedger(target, content, ledger),
    ...[...states].flatMap(([run, state]) =>
      (state === 'OK' || state === 'WARNING') && !ledger.some((entry) => entry.run === run)
        ? [`run ${numberOf(target, run)} is ${state}, and the ledger does not know it`]
        : [],
    ),
  ].map((sentence) => `target ${target.name}: ${sentence}`)
}

/** What is wrong once nothing is under way any more. */
export async function wrongAtLast(stack: Stack, client: Client, target: Target): Promise<string[]> {
  const { ledger } = await together(client, target)
  const published = new Set(ledger.map(({ run }) => run))
  const states = await stack.db
    .selectFrom('runs')
    .select(['id', 'uid', 'state', 'rows_written'])
    .where('runnable_id', '=', target.pipeline.id)
    .execute()
  const found = states.map(async ({ id, uid, state, rows_written: written }) => {
    const one = target.asked.find((asked) => asked.uid === uid)!
    const wrong: string[] = []
    if (published.has(uid) !== (state === 'OK' || state === 'WARNING'))
      wrong.push(`${state}, and ${published.has(uid) ? 'published' : 'not published'}`)
    if (published.has(uid) && written !== one.rows) wrong.push(`said to have ${written} rows, not ${one.rows}`)
    if (state === 'QUEUED' || state === 'RUNNING') wrong.push(`still ${state}`)
    const log = wrong.length > 0 && (await logOf(stack, { id }))
    return wrong.map((sentence) => `target ${target.name}: run ${one.number} is ${sentence}; its log:\n${log}`)
  })
  return (await Promise.all(found)).flat()
}

/** A reader that does not care what is going on: sees one whole run, or no table yet. */
export async function wrongForReaders(client: Client, target: Target): Promise<string[]> {
  return wrongContent(target, await contentOf(client, target)).map(
    (sentence) => `a reader of ${target.name}: ${sentence}`,
  )
}

/**
 * Reads the table and the ledger in one snapshot under the publish lock, so that no publication comes between the
 * reads.
 */
async function together(client: Client, target: Target): Promise<{ content?: Content | undefined; ledger: Entry[] }> {
  const { schema, table } = target.pipeline
  const { rows } = await client.query('select to_regclass($1) is not null as made', [`${schema}.${table}`])
  if (!rows[0].made) return { ledger: [] }
  await client.query(`begin isolation level repeatable read; lock table ${schema}.${table} in access share mode`)
  try {
    return { ledger: await ledgerOf(client, target), content: await contentOf(client, target) }
  } finally {
    await client.query('rollback')
  }
}

async function contentOf(client: Client, { pipeline: { schema, table } }: Target): Promise<Content | undefined> {
  try {
    const { rows } = await client.query(
      `select array_agg(distinct run)::int[] as runs, count(*)::int as rows, sum(row)::float8 as sum from ${schema}.${table}`,
    )
    return { ...rows[0], runs: rows[0].runs ?? [] }
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return undefined
    throw error
  }
}

async function ledgerOf(client: Client, { pipeline: { schema, table } }: Target): Promise<Entry[]> {
  const { rows } = await client.query(
    `select l.run, t.rows::int, extract(epoch from l.published_at)::float8 * 1000 as at
     from sluice.ledger l join sluice.ledger_table t using (run)
     where t.schema_name = $1 and t.table_name = $2 order by l.published_at`,
    [schema, table],
  )
  return rows
}

function wrongContent({ asked }: Target, content: Content | undefined): string[] {
  if (!content) return []
  const [number] = content.runs
  const one = asked.find((run) => run.number === number)
  if (content.runs.length !== 1 || !one) return [`holds the rows of runs [${content.runs.join(', ')}]`]
  const sum = (one.rows * (one.rows - 1)) / 2
  if (content.rows === one.rows && content.sum === sum) return []
  return [`holds ${content.rows} rows of run ${number}, which has ${one.rows}`]
}

function wrongLedger(target: Target, content: Content | undefined, ledger: readonly Entry[]): string[] {
  const wrong: string[] = []
  const numbers = ledger.map(({ run }) => numberOf(target, run))
  if (numbers.some((number, index) => index > 0 && number <= numbers[index - 1]!))
    wrong.push(`its runs were published in the order ${numbers.join(', ')}`)
  if (content?.runs[0] !== numbers.at(-1))
    wrong.push(`holds run ${content?.runs[0]}, and the last publication is run ${numbers.at(-1)}`)
  for (const { run, rows, at } of ledger) {
    const one = target.asked.find(({ uid }) => uid === run)
    if (!one) continue
    if (one.bad) wrong.push(`run ${one.number} was published, although its rows do not fit`)
    if (rows !== one.rows) wrong.push(`the ledger gives run ${one.number} ${rows} rows, not ${one.rows}`)
    if (one.cancelledAt !== undefined && at > one.cancelledAt)
      wrong.push(`run ${one.number} was published ${at - one.cancelledAt} ms after it was cancelled`)
  }
  return wrong
}

const numberOf = ({ asked }: Target, run: string) => asked.find(({ uid }) => uid === run)?.number ?? -1

async function statesOf(stack: Stack, { pipeline }: Target): Promise<Map<string, RunState>> {
  const rows = await stack.db
    .selectFrom('runs')
    .select(['uid', 'state'])
    .where('runnable_id', '=', pipeline.id)
    .execute()
  return new Map(rows.map(({ uid, state }) => [uid, state as RunState]))
}
