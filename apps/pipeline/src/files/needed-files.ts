import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { keptDays } from '../engine/runs/runs-to-keep.ts'
import { underWay } from '../engine/runs/states.ts'

/** Those of the uploaded files that somebody needs: pipelines, runs under way, and clients that keep what their runs read. */
export async function neededFiles(db: Kysely<DB>, uids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ uid: string }>`
    select uid::text from uploaded_files where uid = any(${uids}::uuid[])
    union
    select input -> 'file' ->> 'uid' from runs where state = any(${[...underWay]}::text[])
    union
    select r.input -> 'file' ->> 'uid' from settings s join runs r on r.client = s.client
    where s.key = 'RETAIN_TEMP_FILES' and s.value = 'true' and r.finished_at > now() - make_interval(days => ${keptDays}::int)
  `.execute(db)
  return new Set(rows.map(({ uid }) => uid))
}
