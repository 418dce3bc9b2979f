import type { KeyRing } from '@sluice/database'
import { SealProblem } from '@sluice/database'
import { holds } from '@sluice/contracts'
import { problems, type Caller } from '@sluice/http'
import { visibleTo } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { variablesInSql } from '../../engine/variables/bind.ts'
import { namesVariables, variablesInSettings } from '../../engine/variables/replace.ts'
import { openSourceSecrets } from '../../source-secrets.ts'
import { mostNamed } from '../in-use.ts'
import type { VariableRow } from './records.ts'

type Meant = Pick<VariableRow, 'client' | 'name'>

/** Something that uses the variable; only who may read it is told its name. */
interface User {
  name: string
  shown: boolean
}

/** Pipelines that are looked at together: their secrets have to be opened for it. */
const batch = 500

/**
 * Refuses what would leave a `${name}` without a value, naming the first of those that use it and that the caller may read: the queries of checks, and the
 * settings and secrets of data pipelines. `before` says what is to be done first.
 */
export async function assertUnused(
  trx: Transaction<DB>,
  variable: Meant,
  { pointer, before, keyRing, caller }: { pointer: string; before: string; keyRing: KeyRing; caller: Caller },
): Promise<void> {
  const checks = await checksUsing(trx, variable, caller)
  const pipelines = await pipelinesUsing(trx, variable, keyRing, caller, mostNamed - checks.length)
  const users = [...told('data quality checks', checks), ...told('data pipelines', pipelines)]
  if (users.length === 0) return
  throw problems.conflict(pointer, `\${${variable.name}} is used by ${users.join(' and ')}. ${before}`)
}

function told(noun: string, users: readonly User[]): string[] {
  const names = users.filter(({ shown }) => shown).map(({ name }) => `"${name}"`)
  if (names.length > 0) return [`the ${noun} ${names.join(', ')}`]
  return users.length > 0 ? [`${noun} that are not shared with you`] : []
}

async function checksUsing(trx: Transaction<DB>, { client, name }: Meant, caller: Caller): Promise<User[]> {
  const rows = await trx
    .selectFrom('data_quality_checks as r')
    .select(['r.name', 'r.query', shownTo(caller, 'ROLE_SEE_DATA_QUALITY_CHECK')])
    .where('r.client', '=', client)
    .where(sql<boolean>`strpos(r.query, ${name}) > 0 and strpos(r.query, '\${') > 0`)
    .orderBy('shown', 'desc')
    .orderBy('r.name')
    .execute()
  return rows.filter(({ query }) => variablesInSql(query).has(name)).slice(0, mostNamed)
}

const shownTo = (caller: Caller, role: Parameters<typeof holds>[1]) =>
  sql<boolean>`${holds(caller.roles, role)} and coalesce(${visibleTo(caller, 'READ')}, false)`.as('shown')

/** `most` of them at the most, in the order in which they were made. */
async function pipelinesUsing(
  trx: Transaction<DB>,
  { client, name }: Meant,
  keyRing: KeyRing,
  caller: Caller,
  most: number,
): Promise<User[]> {
  const found: User[] = []
  for (let last = 0; found.length < most; ) {
    const rows = await trx
      .selectFrom('data_pipelines as r')
      .select(['r.id', 'r.uid', 'r.name', 'r.settings', 'r.source_secrets', shownTo(caller, 'ROLE_SEE_DATA_PIPELINE')])
      .where('r.client', '=', client)
      .where('r.id', '>', last)
      .where(sql<boolean>`(strpos(r.settings::text, '\${') > 0 or r.source_secrets is not null)`)
      .orderBy('r.id')
      .limit(batch)
      .execute()
    for (const row of rows) {
      const parts = [row.settings, opened(row, keyRing)]
      if (namesVariables(...parts) && variablesInSettings(...parts).has(name)) found.push(row)
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
