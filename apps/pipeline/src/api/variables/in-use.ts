import type { KeyRing } from '@sluice/database'
import { SealProblem } from '@sluice/database'
import { problems } from '@sluice/http'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { variablesInSql } from '../../engine/variables/bind.ts'
import { namesVariables, variablesInSettings } from '../../engine/variables/replace.ts'
import { openSourceSecrets } from '../../source-secrets.ts'
import { mostNamed } from '../in-use.ts'
import type { VariableRow } from './records.ts'

type Meant = Pick<VariableRow, 'client' | 'name'>

/** Pipelines that are looked at together: their secrets have to be opened for it. */
const batch = 500

/**
 * Refuses what would leave a `${name}` without a value, naming the first of those that use it: the queries of checks, and the
 * settings and secrets of data pipelines. `before` says what is to be done first.
 */
export async function demandUnused(
  trx: Transaction<DB>,
  variable: Meant,
  { pointer, before, keyRing }: { pointer: string; before: string; keyRing: KeyRing },
): Promise<void> {
  const checks = await checksUsing(trx, variable)
  const pipelines = await pipelinesUsing(trx, variable, keyRing, mostNamed - checks.length)
  const users = [told('data quality checks', checks), told('data pipelines', pipelines)].filter((one) => one !== '')
  if (users.length === 0) return
  throw problems.conflict(pointer, `\${${variable.name}} is used by the ${users.join(' and the ')}. ${before}`)
}

const told = (noun: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `${noun} ${names.map((name) => `"${name}"`).join(', ')}`

async function checksUsing(trx: Transaction<DB>, { client, name }: Meant): Promise<string[]> {
  const rows = await trx
    .selectFrom('data_quality_checks')
    .select(['name', 'query'])
    .where('client', '=', client)
    .where(sql<boolean>`strpos(query, ${name}) > 0 and strpos(query, '\${') > 0`)
    .orderBy('name')
    .execute()
  const using = rows.filter(({ query }) => variablesInSql(query).has(name))
  return using.slice(0, mostNamed).map((row) => row.name)
}

/** `most` of them at the most, in the order in which they were made. */
async function pipelinesUsing(
  trx: Transaction<DB>,
  { client, name }: Meant,
  keyRing: KeyRing,
  most: number,
): Promise<string[]> {
  const found: string[] = []
  for (let last = 0; found.length < most; ) {
    const rows = await trx
      .selectFrom('data_pipelines')
      .select(['id', 'uid', 'name', 'settings', 'source_secrets'])
      .where('client', '=', client)
      .where('id', '>', last)
      .where(sql<boolean>`(strpos(settings::text, '\${') > 0 or source_secrets is not null)`)
      .orderBy('id')
      .limit(batch)
      .execute()
    for (const row of rows) {
      const parts = [row.settings, opened(row, keyRing)]
      if (namesVariables(...parts) && variablesInSettings(...parts).has(name)) found.push(row.name)
    }
    if (rows.length < batch) break
    last = rows.at(-1)!.id
  }
  return found.slice(0, most)
}

/** What no key opens, no run can read either. */
function opened(row: { uid: string; source_secrets: string | null }, keyRing: KeyRing): object {
  try {
    return openSourceSecrets(row, keyRing)
  } catch (error) {
    if (error instanceof SealProblem) return {}
    throw error
  }
}
