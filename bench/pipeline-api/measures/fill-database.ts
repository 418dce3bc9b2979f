import type pg from 'pg'

/** Number of rows in the installation. */
export interface InstallationSize {
  pipelines: number
  runs: number
  logs: number
}

/** Maximum rows of the watched pipeline, because the history of one pipeline does not grow without a limit. */
const watchedPipeline = { runs: 5_000, logs: 50_000 }

/**
 * Fills a pipeline database up to a size, with rows as the service writes them. Most rows belong to one client, which
 * is the worst case. Returns the uid of the watched pipeline.
 */
export async function fillDatabase(
  db: pg.Client,
  client: string,
  schema: string,
  size: InstallationSize,
): Promise<string> {
  await db.query(`set synchronous_commit = off; set session_replication_role = origin`)
  const { rows } = await db.query(`select count(*)::int as pipelines from data_pipelines where client = $1`, [client])
  await db.query(
    `insert into data_pipelines (client, name, type, disabled, run_trigger, schema_id, table_name, public_access, description)
     select $1, format('%s %s of region %s', (array['Malaria', 'Measles', 'Births', 'Stock', 'Beds'])[1 + i % 5], md5(i::text), i % 97),
       'CSV_UPLOAD', false, case when i % 10 = 0 then 'EVERY_DAY_2AM' else 'NEVER' end,
       (select id from schemas where uid = $2), 't_' || i, 'READ', 'Rows of facility ' || i
     from generate_series($3::int + 1, $4::int) i`,
    [client, schema, rows[0].pipelines, size.pipelines],
  )
  const first = `(select min(id) from data_pipelines where client = $1)`
  await fillRuns(db, client, first, size.runs)
  await fillLogs(db, client, first, size.logs)
  for (const table of ['data_pipelines', 'runnables', 'runs', 'run_logs']) await db.query(`vacuum analyze ${table}`)
  const found = await db.query(`select uid from data_pipelines where id = ${first}`, [client])
  return found.rows[0].uid
}

async function fillRuns(db: pg.Client, client: string, first: string, total: number): Promise<void> {
  const { rows } = await db.query(`select count(*)::int as runs from runs`)
  await db.query(
    `insert into runs (client, runnable_id, trigger, state, attempt, created_at, started_at, finished_at, rows_written, bytes_written)
     select $1::uuid, case when i <= $4 then first.id else first.id + 1 + i % many.count end, 'SCHEDULE',
       case when i % 20 = 0 then 'FAILED' else 'OK' end, 1, at, at, at + interval '30 seconds', 1000, 100000
     from generate_series($2::int + 1, $3::int) i,
       lateral (select now() - i * interval '0.7 seconds' as at) moment,
       (select ${first} as id) first, (select greatest(1, count(*) - 1) as count from data_pipelines where client = $1) many`,
    [client, rows[0].runs, total, watchedPipeline.runs],
  )
}

async function fillLogs(db: pg.Client, client: string, first: string, total: number): Promise<void> {
  const { rows } = await db.query(`select count(*)::int as logs from run_logs`)
  await db.query(
    `insert into run_logs (run_id, runnable_id, created_at, level, importance, message)
     select r.id, r.runnable_id, r.created_at + n * interval '1 second', 'INFO', 'LOW', 'Line ' || n || ' of a run that went well.'
     from (select r.id, r.runnable_id, r.created_at, row_number() over (order by r.runnable_id <> ${first}, r.id) as place
           from runs r where client = $1) r, generate_series(1, 10) n
     where (place - 1) * 10 + n > $2 and (place - 1) * 10 + n <= $3`,
    [client, rows[0].logs, total],
  )
}
